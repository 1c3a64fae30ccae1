"""InterPodAffinity: pods that want others near, or far.

Rules
-----
1. Affinity: of the pods that all required terms mean, each term needs one in the node's domain, and the node every key.
2. Exception: no such pod anywhere, the newcomer is meant by its own terms, and the node has all keys.
3. Own anti-affinity: no pod that a term means in the node's domain; a node without the key passes.
4. Others' required anti-affinity holds against the newcomer in the same way.
5. They are checked in this order; affinity can never be cured by preemption.
6. Score: the weights of own preferred terms times the pods they mean in the node's domain, plus others' preferred
   terms that mean the newcomer, plus a small weight for others' required affinity; anti-affinity counts negative.
   Normalised to int(100 * (raw - min) / (max - min)), all 0 when all are equal.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Mask, Rows
from doorman.scheduler.cache.pod_relations import PodMatcher, Relations, Term, TermKind, matcher_of, required_terms
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.cache.topology_domains import sums_by_domain
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
    always,
)

AFFINITY_REASON: Final = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON: Final = "node(s) didn't match pod anti-affinity rules"
EXISTING_REASON: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
_AFFINITY: Final = 1 | FINAL
_ANTI_AFFINITY: Final = 2
_EXISTING: Final = 3
_REASONS: Final = {_AFFINITY: AFFINITY_REASON, _ANTI_AFFINITY: ANTI_AFFINITY_REASON, _EXISTING: EXISTING_REASON}


class InterPodAffinity:
    name = "InterPodAffinity"
    filter_scope = Scope.CLUSTER
    score_scope = Scope.CLUSTER

    def __init__(self, relations: Relations, *, hard_weight: int, ignores_others_preferences: bool) -> None:
        self._relations = relations
        self._hard_weight = hard_weight
        self._ignores_others_preferences = ignores_others_preferences

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | None:
        affinity, anti_affinity = _rules(shape.pod)
        others = [
            term
            for term in self._relations.terms_about(shape)
            if term.kind is TermKind.REQUIRED_ANTI_AFFINITY and term.total
        ]
        if not others and not required_terms(affinity) and not required_terms(anti_affinity):
            return None
        return _Filter(cluster, shape, required_terms(affinity), required_terms(anti_affinity), others)

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer | None:
        affinity, anti_affinity = _rules(shape.pod)
        preferred = [(+1, term) for term in _preferred(affinity)] + [(-1, term) for term in _preferred(anti_affinity)]
        if self._ignores_others_preferences and not preferred:
            return None
        pulls = [
            _Pull(sign * weighted.weight, weighted.pod_affinity_term.topology_key, self._meant(weighted, shape))
            for sign, weighted in preferred
        ]
        for term in self._relations.terms_about(shape):
            weight = self._weight_of(term)
            if term.total and weight:
                pulls.append(_Pull(weight, term.topology_key, term.owners))
        return _Scorer(cluster, pulls) if pulls else None

    def hints(self) -> Sequence[Hint]:
        moves = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        return (
            Hint(EventResource.ASSIGNED_POD, moves, self._other_pod_matters),
            Hint(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL, always),
            Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, _node_matters),
        )

    def _meant(self, weighted: WeightedPodAffinityTerm, shape: Shape) -> Column:
        matcher = matcher_of(weighted.pod_affinity_term, shape.namespace)
        return self._relations.pods_matching([matcher], counts_leaving=True).counts

    def _weight_of(self, term: Term) -> int:
        match term.kind:
            case TermKind.PREFERRED_AFFINITY:
                return term.weight
            case TermKind.PREFERRED_ANTI_AFFINITY:
                return -term.weight
            case TermKind.REQUIRED_AFFINITY:
                return self._hard_weight
            case TermKind.REQUIRED_ANTI_AFFINITY:
                return 0

    def _other_pod_matters(self, shape: Shape, event: ClusterEvent) -> bool:
        """Added: affinity means it. Changed: it does now, or anti-affinity no longer does. Gone: anti-affinity did."""
        affinity, anti_affinity = _rules(shape.pod)
        wanted = [matcher_of(term, shape.namespace) for term in required_terms(affinity)]
        unwanted = [matcher_of(term, shape.namespace) for term in required_terms(anti_affinity)]
        old, new = (None if pod is None else _Stand(pod) for pod in (event.old, event.new))
        if old is None:
            return new is not None and self._all_mean(wanted, new)
        if new is None:
            return self._any_means(unwanted, old) or self._is_meant_by(old, shape)
        starts = not self._all_mean(wanted, old) and self._all_mean(wanted, new)
        stops = self._any_means(unwanted, old) and not self._any_means(unwanted, new)
        return starts or stops

    def _all_mean(self, matchers: Sequence[PodMatcher], other: "_Stand") -> bool:
        return self._relations.all_match(matchers, other)

    def _any_means(self, matchers: Sequence[PodMatcher], other: "_Stand") -> bool:
        return any(self._all_mean([matcher], other) for matcher in matchers)

    def _is_meant_by(self, gone: "_Stand", shape: Shape) -> bool:
        _, anti_affinity = _rules(gone.pod)
        return any(
            self._relations.all_match([matcher_of(term, gone.namespace)], shape)
            for term in required_terms(anti_affinity)
        )


class _Stand:
    """A pod where only namespace and labels of a shape are asked for."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.namespace = pod.metadata.namespace
        self.labels = pod.metadata.labels


