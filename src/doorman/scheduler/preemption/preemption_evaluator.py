"""DefaultPreemption: which pods of lower priority must leave so that a pod fits, and on which node.

Rules
-----
1. Not eligible: preemptionPolicy Never, or victims of an earlier round are still terminating on the nominated node.
2. Candidates are nodes whose verdict preemption can change; taints, affinity and cordons never are.
3. Candidates are looked at from an offset (drawn from the pod's uid, so that equal pods start elsewhere) until enough
   are found: a share of them, at least a minimum, and one without a broken budget.
4. On a node all pods of strictly lower priority leave in thought; if the pod then fits they are let back in one by
   one, the most important first, those whose budget would break before the others; who no longer fits is a victim.
5. More important: higher priority, then earlier start.
6. A budget (same namespace, selector not empty, pod not yet in disruptedPods) breaks when more would leave than it
   allows; pods without labels break none.
7. The best node: fewest broken budgets; lowest highest priority among victims; smallest sum of priorities, each
   raised by 2**31; fewest victims; latest earliest start among the victims of highest priority; first found.
"""

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import add, le, sub
from typing import Final

import msgspec
import numpy as np

from doorman.api.views.pods import Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Mask, RowArray
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cycle.attempts import AttemptedPod, FitError, PostFilterResult, unavailable
from doorman.scheduler.cycle.bound_plugins import BoundFilter, BoundPlugins
from doorman.scheduler.cycle.profile_plugins import PluginReject
from doorman.scheduler.cycle.scheduling_cycle import SchedulingCycle
from doorman.scheduler.framework import ABSENT, FINAL, PASS
from doorman.scheduler.plugins.resources_fit import FitFilter
from doorman.scheduler.preemption.budgets import Budgets
from doorman.scheduler.preemption.candidates import PreemptionCandidate, PreemptionCandidates
from doorman.scheduler.queue.nominator import Nominator

NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NO_CANDIDATE: Final = "preemption: no candidate node for preemption"
_PRIORITY_SHIFT: Final = 2**31
KNOWN_MAX: Final = 64
"""Kinds of pods for which it is remembered which candidates there are."""


