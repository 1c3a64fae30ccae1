"""PodTopologySpread: pods that a selector means are kept even over zones, hosts or any other domain.

Rules
-----
1. Hard constraints (DoNotSchedule) count nodes that have all hard topology keys and pass the constraint's policies:
   nodeAffinityPolicy Honor (the default) leaves out nodes the pod's own selection refuses, nodeTaintsPolicy Honor those
   with a taint it does not tolerate.
2. Per domain: pods of the namespace that match and are not leaving. An empty selector counts no pods.
3. A node without the key is refused for good. Otherwise count + (1 if the pod matches itself) - lowest count must not
   exceed maxSkew; the lowest is 0 when there are fewer domains than minDomains.
4. Soft constraints (ScheduleAnyway) score count * ln(domains + 2) + maxSkew - 1, summed, rounded half away from zero;
   fewer is better: 100 * (max + min - raw) / max.
5. A pod without constraints has the default ones, with the selector of its services and workload, if there is one.
6. Scored nodes that lack a key of the pod's own constraints (or of configured ones) get 0; under the system's
   defaults a missing key only contributes nothing.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from doorman.api.machinery.label_selectors import NOTHING, Requirement, Selector, SelectorOperator, selector_or_nothing
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod, TopologySpreadConstraint
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Lookup, Mask, RowArray, Rows
from doorman.scheduler.cache.node_selection import NodeSelection
from doorman.scheduler.cache.pod_relations import PodMatcher
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.cache.topology_domains import sums_by_domain
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from doorman.scheduler.framework import (
    FINAL,
    SCORE_MAX,
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    NodeScorer,
    Scope,
)
from doorman.semantics.taints.matching import first_untolerated_or_none

REASON: Final = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL: Final = f"{REASON} (missing required label)"
HOSTNAME: Final = "kubernetes.io/hostname"
HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
_SKEW: Final = 1
_MISSING: Final = 2 | FINAL


class Constraint:
    """A constraint as it applies to one shape, with what must be asked of nodes about it."""

    __slots__ = (
        "honours_affinity", "honours_taints", "key", "matcher", "max_skew", "min_domains", "selector", "self_match",
    )  # fmt: skip

    def __init__(self, rule: TopologySpreadConstraint, selector: Selector, shape: Shape) -> None:
        self.key = rule.topology_key
        self.max_skew = rule.max_skew
        self.min_domains = 1 if rule.min_domains is None else rule.min_domains
        self.honours_affinity = rule.node_affinity_policy != "Ignore"
        self.honours_taints = rule.node_taints_policy == "Honor"
        self.selector = selector
        self.self_match = int(selector.matches(shape.labels))
        counted = NOTHING if selector.is_everything else selector
        self.matcher = PodMatcher(frozenset({shape.namespace}), NOTHING, counted)


class PodTopologySpread:
    name = "PodTopologySpread"
    filter_scope = Scope.CLUSTER
    score_scope = Scope.CLUSTER

    def __init__(
        self,
        workloads: WorkloadSelectors,
        *,
        defaults: Sequence[TopologySpreadConstraint],
        is_system_default: bool,
        comparison_operators: bool,
    ) -> None:
        self._workloads = workloads
        self._defaults = {
            kind: tuple(rule for rule in defaults if rule.when_unsatisfiable == kind) for kind in (HARD, SOFT)
        }
        self._is_system_default = is_system_default
        self._comparison_operators = comparison_operators

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | None:
        constraints = self._constraints(shape, HARD)
        return _Filter(cluster, constraints, self._policies(shape, cluster)) if constraints else None

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer | None:
        constraints = self._constraints(shape, SOFT)
        if not constraints:
            return None
        needs_all_keys = bool(shape.pod.spec.topology_spread_constraints) or not self._is_system_default
        return _Scorer(cluster, constraints, self._policies(shape, cluster), needs_all_keys=needs_all_keys)

    def hints(self) -> Sequence[Hint]:
        moves = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        nodes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return (
            Hint(EventResource.ASSIGNED_POD, moves, self._other_pod_matters),
            Hint(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_LABEL,
                self._own_change_matters,
            ),
            Hint(EventResource.NODE, nodes, self._node_matters),
        )

    def _constraints(self, shape: Shape, kind: str) -> list[Constraint]:
        """Rule 5."""
        own = shape.pod.spec.topology_spread_constraints
        if own:
            return [
                Constraint(rule, _selector(rule, shape.labels), shape)
                for rule in own
                if rule.when_unsatisfiable == kind
            ]
        if not self._defaults[kind]:
            return []
        selector = self._workloads.selector_of(shape)
        if selector.is_everything:
            return []
        return [Constraint(rule, selector, shape) for rule in self._defaults[kind]]

    def _policies(self, shape: Shape, cluster: ClusterState) -> "_Policies":
        return _Policies(shape, cluster, comparison_operators=self._comparison_operators)

    def _other_pod_matters(self, shape: Shape, event: ClusterEvent) -> bool:
        old: Pod | None = event.old
        new: Pod | None = event.new
        if any(pod is not None and pod.metadata.namespace != shape.namespace for pod in (old, new)):
            return False
        return any(
            _means(constraint.selector, old) != _means(constraint.selector, new)
            for constraint in self._constraints(shape, HARD)
        )

    def _own_change_matters(self, shape: Shape, event: ClusterEvent) -> bool:
        if event.change is ActionType.UPDATE_POD_TOLERATION:
            return any(constraint.honours_taints for constraint in self._constraints(shape, HARD))
        old: Pod = event.old
        new: Pod = event.new
        return any(
            _selector(rule, old.metadata.labels).matches(old.metadata.labels)
            != _selector(rule, new.metadata.labels).matches(new.metadata.labels)
            for rule in new.spec.topology_spread_constraints
            if rule.when_unsatisfiable == HARD
        )

    def _node_matters(self, shape: Shape, event: ClusterEvent) -> bool:
        old: Node | None = event.old
        new: Node | None = event.new
        keys = [constraint.key for constraint in self._constraints(shape, HARD)]
        had, has = (node is not None and all(key in node.metadata.labels for key in keys) for node in (old, new))
        if had != has:
            return True
        if not has or old is None or new is None:
            return False
        moved = any(old.metadata.labels[key] != new.metadata.labels[key] for key in keys)
        return moved or old.spec.taints != new.spec.taints


class _Policies:
    """Which nodes a constraint counts, beyond having the keys."""

    def __init__(self, shape: Shape, cluster: ClusterState, *, comparison_operators: bool) -> None:
        self._cluster = cluster
        self._spec = shape.demand.spec
        self._comparison_operators = comparison_operators
        self._selection: Mask | None = None
        self._untainted: Mask | None = None

    def apply(self, constraint: Constraint, counted: Mask) -> Mask:
        rows = self._cluster.all_rows
        if constraint.honours_affinity:
            if self._selection is None:
                self._selection = NodeSelection(self._cluster, self._spec).matches(rows) > 0
            counted = counted & self._selection
        if constraint.honours_taints:
            if self._untainted is None:
                self._untainted = Lookup(self._cluster.taints, self._lets_in).at(rows) > 0
            counted = counted & self._untainted
        return counted

    def _lets_in(self, taints: Any) -> int:  # a TaintSet
        taint = first_untolerated_or_none(
            taints, self._spec.tolerations, comparison_operators=self._comparison_operators
        )
        return int(taint is None)


class _Filter:
    """Worked out for all rows when made; a filter of scope CLUSTER lives for one cycle."""

    def __init__(self, cluster: ClusterState, constraints: Sequence[Constraint], policies: _Policies) -> None:
        self._cluster = cluster
        self._constraints = constraints
        size = cluster.size
        self._numbers = [cluster.labels(constraint.key).numbers[:size] for constraint in constraints]
        has_all_keys: Mask = np.logical_and.reduce([numbers > 0 for numbers in self._numbers])
        self._skews: list[Column] = []
        codes: Column = np.zeros(size, dtype=np.int64)
        for constraint, numbers in zip(constraints, self._numbers, strict=True):
            skew = self._skew(constraint, numbers, policies.apply(constraint, has_all_keys))
            self._skews.append(skew)
            verdict = np.where(numbers > 0, (skew > constraint.max_skew) * np.int64(_SKEW), np.int64(_MISSING))
            codes = np.where(codes == 0, verdict, codes)
        self._codes = codes

    def codes(self, rows: Rows) -> Column:
        codes: Column = self._codes[rows]
        return codes

    def reasons(self, code: int) -> Sequence[str]:
        return (MISSING_LABEL if code == _MISSING else REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        found = []
        for constraint, numbers, skew in zip(self._constraints, self._numbers, self._skews, strict=True):
            if not numbers[row]:
                found.append(Detail(reason=MISSING_LABEL, what=f"the node has no label {constraint.key}"))
            elif skew[row] > constraint.max_skew:
                what = f"{constraint.key}: skew would be {skew[row]}, at most {constraint.max_skew}"
                short = int(skew[row]) - constraint.max_skew
                found.append(Detail(reason=REASON, what=what, topic=constraint.key, shortfall=short))
        return found

    def _skew(self, constraint: Constraint, numbers: Any, counted: Mask) -> Column:  # label numbers by row
        cluster = self._cluster
        pods = cluster.relations.pods_matching([constraint.matcher], counts_leaving=False)
        column = cluster.labels(constraint.key)
        sums = sums_by_domain(column, pods.counts, counted)
        is_domain = np.bincount(numbers[counted], minlength=len(column.values)) > 0
        domains = int(is_domain.sum())
        lowest = int(sums[is_domain].min()) if domains and domains >= constraint.min_domains else 0
        skew: Column = sums[numbers] + (constraint.self_match - lowest)
        return skew


class _Scorer:
    """Scores the feasible rows it is given, once."""

    def __init__(
        self, cluster: ClusterState, constraints: Sequence[Constraint], policies: _Policies, *, needs_all_keys: bool
    ) -> None:
        self._cluster = cluster
        self._constraints = constraints
        self._policies = policies
        self._needs_all_keys = needs_all_keys
        self._passed_over: Mask = np.zeros(0, dtype=np.bool_)

    def raw(self, rows: Rows) -> Column:
        """Rule 4."""
        cluster, size = self._cluster, self._cluster.size
        columns = [cluster.labels(constraint.key) for constraint in self._constraints]
        here = [column.numbers[:size][rows] for column in columns]
        counted: Mask = cluster.present[:size]
        self._passed_over = np.zeros(len(here[0]), dtype=np.bool_)
        if self._needs_all_keys:
            counted = counted & np.logical_and.reduce([column.numbers[:size] > 0 for column in columns])
            self._passed_over = np.logical_or.reduce([numbers == 0 for numbers in here])
        scored = ~self._passed_over
        total = np.zeros(len(here[0]), dtype=np.float64)
        for constraint, column, numbers in zip(self._constraints, columns, here, strict=True):
            pods = cluster.relations.pods_matching([constraint.matcher], counts_leaving=False)
            if constraint.key == HOSTNAME:
                size_of_topology = int(scored.sum())
                counts: Column = pods.counts[:size][rows]
            else:
                size_of_topology = int(np.count_nonzero(np.bincount(numbers[scored])))
                counts = sums_by_domain(column, pods.counts, self._policies.apply(constraint, counted))[numbers]
            score = counts * math.log(size_of_topology + 2) + (constraint.max_skew - 1)
            total += np.where(numbers > 0, score, 0.0)
        raw: Column = np.floor(total + 0.5).astype(np.int64)
        return np.where(self._passed_over, np.int64(0), raw)

    def summary(self, raw: Column) -> tuple[int, int]:
        scored: RowArray = np.flatnonzero(~self._passed_over)
        return (int(raw[scored].min()), int(raw[scored].max())) if len(scored) else (0, 0)

    def normalised(self, raw: Column, summary: tuple[int, int]) -> Column:
        lowest, highest = summary
        if highest == 0:
            scores: Column = np.full(len(raw), SCORE_MAX, dtype=np.int64)
        else:
            scores = SCORE_MAX * (highest + lowest - raw) // highest
        return np.where(self._passed_over, np.int64(0), scores)


def _means(selector: Selector, pod: Pod | None) -> bool:
    return pod is not None and selector.matches(pod.metadata.labels)


def _selector(rule: TopologySpreadConstraint, labels: Any) -> Selector:  # a pod's labels
    """The rule's selector and the pod's own values of `matchLabelKeys`."""
    selector = selector_or_nothing(rule.label_selector)
    own = tuple(
        Requirement(key, SelectorOperator.EQUALS, (labels[key],)) for key in rule.match_label_keys if key in labels
    )
    return Selector((*selector.requirements, *own), nothing=selector.nothing and not own)
