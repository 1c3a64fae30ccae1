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

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from doorman.api.labels import NOTHING, Selector, selector_of
from doorman.api.poddisruptionbudgets import PodDisruptionBudget
from doorman.api.pods import Pod
from doorman.base.clock import Instant
from doorman.scheduler.cluster import Cluster, PodRecord
from doorman.scheduler.columns import RowArray
from doorman.scheduler.cycle import Candidate, Cycle, Misfit, unavailable
from doorman.scheduler.evaluation import Judges
from doorman.scheduler.framework import ABSENT, FINAL, PASS
from doorman.scheduler.nominator import Nominator
from doorman.scheduler.plugins.resources_fit import FitFilter
from doorman.scheduler.profile_plugins import PluginReject

NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
_PRIORITY_SHIFT: Final = 2**31


class PostFilterResult(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    nominated: str | None
    """What becomes of the pod's nomination: a node, "" for none, None to leave it."""
    victims: tuple[PodRecord, ...] = ()


class Budgets:
    """Disruption budgets with their selectors compiled."""

    def __init__(self) -> None:
        self._budgets: dict[str, tuple[PodDisruptionBudget, Selector]] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._budgets)

    def put(self, budget: PodDisruptionBudget) -> None:
        try:
            selector = selector_of(budget.spec.selector)
        except ValueError:
            selector = NOTHING
        if selector.is_everything:
            selector = NOTHING
        self._budgets[budget.metadata.key] = (budget, selector)
        self.version += 1

    def remove(self, key: str) -> None:
        self._budgets.pop(key, None)
        self.version += 1

    def broken_by(self, records: Iterable[PodRecord]) -> set[str]:
        """Rule 6: keys of the pods whose leaving, in this order, breaks a budget."""
        allowed = {key: budget.status.disruptions_allowed for key, (budget, _) in self._budgets.items()}
        broken = set()
        for record in records:
            meta = record.pod.metadata
            for key, (budget, selector) in self._budgets.items() if meta.labels else ():
                if (
                    budget.metadata.namespace == meta.namespace
                    and selector.matches(meta.labels)
                    and meta.name not in budget.status.disrupted_pods
                ):
                    allowed[key] -= 1
                    if allowed[key] < 0:
                        broken.add(record.key)
        return broken


class _Clearing(msgspec.Struct, frozen=True):
    """A node that would take the pod once the victims have left, most important first."""

    row: int
    victims: tuple[PodRecord, ...]
    broken_budgets: int