class PreemptionEvaluator:
    """PostFilter of one profile."""

    def __init__(
        self,
        cluster: ClusterState,
        nominator: Nominator,
        cycle: SchedulingCycle,
        budgets: Budgets,
        *,
        candidates_percentage_min: int,
        candidates_absolute_min: int,
    ) -> None:
        self._cluster = cluster
        self._nominator = nominator
        self._cycle = cycle
        self._budgets = budgets
        self._percentage = candidates_percentage_min
        self._absolute = candidates_absolute_min
        self._known: dict[tuple[int, int], PreemptionCandidates] = {}
        """By demand and priority: what likes of this pod have found out."""

    def attempt(self, pod: Pod, attempted: AttemptedPod, fit_error: FitError) -> PostFilterResult:
        ground = self._ground(pod, attempted, fit_error)
        if isinstance(ground, PostFilterResult):
            return ground
        rows, curable, reasons = ground
        best = self._best(attempted, rows, curable, reasons) if len(rows) else None
        return self._nothing(reasons) if best is None else self._cleared(best)

    def find(
        self, pod: Pod, attempted: AttemptedPod, fit_error: FitError
    ) -> PostFilterResult | Sequence[PreemptionCandidate]:
        """All nodes that could be cleared, for others to have a say in it; or why there are none."""
        ground = self._ground(pod, attempted, fit_error)
        if isinstance(ground, PostFilterResult):
            return ground
        rows, curable, reasons = ground
        try:
            bound_plugins, cluster_plugins = self._cycle.bound_plugins_for(attempted)
        except PluginReject:
            return self._nothing(reasons)
        found, failed = self._trials(attempted, bound_plugins, rows, self._enough(curable))
        # Where filters let the pod in as it is, somebody else has refused it: nobody's leaving would help.
        preemption_candidates = [preemption_candidate for preemption_candidate in found if preemption_candidate.victims]
        if preemption_candidates:
            return preemption_candidates
        if found:
            reasons[NO_VICTIMS] += len(found)
        self._count(failed, (*bound_plugins.filters, *cluster_plugins), reasons)
        return self._nothing(reasons)

    def choose(self, preemption_candidates: Sequence[PreemptionCandidate]) -> PostFilterResult:
        """Rule 7."""
        return self._cleared(min(preemption_candidates, key=lambda preemption_candidate: preemption_candidate.rank_key))

    def node_of(self, preemption_candidate: PreemptionCandidate) -> str:
        return self._cluster.node(preemption_candidate.row).metadata.name

    def candidate_of(self, node: str, uids: Sequence[str], broken_budgets: int) -> PreemptionCandidate | None:
        """A node with victims that somebody else chose; None if one of them is not there."""
        row = self._cluster.row_or_none(node)
        there = {} if row is None else {record.pod.metadata.uid: record for record in self._cluster.records_on(row)}
        if row is None or any(uid not in there for uid in uids):
            return None
        preemption_candidate = _preemption_candidate(row, [there[uid] for uid in uids], frozenset())
        return msgspec.structs.replace(
            preemption_candidate, rank_key=(broken_budgets, *preemption_candidate.rank_key[1:])
        )

    def _ground(
        self, pod: Pod, attempted: AttemptedPod, fit_error: FitError
    ) -> PostFilterResult | tuple[RowArray, int, Counter[str]]:
        """Rows worth a look in turn, how many are curable, and the reasons of the others; or why there are none."""
        if fit_error.is_before_devices:
            return PostFilterResult(message="not found", nominated=None)
        refusal = self._refusal(pod, attempted, fit_error)
        if refusal:
            return PostFilterResult(message=f"preemption: not eligible due to {refusal}.", nominated=None)
        verdicts = fit_error.verdicts
        if all(verdict == ABSENT or verdict & FINAL for verdict in fit_error.counts):
            message = unavailable(self._cluster.node_count, Counter({NOT_HELPFUL: self._cluster.node_count}))
            return PostFilterResult(message=f"preemption: {message}", nominated="")
        cluster = self._cluster
        curable: Mask = verdicts & FINAL == 0  # not so of those that are absent
        curable_count = int(np.count_nonzero(curable))
        reasons: Counter[str] = Counter()
        if hopeless := cluster.node_count - curable_count:
            reasons[NOT_HELPFUL] += hopeless
        rows = self._in_turn(curable & (cluster.lowest_priority[: cluster.size] < attempted.priority), pod)
        if without := curable_count - len(rows):
            reasons[NO_VICTIMS] += without
        return rows, curable_count, reasons

    def _nothing(self, reasons: Counter[str]) -> PostFilterResult:
        message = unavailable(self._cluster.node_count, reasons)
        return PostFilterResult(message=f"preemption: {message}", nominated="")

    def _cleared(self, best: PreemptionCandidate) -> PostFilterResult:
        node = self.node_of(best)
        message = (
            f"preemption: found a potential placement for pod on node {node}, preempting {len(best.victims)} victims"
        )
        return PostFilterResult(message=message, nominated=node, victims=best.victims, broken_budgets=best.rank_key[0])

    def _refusal(self, pod: Pod, attempted: AttemptedPod, fit_error: FitError) -> str:
        """Rule 1."""
        if pod.spec.preemption_policy == "Never":
            return "preemptionPolicy=Never"
        node = self._nominator.node_of(attempted.key) or pod.status.nominated_node_name
        row = self._cluster.row_or_none(node)
        if row is None or fit_error.verdicts[row] & FINAL:
            return ""
        for record in self._cluster.records_on(row):
            if record.priority < attempted.priority and _is_leaving_by_preemption(record.pod):
                return "a terminating pod on the nominated node"
        return ""

    def _in_turn(self, chosen: Mask, pod: Pod) -> RowArray:
        """Rule 3: in the order of nodes, beginning somewhere."""
        in_order = self._cluster.rows_in_order()
        ordered = in_order[chosen[in_order]]
        offset = zlib.crc32(pod.metadata.uid.encode()) % len(ordered) if len(ordered) else 0
        return np.concatenate((ordered[offset:], ordered[:offset]))

    def _best(
        self, attempted: AttemptedPod, rows: RowArray, curable: int, reasons: Counter[str]
    ) -> PreemptionCandidate | None:
        """The node to clear. Where there is none, `reasons` say why."""
        enough = self._enough(curable)
        try:
            bound_plugins, cluster_plugins = self._cycle.bound_plugins_for(attempted)
        except PluginReject:
            return None
        fit = self._fit_or_none(bound_plugins) if not cluster_plugins else None
        if fit is not None:
            best, failed = self._best_known(attempted, bound_plugins, fit, rows, enough)
        else:
            best, failed = self._best_by_trial(attempted, bound_plugins, rows, enough)
        if best is None:
            self._count(failed, (*bound_plugins.filters, *cluster_plugins), reasons)
        return best

    def _enough(self, curable: int) -> int:
        """Rule 3."""
        return min(max(curable * self._percentage // 100, self._absolute), curable)

    def _count(self, failed: Mapping[int, int], bound_plugins: Sequence[BoundFilter], reasons: Counter[str]) -> None:
        for verdict, count in failed.items():
            for reason in self._cycle.reasons(verdict, bound_plugins):
                reasons[reason] += count

    def _best_known(
        self, attempted: AttemptedPod, bound_plugins: BoundPlugins, fit: FitFilter, rows: RowArray, enough: int
    ) -> tuple[PreemptionCandidate | None, Mapping[int, int]]:
        known = self._known_for(attempted)
        own_row = self._cluster.row_or_none(self._nominator.node_of(attempted.key))
        # What a trial comes to depends on more than the demand: nothing is kept of it.
        tried = [own_row] if own_row is not None else []
        known.forget(tried)

        def clear(row: int) -> PreemptionCandidate | int:
            found = None if row == own_row else self._clear_simply(attempted, bound_plugins, fit, row)
            if found is None:
                tried.append(row)
                return self._clear(attempted, bound_plugins, row)
            return found

        best = known.best(known.look(rows, enough, clear))
        failed = known.failures(rows) if best is None else {}
        known.forget(tried)
        return best, failed

    def _best_by_trial(
        self, attempted: AttemptedPod, bound_plugins: BoundPlugins, rows: RowArray, enough: int
    ) -> tuple[PreemptionCandidate | None, Mapping[int, int]]:
        found, failed = self._trials(attempted, bound_plugins, rows, enough)
        return min(found, key=lambda preemption_candidate: preemption_candidate.rank_key, default=None), failed

    def _trials(
        self, attempted: AttemptedPod, bound_plugins: BoundPlugins, rows: RowArray, enough: int
    ) -> tuple[list[PreemptionCandidate], Mapping[int, int]]:
        found: list[PreemptionCandidate] = []
        failed: Counter[int] = Counter()
        unbroken = False
        for row in rows.tolist():
            preemption_candidate = self._clear(attempted, bound_plugins, row)
            if isinstance(preemption_candidate, int):
                failed[preemption_candidate] += 1
                continue
            found.append(preemption_candidate)
            unbroken = unbroken or not preemption_candidate.rank_key[0]
            if unbroken and len(found) >= enough:
                break
        return found, failed

    def _fit_or_none(self, bound_plugins: BoundPlugins) -> FitFilter | None:
        """The filter of resources, if it is the only one that leaving pods can change."""
        if len(bound_plugins.row_filters) != 1:
            return None
        bound_plugin = bound_plugins.row_filters[0].filter
        return bound_plugin if isinstance(bound_plugin, FitFilter) else None

    def _known_for(self, attempted: AttemptedPod) -> PreemptionCandidates:
        # With budgets, labels count too, and a pod that only gets another label touches no row.
        if len(self._budgets) or len(self._known) >= KNOWN_MAX:
            self._known.clear()
        key = (attempted.shape.demand.id, attempted.priority)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = PreemptionCandidates()
        known.refresh(self._cluster, self._nominator)
        return known

    def _clear(self, attempted: AttemptedPod, bound_plugins: BoundPlugins, row: int) -> PreemptionCandidate | int:
        """Rule 4 by trial: pods are taken off the columns and put back. A verdict if nothing helps."""
        cluster = self._cluster
        leaving = self._lower(attempted, row)
        for record in leaving:
            cluster.try_remove(record)
        verdict = self._cycle.verdict_with_nominated(attempted, bound_plugins, row)
        victims: list[PodRecord] = []
        broken = self._budgets.broken_by(leaving)
        if verdict == PASS:
            for record in sorted(leaving, key=lambda record: record.key not in broken):
                cluster.try_add(record, row)
                if self._cycle.verdict_with_nominated(attempted, bound_plugins, row) != PASS:
                    cluster.try_remove(record)
                    victims.append(record)
        for record in leaving if verdict != PASS else victims:
            cluster.try_add(record, row)
        if verdict != PASS:
            return verdict
        chosen = {record.key for record in victims}
        return _preemption_candidate(row, [record for record in leaving if record.key in chosen], broken)

    def _clear_simply(
        self, attempted: AttemptedPod, bound_plugins: BoundPlugins, fit: FitFilter, row: int
    ) -> PreemptionCandidate | int | None:
        """Rule 4 by sums, where only resources are in the way; None when it takes a trial to say.

        Pods nominated to the node count as if they were there; what fits beside them fits without them too.
        """
        cluster = self._cluster
        if any(int(bound_plugin.filter.codes(row)) for bound_plugin in bound_plugins.node_filters):
            return None
        leaving = self._lower(attempted, row)
        asked = fit.amounts
        amounts = _amounts(leaving, asked)
        guests, guest_amounts = self._guests(attempted, row)
        pods_free = int(cluster.pods_max[row] - cluster.pod_count[row]) + len(leaving) - 1 - guests
        free = [
            cluster.allocatable[index].item(row)
            - cluster.requested[index].item(row)
            - amount
            - guest_amounts.get(index, 0)
            for index, amount in asked
        ]
        for taken in amounts:
            free = list(map(add, free, taken))
        if pods_free < 0 or min(free, default=0) < 0:
            return bound_plugins.row_filters[0].tag | fit.code(row, pods_free, free)
        broken = self._budgets.broken_by(leaving)
        order: Sequence[int] = range(len(leaving))
        if broken:
            order = sorted(order, key=lambda at: leaving[at].key not in broken)
        chosen = set()
        for at in order:
            taken = amounts[at]
            if pods_free > 0 and all(map(le, taken, free)):
                pods_free -= 1
                free = list(map(sub, free, taken))
            else:
                chosen.add(at)
        return _preemption_candidate(row, [record for at, record in enumerate(leaving) if at in chosen], broken)

    def _guests(self, attempted: AttemptedPod, row: int) -> tuple[int, Mapping[int, int]]:
        """Pods nominated to the row that count for the candidate, and what they will take."""
        if not len(self._nominator):
            return 0, {}
        return self._nominator.overlay(attempted.priority).on_row(row)

    def _lower(self, attempted: AttemptedPod, row: int) -> list[PodRecord]:
        """Rule 5: pods that may have to leave, most important first."""
        priority = attempted.priority
        lower = [record for record in self._cluster.records_on(row) if record.priority < priority]
        if len(lower) > 1:
            lower.sort(key=lambda record: (-record.priority, record.started, record.key))
        return lower


def _amounts(records: Iterable[PodRecord], asked: Sequence[tuple[int, int]]) -> list[list[int]]:
    """What each of the pods holds of the resources asked for. Pods on a node are often alike."""
    known: dict[int, list[int]] = {}
    amounts = []
    for record in records:
        demand = record.shape.demand
        taken = known.get(demand.id)
        if taken is None:
            held = dict(demand.amounts)
            taken = known[demand.id] = [held.get(index, 0) for index, _ in asked]
        amounts.append(taken)
    return amounts


def _preemption_candidate(row: int, victims: Sequence[PodRecord], broken: AbstractSet[str]) -> PreemptionCandidate:
    """With rule 7 worked out."""
    highest = max((victim.priority for victim in victims), default=-_PRIORITY_SHIFT)
    total = sum(victim.priority + _PRIORITY_SHIFT for victim in victims)
    earliest = min((victim.started for victim in victims if victim.priority == highest), default=math.inf)
    broken_budgets = sum(victim.key in broken for victim in victims)
    return PreemptionCandidate(row, tuple(victims), (broken_budgets, highest, total, len(victims), -earliest))


def _is_leaving_by_preemption(pod: Pod) -> bool:
    if not pod.metadata.deletion_timestamp:
        return False
    condition = pod.status.condition(DISRUPTION_TARGET)
    return condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"
