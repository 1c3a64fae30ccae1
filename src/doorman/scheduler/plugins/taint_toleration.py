"""TaintToleration: hard taints keep pods off, soft ones lower the score.

A pod's tolerations are matched once for each distinct set of taints, not once a node.
"""

from collections.abc import Sequence
from typing import Any, Final

from doorman.api.taints import Taint, Toleration
from doorman.api.views.nodes import Node
from doorman.scheduler.cache.cluster_state import ClusterState, TaintSet
from doorman.scheduler.cache.node_columns import Column, Lookup, Rows
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
    Scope,
    always,
)
from doorman.semantics.taints.matching import (
    PREFERS,
    first_untolerated_or_none,
    preference_tolerations,
    untolerated_taints,
)

REASON: Final = "node(s) had untolerated taint(s)"
_TAINTED: Final = 1 | FINAL


class TaintToleration:
    name = "TaintToleration"
    filter_scope = Scope.NODE
    score_scope = Scope.NODE

    def __init__(self, *, comparison_operators: bool) -> None:
        self._comparison_operators = comparison_operators

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter:
        return _Filter(cluster, shape.demand.spec.tolerations, comparison_operators=self._comparison_operators)

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer:
        return _Scorer(cluster, shape.demand.spec.tolerations, comparison_operators=self._comparison_operators)

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, self._lets_in_now),
            Hint(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION, always),
        )

    def _lets_in_now(self, shape: Shape, event: ClusterEvent) -> bool:
        old: Node | None = event.old
        return not self._repels(shape, event.new) and (old is None or self._repels(shape, old))

    def _repels(self, shape: Shape, node: Node) -> bool:
        taint = first_untolerated_or_none(
            node.spec.taints, shape.demand.spec.tolerations, comparison_operators=self._comparison_operators
        )
        return taint is not None


def missing_toleration(taint: Taint) -> dict[str, Any]:  # a fragment of a pod's spec
    """The narrowest toleration that would let the pod in."""
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    if not taint.value:
        toleration = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    return {"tolerations": [toleration]}


class _Filter:
    def __init__(self, cluster: ClusterState, tolerations: Sequence[Toleration], *, comparison_operators: bool) -> None:
        self._cluster = cluster
        self._tolerations = tolerations
        self._comparison_operators = comparison_operators
        self._lookup = Lookup(cluster.taints, lambda taints: _TAINTED if self._blocking(taints) else 0)

    def codes(self, rows: Rows) -> Column:
        return self._lookup.at(rows)

    def reasons(self, code: int) -> Sequence[str]:
        assert code == _TAINTED, "there is one verdict"
        return (REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        blocking = self._blocking(self._cluster.taints.value(row))
        return [Detail(reason=REASON, what=str(taint), remedy=missing_toleration(taint)) for taint in blocking]

    def _blocking(self, taints: TaintSet) -> list[Taint]:
        return untolerated_taints(taints, self._tolerations, comparison_operators=self._comparison_operators)


class _Scorer:
    def __init__(self, cluster: ClusterState, tolerations: Sequence[Toleration], *, comparison_operators: bool) -> None:
        soft = preference_tolerations(tolerations)
        self._lookup = Lookup(
            cluster.taints,
            lambda taints: len(
                untolerated_taints(taints, soft, effects=PREFERS, comparison_operators=comparison_operators)
            ),
        )

    def raw(self, rows: Rows) -> Column:
        """Soft taints that are not tolerated."""
        return self._lookup.at(rows)

    def summary(self, raw: Column) -> int:
        return int(raw.max())

    def normalised(self, raw: Column, summary: int) -> Column:
        if summary == 0:
            return raw * 0 + SCORE_MAX
        return SCORE_MAX - SCORE_MAX * raw // summary
