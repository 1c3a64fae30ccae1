"""The cluster as the scheduler sees it: nodes and the pods on them, in columns.

Every node has a row; rows of deleted nodes are used again. `ClusterState` is the only one who writes the columns;
plugins read them. Each change of a row is noted in a log, so that a reader that keeps results per row can bring
them up to date by looking only at the rows touched since it last looked.

Example: node `a` (row 0) and node `b` (row 1) appear, then a pod asking one core lands on `b`:

    allocatable[cpu]  [4000, 4000]      log  [row 0 node, row 1 node, row 1 pods]
    requested[cpu]    [   0, 1000]
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from weakref import WeakValueDictionary

import numpy as np

from doorman.api.taints import Taint
from doorman.api.views.nodes import Node
from doorman.api.well_known import PODS
from doorman.scheduler.cache.image_table import ImageTable
from doorman.scheduler.cache.node_columns import Column, Mask, RowArray, ValueColumn
from doorman.scheduler.cache.node_order import NodeOrder, is_same_for_scheduling
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_relations import Relations
from doorman.scheduler.cache.pod_shapes import PodSignature, Shape, ShapeTable
from doorman.scheduler.cache.port_table import PortTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cache.row_changes import RowChanges
from doorman.semantics.pods.pod_resources import counted_quantities

CAPACITY_MIN: Final = 64
LOG_ENTRIES_MAX: Final = 65_536
"""Readers that fall further behind start afresh."""

LABEL_COLUMNS_MAX: Final = 128
"""Columns of labels kept although nobody uses them at the moment, the most recent ones."""

NO_PODS_PRIORITY: Final = 2**62
"""Lowest priority on a row without pods."""

TaintSet = tuple[Taint, ...]


class ClusterState:
    """See the module's docstring."""

    def __init__(
        self, resources: ResourceIds, signatures: Sequence[PodSignature] = (), *, shows_pods: bool = False
    ) -> None:
        """`signatures` are what plugins of others tell pods apart by."""
        self.resources = resources
        self.shapes = ShapeTable(resources, signatures, on_new=self._shape_added, on_gone=self._shape_gone)
        self.shows_pods = shows_pods
        """Whether somebody reads more of the pods on a row than columns and relations show."""
        self.relations = Relations(self.shapes.all, CAPACITY_MIN)
        self.order = NodeOrder()
        self.images = ImageTable()
        self.ports = PortTable()
        self.nodes: list[Node | None] = []
        self.pods: list[dict[str, PodRecord]] = []
        """By row, in the order they came."""
        self.size = 0
        """Rows in use or to be used again; everything beyond has never held a node."""
        self.node_count = 0
        self.layout_version = 0
        """Changes when `size` does, and when every row must be looked at anew."""
        self.membership_version = 0
        """Changes when a node comes or goes."""
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._pods_of_unknown_nodes: dict[str, dict[str, PodRecord]] = {}
        """Pods whose node is not known, by its name."""
        self._capacity = CAPACITY_MIN
        self.present: Mask = np.zeros(CAPACITY_MIN, dtype=np.bool_)
        self.unschedulable: Column = np.zeros(CAPACITY_MIN, dtype=np.int64)
        self.pod_count: Column = np.zeros(CAPACITY_MIN, dtype=np.int64)
        self.pods_max: Column = np.zeros(CAPACITY_MIN, dtype=np.int64)
        self.scoring_cpu: Column = np.zeros(CAPACITY_MIN, dtype=np.int64)
        self.scoring_memory: Column = np.zeros(CAPACITY_MIN, dtype=np.int64)
        self.lowest_priority: Column = np.full(CAPACITY_MIN, NO_PODS_PRIORITY, dtype=np.int64)
        self.allocatable: list[Column] = []
        self.requested: list[Column] = []
        self.delegated: frozenset[int] = frozenset()
        """Resources that a DeviceClass stands for: where a node has none of its own, pods are given devices."""
        self.taints = ValueColumn[TaintSet]((), CAPACITY_MIN)
        self._labels: WeakValueDictionary[str, ValueColumn[str | None]] = WeakValueDictionary()
        """Columns somebody uses; pods may name any number of labels, so nobody else keeps them all."""
        self._recent_labels: OrderedDict[str, ValueColumn[str | None]] = OrderedDict()
        self.log: list[int] = []
        """Twice the row touched, plus one when the node itself changed and not only the pods on it."""
        self.log_start = 0  # position of the first entry that is kept, counted from the beginning of time
        self.trials = RowChanges()  # rows whose pods are others for the length of a trial, or are back
        self.starts = RowChanges()
        """Rows on which a pod has started: who has to leave depends on that, and nothing else does."""
        self._rank: Column = np.zeros(CAPACITY_MIN, dtype=np.int64)
        self._ordered: RowArray = np.zeros(0, dtype=np.intp)
        self._rank_is_stale = False
        self._rank_version = 0
        self.ensure_resources()

    @property
    def all_rows(self) -> slice:
        return slice(0, self.size)

    @property
    def log_end(self) -> int:
        return self.log_start + len(self.log)

    @property
    def rank_version(self) -> int:
        self._refresh_rank()
        return self._rank_version

    def rank(self) -> Column:
        """SubQueue of each row in the order of nodes, from 0."""
        self._refresh_rank()
        return self._rank

    def row_or_none(self, name: str) -> int | None:
        return self._rows.get(name)

    def node(self, row: int) -> Node:
        node = self.nodes[row]
        assert node is not None, "the row holds a node"
        return node

    def rows_in_order(self) -> RowArray:
        """Rows that hold a node, in the order of nodes."""
        self._refresh_rank()
        return self._ordered

    def labels(self, key: str) -> ValueColumn[str | None]:
        """The values of one label; a column is made when first asked for."""
        column = self._recent_labels.get(key)
        if column is not None:
            self._recent_labels.move_to_end(key)
            return column
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = ValueColumn[str | None](None, self._capacity)
            for row, node in enumerate(self.nodes):
                if node is not None:
                    column.set(row, node.metadata.labels.get(key))
        self._recent_labels[key] = column
        if len(self._recent_labels) > LABEL_COLUMNS_MAX:
            self._recent_labels.popitem(last=False)
        return column

    def set_node(self, node: Node) -> None:
        """Add a node or take over its new state."""
        name = node.metadata.name
        row = self._rows.get(name)
        if row is None:
            row = self._new_row(name)
            self._fill(row, None, node)
            self.order.add(name, node.metadata.labels, node.metadata.creation_timestamp)
            self._rank_is_stale = True
            self.membership_version += 1
            for record in self._pods_of_unknown_nodes.pop(name, {}).values():
                self._put(record, row)
            self._touch(row, node=True)
            return
        old = self.node(row)
        if not is_same_for_scheduling(old, node):
            self._fill(row, old, node)
            if self.order.update(name, node.metadata.labels):
                self._rank_is_stale = True
            self._touch(row, node=True)
        else:
            self.nodes[row] = node

    def remove_node(self, name: str) -> None:
        row = self._rows.pop(name, None)
        if row is None:
            return
        records = list(self.pods[row].values())
        for record in records:
            self._take(record)
        if records:
            self._pods_of_unknown_nodes[name] = {record.key: record for record in records}
        self.order.remove(name)
        self._rank_is_stale = True
        self.membership_version += 1
        self.images.clear_node(row)
        self.nodes[row] = None
        self.present[row] = False
        self.node_count -= 1
        self._free.append(row)
        self.taints.set(row, ())
        for column in self._labels.values():
            column.set(row, None)
        self._touch(row, node=True)

    def add_pod(self, record: PodRecord) -> None:
        row = self._rows.get(record.node)
        if row is None:
            self._pods_of_unknown_nodes.setdefault(record.node, {})[record.key] = record
            return
        self._put(record, row)
        self._touch(row)

    def remove_pod(self, record: PodRecord) -> None:
        if record.row < 0:
            unknown = self._pods_of_unknown_nodes.get(record.node, {})
            unknown.pop(record.key, None)
            if not unknown:
                self._pods_of_unknown_nodes.pop(record.node, None)
            return
        row = record.row
        self._take(record)
        self._touch(row)

    def reshape(self, record: PodRecord, shape: Shape, *, leaving: bool) -> None:
        """The pod's labels have changed, or it is about to leave; what it takes of its node is what it was.

        New labels touch the row only if anybody counts pods by such labels.
        """
        before, row, was_leaving = record.shape, record.row, record.leaving
        record.shape, record.leaving = shape, leaving
        if row < 0:
            return
        self._count(before, row, -1, leaving=was_leaving)
        self._count(shape, row, +1, leaving=leaving)
        if (
            self.shows_pods
            or leaving is not was_leaving
            or self.relations.counts(before)
            or self.relations.counts(shape)
        ):
            self._touch(row)

    def try_add(self, record: PodRecord, row: int) -> None:
        """Add for the length of a trial: nothing is logged, so it must be undone with `try_remove`."""
        self.trials.note(row)
        self._put(record, row)

    def try_remove(self, record: PodRecord) -> None:
        """Remove for the length of a trial: undo with `try_add`."""
        self.trials.note(record.row)
        self._take(record)

    def records_on(self, row: int) -> Iterable[PodRecord]:
        return self.pods[row].values()

    def touched_since(self, position: int) -> Mapping[int, bool]:
        """Rows, and whether the node itself changed; `position` must not be before `log_start`."""
        rows: dict[int, bool] = {}
        for entry in self.log[position - self.log_start :]:
            rows[entry >> 1] = bool(entry & 1) or rows.get(entry >> 1, False)
        return rows

    def _put(self, record: PodRecord, row: int) -> None:
        shape = record.shape
        demand = shape.demand
        requested = self.requested
        for index, amount in demand.amounts:
            requested[index][row] += amount
        self.scoring_cpu[row] += demand.scoring_cpu
        self.scoring_memory[row] += demand.scoring_memory
        self.pod_count[row] += 1
        if demand.ports:
            self.ports.add(row, demand.ports)
        self.lowest_priority[row] = min(self.lowest_priority[row], record.priority)
        self._count(shape, row, +1, leaving=record.leaving)
        self.pods[row][record.key] = record
        record.row = row

    def _take(self, record: PodRecord) -> None:
        row, shape = record.row, record.shape
        demand = shape.demand
        for index, amount in demand.amounts:
            self.requested[index][row] -= amount
        self.scoring_cpu[row] -= demand.scoring_cpu
        self.scoring_memory[row] -= demand.scoring_memory
        self.pod_count[row] -= 1
        if demand.ports:
            self.ports.remove(row, demand.ports)
        self._count(shape, row, -1, leaving=record.leaving)
        del self.pods[row][record.key]
        record.row = -1
        if record.priority == self.lowest_priority[row]:
            left = (other.priority for other in self.pods[row].values())
            self.lowest_priority[row] = min(left, default=NO_PODS_PRIORITY)

    def _count(self, shape: Shape, row: int, delta: int, *, leaving: bool) -> None:
        rows = shape.leaving_rows if leaving else shape.rows
        count = rows.get(row, 0) + delta
        if count:
            rows[row] = count
        else:
            del rows[row]
        self.relations.moved(shape, row, delta, leaving=leaving)

    def _fill(self, row: int, old: Node | None, node: Node) -> None:
        self.nodes[row] = node
        self.unschedulable[row] = node.spec.unschedulable
        taints = tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in node.spec.taints)
        self.taints.set(row, taints)
        if old is None or old.metadata.labels != node.metadata.labels:
            for key, column in self._labels.items():
                column.set(row, node.metadata.labels.get(key))
        if old is None or old.status.allocatable != node.status.allocatable:
            amounts = {self.resources.index(n): a for n, a in counted_quantities(node.status.allocatable).items()}
            self.pods_max[row] = amounts.pop(self.resources.index(PODS), 0)
            self.ensure_resources()
            for index, column_of_amounts in enumerate(self.allocatable):
                column_of_amounts[row] = amounts.get(index, 0)
        if old is None or old.status.images != node.status.images:
            self.images.set_node(row, node)

    def _new_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
        else:
            row = self.size
            self.size += 1
            self.layout_version += 1
            self.nodes.append(None)
            self.pods.append({})
            if self.size > self._capacity:
                self._grow(2 * self._capacity)
        self._rows[name] = row
        self.present[row] = True
        self.node_count += 1
        return row

    def _grow(self, capacity: int) -> None:
        more = capacity - self._capacity

        def longer(column: Column, fill: int = 0) -> Column:
            return np.concatenate([column, np.full(more, fill, dtype=np.int64)])

        self.present = np.concatenate([self.present, np.zeros(more, dtype=np.bool_)])
        self.unschedulable = longer(self.unschedulable)
        self.pod_count = longer(self.pod_count)
        self.pods_max = longer(self.pods_max)
        self.scoring_cpu = longer(self.scoring_cpu)
        self.scoring_memory = longer(self.scoring_memory)
        self.lowest_priority = longer(self.lowest_priority, NO_PODS_PRIORITY)
        self.allocatable = [longer(column) for column in self.allocatable]
        self.requested = [longer(column) for column in self.requested]
        self._rank = longer(self._rank)
        self.taints.grow(capacity)
        self.relations.grow(capacity)
        for labels in self._labels.values():
            labels.grow(capacity)
        self._capacity = capacity

    def _shape_added(self, shape: Shape) -> None:
        self.ensure_resources()
        self.relations.add_shape(shape)

    def _shape_gone(self, shape: Shape) -> None:
        self.relations.remove_shape(shape)

    def ensure_resources(self) -> None:
        """Make columns for resources that only pods, or only scores, have mentioned so far."""
        while len(self.allocatable) < len(self.resources):
            self.allocatable.append(np.zeros(self._capacity, dtype=np.int64))
            self.requested.append(np.zeros(self._capacity, dtype=np.int64))

    def set_delegated(self, names: Iterable[str]) -> None:
        self.delegated = frozenset(map(self.resources.index, names))
        self.ensure_resources()
        self.layout_version += 1

    def _touch(self, row: int, *, node: bool = False) -> None:
        self.log.append(2 * row + node)
        if len(self.log) > LOG_ENTRIES_MAX:
            dropped = LOG_ENTRIES_MAX // 2
            del self.log[:dropped]
            self.log_start += dropped

    def _refresh_rank(self) -> None:
        if self._rank_is_stale:
            self._rank_is_stale = False
            self._rank_version += 1
            rows = [self._rows[name] for name in self.order.names()]
            self._ordered = np.array(rows, dtype=np.intp)
            self._rank[rows] = np.arange(len(rows))
