"""What filters and scorers that look at a row say of every node, kept up to date row by row.

They see what a node has left, so they say the same for all pods that ask for the same amounts, whatever these tolerate
or select. Such demands share one of these: a row that was touched is evaluated once for all of them.
"""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, RowArray, Rows
from doorman.scheduler.cycle.bound_plugins import BoundFilter, BoundScorer
from doorman.scheduler.framework import PASS

ROWS_AT_ONCE_MAX: Final = 4
"""So many touched rows are evaluated one by one; more of them as an array."""


def shared_key(filters: Sequence[BoundFilter], scorers: Sequence[BoundScorer]) -> Hashable | None:
    """The same for bound plugins that say the same of every row; None when one of them does not say."""
    parts = [
        *((bound_plugin.tag, getattr(bound_plugin.filter, "alike", None)) for bound_plugin in filters),
        *((bound_plugin.weight, getattr(bound_plugin.scorer, "alike", None)) for bound_plugin in scorers),
    ]
    return None if any(alike is None for _, alike in parts) else (len(filters), *parts)


class RowScores:
    """`refresh` before reading anything."""

    def __init__(self, cluster: ClusterState, filters: Sequence[BoundFilter], scorers: Sequence[BoundScorer]) -> None:
        self._cluster = cluster
        self._filters = tuple(filters)
        self._scorers = tuple(scorers)
        self.verdicts: Column = np.zeros(0, dtype=np.int64)
        """The first objection to each row, or PASS."""
        self.scores: Column = np.zeros(0, dtype=np.int64)
        """Weighted."""
        self._position = -1
        self._layout_version = -1

    def refresh(self) -> None:
        """Take in what happened to the cluster since the last time."""
        cluster = self._cluster
        behind = cluster.log_end - self._position
        if (
            self._layout_version != cluster.layout_version
            or self._position < cluster.log_start
            or behind > cluster.size
        ):
            self._layout_version = cluster.layout_version
            self.verdicts = self._verdicts_of(cluster.all_rows)
            self.scores = self._scores_of(cluster.all_rows)
        elif behind:
            touched = cluster.touched_since(self._position)
            if len(touched) > ROWS_AT_ONCE_MAX:
                rows: RowArray = np.fromiter(touched, dtype=np.intp, count=len(touched))
                self.verdicts[rows] = self._verdicts_of(rows)
                self.scores[rows] = self._scores_of(rows)
            else:
                for row in touched:
                    self._bound(row)
        self._position = cluster.log_end

    def _bound(self, row: int) -> None:
        verdict = PASS
        for bound_plugin in self._filters:
            code = int(bound_plugin.filter.codes(row))
            if code:
                verdict = bound_plugin.tag | code
                break
        self.verdicts[row] = verdict
        score = 0
        for scorer in self._scorers:
            score += scorer.weight * int(scorer.scorer.raw(row))
        self.scores[row] = score

    def _verdicts_of(self, rows: Rows) -> Column:
        verdicts: Column = np.full(len(self._cluster.pod_count[rows]), PASS, dtype=np.int64)
        for bound_plugin in self._filters:
            verdicts = np.minimum(verdicts, bound_plugin.verdicts(rows))
        return verdicts

    def _scores_of(self, rows: Rows) -> Column:
        scores: Column = self._cluster.pod_count[rows] * 0
        for scorer in self._scorers:
            scores = scores + scorer.weight * scorer.scorer.raw(rows)
        return scores
