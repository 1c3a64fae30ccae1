"""NodeUnschedulable: a cordoned node takes only pods that tolerate the unschedulable taint."""

from collections.abc import Sequence
from typing import Final

from doorman.api.taints import UNSCHEDULABLE, Effect, Taint
from doorman.api.views.nodes import Node
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import FINAL, ActionType, ClusterEvent, Detail, EventResource, Hint, NodeFilter, Scope
from doorman.semantics.taints.matching import is_tolerated

REASON: Final = "node(s) were unschedulable"
CORDON: Final = Taint(key=UNSCHEDULABLE, effect=Effect.NO_SCHEDULE)
_CORDONED: Final = 1 | FINAL


class NodeUnschedulable:
    name = "NodeUnschedulable"
    filter_scope = Scope.NODE

    def __init__(self, *, comparison_operators: bool) -> None:
        self._comparison_operators = comparison_operators

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | None:
        return None if self._tolerates(shape) else _Filter(cluster)

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, _became_schedulable),
            Hint(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_TOLERATION,
                lambda _shape, event: is_tolerated(
                    CORDON, event.new.spec.tolerations, comparison_operators=self._comparison_operators
                ),
            ),
        )

    def _tolerates(self, shape: Shape) -> bool:
        return is_tolerated(CORDON, shape.demand.spec.tolerations, comparison_operators=self._comparison_operators)


def _became_schedulable(_shape: Shape, event: ClusterEvent) -> bool:
    old: Node | None = event.old
    new: Node = event.new
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


class _Filter:
    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def codes(self, rows: Rows) -> Column:
        codes: Column = self._cluster.unschedulable[rows] * _CORDONED
        return codes

    def reasons(self, code: int) -> Sequence[str]:
        assert code == _CORDONED, "there is one verdict"
        return (REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        if not self._cluster.unschedulable[row]:
            return ()
        remedy = {"tolerations": [{"key": CORDON.key, "operator": "Exists", "effect": CORDON.effect}]}
        return (Detail(reason=REASON, what="the node is cordoned", remedy=remedy),)
