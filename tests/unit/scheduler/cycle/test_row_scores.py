"""Verdicts and scores of rows: the same whether all rows are evaluated or only those that were touched."""

from typing import Any

import numpy as np
import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cycle.bound_plugins import BoundFilter, BoundScorer
from doorman.scheduler.cycle.row_scores import ROWS_AT_ONCE_MAX, RowScores, shared_key
from doorman.scheduler.framework import PASS, Scope
from support.scheduling import make_node, make_pod

NODES = 3 * ROWS_AT_ONCE_MAX


class AtMost:
    """A row takes so many pods; the fuller the better."""

    def __init__(self, cluster: ClusterState, most: int) -> None:
        self._cluster = cluster
        self._most = most
        self.alike = ("at-most", most)

    def codes(self, rows: Rows) -> Column:
        found: Column = (self._cluster.pod_count[rows] >= self._most) * np.int64(1)
        return found

    def reasons(self, code: int) -> list[str]:
        return []

    def details(self, row: int) -> list[Any]:
        return []

    def raw(self, rows: Rows) -> Column:
        return self._cluster.pod_count[rows]


class Bench:
    def __init__(self) -> None:
        resources = ResourceIds()
        self.cluster = ClusterState(resources)
        self.shapes = self.cluster.shapes
        for at in range(NODES):
            self.cluster.set_node(make_node(f"n{at}"))
        self.count = 0

    def place(self, *nodes: int) -> None:
        for node in nodes:
            self.count += 1
            pod = make_pod(f"p{self.count}")
            record = PodRecord(pod.metadata.key, pod, self.shapes.take(pod), f"n{node}", assumed=False)
            self.cluster.add_pod(record)

    def scores(self) -> RowScores:
        rule = AtMost(self.cluster, 2)
        return RowScores(self.cluster, [BoundFilter(3, Scope.ROW, rule)], [BoundScorer(0, Scope.ROW, 5, rule)])


@pytest.mark.parametrize("touched", [1, ROWS_AT_ONCE_MAX, ROWS_AT_ONCE_MAX + 2])
def test_touched_rows_are_evaluated_again(touched: int) -> None:
    bench = Bench()
    kept = bench.scores()
    kept.refresh()
    bench.place(*range(touched))
    bench.place(*range(touched))
    kept.refresh()
    tag = BoundFilter(3, Scope.ROW, AtMost(bench.cluster, 2)).tag
    assert kept.verdicts[:NODES].tolist() == [tag | 1] * touched + [PASS] * (NODES - touched)
    assert kept.scores[:NODES].tolist() == [10] * touched + [0] * (NODES - touched)


def test_nodes_that_come_are_taken_in() -> None:
    bench = Bench()
    kept = bench.scores()
    kept.refresh()
    bench.cluster.set_node(make_node("new"))
    bench.place(1)
    kept.refresh()
    fresh = bench.scores()
    fresh.refresh()
    np.testing.assert_array_equal(kept.verdicts, fresh.verdicts)
    np.testing.assert_array_equal(kept.scores, fresh.scores)


def test_key_is_shared_by_those_that_say_the_same() -> None:
    bench = Bench()

    def key(most: int, weight: int = 1) -> Any:
        rule = AtMost(bench.cluster, most)
        return shared_key([BoundFilter(0, Scope.ROW, rule)], [BoundScorer(0, Scope.ROW, weight, rule)])

    assert key(2) == key(2)
    assert key(2) != key(3)
    assert key(2) != key(2, weight=2)


def test_one_that_does_not_say_is_shared_with_nobody() -> None:
    rule = AtMost(Bench().cluster, 2)
    del rule.alike
    assert shared_key([BoundFilter(0, Scope.ROW, rule)], []) is None
