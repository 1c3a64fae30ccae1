"""A demand evaluated on every node, kept between pods and brought up to date row by row.

This is why the next identical pod is cheap: after a placement one row is evaluated again, and the choice is one argmax.

For each row there is a verdict (`PASS`, `ABSENT`, or a plugin's index and code in one number, smaller for plugins
that come earlier, so the first objection is the minimum) and a key: the weighted score in the upper bits and the
place in the order of nodes, reversed, in the lower ones. The greatest key is the best node, the first of equals; -1 is
a node that does not fit.

Normalised scores depend on all feasible nodes. They are worked out again only when what they depend on (a maximum,
usually) has changed.
"""

from collections.abc import Hashable, Mapping
from typing import Final

import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Mask, RowArray, Rows
from doorman.scheduler.cycle.bound_plugins import BoundPlugins, BoundScorer
from doorman.scheduler.cycle.row_scores import ROWS_AT_ONCE_MAX, RowScores
from doorman.scheduler.framework import ABSENT, PASS, Scope

RANK_BITS: Final = 32
RANK_MAX: Final = 2**RANK_BITS - 1


def counted(verdicts: Column) -> dict[int, int]:
    """How many rows have which verdict."""
    values, counts = np.unique(verdicts, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def recount(counts: dict[int, int], before: Column, after: Column) -> None:
    """Bring counts up to date with rows whose verdicts were replaced."""
    for old, new in zip(before.tolist(), after.tolist(), strict=True):
        if old != new:
            counts[old] -= 1
            counts[new] = counts.get(new, 0) + 1


class _Curve:
    """A normalised score: raw values, what normalising depended on, and the result."""

    __slots__ = ("bound_plugin", "raw", "scores", "summary")

    def __init__(self, bound_plugin: BoundScorer) -> None:
        self.bound_plugin = bound_plugin
        self.raw: Column = np.zeros(0, dtype=np.int64)
        self.scores: Column = np.zeros(0, dtype=np.int64)
        self.summary: Hashable = None


class Evaluation:
    """See the module's docstring. `refresh` before reading anything."""

    def __init__(self, cluster: ClusterState, bound_plugins: BoundPlugins, rows: RowScores | None = None) -> None:
        """`rows`: what the plugins that look at rows say, when others have asked them before."""
        self._cluster = cluster
        self.bound_plugins = bound_plugins
        self._rows = (
            rows if rows is not None else RowScores(cluster, bound_plugins.row_filters, bound_plugins.row_scorers)
        )
        self.verdicts: Column = np.zeros(0, dtype=np.int64)
        self.keys: Column = np.zeros(0, dtype=np.int64)
        self.feasible_count = 0
        self.choices = 0
        """Pods for which a node was chosen by it."""
        self.uses = 0
        """Other pods that were evaluated by it: they fitted nowhere, or there was no choice."""
        self._counts: dict[int, int] | None = None
        """Rows by verdict; worked out when asked for and then kept up to date."""
        plain = [bound_plugin for bound_plugin in bound_plugins.scorers if bound_plugin.normaliser is None]
        self._fixed_scorers = [bound_plugin for bound_plugin in plain if bound_plugin.scope is Scope.NODE]
        self._curves = [
            _Curve(bound_plugin) for bound_plugin in bound_plugins.scorers if bound_plugin.normaliser is not None
        ]
        self._row_curves = [curve for curve in self._curves if curve.bound_plugin.scope is Scope.ROW]
        self._position = -1
        self._layout_version = -1
        self._rank_version = -1
        self._versions: list[object] = []
        empty: Column = np.zeros(0, dtype=np.int64)
        self._static = self._fixed = self._curved = self._reversed_rank = empty

    def refresh(self) -> None:
        """Take in what happened to the cluster since the last time."""
        cluster = self._cluster
        self._rows.refresh()
        behind = cluster.log_end - self._position
        if self._layout_version != cluster.layout_version or self._position < cluster.log_start:
            self._rebuild()
        elif behind:
            if behind > cluster.size:
                self._rebuild()
            else:
                touched = cluster.touched_since(self._position)
                if len(touched) > ROWS_AT_ONCE_MAX:
                    self._update_many(touched)
                else:
                    for row, node_changed in touched.items():
                        self._update_row(row, node_changed=node_changed)
            self._position = cluster.log_end
        if self._rank_version != cluster.rank_version:
            self._rank()
            self._make_keys()
        if self._fixed_scorers and self._versions != [bound_plugin.version for bound_plugin in self._fixed_scorers]:
            self._fix()
            self._make_keys()

    def counts(self) -> dict[int, int]:
        """How many rows have which verdict."""
        if self._counts is None:
            self._counts = counted(self.verdicts)
        return self._counts

    def totals(self, rows: RowArray) -> Column:
        """Weighted scores when exactly these rows are feasible."""
        total = self._fixed[rows] + self._rows.scores[rows]
        for curve in self._curves:
            total = total + curve.bound_plugin.weight * curve.bound_plugin.scores(curve.raw[rows])
        return total

    def keys_of(self, rows: RowArray, totals: Column) -> Column:
        return (totals << RANK_BITS) + self._reversed_rank[rows]

    def static_verdicts(self, rows: RowArray) -> Column:
        """What the node filters alone say."""
        return self._static[rows]

    @staticmethod
    def score_of(key: int) -> int:
        return key >> RANK_BITS

    def _rebuild(self) -> None:
        cluster = self._cluster
        rows = cluster.all_rows
        self._counts = None
        self._layout_version = cluster.layout_version
        self._position = cluster.log_end
        self._rank()
        self._static = self._static_of(rows)
        self.verdicts = np.minimum(self._static, self._rows.verdicts)
        for curve in self._curves:
            curve.raw = curve.bound_plugin.scorer.raw(rows).copy()
            curve.summary = None
        self._fix()
        self._normalise()
        self._make_keys()

    def _update_many(self, touched: Mapping[int, bool]) -> None:
        """Evaluate the touched rows again, all at once."""
        rows: RowArray = np.fromiter(touched, dtype=np.intp, count=len(touched))
        changed_nodes: RowArray = np.array(
            [row for row, node_changed in touched.items() if node_changed], dtype=np.intp
        )
        if len(changed_nodes):
            self._static[changed_nodes] = self._static_of(changed_nodes)
            for bound_curve in self._curves:
                bound_curve.raw[changed_nodes] = bound_curve.bound_plugin.scorer.raw(changed_nodes)
            self._fix_rows(changed_nodes)
        for bound_curve in self._row_curves:
            bound_curve.raw[rows] = bound_curve.bound_plugin.scorer.raw(rows)
        replaced = self.verdicts[rows]
        verdicts = np.minimum(self._static[rows], self._rows.verdicts[rows])
        if self._counts is not None:
            recount(self._counts, replaced, verdicts)
        self.verdicts[rows] = verdicts
        before: Mask = replaced == PASS
        now: Mask = verdicts == PASS
        self.feasible_count += int(now.sum()) - int(before.sum())
        if (
            self._curves
            and (len(changed_nodes) or self._row_curves or not np.array_equal(now, before))
            and self._normalise()
        ):
            self._make_keys()
        else:
            totals = self._fixed[rows] + self._curved[rows] + self._rows.scores[rows]
            self.keys[rows] = np.where(now, (totals << RANK_BITS) + self._reversed_rank[rows], np.int64(-1))

    def _update_row(self, row: int, *, node_changed: bool) -> None:
        if node_changed:
            static = self.static_verdict(row)
            self._static[row] = static
            for curve in self._curves:
                curve.raw[row] = curve.bound_plugin.scorer.raw(row)
            self._fix_rows(row)
        else:
            static = self._static.item(row)
        verdict = min(static, self._rows.verdicts.item(row))
        before = self.verdicts.item(row)
        was_feasible = before == PASS
        feasible = verdict == PASS
        if self._counts is not None and before != verdict:
            self._counts[before] -= 1
            self._counts[verdict] = self._counts.get(verdict, 0) + 1
        self.verdicts[row] = verdict
        self.feasible_count += feasible - was_feasible
        for curve in self._row_curves:
            curve.raw[row] = curve.bound_plugin.scorer.raw(row)
        if self._curves and (node_changed or feasible != was_feasible or self._row_curves) and self._normalise():
            self._make_keys()
        elif feasible:
            total = self._fixed.item(row) + self._curved.item(row) + self._rows.scores.item(row)
            self.keys[row] = (total << RANK_BITS) + self._reversed_rank.item(row)
        else:
            self.keys[row] = -1
        assert self._cluster.size == len(self.keys), "an evaluation has the cluster's rows"

    def static_verdict(self, row: int) -> int:
        if not self._cluster.present[row]:
            return ABSENT
        for bound_plugin in self.bound_plugins.node_filters:
            code = int(bound_plugin.filter.codes(row))
            if code:
                return bound_plugin.tag | code
        return PASS

    def _static_of(self, rows: Rows) -> Column:
        present = self._cluster.present[rows]
        verdicts: Column = np.where(present, np.int64(PASS), np.int64(ABSENT))
        for bound_plugin in self.bound_plugins.node_filters:
            verdicts = np.minimum(verdicts, bound_plugin.verdicts(rows))
        return verdicts

    def _fix(self) -> None:
        """Scores by node that are not normalised."""
        self._versions = [bound_plugin.version for bound_plugin in self._fixed_scorers]
        self._fixed = np.zeros(self._cluster.size, dtype=np.int64)
        self._fix_rows(self._cluster.all_rows)

    def _fix_rows(self, rows: Rows) -> None:
        if self._fixed_scorers:
            self._fixed[rows] = sum(
                bound_plugin.weight * bound_plugin.scorer.raw(rows) for bound_plugin in self._fixed_scorers
            )

    def _normalise(self) -> bool:
        """Bring normalised scores up to date; whether any of them changed."""
        if len(self._curved) != self._cluster.size:
            self._curved = np.zeros(self._cluster.size, dtype=np.int64)
        feasible: Mask = self.verdicts == PASS
        changed = False
        if not feasible.any():
            return False
        for curve in self._curves:
            normaliser = curve.bound_plugin.normaliser
            assert normaliser is not None, "a curve is normalised"
            summary = normaliser.summary(curve.raw[feasible])
            scores = normaliser.normalised(curve.raw, summary)
            if summary != curve.summary or not np.array_equal(scores, curve.scores):
                curve.summary = summary
                curve.scores = scores
                changed = True
        if changed:
            self._curved = np.zeros(self._cluster.size, dtype=np.int64)
            for curve in self._curves:
                self._curved += curve.bound_plugin.weight * curve.scores
        return changed

    def _rank(self) -> None:
        self._rank_version = self._cluster.rank_version
        self._reversed_rank = RANK_MAX - self._cluster.rank()[: self._cluster.size]

    def _make_keys(self) -> None:
        feasible = self.verdicts == PASS
        self.feasible_count = int(feasible.sum())
        totals = self._fixed + self._curved + self._rows.scores
        self.keys = np.where(feasible, (totals << RANK_BITS) + self._reversed_rank, np.int64(-1))
