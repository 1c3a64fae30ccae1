"""A demand judged on every node, kept between pods and brought up to date row by row.

This is why the next identical pod is cheap: after a placement one row is judged again, and the choice is one argmax.

For each row there is a verdict (`PASS`, `ABSENT`, or a plugin's index and code in one number, smaller for plugins
that come earlier, so the first objection is the minimum) and a key: the weighted score in the upper bits and the
place in the order of nodes, reversed, in the lower ones. The greatest key is the best node, the first of equals; -1 is
a node that does not fit.

Normalised scores depend on all feasible nodes. They are worked out again only when what they depend on (a maximum,
usually) has changed.
"""

from collections.abc import Hashable, Sequence
from typing import Final, cast

import numpy as np

from doorman.scheduler.cluster import Cluster
from doorman.scheduler.columns import Column, Mask, RowArray, Rows
from doorman.scheduler.framework import ABSENT, CODE_BITS, PASS, NodeFilter, NodeScorer, Normaliser, Scope

RANK_BITS: Final = 32
RANK_MAX: Final = 2**RANK_BITS - 1
CODE_MASK: Final = 2**CODE_BITS - 1

ROWS_AT_ONCE_MAX: Final = 4
"""So many touched rows are judged one by one; more of them as an array."""


def counted(verdicts: Column) -> dict[int, int]:
    """How many rows have which verdict."""
    values, counts = np.unique(verdicts, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


class FilterJudge:
    """A filter bound to a demand or shape, with its plugin's place in the order."""

    __slots__ = ("filter", "index", "scope", "tag")

    def __init__(self, index: int, scope: Scope, judge: NodeFilter) -> None:
        self.index = index
        self.scope = scope
        self.filter = judge
        self.tag = index << CODE_BITS

    def verdicts(self, rows: Rows) -> Column:
        codes = self.filter.codes(rows)
        return np.where(codes == 0, np.int64(PASS), codes | self.tag)


class ScoreJudge:
    """A scorer bound to a demand or shape, with its weight."""

    __slots__ = ("index", "normaliser", "scope", "scorer", "weight")

    def __init__(self, index: int, scope: Scope, weight: int, scorer: NodeScorer) -> None:
        self.index = index
        self.scope = scope
        self.weight = weight
        self.scorer = scorer
        # Asking a protocol costs as much as scoring, so only one of its names is looked for.
        self.normaliser = cast(Normaliser, scorer) if hasattr(scorer, "normalised") else None

    def scores(self, raw: Column) -> Column:
        """From raw scores of all feasible rows to scores from 0 to 100."""
        if self.normaliser is None:
            return raw
        return self.normaliser.normalised(raw, self.normaliser.summary(raw))

    @property
    def version(self) -> object:
        """Changes when all raw scores may have, whatever rows were touched."""
        return getattr(self.scorer, "version", None)


class Judges:
    """Everything that judges one demand by node and by row."""

    def __init__(self, filters: Sequence[FilterJudge], scorers: Sequence[ScoreJudge]) -> None:
        self.filters = tuple(filters)
        self.scorers = tuple(scorers)
        self.node_filters = tuple(judge for judge in filters if judge.scope is Scope.NODE)
        self.row_filters = tuple(judge for judge in filters if judge.scope is Scope.ROW)

    def verdict(self, row: int) -> int:
        """The first objection to one row, asked afresh."""
        for judge in self.filters:
            code = int(judge.filter.codes(row))
            if code:
                return judge.tag | code
        return PASS


class _Curve:
    """A normalised score: raw values, what normalising depended on, and the result."""

    __slots__ = ("judge", "raw", "scores", "summary")

    def __init__(self, judge: ScoreJudge) -> None:
        self.judge = judge
        self.raw: Column = np.zeros(0, dtype=np.int64)
        self.scores: Column = np.zeros(0, dtype=np.int64)
        self.summary: Hashable = None


class Evaluation:
    """See the module's docstring. `refresh` before reading anything."""

    def __init__(self, cluster: Cluster, judges: Judges) -> None:
        self._cluster = cluster
        self.judges = judges
        self.verdicts: Column = np.zeros(0, dtype=np.int64)
        self.keys: Column = np.zeros(0, dtype=np.int64)
        self.feasible_count = 0
        self.choices = 0
        """Pods for which a node was chosen by it."""
        self.uses = 0
        """Other pods that were judged by it: they fitted nowhere, or there was no choice."""
        self._counts: dict[int, int] | None = None
        """Rows by verdict; worked out when asked for and then kept up to date."""
        plain = [judge for judge in judges.scorers if judge.normaliser is None]
        self._fixed_scorers = [judge for judge in plain if judge.scope is Scope.NODE]
        self._row_scorers = [judge for judge in plain if judge.scope is Scope.ROW]
        self._curves = [_Curve(judge) for judge in judges.scorers if judge.normaliser is not None]
        self._row_curves = [curve for curve in self._curves if curve.judge.scope is Scope.ROW]
        self._position = -1
        self._layout_version = -1
        self._rank_version = -1
        self._versions: list[object] = []
        empty: Column = np.zeros(0, dtype=np.int64)
        self._static = self._fixed = self._curved = self._own = self._reversed_rank = empty

    def refresh(self) -> None:
        """Take in what happened to the cluster since the last time."""
        cluster = self._cluster
        behind = cluster.log_end - self._position
        if self._layout_version != cluster.layout_version or self._position < cluster.log_start:
            self._rebuild()
        elif behind:
            if behind <= ROWS_AT_ONCE_MAX:
                for row, node_changed in cluster.touched_since(self._position):
                    self._update_row(row, node_changed=node_changed)
            elif behind > cluster.size:
                self._rebuild()
            else:
                self._update_many()
            self._position = cluster.log_end
        if self._rank_version != cluster.rank_version:
            self._rank()
            self._make_keys()
        if self._fixed_scorers and self._versions != [judge.version for judge in self._fixed_scorers]:
            self._fix()
            self._make_keys()

    def counts(self) -> dict[int, int]:
        """How many rows have which verdict."""
        if self._counts is None:
            self._counts = counted(self.verdicts)
        return self._counts

    def totals(self, rows: RowArray) -> Column:
        """Weighted scores when exactly these rows are feasible."""
        total = self._fixed[rows] + self._own[rows]
        for curve in self._curves:
            total = total + curve.judge.weight * curve.judge.scores(curve.raw[rows])
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
        self.verdicts = self._verdicts_of(rows, self._static)
        self._own = self._own_of(rows)
        for curve in self._curves:
            curve.raw = curve.judge.scorer.raw(rows).copy()
            curve.summary = None
        self._fix()
        self._normalise()
        self._make_keys()

    def _update_many(self) -> None:
        """Judge the touched rows again, all at once."""
        cluster = self._cluster
        self._counts = None
        entries = np.array(cluster.log[self._position - cluster.log_start :], dtype=np.intp)
        rows: RowArray = np.unique(entries >> 1)
        changed_nodes: RowArray = np.unique(entries[(entries & 1) == 1] >> 1)
        if len(changed_nodes):
            self._static[changed_nodes] = self._static_of(changed_nodes)
            for judge_curve in self._curves:
                judge_curve.raw[changed_nodes] = judge_curve.judge.scorer.raw(changed_nodes)
            self._fix_rows(changed_nodes)
        for judge_curve in self._row_curves:
            judge_curve.raw[rows] = judge_curve.judge.scorer.raw(rows)
        before = self.verdicts[rows] == PASS
        self.verdicts[rows] = self._verdicts_of(rows, self._static[rows])
        self._own[rows] = self._own_of(rows)
        now: Mask = self.verdicts[rows] == PASS
        self.feasible_count += int(now.sum()) - int(before.sum())
        if self._curves and (len(changed_nodes) or self._row_curves or not np.array_equal(now, before)):
            self._normalise()
        self._make_keys()

    def _update_row(self, row: int, *, node_changed: bool) -> None:
        cluster = self._cluster
        if node_changed:
            static = self.judges_static(row)
            self._static[row] = static
            for curve in self._curves:
                curve.raw[row] = curve.judge.scorer.raw(row)
            self._fix_rows(row)
        else:
            static = self._static.item(row)
        verdict = static
        if static != ABSENT:
            for judge in self.judges.row_filters:
                code = int(judge.filter.codes(row))
                if code:
                    verdict = min(verdict, judge.tag | code)
                    break
        before = self.verdicts.item(row)
        was_feasible = before == PASS
        feasible = verdict == PASS
        if self._counts is not None and before != verdict:
            self._counts[before] -= 1
            self._counts[verdict] = self._counts.get(verdict, 0) + 1
        self.verdicts[row] = verdict
        self.feasible_count += feasible - was_feasible
        own = 0
        for scorer in self._row_scorers:
            own += scorer.weight * int(scorer.scorer.raw(row))
        self._own[row] = own
        for curve in self._row_curves:
            curve.raw[row] = curve.judge.scorer.raw(row)
        if self._curves and (node_changed or feasible != was_feasible or self._row_curves) and self._normalise():
            self._make_keys()
        elif feasible:
            total = self._fixed.item(row) + self._curved.item(row) + own
            self.keys[row] = (total << RANK_BITS) + self._reversed_rank.item(row)
        else:
            self.keys[row] = -1
        assert cluster.size == len(self.keys), "an evaluation has the cluster's rows"

    def judges_static(self, row: int) -> int:
        if not self._cluster.present[row]:
            return ABSENT
        for judge in self.judges.node_filters:
            code = int(judge.filter.codes(row))
            if code:
                return judge.tag | code
        return PASS

    def _static_of(self, rows: Rows) -> Column:
        present = self._cluster.present[rows]
        verdicts: Column = np.where(present, np.int64(PASS), np.int64(ABSENT))
        for judge in self.judges.node_filters:
            verdicts = np.minimum(verdicts, judge.verdicts(rows))
        return verdicts

    def _verdicts_of(self, rows: Rows, static: Column) -> Column:
        verdicts = static
        for judge in self.judges.row_filters:
            verdicts = np.minimum(verdicts, judge.verdicts(rows))
        return verdicts.copy() if verdicts is static else verdicts

    def _own_of(self, rows: Rows) -> Column:
        own: Column = self._cluster.pod_count[rows] * 0
        for judge in self._row_scorers:
            own = own + judge.weight * judge.scorer.raw(rows)
        return own

    def _fix(self) -> None:
        """Scores by node that are not normalised."""
        self._versions = [judge.version for judge in self._fixed_scorers]
        self._fixed = np.zeros(self._cluster.size, dtype=np.int64)
        self._fix_rows(self._cluster.all_rows)

    def _fix_rows(self, rows: Rows) -> None:
        if self._fixed_scorers:
            self._fixed[rows] = sum(judge.weight * judge.scorer.raw(rows) for judge in self._fixed_scorers)

    def _normalise(self) -> bool:
        """Bring normalised scores up to date; whether any of them changed."""
        if len(self._curved) != self._cluster.size:
            self._curved = np.zeros(self._cluster.size, dtype=np.int64)
        feasible: Mask = self.verdicts == PASS
        changed = False
        if not feasible.any():
            return False
        for curve in self._curves:
            normaliser = curve.judge.normaliser
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
                self._curved += curve.judge.weight * curve.scores
        return changed

    def _rank(self) -> None:
        self._rank_version = self._cluster.rank_version
        self._reversed_rank = RANK_MAX - self._cluster.rank()[: self._cluster.size]

    def _make_keys(self) -> None:
        feasible = self.verdicts == PASS
        self.feasible_count = int(feasible.sum())
        totals = self._fixed + self._curved + self._own
        self.keys = np.where(feasible, (totals << RANK_BITS) + self._reversed_rank, np.int64(-1))
