"""How many volumes of each CSI driver nodes have, by row, kept and brought up to date.

A node has the volumes of its pods, and those that VolumeAttachments say are attached to it. A row is worked out again
when a pod comes to it or leaves it, also on trial, when what is attached there changes, and when a claim of its pods,
or the claim's volume, does. After a placement that is one row.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.scheduler.volumes.volume_users import attachable_volumes, attached_volumes
from doorman.semantics.volumes.csi_volumes import CsiVolume, is_known_to
from doorman.semantics.volumes.pod_volumes import claim_keys


class RowVolumes:
    def __init__(self, cluster: ClusterState, state: VolumeState) -> None:
        self._cluster = cluster
        self._state = state
        self._names: dict[int, frozenset[str]] = {}
        """Unique names of volumes by row; rows without any are left out."""
        self._counts: dict[str, Column] = {}
        """By driver."""
        self._claims: dict[int, tuple[str, ...]] = {}
        """Keys of the claims that a row's pods use."""
        self._rows: dict[str, dict[int, None]] = {}
        """The other way round."""
        self._places: dict[str, dict[int, None]] = {}
        """Rows by the unique names of their volumes."""
        self._drivers: dict[int, Counter[str]] = {}
        self._log_position = -1
        self._layout_version = -1
        self._change_position = 0
        self._trial_position = 0

    def on(self, row: int) -> frozenset[str]:
        """Unique names of the volumes that the node has."""
        return self._names.get(row, frozenset())

    def count(self, driver: str) -> Column:
        """Of its volumes, by row."""
        found = self._counts.get(driver)
        return found if found is not None else np.zeros(self._cluster.size, dtype=np.int64)

    def having(self, names: Iterable[str]) -> set[int]:
        """Rows of the nodes that have one of these volumes."""
        return {row for name in names for row in self._places.get(name, ())}

    def refresh(self) -> None:
        """Take in what happened since the last time."""
        cluster, state = self._cluster, self._state
        changes = state.changes.since(self._change_position)
        trials = cluster.trials.since(self._trial_position)
        if (
            changes is None
            or trials is None
            or None in changes
            or self._layout_version != cluster.layout_version
            or self._log_position < cluster.log_start
        ):
            self._forget_all()
            due = {row: None for row in range(cluster.size) if cluster.nodes[row] is not None}
        else:
            due = dict.fromkeys((*cluster.touched_since(self._log_position), *trials))
            for key in changes:
                due |= self._rows.get(key or "", {})
                row = cluster.row_or_none(key or "")
                if row is not None:
                    due[row] = None
        for row in due:
            self._work_out(row)
        self._log_position = cluster.log_end
        self._layout_version = cluster.layout_version
        self._change_position = state.changes.end
        self._trial_position = cluster.trials.end

    def _forget_all(self) -> None:
        for kept in (self._names, self._counts, self._claims, self._rows, self._places, self._drivers):
            kept.clear()

    def _work_out(self, row: int) -> None:
        self._forget(row)
        node = self._cluster.nodes[row]
        if node is None:
            return
        name = node.metadata.name
        found: dict[str, CsiVolume] = dict(attached_volumes(name, self._state))
        claims: dict[str, None] = {}
        for record in self._cluster.records_on(row):
            if record.shape.demand.uses_volumes:
                found |= attachable_volumes(record.pod, self._state)
                claims |= dict.fromkeys(claim_keys(record.pod))
        if claims:
            self._claims[row] = tuple(claims)
            _file_under(self._rows, claims, row)
        csi_node = self._state.csi_nodes.get(name)
        self._file(row, {unique: one for unique, one in found.items() if is_known_to(one, csi_node)})

    def _file(self, row: int, volumes: Mapping[str, CsiVolume]) -> None:
        if not volumes:
            return
        self._names[row] = frozenset(volumes)
        _file_under(self._places, volumes, row)
        self._drivers[row] = counts = Counter(volume.driver for volume in volumes.values())
        for driver, count in counts.items():
            if driver not in self._counts:
                self._counts[driver] = np.zeros(self._cluster.size, dtype=np.int64)
            self._counts[driver][row] = count

    def _forget(self, row: int) -> None:
        for driver in self._drivers.pop(row, ()):
            self._counts[driver][row] = 0
        _take_from(self._places, self._names.pop(row, ()), row)
        _take_from(self._rows, self._claims.pop(row, ()), row)


def _file_under(index: dict[str, dict[int, None]], keys: Iterable[str], row: int) -> None:
    for key in keys:
        index.setdefault(key, {})[row] = None


def _take_from(index: dict[str, dict[int, None]], keys: Iterable[str], row: int) -> None:
    for key in keys:
        del index[key][row]
        if not index[key]:
            del index[key]
