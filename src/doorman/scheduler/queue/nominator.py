"""Pods that wait for room on a node that was cleared for them (`status.nominatedNodeName`).

Others of lower or equal priority must leave that room free: filters look at a node as if the nominated pods were there.
For resources this is kept as sums per row, one set for each priority that asks.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, RowArray
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.row_changes import RowChanges

OVERLAYS_MAX: Final = 16
"""Sums are kept for so many priorities; they are rebuilt when more take turns."""


class Overlay:
    """What pods of at least some priority, nominated to rows, will take there."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._pods: Column = np.zeros(size, dtype=np.int64)
        self._amounts: dict[int, Column] = {}
        """By resource."""
        self._rows: RowArray | None = None

    def add(self, record: PodRecord, row: int, sign: int) -> None:
        self._pods[row] += sign
        for index, amount in record.shape.demand.amounts:
            column = self._amounts.get(index)
            if column is None:
                column = self._amounts[index] = np.zeros(self._size, dtype=np.int64)
            column[row] += sign * amount
        self._rows = None

    def rows(self) -> RowArray:
        if self._rows is None:
            self._rows = np.flatnonzero(self._pods)
        return self._rows

    def pods(self) -> Column:
        """For each of `rows`."""
        return self._pods[self.rows()]

    def amounts(self) -> Mapping[int, Column]:
        """By resource, for each of `rows`."""
        rows = self.rows()
        return {index: column[rows] for index, column in self._amounts.items()}

    def on_row(self, row: int) -> tuple[int, Mapping[int, int]]:
        """Pods and amounts by resource for one row."""
        return int(self._pods[row]), {index: int(column[row]) for index, column in self._amounts.items()}


class Nominator:
    """Who is nominated where. The one owner of nominations in memory; the API's copy follows."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._records: dict[str, PodRecord] = {}
        self._by_node: dict[str, dict[str, PodRecord]] = {}
        self._overlays: dict[int, Overlay] = {}
        self._membership_version = -1
        self.version = 0
        self.log = RowChanges()
        """Rows whose nominations changed."""

    def __len__(self) -> int:
        return len(self._records)

    def node_of(self, key: str) -> str:
        """The node a pod is nominated to, or ""."""
        record = self._records.get(key)
        return "" if record is None else record.node

    def record_or_none(self, key: str) -> PodRecord | None:
        return self._records.get(key)

    def nominate(self, record: PodRecord) -> None:
        before = self._records.get(record.key)
        if before is not None and _is_same_claim(before, record):
            # Usual when the API's copy has caught up: nothing need be evaluated again.
            for known in (self._records, self._by_node[record.node]):
                del known[record.key]
                known[record.key] = record
            return
        self.remove(record.key)
        self._records[record.key] = record
        self._by_node.setdefault(record.node, {})[record.key] = record
        self._change(record, +1)

    def remove(self, key: str) -> None:
        record = self._records.pop(key, None)
        if record is None:
            return
        others = self._by_node[record.node]
        del others[key]
        if not others:
            del self._by_node[record.node]
        self._change(record, -1)

    def on_node(self, node: str, *, priority_min: int, but: str) -> Sequence[PodRecord]:
        """Pods nominated to a node that count for one of that priority, itself left out."""
        found = self._by_node.get(node, {}).values()
        return [record for record in found if record.priority >= priority_min and record.key != but]

    def lower_on_node(self, node: str, priority: int) -> Sequence[Pod]:
        return [record.pod for record in self._by_node.get(node, {}).values() if record.priority < priority]

    def overlay(self, priority_min: int) -> Overlay:
        if self._membership_version != self._cluster.membership_version:
            self._membership_version = self._cluster.membership_version
            self._overlays.clear()
        overlay = self._overlays.get(priority_min)
        if overlay is None:
            if len(self._overlays) >= OVERLAYS_MAX:
                self._overlays.clear()
            overlay = self._overlays[priority_min] = Overlay(self._cluster.size)
            for record in self._records.values():
                row = self._cluster.row_or_none(record.node)
                if record.priority >= priority_min and row is not None:
                    overlay.add(record, row, +1)
        return overlay

    def _change(self, record: PodRecord, sign: int) -> None:
        self.version += 1
        row = self._cluster.row_or_none(record.node)
        if row is not None:
            self.log.note(row)
        if self._membership_version != self._cluster.membership_version:
            self._overlays.clear()
        for priority_min, overlay in self._overlays.items():
            if record.priority >= priority_min and row is not None:
                overlay.add(record, row, sign)


def _is_same_claim(one: PodRecord, other: PodRecord) -> bool:
    """Whether both ask for the same of the same node."""
    return (one.node, one.priority) == (other.node, other.priority) and one.shape is other.shape
