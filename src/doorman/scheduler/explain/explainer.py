"""Makes explanations: asks the plugins that decide about every node, and does not stop at the first no."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, RowArray
from doorman.scheduler.cycle.attempts import AttemptedPod, FitError
from doorman.scheduler.cycle.bound_plugins import BoundFilter, BoundPlugins
from doorman.scheduler.cycle.profile_plugins import PluginReject, ProfilePlugins
from doorman.scheduler.cycle.scheduling_cycle import SchedulingCycle
from doorman.scheduler.explain.explanation import Explanation, Group, NodeVerdict, Objection, PluginScore
from doorman.scheduler.framework import FINAL, PASS, Plugin
from doorman.scheduler.out_of_tree_plugins import PluginError

NODES_NAMED_MAX: Final = 5
"""So many nodes of a group are named."""


class Explainer:
    """For one profile."""

    def __init__(self, plugins: ProfilePlugins, cluster: ClusterState, cycle: SchedulingCycle) -> None:
        self._plugins = plugins
        self._cluster = cluster
        self._cycle = cycle

    def explain(self, pod: Pod, attempted: AttemptedPod, *, bound_to: str) -> Explanation:
        """`bound_to` is where the pod is; it must not be counted there while this runs."""
        profile = self._plugins.profile.name
        waits = [text for text in (plugin.waits(pod) for plugin in self._plugins.pre_enqueue) if text]
        # The columns do not count a bound pod at the moment, and kept evaluations must not see that.
        message = "" if bound_to else self._message(attempted)
        try:
            bound_plugins, cluster_filters = self._cycle.bound_plugins_for(attempted)
        except PluginReject as rejected:
            return self._rejected(pod, message, rejected)
        filters = sorted((*bound_plugins.filters, *cluster_filters), key=lambda bound_plugin: bound_plugin.index)
        rows = self._cluster.rows_in_order()
        objections = {int(row): self._objections(attempted, bound_plugins, filters, int(row)) for row in rows}
        names, by = self._plugins.node_names(attempted.shape)
        if names is not None:
            self._object_to_outsiders(objections, names, by)
        feasible: RowArray = np.array([row for row, found in objections.items() if not found], dtype=np.intp)
        scores = self._scores(attempted, bound_plugins, feasible)
        verdicts = tuple(self._verdict(row, objections[row], scores.get(row, ())) for row in map(int, rows))
        state = "Bound" if bound_to else "Gated" if waits else "Schedulable" if len(feasible) else "Unschedulable"
        ranked = sorted((verdict for verdict in verdicts if verdict.fits), key=lambda verdict: -verdict.total)
        return Explanation(
            pod=pod.metadata.key,
            profile=profile,
            state=state,
            message="; ".join(waits) or message,
            nodes=verdicts,
            feasible_nodes=len(feasible),
            best=ranked[0].node if ranked else "",
            bound_to=bound_to,
            runner_up=ranked[1].node if len(ranked) > 1 else "",
            lead=_lead(ranked),
            groups=_groups([verdict for verdict in verdicts if not verdict.fits]),
        )

    def _message(self, attempted: AttemptedPod) -> str:
        """Why an attempt would come to nothing; empty when it would not."""
        try:
            attempt = self._cycle.attempt(attempted)
        except PluginError as error:
            return str(error)
        return attempt.message if isinstance(attempt, FitError) else ""

    def _rejected(self, pod: Pod, message: str, rejected: PluginReject) -> Explanation:
        objection = Objection(plugin=rejected.plugin, reason=rejected.reject.message)
        names = [self._cluster.node(int(row)).metadata.name for row in self._cluster.rows_in_order()]
        verdicts = tuple(NodeVerdict(node=name, fits=False, objections=(objection,)) for name in names)
        return Explanation(
            pod=pod.metadata.key, profile=self._plugins.profile.name, state="Unschedulable", message=message,
            nodes=verdicts, groups=_groups(verdicts),
        )  # fmt: skip

    def _objections(
        self, attempted: AttemptedPod, bound_plugins: BoundPlugins, filters: Sequence[BoundFilter], row: int
    ) -> list[Objection]:
        found: list[Objection] = []
        for bound_plugin in filters:
            code = int(bound_plugin.filter.codes(row))
            if code:
                plugin: Plugin = self._plugins.filters[bound_plugin.index]
                found.extend(
                    Objection(
                        plugin=plugin.name,
                        reason=detail.reason,
                        what=detail.what,
                        topic=detail.topic,
                        remedy=detail.remedy,
                        shortfall=detail.shortfall,
                        preemptible=not code & FINAL,
                    )
                    for detail in bound_plugin.filter.details(row)
                )
        if not found:
            verdict = self._cycle.verdict_with_nominated(attempted, bound_plugins, row)
            if verdict != PASS:
                found.extend(
                    Objection(
                        plugin=self._plugins.filters[self._cycle.plugin_index(verdict)].name,
                        reason=reason,
                        what="room is kept for a pod nominated to this node",
                    )
                    for reason in self._cycle.reasons(verdict, filters)
                )
        return found

    def _object_to_outsiders(
        self, objections: Mapping[int, list[Objection]], names: frozenset[str], by: Sequence[str]
    ) -> None:
        """Nodes that the pod does not name."""
        for row, found in objections.items():
            if self._cluster.node(row).metadata.name not in names and not any(each.plugin in by for each in found):
                found.extend(Objection(plugin=name, reason=f"node(s) didn't satisfy plugin(s) [{name}]") for name in by)

    def _scores(
        self, attempted: AttemptedPod, bound_plugins: BoundPlugins, feasible: RowArray
    ) -> Mapping[int, tuple[PluginScore, ...]]:
        if not len(feasible):
            return {}
        by_row: dict[int, list[PluginScore]] = {int(row): [] for row in feasible}
        scorers = sorted(
            (*bound_plugins.scorers, *self._plugins.cluster_scorers(attempted, self._cluster)),
            key=lambda scorer: scorer.index,
        )
        for scorer in scorers:
            raw: Column = scorer.scorer.raw(feasible)
            scores = scorer.scores(raw)
            name = self._plugins.scores[scorer.index][0].name
            for row, own_raw, score in zip(feasible.tolist(), raw.tolist(), scores.tolist(), strict=True):
                by_row[row].append(PluginScore(plugin=name, raw=own_raw, score=score, weight=scorer.weight))
        return {row: tuple(found) for row, found in by_row.items()}

    def _verdict(self, row: int, objections: Sequence[Objection], scores: tuple[PluginScore, ...]) -> NodeVerdict:
        return NodeVerdict(
            node=self._cluster.node(row).metadata.name,
            fits=not objections,
            objections=tuple(objections),
            scores=scores,
            total=sum(score.weight * score.score for score in scores),
        )


def _lead(ranked: Sequence[NodeVerdict]) -> tuple[PluginScore, ...]:
    if len(ranked) < 2:
        return ()
    pairs = zip(ranked[0].scores, ranked[1].scores, strict=True)
    return tuple(
        PluginScore(plugin=one.plugin, raw=one.raw - other.raw, score=one.score - other.score, weight=one.weight)
        for one, other in pairs
        if one.score != other.score
    )


def _groups(refusing: Sequence[NodeVerdict]) -> tuple[Group, ...]:
    """By what is in the way, and whether it could be cleared: a node that is full is another matter than one that has
    nothing of what is asked for. Nodes that come nearest stand first.
    """
    by_cause: dict[tuple[tuple[str, str, bool], ...], list[NodeVerdict]] = {}
    for verdict in refusing:
        cause = tuple((each.reason, each.topic or each.what, each.preemptible) for each in verdict.objections)
        by_cause.setdefault(cause, []).append(verdict)
    groups = [_group(sorted(members, key=_distance)) for members in by_cause.values()]
    groups.sort(key=lambda group: (len(group.objections), not _is_clearable(group), -group.count, group.nodes))
    return tuple(groups)


def _is_clearable(group: Group) -> bool:
    return all(objection.preemptible for objection in group.objections)


def _group(members: Sequence[NodeVerdict]) -> Group:
    first = members[0]
    return Group(
        count=len(members),
        nodes=tuple(member.node for member in members[:NODES_NAMED_MAX]),
        objections=first.objections,
        tolerations=_tolerations(first.objections),
    )


def _distance(verdict: NodeVerdict) -> tuple[int, int, str]:
    return len(verdict.objections), sum(each.shortfall for each in verdict.objections), verdict.node


def _tolerations(objections: Sequence[Objection]) -> tuple[Mapping[str, Any], ...]:
    """All missing tolerations, if nothing else is in the way."""
    found: list[Mapping[str, Any]] = []
    for objection in objections:
        wanted = (objection.remedy or {}).get("tolerations")
        if not wanted:
            return ()
        found.extend(each for each in wanted if each not in found)
    return tuple(found)
