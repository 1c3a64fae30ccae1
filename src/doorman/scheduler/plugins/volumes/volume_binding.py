"""VolumeBinding: a pod goes where its claims' volumes can be used, or where volumes can be bound or made.

At which points it has a say:

    PreFilter   the claims must exist, and those of a class that binds at once must be bound
    Filter      volumes must be usable on the node; for claims that wait there must be volumes, or a way to make some
    Score       nodes where the claims take a smaller share of the storage are better (gate StorageCapacityScoring)
    Reserve     the volumes are taken; `PodVolumeBindings` says what is to be written before the pod is bound
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.storage.csi import CsiDriver, CsiNode, CsiStorageCapacity
from doorman.api.views.storage.volume_classes import StorageClass
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.config.scheduler_config import BINDING_TIMEOUT_SECONDS, STORAGE_SHAPE, ShapePoint
from doorman.scheduler.framework import (
    FINAL,
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    NodeScorer,
    PreFilterReject,
    always,
)
from doorman.scheduler.plugins.resource_scores import ratio_table
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims, pod_volume_claims
from doorman.scheduler.volumes.storage_scores import storage_score
from doorman.scheduler.volumes.volume_fits import are_for_any_node, volume_codes
from doorman.scheduler.volumes.volume_objections import volume_objections
from doorman.scheduler.volumes.volume_search import REASONS, search_volumes, volume_limit
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.csi_volumes import MIGRATED_PLUGINS
from doorman.semantics.volumes.pod_volumes import claim_keys


class VolumeBinding:
    name = "VolumeBinding"
    is_for_volumes = True

    def __init__(
        self,
        state: VolumeState,
        cluster: ClusterState,
        *,
        shape: Sequence[ShapePoint] = STORAGE_SHAPE,
        timeout_seconds: int = BINDING_TIMEOUT_SECONDS,
    ) -> None:
        self._state = state
        self._cluster = cluster
        self._line = ratio_table(shape)
        self._timeout_seconds = timeout_seconds

    def filter_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeFilter | PreFilterReject | None:
        claims = pod_volume_claims(pod, self._state)
        if claims is None or isinstance(claims, PreFilterReject):
            return claims
        return _Filter(self._state, cluster, claims, volume_codes(claims, cluster, self._state))

    def scorer_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeScorer | None:
        claims = pod_volume_claims(pod, self._state)
        if not isinstance(claims, PodVolumeClaims) or are_for_any_node(claims.delayed, self._state):
            return None
        return _Scorer(self._state, cluster, claims, self._line)

    def reserve(self, pod: Pod, row: int) -> PodVolumeBindings | None:
        """Take the volumes on the chosen node. None: everything is bound already."""
        claims = pod_volume_claims(pod, self._state)
        if not isinstance(claims, PodVolumeClaims) or not claims.delayed:
            return None
        node = self._cluster.node(row)
        found = search_volumes(claims, node, self._state)
        assert not found.code, "the filter let the pod in"
        self._state.reserve(pod.metadata.key, found.bindings, node.metadata.name)
        return msgspec.structs.replace(found.bindings, timeout_seconds=self._timeout_seconds)

    def hints(self) -> Sequence[Hint]:
        add_or_update = ActionType.ADD | ActionType.UPDATE_OTHER
        return (
            Hint(EventResource.STORAGE_CLASS, add_or_update, _is_class_worth_a_try),
            Hint(EventResource.PERSISTENT_VOLUME_CLAIM, add_or_update, always, is_own_claim),
            Hint(EventResource.PERSISTENT_VOLUME, add_or_update, always),
            Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, always),
            Hint(EventResource.CSI_NODE, add_or_update, _is_csi_node_worth_a_try),
            Hint(EventResource.CSI_DRIVER, ActionType.UPDATE_OTHER, _is_driver_worth_a_try),
            Hint(EventResource.CSI_STORAGE_CAPACITY, add_or_update, _is_capacity_worth_a_try),
        )


def is_own_claim(pod: Pod, event: ClusterEvent) -> bool:
    """Whether the claim that came or changed is one of the pod's."""
    return event.new.metadata.key in claim_keys(pod)


def _is_class_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    old: StorageClass | None = event.old
    new: StorageClass = event.new
    return old is None or old.allowed_topologies != new.allowed_topologies


def _is_csi_node_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    old: CsiNode | None = event.old
    new: CsiNode = event.new
    if old is None:
        return True
    return old.metadata.annotations.get(MIGRATED_PLUGINS) != new.metadata.annotations.get(MIGRATED_PLUGINS)


def _is_driver_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    """A driver that no longer says how much room it has may make volumes anywhere."""
    old: CsiDriver = event.old
    new: CsiDriver = event.new
    return bool(old.spec.storage_capacity) and not new.spec.storage_capacity


def _is_capacity_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    old: CsiStorageCapacity | None = event.old
    new: CsiStorageCapacity = event.new
    after = volume_limit(new)
    if old is None:
        return True
    before = volume_limit(old)
    return after is not None and (before is None or after > before)


class _Filter:
    def __init__(self, state: VolumeState, cluster: ClusterState, claims: PodVolumeClaims, codes: Column) -> None:
        self._state = state
        self._cluster = cluster
        self._claims = claims
        self._codes = codes

    def codes(self, rows: Rows) -> Column:
        found: Column = self._codes[rows]
        return found

    def reasons(self, code: int) -> Sequence[str]:
        return _reasons(code)

    def details(self, row: int) -> Sequence[Detail]:
        code = int(self._codes[row])
        if not code:
            return ()
        what = volume_objections(self._claims, self._cluster.node(row), self._state)
        reasons = _reasons(code)
        if not what:
            return tuple(Detail(reason=reason) for reason in reasons)
        return tuple(Detail(reason=reasons[0], what=each) for each in what)


class _Scorer:
    def __init__(self, state: VolumeState, cluster: ClusterState, claims: PodVolumeClaims, line: Column) -> None:
        self._state = state
        self._cluster = cluster
        self._claims = claims
        self._line = line

    def raw(self, rows: Rows) -> Column:
        nodes = [self._cluster.node(row) for row in np.arange(self._cluster.size)[rows].tolist()]
        return np.array([self._score(node) for node in nodes], dtype=np.int64)

    def _score(self, node: Node) -> int:
        found = search_volumes(self._claims, node, self._state)
        return 0 if found.code else storage_score(found.bindings, node, self._state, self._line)


def _reasons(code: int) -> Sequence[str]:
    reasons: Mapping[int, str] = REASONS
    return [reason for bit, reason in reasons.items() if code & ~FINAL & bit]