def _node_matters(shape: Shape, event: ClusterEvent) -> bool:
    old: Node | None = event.old
    new: Node = event.new
    affinity, anti_affinity = _rules(shape.pod)
    after = new.metadata.labels
    if old is None:
        return bool(required_terms(anti_affinity)) or any(
            term.topology_key in after for term in required_terms(affinity)
        )
    before = old.metadata.labels
    for term in required_terms(affinity):
        key = term.topology_key
        if key in after and before.get(key) != after[key]:
            return True
    for term in required_terms(anti_affinity):
        key = term.topology_key
        if key in before and before[key] != after.get(key):
            return True
    return False


class _Filter:
    """Worked out for all rows when made; a filter of scope CLUSTER lives for one cycle."""

    def __init__(
        self,
        cluster: ClusterState,
        shape: Shape,
        affinity: Sequence[PodAffinityTerm],
        anti_affinity: Sequence[PodAffinityTerm],
        others: Sequence[Term],
    ) -> None:
        self._cluster = cluster
        size = cluster.size
        codes: Column = np.zeros(size, dtype=np.int64)
        self._objections: list[tuple[int, str, Mask]] = []
        """Code, what it is about, and the rows it is about."""
        if affinity:
            self._object(_AFFINITY, _term_text(affinity), ~self._affinity_holds(shape, affinity))
        for term in anti_affinity:
            matcher = matcher_of(term, shape.namespace)
            pods = cluster.relations.pods_matching([matcher], counts_leaving=True)
            self._object(_ANTI_AFFINITY, _term_text([term]), self._near(term.topology_key, pods.counts))
        for other in others:
            what = f"{other.matcher.selector} in {other.topology_key}"
            self._object(_EXISTING, what, self._near(other.topology_key, other.owners))
        for code, _, rows in self._objections:
            codes = np.where((codes == 0) & rows, np.int64(code), codes)
        self._codes = codes

    def codes(self, rows: Rows) -> Column:
        codes: Column = self._codes[rows]
        return codes

    def reasons(self, code: int) -> Sequence[str]:
        return (_REASONS[code],)

    def details(self, row: int) -> Sequence[Detail]:
        return [Detail(reason=_REASONS[code], what=what) for code, what, rows in self._objections if rows[row]]

    def _object(self, code: int, what: str, rows: Mask) -> None:
        self._objections.append((code, what, rows))

    def _affinity_holds(self, shape: Shape, terms: Sequence[PodAffinityTerm]) -> Mask:
        """Rules 1 and 2."""
        cluster = self._cluster
        matchers = tuple(dict.fromkeys(matcher_of(term, shape.namespace) for term in terms))
        pods = cluster.relations.pods_matching(matchers, counts_leaving=True)
        has_all_keys: Mask = np.ones(cluster.size, dtype=np.bool_)
        has_all_pods: Mask = np.ones(cluster.size, dtype=np.bool_)
        found = 0
        for key in dict.fromkeys(term.topology_key for term in terms):
            column = cluster.labels(key)
            numbers = column.numbers[: cluster.size]
            sums = sums_by_domain(column, pods.counts)
            found += int(sums.sum())
            has_all_keys &= numbers > 0
            has_all_pods &= sums[numbers] > 0
        if not found and cluster.relations.all_match(matchers, shape):
            return has_all_keys
        return has_all_keys & has_all_pods

    def _near(self, key: str, counts: Column) -> Mask:
        column = self._cluster.labels(key)
        near: Mask = sums_by_domain(column, counts)[column.numbers[: self._cluster.size]] > 0
        return near


class _Pull(msgspec.Struct, frozen=True):
    """So much for every pod that `counts` counts in the node's domain."""

    weight: int
    key: str
    counts: Any  # Column: an array is no field type msgspec knows


class _Scorer:
    def __init__(self, cluster: ClusterState, pulls: Sequence[_Pull]) -> None:
        self._cluster = cluster
        self._pulls = pulls

    def raw(self, rows: Rows) -> Column:
        total: Column = np.zeros(self._cluster.size, dtype=np.int64)[rows]
        for pull in self._pulls:
            column = self._cluster.labels(pull.key)
            total = total + pull.weight * sums_by_domain(column, pull.counts)[column.numbers[rows]]
        return total

    def summary(self, raw: Column) -> tuple[int, int]:
        return int(raw.min()), int(raw.max())

    def normalised(self, raw: Column, summary: tuple[int, int]) -> Column:
        lowest, highest = summary
        if highest == lowest:
            return raw * 0
        scores: Column = (SCORE_MAX * ((raw - lowest) / (highest - lowest))).astype(np.int64)
        return scores


def _rules(pod: Pod) -> tuple[PodAffinity | None, PodAffinity | None]:
    affinity = pod.spec.affinity
    return (None, None) if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity)


def _preferred(rules: PodAffinity | None) -> Sequence[WeightedPodAffinityTerm]:
    return () if rules is None else rules.preferred_during_scheduling_ignored_during_execution


def _term_text(terms: Sequence[PodAffinityTerm]) -> str:
    return " and ".join(f"{matcher_of(term, '').selector} in {term.topology_key}" for term in terms)
