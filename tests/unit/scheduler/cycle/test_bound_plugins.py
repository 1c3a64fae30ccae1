"""Filters and scorers bound to a demand: whose verdict it is, and which rows are left."""

from typing import Any

import numpy as np
import pytest

from doorman.scheduler.cycle.bound_plugins import CODE_MASK, BoundFilter, BoundPlugins, BoundScorer, feasible_rows
from doorman.scheduler.framework import CODE_BITS, PASS, Scope
from doorman.scheduler.out_of_tree_plugins import PluginError

ROWS = slice(0, 3)


class Codes:
    def __init__(self, *codes: int, failures: dict[int, str] | None = None) -> None:
        self._codes = np.array(codes, dtype=np.int64)
        self.failures = failures or {}

    def codes(self, rows: Any) -> Any:
        return self._codes[rows]

    def reasons(self, code: int) -> list[str]:
        return [f"reason {code}"]

    def details(self, row: int) -> list[Any]:
        return []


class Raw:
    version = 7

    def __init__(self, *scores: int) -> None:
        self._scores = np.array(scores, dtype=np.int64)

    def raw(self, rows: Any) -> Any:
        return self._scores[rows]


class Normalised(Raw):
    def summary(self, raw: Any) -> int:
        return int(raw.max())

    def normalised(self, raw: Any, summary: int) -> Any:
        return raw * 100 // summary


def test_verdict_says_which_plugin_and_what() -> None:
    verdicts = BoundFilter(2, Scope.NODE, Codes(0, 5, 0)).verdicts(ROWS)
    assert verdicts.tolist() == [PASS, 5 | (2 << CODE_BITS), PASS]
    assert int(verdicts[1]) & CODE_MASK == 5


def test_first_plugin_that_objects_is_told() -> None:
    plugins = BoundPlugins([BoundFilter(0, Scope.NODE, Codes(0, 0, 4)), BoundFilter(1, Scope.ROW, Codes(0, 6, 6))], [])
    assert [plugins.verdict(row) for row in range(3)] == [PASS, 6 | (1 << CODE_BITS), 4]


def test_plugins_by_what_they_depend_on() -> None:
    node, row = BoundFilter(0, Scope.NODE, Codes(0)), BoundFilter(1, Scope.ROW, Codes(0))
    plain, in_view_of_all = BoundScorer(0, Scope.ROW, 1, Raw(1)), BoundScorer(1, Scope.ROW, 1, Normalised(1))
    plugins = BoundPlugins([node, row], [plain, in_view_of_all, BoundScorer(2, Scope.NODE, 1, Raw(1))])
    assert (plugins.node_filters, plugins.row_filters, plugins.row_scorers) == ((node,), (row,), (plain,))


def test_scores_are_normalised_in_view_of_all() -> None:
    raw = np.array([1, 2, 4], dtype=np.int64)
    assert BoundScorer(0, Scope.ROW, 1, Raw()).scores(raw).tolist() == [1, 2, 4]
    assert BoundScorer(0, Scope.ROW, 1, Normalised()).scores(raw).tolist() == [25, 50, 100]
    assert BoundScorer(0, Scope.ROW, 1, Raw()).version == 7


def test_feasible_rows_are_those_that_pass() -> None:
    bound = BoundFilter(0, Scope.NODE, Codes(0, 3, 0))
    assert feasible_rows(bound.verdicts(ROWS), [bound]).tolist() == [0, 2]


def test_plugin_that_failed_gives_the_pod_up_unless_another_had_rejected_the_row() -> None:
    failing = BoundFilter(1, Scope.CLUSTER, Codes(0, 3, 0, failures={3: "boom"}))
    with pytest.raises(PluginError, match="boom"):
        feasible_rows(failing.verdicts(ROWS), [failing])
    earlier = BoundFilter(0, Scope.NODE, Codes(0, 1, 0))
    verdicts = np.minimum(earlier.verdicts(ROWS), failing.verdicts(ROWS))
    assert feasible_rows(verdicts, [earlier, failing]).tolist() == [0, 2]
