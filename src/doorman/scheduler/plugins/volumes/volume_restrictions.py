"""VolumeRestrictions: a claim that is for one pod at a time, and disks that two pods of a node cannot share."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.framework import (
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    PreFilterReject,
    always,
)
from doorman.scheduler.plugins.volumes.volume_binding import is_own_claim
from doorman.scheduler.volumes.pod_volume_claims import not_found
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.scheduler.volumes.volume_users import pods_using
from doorman.semantics.volumes.pod_volumes import are_in_conflict, is_disk

READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"

_DISK_CONFLICT: Final = 1
_IN_USE: Final = 2
REASONS: Final = {
    _DISK_CONFLICT: "node(s) had no available disk",
    _IN_USE: (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    ),
}


class VolumeRestrictions:
    name = "VolumeRestrictions"
    is_for_volumes = True

    def __init__(self, state: VolumeState) -> None:
        self._state = state

    def filter_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeFilter | PreFilterReject | None:
        exclusive: list[str] = []
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                name = volume.persistent_volume_claim.claim_name
                claim = self._state.seen_claim(f"{pod.metadata.namespace}/{name}")
                if claim is None:
                    return PreFilterReject(message=not_found(name))
                if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                    exclusive.append(claim.metadata.key)
        users = {key: pods_using(key, cluster) for key in dict.fromkeys(exclusive)}
        if any(users.values()) or any(is_disk(volume) for volume in pod.spec.volumes):
            in_use = {key: found[0] for key, found in users.items() if found}
            return _Filter(cluster, pod, in_use)
        return None

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, always, _is_leaving_worth_a_try),
            Hint(EventResource.NODE, ActionType.ADD, always),
            Hint(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, always, is_own_claim),
        )


def _is_leaving_worth_a_try(pod: Pod, event: ClusterEvent) -> bool:
    gone: Pod = event.old
    if gone.metadata.namespace != pod.metadata.namespace:
        return False
    if _shares_disk(pod, gone):
        return True
    claims = {volume.persistent_volume_claim for volume in pod.spec.volumes} - {None}
    return any(volume.persistent_volume_claim in claims for volume in gone.spec.volumes)


def _shares_disk(pod: Pod, other: Pod) -> bool:
    return any(
        are_in_conflict(volume, theirs)
        for volume in pod.spec.volumes
        if is_disk(volume)
        for theirs in other.spec.volumes
    )


class _Filter:
    def __init__(self, cluster: ClusterState, pod: Pod, in_use: dict[str, PodRecord]) -> None:
        self._cluster = cluster
        self._pod = pod
        self._in_use = in_use
        self._codes: Column = np.full(cluster.size, _IN_USE if in_use else 0, dtype=np.int64)
        if any(is_disk(volume) for volume in pod.spec.volumes):
            for row in cluster.rows_in_order().tolist():
                if self._sharing(row) is not None:
                    self._codes[row] = _DISK_CONFLICT

    def codes(self, rows: Rows) -> Column:
        found: Column = self._codes[rows]
        return found

    def reasons(self, code: int) -> Sequence[str]:
        return (REASONS[code],)

    def details(self, row: int) -> Sequence[Detail]:
        code = int(self._codes[row])
        if not code:
            return ()
        sharing = self._sharing(row)
        if sharing is not None:
            return (Detail(reason=REASONS[code], what=f"pod {sharing.key} uses the same disk"),)
        return tuple(
            Detail(reason=REASONS[code], what=f"claim {key} is used by pod {record.key}")
            for key, record in self._in_use.items()
        )

    def _sharing(self, row: int) -> PodRecord | None:
        """A pod on the node with a disk that this one cannot share."""
        return next(
            (
                record
                for record in self._cluster.records_on(row)
                if record.shape.demand.uses_volumes and _shares_disk(self._pod, record.pod)
            ),
            None,
        )
