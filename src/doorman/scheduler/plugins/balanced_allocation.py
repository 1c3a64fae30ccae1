"""NodeResourcesBalancedAllocation: prefer nodes whose resources would be used evenly."""

from collections.abc import Hashable, Sequence

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows, at
from doorman.scheduler.cache.pod_shapes import Demand, Shape
from doorman.scheduler.config.scheduler_config import ResourceWeight
from doorman.scheduler.framework import NodeScorer, Scope
from doorman.scheduler.plugins.resource_scores import Share, balance, balance_score
from doorman.scheduler.plugins.resources_fit import scored_resources


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"
    score_scope = Scope.ROW

    def __init__(
        self, *, resources: Sequence[ResourceWeight] = (ResourceWeight(name="cpu"), ResourceWeight(name="memory"))
    ) -> None:
        self._resources = tuple(resources)

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer | None:
        asked = dict(shape.demand.requests)
        if not any(asked.get(resource.name, 0) for resource in self._resources):
            return None
        return _Scorer(cluster, shape.demand, self._resources)


class _Scorer:
    def __init__(self, cluster: ClusterState, demand: Demand, resources: Sequence[ResourceWeight]) -> None:
        self._cluster = cluster
        amounts = dict(demand.amounts)
        self._asked = [(index, amounts.get(index, 0)) for index, _ in scored_resources(cluster, demand, resources)]
        self.alike: Hashable = tuple(self._asked)

    def raw(self, rows: Rows) -> Column:
        cluster = self._cluster
        without, with_pod = [], []
        for index, amount in self._asked:
            used, cap = at(cluster.requested[index], rows), at(cluster.allocatable[index], rows)
            without.append(Share(used, cap))
            with_pod.append(Share(used + amount, cap))
        score: Column = balance_score(balance(with_pod), balance(without))
        return score
