"""NodeAffinity: nodeSelector and required node affinity keep pods off, preferred terms raise the score."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Affinity, PodSpec, PreferredSchedulingTerm
from doorman.api.views.pods import NodeAffinity as NodeAffinityRules
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.node_selection import NodeSelection, term_test
from doorman.scheduler.cache.pod_shapes import Shape
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
    PreFilterReject,
    Scope,
)
from doorman.semantics.pods.node_selectors import (
    is_readable,
    pinned_names_or_none,
    required_terms_or_none,
    selects_node,
)

REASON: Final = "node(s) didn't match Pod's node affinity/selector"
ENFORCED_REASON: Final = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT: Final = "pod affinity terms conflict"
_OWN: Final = 1 | FINAL
_ENFORCED: Final = 2 | FINAL


class NodeAffinityPlugin:
    name = "NodeAffinity"
    filter_scope = Scope.NODE
    score_scope = Scope.NODE

    def __init__(self, *, added: NodeAffinityRules | None = None) -> None:
        self._enforced = PodSpec(affinity=Affinity(node_affinity=added))
        self._added_preferences = () if added is None else added.preferred_during_scheduling_ignored_during_execution

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | PreFilterReject | None:
        spec = shape.demand.spec
        if pinned_names_or_none(spec) == frozenset():
            return PreFilterReject(message=CONFLICT)
        own, enforced = NodeSelection(cluster, spec), NodeSelection(cluster, self._enforced)
        return None if own.is_empty and enforced.is_empty else _Filter(cluster, spec, own, enforced)

    def node_names_or_none(self, shape: Shape) -> frozenset[str] | None:
        return pinned_names_or_none(shape.demand.spec)

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer | None:
        affinity = shape.demand.spec.affinity
        rules = None if affinity is None else affinity.node_affinity
        own = () if rules is None else rules.preferred_during_scheduling_ignored_during_execution
        terms = [*own, *self._added_preferences]
        return _Scorer(cluster, terms) if terms else None

    def hints(self) -> Sequence[Hint]:
        return (Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, self._matches_now),)

    def _matches_now(self, shape: Shape, event: ClusterEvent) -> bool:
        old: Node | None = event.old
        return self._accepts(shape, event.new) and (old is None or not self._accepts(shape, old))

    def _accepts(self, shape: Shape, node: Node) -> bool:
        labels, name = node.metadata.labels, node.metadata.name
        return selects_node(self._enforced, labels, name) and selects_node(shape.demand.spec, labels, name)


class _Filter:
    def __init__(self, cluster: ClusterState, spec: PodSpec, own: NodeSelection, enforced: NodeSelection) -> None:
        self._cluster = cluster
        self._spec = spec
        self._own = own
        self._enforced = enforced

    def codes(self, rows: Rows) -> Column:
        own = (1 - self._own.matches(rows)) * _OWN
        if self._enforced.is_empty:
            return own
        enforced = self._enforced.matches(rows)
        return (1 - enforced) * _ENFORCED + enforced * own

    def reasons(self, code: int) -> Sequence[str]:
        return (REASON if code == _OWN else ENFORCED_REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        labels = self._cluster.node(row).metadata.labels
        found = []
        if not self._enforced.matches(row):
            found.append(Detail(reason=ENFORCED_REASON, what="affinity added by the scheduler's configuration"))
        if not self._own.matches(row):
            found.extend(
                Detail(reason=REASON, what=f"label {key} is {_shown(labels.get(key))}, not {value}")
                for key, value in self._spec.node_selector.items()
                if labels.get(key) != value
            )
            terms = required_terms_or_none(self._spec.affinity)
            only_affinity = PodSpec(affinity=self._spec.affinity)
            if terms is not None and not selects_node(only_affinity, labels, self._cluster.node(row).metadata.name):
                wanted = " or ".join(filter(None, (_term_text(term) for term in terms))) or "nothing"
                found.append(Detail(reason=REASON, what=f"required node affinity asks for {wanted}"))
        return found


class _Scorer:
    def __init__(self, cluster: ClusterState, terms: Sequence[PreferredSchedulingTerm]) -> None:
        self._cluster = cluster
        self._terms = [
            (term.weight, term_test(cluster, term.preference))
            for term in terms
            if term.weight and is_readable(term.preference)
        ]

    def raw(self, rows: Rows) -> Column:
        """The summed weight of the terms that match."""
        total: Column = np.zeros(self._cluster.size, dtype=np.int64)[rows]
        for weight, test in self._terms:
            total = total + weight * test(rows)
        return total

    def summary(self, raw: Column) -> int:
        return int(raw.max())

    def normalised(self, raw: Column, summary: int) -> Column:
        return raw if summary == 0 else SCORE_MAX * raw // summary


def _shown(value: str | None) -> str:
    return "absent" if value is None else value or "empty"


def _term_text(term: object) -> str:
    expressions = (*getattr(term, "match_expressions", ()), *getattr(term, "match_fields", ()))
    return " and ".join(f"{each.key} {each.operator} {','.join(each.values)}".rstrip() for each in expressions)
