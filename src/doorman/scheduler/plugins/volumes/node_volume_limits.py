"""NodeVolumeLimits: a node takes no more volumes of a driver than its CSINode says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from doorman.api.views.pods import Pod
from doorman.api.views.storage.csi import CsiNode
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import (
    FINAL,
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    always,
)
from doorman.scheduler.plugins.volumes.volume_binding import is_own_claim
from doorman.scheduler.volumes.attach_limits import AttachLimits, limits_of
from doorman.scheduler.volumes.row_volumes import RowVolumes
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.scheduler.volumes.volume_users import attachable_volumes
from doorman.semantics.volumes.csi_volumes import CsiVolume, is_known_to
from doorman.semantics.volumes.pod_volumes import claim_keys, volumes_with_claims

REASON: Final = "node(s) exceed max volume count"
_TOO_MANY: Final = 1
_MISSING: Final = 2 | FINAL


class NodeVolumeLimits:
    name = "NodeVolumeLimits"
    is_for_volumes = True

    def __init__(self, state: VolumeState, cluster: ClusterState) -> None:
        self._state = state
        self._rows = RowVolumes(cluster, state)
        self._limits = AttachLimits(cluster, state)

    def filter_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeFilter | None:
        missing = next((key for key in claim_keys(pod) if self._state.seen_claim(key) is None), "")
        volumes = attachable_volumes(pod, self._state) if not missing else {}
        self._limits.refresh()
        if not missing and not any(self._limits.has_any(volume.driver) for volume in volumes.values()):
            return None
        self._rows.refresh()
        return _Filter(self._state, cluster, self._rows, self._limits, volumes, missing)

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.CSI_NODE, ActionType.ADD, always),
            Hint(EventResource.CSI_NODE, ActionType.UPDATE_OTHER, _is_csi_node_worth_a_try),
            Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _is_leaving_worth_a_try),
            Hint(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, always, is_own_claim),
            Hint(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, always, _has_named_claims),
        )


def _is_csi_node_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    old: CsiNode = event.old
    before = limits_of(old)
    return any(count > before.get(driver, 0) for driver, count in limits_of(event.new).items())


def _is_leaving_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    gone: Pod = event.old
    return next(volumes_with_claims(gone), None) is not None


def _has_named_claims(pod: Pod, _event: ClusterEvent) -> bool:
    return any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes)


class _Filter:
    def __init__(
        self,
        state: VolumeState,
        cluster: ClusterState,
        rows: RowVolumes,
        limits: AttachLimits,
        volumes: Mapping[str, CsiVolume],
        missing: str,
    ) -> None:
        """`missing`: a claim that does not exist; no node takes the pod."""
        self._state = state
        self._cluster = cluster
        self._rows = rows
        self._limits = limits
        self._volumes = volumes
        self._missing = missing
        self._codes: Column = np.full(cluster.size, _MISSING if missing else 0, dtype=np.int64)
        if not missing:
            self._fill()

    def codes(self, rows: Rows) -> Column:
        found: Column = self._codes[rows]
        return found

    def reasons(self, code: int) -> Sequence[str]:
        if code == _MISSING:
            name = self._missing.partition("/")[2]
            return (f'looking up PVC {self._missing}: persistentvolumeclaim "{name}" not found',)
        return (REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        code = int(self._codes[row])
        if not code:
            return ()
        reason = self.reasons(code)[0]
        return tuple(Detail(reason=reason, what=what) for what in self._excess(row)) or (Detail(reason=reason),)

    def _fill(self) -> None:
        """Over columns, as if no node had any of the volumes and all left them to their drivers; then the others."""
        for driver, count in Counter(volume.driver for volume in self._volumes.values()).items():
            limit = self._limits.column(driver)
            if limit is not None:
                self._codes[self._rows.count(driver) + count > limit] = _TOO_MANY
        others = self._rows.having(self._volumes)
        if any(volume.plugin for volume in self._volumes.values()):
            others.update(np.flatnonzero(self._codes).tolist())
        for row in others:
            if self._cluster.nodes[row] is not None:
                self._codes[row] = _TOO_MANY if self._excess(row) else 0

    def _excess(self, row: int) -> list[str]:
        """Of which drivers the node would have too many volumes, in words."""
        csi_node = self._state.csi_nodes.get(self._cluster.node(row).metadata.name)
        here = self._rows.on(row)
        new = Counter(
            volume.driver
            for name, volume in self._volumes.items()
            if name not in here and is_known_to(volume, csi_node)
        )
        found = []
        for driver, limit in (limits_of(csi_node) if csi_node is not None else {}).items():
            in_use = int(self._rows.count(driver)[row])
            if new[driver] and in_use + new[driver] > limit:
                found.append(
                    f"driver {driver}: {in_use} of {limit} volumes are in use, the pod needs {new[driver]} more"
                )
        return found
