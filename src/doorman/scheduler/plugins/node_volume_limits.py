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
from doorman.scheduler.plugins.volume_binding import is_own_claim
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.scheduler.volumes.volume_users import attachable_volumes, attached_volumes
from doorman.semantics.volumes.pod_volumes import volumes_with_claims

REASON: Final = "node(s) exceed max volume count"
_TOO_MANY: Final = 1
_MISSING: Final = 2 | FINAL


class NodeVolumeLimits:
    name = "NodeVolumeLimits"
    is_for_volumes = True

    def __init__(self, state: VolumeState) -> None:
        self._state = state

    def filter_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeFilter | None:
        claims = [(name, f"{pod.metadata.namespace}/{name}") for _, name in volumes_with_claims(pod)]
        missing = next((key for _, key in claims if self._state.seen_claim(key) is None), "")
        volumes = attachable_volumes(pod, self._state)
        limits = volume_limits(self._state.csi_nodes, frozenset(volumes.values()))
        if not missing and not limits:
            return None
        return _Filter(self._state, cluster, volumes, limits, missing)

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.CSI_NODE, ActionType.ADD, always),
            Hint(EventResource.CSI_NODE, ActionType.UPDATE_OTHER, _is_csi_node_worth_a_try),
            Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _is_leaving_worth_a_try),
            Hint(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, always, is_own_claim),
            Hint(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, always, _has_named_claims),
        )


def volume_limits(csi_nodes: Mapping[str, CsiNode], drivers: frozenset[str]) -> dict[str, dict[str, int]]:
    """How many volumes a node may have of each of these drivers, by node; nodes without such a limit are left out."""
    found: dict[str, dict[str, int]] = {}
    for name, csi_node in csi_nodes.items():
        limits = {driver: count for driver, count in _limits(csi_node).items() if driver in drivers}
        if limits:
            found[name] = limits
    return found


def _limits(csi_node: CsiNode) -> dict[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _is_csi_node_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    before = _limits(event.old)
    return any(count > before.get(driver, 0) for driver, count in _limits(event.new).items())


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
        volumes: Mapping[str, str],
        limits: Mapping[str, Mapping[str, int]],
        missing: str,
    ) -> None:
        """`missing`: a claim that does not exist; no node takes the pod."""
        self._state = state
        self._cluster = cluster
        self._volumes = volumes
        self._limits = limits
        self._missing = missing
        self._codes: Column = np.full(cluster.size, _MISSING if missing else 0, dtype=np.int64)
        for name in limits if not missing else ():
            row = cluster.row_or_none(name)
            if row is not None and self._excess(row):
                self._codes[row] = _TOO_MANY

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

    def _excess(self, row: int) -> list[str]:
        """Of which drivers the node would have too many volumes, in words."""
        node = self._cluster.node(row).metadata.name
        limits = self._limits.get(node, {})
        here: dict[str, str] = {}
        for record in self._cluster.records_on(row):
            if record.shape.demand.uses_volumes:
                here.update(attachable_volumes(record.pod, self._state))
        new = Counter(driver for name, driver in self._volumes.items() if name not in here)
        in_use = Counter({**attached_volumes(node, self._state), **here}.values())
        return [
            f"driver {driver}: {in_use[driver]} of {limit} volumes are in use, the pod needs {new[driver]} more"
            for driver, limit in limits.items()
            if new[driver] and in_use[driver] + new[driver] > limit
        ]
