"""NodeName: a pod that names its node fits on no other."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import FINAL, ActionType, Detail, EventResource, Hint, NodeFilter, Scope, always

REASON: Final = "node(s) didn't match the requested node name"
_OTHER: Final = 1 | FINAL


class NodeName:
    name = "NodeName"
    filter_scope = Scope.NODE

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | None:
        wanted = shape.demand.spec.node_name
        return _Filter(cluster, wanted) if wanted else None

    def hints(self) -> Sequence[Hint]:
        return (Hint(EventResource.NODE, ActionType.ADD, always),)


class _Filter:
    def __init__(self, cluster: ClusterState, wanted: str) -> None:
        self._cluster = cluster
        self._wanted = wanted

    def codes(self, rows: Rows) -> Column:
        others = np.full(self._cluster.size, _OTHER, dtype=np.int64)
        row = self._cluster.row_or_none(self._wanted)
        if row is not None:
            others[row] = 0
        found: Column = others[rows]
        return found

    def reasons(self, code: int) -> Sequence[str]:
        assert code == _OTHER, "there is one verdict"
        return (REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        if self._cluster.node(row).metadata.name == self._wanted:
            return ()
        return (Detail(reason=REASON, what=f"the pod asks for node {self._wanted}"),)