class Preemption:
    """PostFilter of one profile."""

    def __init__(
        self,
        cluster: Cluster,
        nominator: Nominator,
        cycle: Cycle,
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

    def attempt(self, pod: Pod, candidate: Candidate, misfit: Misfit, now: Instant) -> PostFilterResult:
        refusal = self._refusal(pod, candidate, misfit)
        if refusal:
            return PostFilterResult(message=f"preemption: not eligible due to {refusal}.", nominated=None)
        verdicts = misfit.verdicts
        curable: RowArray = np.flatnonzero((verdicts != ABSENT) & (verdicts & FINAL == 0))
        reasons: Counter[str] = Counter()
        if len(hopeless := range(self._cluster.node_count - len(curable))):
            reasons[NOT_HELPFUL] += len(hopeless)
        with_victims = self._cluster.lowest_priority[curable] < candidate.priority
        if without := int(len(curable) - with_victims.sum()):
            reasons[NO_VICTIMS] += without
        rows = self._in_turn(curable[with_victims], pod)
        clearings = self._clearings(candidate, rows, len(curable), reasons, now) if len(rows) else []
        if not clearings:
            message = unavailable(self._cluster.node_count, reasons)
            return PostFilterResult(message=f"preemption: {message}", nominated="")
        best = _best(clearings, now)
        node = self._cluster.node(best.row).metadata.name
        message = (
            f"preemption: found a potential placement for pod on node {node}, preempting {len(best.victims)} victims"
        )
        return PostFilterResult(message=message, nominated=node, victims=best.victims)

    def _refusal(self, pod: Pod, candidate: Candidate, misfit: Misfit) -> str:
        """Rule 1."""
        if pod.spec.preemption_policy == "Never":
            return "preemptionPolicy=Never"
        node = self._nominator.node_of(candidate.key) or pod.status.nominated_node_name
        row = self._cluster.row_or_none(node)
        if row is None or misfit.verdicts[row] & FINAL:
            return ""
        for record in self._cluster.records_on(row):
            if record.priority < candidate.priority and _is_leaving_by_preemption(record.pod):
                return "a terminating pod on the nominated node"
        return ""

    def _in_turn(self, rows: RowArray, pod: Pod) -> RowArray:
        """Rule 3: in the order of nodes, beginning somewhere."""
        ordered = rows[np.argsort(self._cluster.rank()[rows], kind="stable")]
        offset = zlib.crc32(pod.metadata.uid.encode()) % len(ordered) if len(ordered) else 0
        return np.roll(ordered, -offset)

    def _clearings(
        self, candidate: Candidate, rows: RowArray, curable: int, reasons: Counter[str], now: Instant
    ) -> list[_Clearing]:
        enough = min(max(curable * self._percentage // 100, self._absolute), curable)
        try:
            judges, cluster_judges = self._cycle.judges_for(candidate.shape)
        except PluginReject:
            return []
        fit = next((judge.filter for judge in judges.row_filters if isinstance(judge.filter, FitFilter)), None)
        simple = fit if len(judges.row_filters) == 1 and not cluster_judges else None
        found: list[_Clearing] = []
        unbroken = False
        for row in rows.tolist():
            clearing = self._clear_simply(candidate, judges, simple, row, now) if simple is not None else None
            if clearing is None:
                clearing = self._clear(candidate, judges, row, now)
            if isinstance(clearing, int):
                for reason in self._cycle.reasons(clearing, (*judges.filters, *cluster_judges)):
                    reasons[reason] += 1
                continue
            found.append(clearing)
            unbroken = unbroken or not clearing.broken_budgets
            if len(found) >= enough and unbroken:
                break
        return found

    def _clear(self, candidate: Candidate, judges: Judges, row: int, now: Instant) -> _Clearing | int:
        """Rule 4 by trial: pods are taken off the columns and put back. A verdict if nothing helps."""
        cluster = self._cluster
        leaving = self._lower(candidate, row, now)
        for record in leaving:
            cluster.try_remove(record)
        verdict = self._cycle.verdict_with_nominated(candidate, judges, row)
        victims: list[PodRecord] = []
        broken = self._budgets.broken_by(leaving) if len(self._budgets) else set()
        if verdict == PASS:
            for record in sorted(leaving, key=lambda record: record.key not in broken):
                cluster.try_add(record, row)
                if self._cycle.verdict_with_nominated(candidate, judges, row) != PASS:
                    cluster.try_remove(record)
                    victims.append(record)
        for record in leaving if verdict != PASS else victims:
            cluster.try_add(record, row)
        if verdict != PASS:
            return verdict
        chosen = {record.key for record in victims}
        return _Clearing(row, tuple(r for r in leaving if r.key in chosen), len(broken & chosen))

    def _clear_simply(
        self, candidate: Candidate, judges: Judges, fit: FitFilter, row: int, now: Instant
    ) -> _Clearing | int | None:
        """Rule 4 by sums, where only resources are in the way; None when it takes a trial to say."""
        cluster = self._cluster
        node = cluster.node(row).metadata.name
        if self._nominator.on_node(node, priority_min=candidate.priority, but=candidate.key):
            return None
        if any(int(judge.filter.codes(row)) for judge in judges.node_filters):
            return None
        leaving = self._lower(candidate, row, now)
        asked = fit.amounts
        amounts = [_amounts(record, asked) for record in leaving]
        pods_free = int(cluster.pods_max[row] - cluster.pod_count[row]) + len(leaving) - 1
        free = [
            int(cluster.allocatable[index][row] - cluster.requested[index][row]) - amount for index, amount in asked
        ]
        for taken in amounts:
            for at, amount in enumerate(taken):
                free[at] += amount
        if pods_free < 0 or any(left < 0 for left in free):
            return None
        broken = self._budgets.broken_by(leaving) if len(self._budgets) else set()
        order = sorted(range(len(leaving)), key=lambda at: leaving[at].key not in broken)
        chosen = set()
        for at in order:
            taken = amounts[at]
            if pods_free < 1 or any(amount > left for amount, left in zip(taken, free, strict=True)):
                chosen.add(at)
                continue
            pods_free -= 1
            for position, amount in enumerate(taken):
                free[position] -= amount
        victims = tuple(record for at, record in enumerate(leaving) if at in chosen)
        return _Clearing(row, victims, sum(record.key in broken for record in victims))

    def _lower(self, candidate: Candidate, row: int, now: Instant) -> list[PodRecord]:
        """Rule 5: pods that may have to leave, most important first."""
        lower = [record for record in self._cluster.records_on(row) if record.priority < candidate.priority]
        lower.sort(key=lambda record: (-record.priority, record.started(now), record.key))
        return lower


def _amounts(record: PodRecord, asked: Sequence[tuple[int, int]]) -> list[int]:
    """What the pod holds of the resources asked for."""
    held = dict(record.shape.demand.amounts)
    return [held.get(index, 0) for index, _ in asked]


def _best(clearings: Sequence[_Clearing], now: Instant) -> _Clearing:
    """Rule 7."""

    def badness(clearing: _Clearing) -> tuple[int, int, int, int, float]:
        victims = clearing.victims
        highest = max((victim.priority for victim in victims), default=-_PRIORITY_SHIFT)
        total = sum(victim.priority + _PRIORITY_SHIFT for victim in victims)
        earliest = min((victim.started(now) for victim in victims if victim.priority == highest), default=now)
        return clearing.broken_budgets, highest, total, len(victims), -earliest

    return min(clearings, key=badness)


def _is_leaving_by_preemption(pod: Pod) -> bool:
    if not pod.metadata.deletion_timestamp:
        return False
    condition = pod.status.condition("DisruptionTarget")
    return condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"
