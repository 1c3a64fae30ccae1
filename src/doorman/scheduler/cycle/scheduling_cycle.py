"""One pod against the cluster: the decision of a scheduling cycle, up to but without preemption.

`SchedulingCycle.attempt` gives a `Fit` or a `FitError`. The usual case reads everything from a kept `Evaluation`; pods
that concern other pods, that find room taken by nominated pods, or that name their nodes take the general way, which
does the same with arrays made for the occasion.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Final
from weakref import WeakValueDictionary

import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, RowArray
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.cycle.attempts import Attempt, AttemptedPod, FilterResult, Fit, FitError, unavailable
from doorman.scheduler.cycle.bound_plugins import CODE_MASK, BoundFilter, BoundPlugins, feasible_rows
from doorman.scheduler.cycle.evaluation import Evaluation, counted, recount
from doorman.scheduler.cycle.profile_plugins import PluginReject, ProfilePlugins
from doorman.scheduler.cycle.row_scores import RowScores, shared_key
from doorman.scheduler.cycle.stage_timing import StageTiming
from doorman.scheduler.extenders.extender_result import EXTENDER, ExtenderResult, ExtenderResultFilter
from doorman.scheduler.framework import ABSENT, CODE_BITS, FINAL, PASS, NodeFilter, PreFilterReject, Scope
from doorman.scheduler.plugin_registry import PLUGINS
from doorman.scheduler.plugins.resources_fit import FitFilter, MoreInUse
from doorman.scheduler.queue.nominator import Nominator

EVALUATIONS_MAX: Final = 64
"""Evaluations kept for a profile; each holds a few numbers for every node."""

NO_NODES: Final = "no nodes available to schedule pods"

_OUTSIDE: Final = (1 << (CODE_BITS + 16)) | FINAL
"""The verdict on a node that no PreFilter named: it comes after all plugins and is final."""


class SchedulingCycle:
    """Decides for one profile. Keeps evaluations, least recently used going first."""

    def __init__(self, plugins: ProfilePlugins, cluster: ClusterState, nominator: Nominator) -> None:
        self._plugins = plugins
        self._cluster = cluster
        self._nominator = nominator
        self._evaluations: OrderedDict[int, Evaluation] = OrderedDict()
        self._row_scores: WeakValueDictionary[Hashable, RowScores] = WeakValueDictionary()
        """For as long as an evaluation has them."""
        self._elsewhere = 0
        """Attempts that no kept evaluation has counted."""
        self._evaluated: Counter[tuple[str, str]] = Counter()
        """By plugin and extension point; those of kept evaluations come on top."""

    def attempt(self, pod: AttemptedPod, timing: StageTiming | None = None) -> Attempt:
        """The decision for a pod. With `timing` its parts are timed."""
        cluster = self._cluster
        if not cluster.node_count:
            return FitError(message=NO_NODES, rejectors=frozenset(), verdicts=np.zeros(0, dtype=np.int64), counts={})
        try:
            names, by = self._plugins.node_names(pod.shape)
            filters = self._plugins.cluster_filters(pod, cluster, timing)
            if timing is not None:
                timing.record_stage("PreFilter")
            if names is not None:
                self._elsewhere += 1
                found = self._attempt_named(pod, sorted(names), by, filters)
            else:
                found = self._attempt_anywhere(pod, filters, timing)
            if timing is not None:
                self._note_parts(pod, found, timing)
            return found
        except PluginReject as rejected:
            return self._rejected_by(rejected)

    def filter_result(self, pod: AttemptedPod) -> FilterResult | FitError:
        """The nodes that the plugins' filters leave; a FitError if there are none."""
        cluster = self._cluster
        if not cluster.node_count:
            return self.attempt(pod)  # type: ignore[return-value]  # a FitError
        try:
            names, by = self._plugins.node_names(pod.shape)
            filters = self._plugins.cluster_filters(pod, cluster)
            if names is not None:
                bound_plugins = self._plugins.bound_plugins(pod.shape, cluster)
                filter_result = FilterResult(
                    self._named_verdicts(pod, sorted(names), by, bound_plugins), (*bound_plugins.filters, *filters), by
                )
            else:
                evaluation = self.evaluation(pod.shape)
                verdicts = evaluation.verdicts
                if len(self._nominator):
                    verdicts, _ = self._verdicts_beside_nominated(pod, evaluation, filters)
                for bound_plugin in filters:
                    verdicts = np.minimum(verdicts, bound_plugin.verdicts(cluster.all_rows))
                filter_result = FilterResult(verdicts.copy(), (*evaluation.bound_plugins.filters, *filters), ())
        except PluginReject as rejected:
            return self._rejected_by(rejected)
        return (
            filter_result
            if len(filter_result.feasible)
            else self._fit_error(filter_result.verdicts, filter_result.bound_plugins, filter_result.by)
        )

    def attempt_with(self, pod: AttemptedPod, result: ExtenderResult) -> Attempt:
        """The decision when extenders have answered about the nodes that the filters leave."""
        cluster = self._cluster
        filter_result = self.filter_result(pod)
        if isinstance(filter_result, FitError):
            return filter_result
        theirs = BoundFilter(len(self._plugins.filters), Scope.CLUSTER, ExtenderResultFilter(cluster, result))
        verdicts = np.minimum(filter_result.verdicts, theirs.verdicts(cluster.all_rows))
        feasible: RowArray = np.flatnonzero(verdicts == PASS)
        if not len(feasible):
            return self._fit_error(verdicts, (*filter_result.bound_plugins, theirs), filter_result.by)
        own = cluster.row_or_none(self._nominator.node_of(pod.key))
        if own is not None and verdicts[own] == PASS:
            return Fit(own, 0, 1)
        if len(feasible) == 1:
            return Fit(int(feasible[0]), 0, 1)
        bound_plugins = self._plugins.bound_plugins(pod.shape, cluster)
        names = [cluster.node(row).metadata.name for row in feasible.tolist()]
        extra: Column = np.array([result.scores.get(name, 0) for name in names], dtype=np.int64)
        totals = self._totals(pod, bound_plugins, feasible) + extra
        return _best(feasible, totals, (totals << 32) - cluster.rank()[feasible])

    def evaluated(self) -> Counter[tuple[str, str]]:
        """How often each plugin was asked about a pod, by extension point."""
        total = self._evaluated.copy()
        attempts = self._elsewhere
        for evaluation in self._evaluations.values():
            self._count_evaluation(evaluation, total)
            attempts += evaluation.choices + evaluation.uses
        total.update({(plugin.name, "PreFilter"): attempts for plugin in self._plugins.filters})
        return total

    def _count_evaluation(self, evaluation: Evaluation, total: Counter[tuple[str, str]]) -> None:
        for bound_plugin in evaluation.bound_plugins.filters:
            total[self._plugins.filters[bound_plugin.index].name, "Filter"] += evaluation.choices + evaluation.uses
        for scorer in evaluation.bound_plugins.scorers:
            total[self._plugins.scores[scorer.index][0].name, "Score"] += evaluation.choices

    def _note_parts(self, pod: AttemptedPod, found: Attempt, timing: StageTiming) -> None:
        fits = isinstance(found, Fit)
        timing.decided(fits=fits, chose=isinstance(found, Fit) and found.feasible_nodes > 1)
        evaluation = self._evaluations.get(pod.shape.demand.id)
        if evaluation is not None:
            row = found.row if isinstance(found, Fit) else int(self._cluster.rows_in_order()[0])
            filters = (
                (self._plugins.filters[bound_plugin.index].name, bound_plugin)
                for bound_plugin in evaluation.bound_plugins.filters
            )
            scorers = (
                (self._plugins.scores[bound_plugin.index][0].name, bound_plugin)
                for bound_plugin in evaluation.bound_plugins.scorers
            )
            # Plugins of others may count how often they are asked, or take their time.
            own_filters = [named for named in filters if named[0] in PLUGINS]
            own_scorers = [named for named in scorers if named[0] in PLUGINS and fits]
            timing.time_plugins(own_filters, own_scorers, row)

    def evaluation(self, shape: Shape) -> Evaluation:
        """The kept evaluation of a shape's demand, up to date. Raises PluginReject."""
        evaluation = self._kept(shape)
        evaluation.refresh()
        return evaluation

    def _kept(self, shape: Shape) -> Evaluation:
        """The same, as it was left: only its bound plugins are up to date."""
        number = shape.demand.id
        evaluation = self._evaluations.get(number)
        if evaluation is None:
            bound_plugins = self._plugins.bound_plugins(shape, self._cluster)
            evaluation = Evaluation(self._cluster, bound_plugins, self._rows_for(bound_plugins))
            self._evaluations[number] = evaluation
            if len(self._evaluations) > EVALUATIONS_MAX:
                dropped = self._evaluations.popitem(last=False)[1]
                self._count_evaluation(dropped, self._evaluated)
                self._elsewhere += dropped.choices + dropped.uses
        else:
            self._evaluations.move_to_end(number)
        return evaluation

    def verdict_with_nominated(self, pod: AttemptedPod, bound_plugins: BoundPlugins, row: int) -> int:
        """Whether the pod fits on one row as it now is: with nominated pods there, and without them."""
        node = self._cluster.node(row).metadata.name
        others = self._nominator.on_node(node, priority_min=pod.priority, but=pod.key)
        if others:
            guests = [PodRecord(other.key, other.pod, other.shape, node, assumed=True) for other in others]
            for guest in guests:
                self._cluster.try_add(guest, row)
            verdict = self._verdict(pod, bound_plugins, row)
            for guest in reversed(guests):
                self._cluster.try_remove(guest)
            if verdict != PASS:
                return verdict
        return self._verdict(pod, bound_plugins, row)

    @staticmethod
    def plugin_index(verdict: int) -> int:
        """Which of the profile's filters said so."""
        return verdict >> CODE_BITS

    def reasons(self, verdict: int, bound_plugins: Sequence[BoundFilter]) -> Sequence[str]:
        """A verdict in Kubernetes' words."""
        index, code = self.plugin_index(verdict), verdict & CODE_MASK
        for bound_plugin in bound_plugins:
            if bound_plugin.index == index:
                return bound_plugin.filter.reasons(code)
        raise AssertionError("every verdict comes from a bound plugin")

    def _rows_for(self, bound_plugins: BoundPlugins) -> RowScores | None:
        """What is known of rows from other demands that ask for the same amounts; None when none ever will."""
        key = shared_key(bound_plugins.row_filters, bound_plugins.row_scorers)
        if key is None:
            return None
        found = self._row_scores.get(key)
        if found is None:
            found = self._row_scores[key] = RowScores(
                self._cluster, bound_plugins.row_filters, bound_plugins.row_scorers
            )
        return found

    def bound_plugins_for(self, pod: AttemptedPod) -> tuple[BoundPlugins, list[BoundFilter]]:
        """Plugins bound by node and row, and fresh ones that look at the whole cluster. Raises PluginReject."""
        kept = self._evaluations.get(pod.shape.demand.id)
        found = kept.bound_plugins if kept is not None else self._plugins.bound_plugins(pod.shape, self._cluster)
        return found, self._plugins.cluster_filters(pod, self._cluster)

    def _verdict(self, pod: AttemptedPod, bound_plugins: BoundPlugins, row: int) -> int:
        verdict = bound_plugins.verdict(row)
        for bound_plugin in self._plugins.cluster_filters(pod, self._cluster):
            code = int(bound_plugin.filter.codes(row))
            if code:
                return min(verdict, bound_plugin.tag | code)
        return verdict

    def _attempt_anywhere(
        self, pod: AttemptedPod, filters: Sequence[BoundFilter], timing: StageTiming | None
    ) -> Attempt:
        evaluation = self._kept(pod.shape)
        nominator = self._nominator
        if nominator.node_of(pod.key):
            own_row = self._cluster.row_or_none(nominator.node_of(pod.key))
            if own_row is not None and self.verdict_with_nominated(pod, evaluation.bound_plugins, own_row) == PASS:
                evaluation.uses += 1
                return Fit(own_row, 0, 1)
        evaluation.refresh()
        if len(nominator):
            verdicts, counts = self._verdicts_beside_nominated(pod, evaluation, filters)
        else:
            verdicts, counts = evaluation.verdicts, None
        if timing is not None:
            timing.filtered()
        if not filters and not (evaluation.feasible_count if counts is None else counts.get(PASS)):
            evaluation.uses += 1
            return self._fit_error(verdicts, evaluation.bound_plugins.filters, counts=counts or evaluation.counts())
        scorers = self._plugins.cluster_scorers(pod, self._cluster)
        if not filters and not scorers and verdicts is evaluation.verdicts:
            evaluation.choices += 1
            row = int(evaluation.keys.argmax())
            return Fit(row, Evaluation.score_of(evaluation.keys.item(row)), evaluation.feasible_count)
        for bound_plugin in filters:
            self._evaluated[self._plugins.filters[bound_plugin.index].name, "Filter"] += 1
            verdicts = np.minimum(verdicts, bound_plugin.verdicts(self._cluster.all_rows))
        feasible = feasible_rows(verdicts, filters)
        if len(feasible) <= 1:
            evaluation.uses += 1
            if len(feasible):
                return Fit(int(feasible[0]), 0, 1)
            return self._fit_error(verdicts, (*evaluation.bound_plugins.filters, *filters))
        evaluation.choices += 1
        totals = evaluation.totals(feasible)
        for scorer in scorers:
            self._evaluated[self._plugins.scores[scorer.index][0].name, "Score"] += 1
            totals = totals + scorer.weight * scorer.scores(scorer.scorer.raw(feasible))
        return _best(feasible, totals, evaluation.keys_of(feasible, totals))

    def _verdicts_beside_nominated(
        self, pod: AttemptedPod, evaluation: Evaluation, filters: Sequence[BoundFilter]
    ) -> tuple[Column, Mapping[int, int] | None]:
        """Verdicts that leave room for pods nominated there, and how many rows have which.

        The evaluation's own where that makes no difference; these are not counted.
        """
        overlay = self._nominator.overlay(pod.priority)
        rows = overlay.rows()
        if not len(rows):
            return evaluation.verdicts, None
        own = self._nominator.record_or_none(pod.key)
        fits = [
            bound_plugin
            for bound_plugin in evaluation.bound_plugins.row_filters
            if isinstance(bound_plugin.filter, FitFilter)
        ]
        simple = not filters and own is None and len(fits) == len(evaluation.bound_plugins.row_filters)
        if simple:
            beside = evaluation.static_verdicts(rows)
            for bound_plugin in fits:
                codes = _fit(bound_plugin.filter).codes_besides(rows, MoreInUse(overlay.pods(), overlay.amounts()))
                beside = np.minimum(beside, np.where(codes == 0, np.int64(PASS), codes | bound_plugin.tag))
        else:
            beside = np.array(
                [self.verdict_with_nominated(pod, evaluation.bound_plugins, int(row)) for row in rows], dtype=np.int64
            )
        before = evaluation.verdicts[rows]
        combined = np.where(beside == PASS, before, beside)
        if np.array_equal(combined, before):
            return evaluation.verdicts, None
        verdicts = evaluation.verdicts.copy()
        verdicts[rows] = combined
        counts = evaluation.counts().copy()
        recount(counts, before, combined)
        return verdicts, counts

    def _attempt_named(
        self, pod: AttemptedPod, names: Sequence[str], by: Sequence[str], filters: Sequence[BoundFilter]
    ) -> Attempt:
        """Only the named nodes are looked at: no evaluation of all others is worth its while."""
        cluster = self._cluster
        bound_plugins = self._plugins.bound_plugins(pod.shape, cluster)
        for named in (*bound_plugins.filters, *filters):
            self._evaluated[self._plugins.filters[named.index].name, "Filter"] += 1
        verdicts = self._named_verdicts(pod, names, by, bound_plugins)
        feasible = feasible_rows(verdicts, filters)
        if not len(feasible):
            return self._fit_error(verdicts, (*bound_plugins.filters, *filters), by)
        own = cluster.row_or_none(self._nominator.node_of(pod.key))
        if own is not None and verdicts[own] == PASS:
            return Fit(own, 0, 1)
        if len(feasible) == 1:
            return Fit(int(feasible[0]), 0, 1)
        totals = self._totals(pod, bound_plugins, feasible)
        return _best(feasible, totals, (totals << 32) - cluster.rank()[feasible])

    def _named_verdicts(
        self, pod: AttemptedPod, names: Sequence[str], by: Sequence[str], bound_plugins: BoundPlugins
    ) -> Column:
        cluster = self._cluster
        if not names:
            who = f"plugin {by[0]}" if len(by) == 1 else f"plugin(s) [{' '.join(by)}] simultaneously"
            raise PluginReject(by[0], PreFilterReject(message=f"node(s) didn't satisfy {who}"))
        verdicts: Column = np.where(cluster.present[: cluster.size], np.int64(_OUTSIDE), np.int64(ABSENT))
        for name in names:
            row = cluster.row_or_none(name)
            if row is not None:
                verdicts[row] = self.verdict_with_nominated(pod, bound_plugins, row)
        return verdicts

    def _totals(self, pod: AttemptedPod, bound_plugins: BoundPlugins, rows: RowArray) -> Column:
        """Weighted scores when exactly these rows are feasible."""
        totals: Column = np.zeros(len(rows), dtype=np.int64)
        for scorer in (*bound_plugins.scorers, *self._plugins.cluster_scorers(pod, self._cluster)):
            totals = totals + scorer.weight * scorer.scores(scorer.scorer.raw(rows))
        return totals

    def _fit_error(
        self,
        verdicts: Column,
        bound_plugins: Sequence[BoundFilter],
        by: Sequence[str] = (),
        *,
        counts: Mapping[int, int] | None = None,
    ) -> FitError:
        found = counted(verdicts) if counts is None else {value: count for value, count in counts.items() if count}
        reasons: Counter[str] = Counter()
        rejectors = set(by)
        for value, count in found.items():
            if value == _OUTSIDE:
                reasons[_outside_reason(by)] += count
            elif value != ABSENT:
                index = self.plugin_index(value)
                rejectors.add(self._plugins.filters[index].name if index < len(self._plugins.filters) else EXTENDER)
                for reason in self.reasons(value, bound_plugins):
                    reasons[reason] += count
        message = unavailable(self._cluster.node_count, reasons)
        return FitError(message=message, rejectors=frozenset(rejectors), verdicts=verdicts, counts=found)

    def _rejected_by(self, rejected: PluginReject) -> FitError:
        """A PreFilter's no counts for every node, and its words stand alone."""
        cluster = self._cluster
        verdict = _OUTSIDE if rejected.reject.final else _OUTSIDE & ~FINAL
        verdicts: Column = np.where(cluster.present[: cluster.size], np.int64(verdict), np.int64(ABSENT))
        message, found = f"0/{cluster.node_count} nodes are available: {rejected.reject.message}.", counted(verdicts)
        rejectors, before = frozenset({rejected.plugin}), self._plugins.is_before_devices(rejected.plugin)
        return FitError(message=message, rejectors=rejectors, verdicts=verdicts, counts=found, is_before_devices=before)


def _outside_reason(by: Sequence[str]) -> str:
    return f"node(s) didn't satisfy plugin(s) [{' '.join(by)}]"


def _best(rows: RowArray, totals: Column, keys: Column) -> Fit:
    at = int(keys.argmax())
    return Fit(int(rows[at]), int(totals[at]), len(rows))


def _fit(bound_plugin: NodeFilter) -> FitFilter:
    assert isinstance(bound_plugin, FitFilter), "only resources are worked out with sums"
    return bound_plugin
