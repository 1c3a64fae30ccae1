"""NodeResourcesFit: a node takes a pod if what it asks is still free there; the score says how full it would be.

The code of a verdict has a bit for the number of pods and a bit for each requested resource that lacks, so one
number carries all reasons.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.well_known import PODS
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows, at
from doorman.scheduler.cache.pod_shapes import Demand, Shape
from doorman.scheduler.cache.resource_ids import CPU_INDEX, MEMORY_INDEX
from doorman.scheduler.config.scheduler_config import ResourceWeight, ScoringStrategy
from doorman.scheduler.framework import (
    FINAL,
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
from doorman.scheduler.plugins.resource_scores import (
    Share,
    average,
    average_of_positive,
    least_allocated,
    most_allocated,
    ratio,
    ratio_table,
)
from doorman.semantics.pods.pod_resources import CPU, EPHEMERAL_STORAGE, MEMORY, counted_quantities, pod_requests

TOO_MANY_PODS: Final = "Too many pods"
_PODS_BIT: Final = 1
_RESOURCES_MAX: Final = 38
"""Bits left for resources below FINAL."""


class NodeResourcesFit:
    name = "NodeResourcesFit"
    filter_scope = Scope.ROW
    score_scope = Scope.ROW

    def __init__(
        self,
        *,
        strategy: ScoringStrategy,
        ignored: Sequence[str] = (),
        ignored_groups: Sequence[str] = (),
    ) -> None:
        self._strategy = strategy
        self._ignored = frozenset(ignored)
        self._ignored_groups = frozenset(ignored_groups)

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter:
        return FitFilter(cluster, self._counted_amounts(shape.demand, cluster))

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer:
        return _Scorer(cluster, shape.demand, self._strategy)

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _frees_something),
            Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE, self._node_may_fit),
            Hint(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN, _shrinks_what_is_asked),
            Hint(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN, always),
        )

    def _counted_amounts(self, demand: Demand, cluster: ClusterState) -> tuple[tuple[int, int], ...]:
        if not self._ignored and not self._ignored_groups:
            return demand.amounts
        return tuple((index, amount) for index, amount in demand.amounts if self._counts(cluster.resources.name(index)))

    def _counts(self, resource: str) -> bool:
        return resource not in self._ignored and resource.partition("/")[0] not in self._ignored_groups

    def _node_may_fit(self, shape: Shape, event: ClusterEvent) -> bool:
        """The empty node would take the pod and, if it is not new, has grown in something the pod asks for."""
        old: Node | None = event.old
        new: Node = event.new
        asked = {name: amount for name, amount in shape.demand.requests if self._counts(name)}
        there = counted_quantities(new.status.allocatable)
        if there.get(PODS, 0) < 1 or any(amount > there.get(name, 0) for name, amount in asked.items()):
            return False
        if old is None:
            return True
        before = counted_quantities(old.status.allocatable)
        return any(there.get(name, 0) > before.get(name, 0) for name in (PODS, *asked))


def _frees_something(_shape: Shape, event: ClusterEvent) -> bool:
    gone: Pod = event.old
    return bool(gone.spec.node_name or gone.status.nominated_node_name)


def _shrinks_what_is_asked(shape: Shape, event: ClusterEvent) -> bool:
    before, after = pod_requests(event.old.spec), pod_requests(event.new.spec)
    return any(after.get(name, 0) < before.get(name, 0) for name, _ in shape.demand.requests)


class MoreInUse(msgspec.Struct, frozen=True):
    """For some rows: pods and amounts by resource that come on top of what the columns say."""

    pods: Column
    requested: Mapping[int, Column]


class FitFilter:
    """Public for preemption, which asks it for the amounts it weighs."""

    def __init__(self, cluster: ClusterState, amounts: Sequence[tuple[int, int]]) -> None:
        assert len(amounts) <= _RESOURCES_MAX, "a pod asks for a handful of resources"
        self._cluster = cluster
        self.amounts = tuple(amounts)
        self.alike: Hashable = self.amounts

    def codes(self, rows: Rows) -> Column:
        return self.codes_besides(rows, None)

    def codes_besides(self, rows: Rows, more: "MoreInUse | None") -> Column:
        """The verdicts as if so much more were in use on those rows: what nominated pods will take."""
        cluster = self._cluster
        count = at(cluster.pod_count, rows)
        if more is not None:
            count = count + more.pods
        codes: Column = (count >= at(cluster.pods_max, rows)) * _PODS_BIT
        bit = 1
        for index, amount in self.amounts:
            bit *= 2
            there = at(cluster.allocatable[index], rows)
            free = there - at(cluster.requested[index], rows)
            if more is not None:
                free = free - more.requested.get(index, 0)
            lacks, is_final = amount > free, amount > there
            if index in cluster.delegated:
                lacks, is_final = lacks & (there != 0), is_final & (there != 0)
            codes = codes + lacks * bit
            codes = codes | is_final * FINAL
        return codes

    def code(self, row: int, pods_free: int, free: Sequence[int]) -> int:
        """The verdict when so much would be left beside the pod; less than nothing is too little."""
        code = _PODS_BIT if pods_free < 0 else 0
        for bit, ((index, amount), left) in enumerate(zip(self.amounts, free, strict=True), start=1):
            there = self._cluster.allocatable[index].item(row)
            if not there and index in self._cluster.delegated:
                continue
            if left < 0:
                code |= 1 << bit
            if amount > there:
                code |= FINAL
        return code

    def reasons(self, code: int) -> Sequence[str]:
        found = [TOO_MANY_PODS] if code & 1 else []
        for bit, (index, _) in enumerate(self.amounts, start=1):
            if code & (1 << bit):
                found.append(f"Insufficient {self._cluster.resources.name(index)}")
        return found

    def details(self, row: int) -> Sequence[Detail]:
        cluster = self._cluster
        found = []
        if cluster.pod_count[row] >= cluster.pods_max[row]:
            what = f"{cluster.pod_count[row]} pods of at most {cluster.pods_max[row]}"
            found.append(Detail(reason=TOO_MANY_PODS, what=what, topic="pods", shortfall=1))
        for index, amount in self.amounts:
            there = int(cluster.allocatable[index][row])
            used = int(cluster.requested[index][row])
            if amount > there - used and (there or index not in cluster.delegated):
                name = cluster.resources.name(index)
                unit = "m" if name == CPU else ""
                used_of = f"{used}{unit} of {there}{unit} in use" if there else "the node has none"
                what = f"{name}: asks {amount}{unit}, {used_of}"
                short = amount - (there - used)
                topic = name if there else ""  # nodes that have nothing of it stand apart from those that have some
                found.append(Detail(reason=f"Insufficient {name}", what=what, topic=topic, shortfall=short))
        return found


class _Scorer:
    def __init__(self, cluster: ClusterState, demand: Demand, strategy: ScoringStrategy) -> None:
        self._cluster = cluster
        self._demand = demand
        self._strategy = strategy
        self._resources = scored_resources(cluster, demand, strategy.resources)
        self._table = ratio_table(strategy.shape) if strategy.type == "RequestedToCapacityRatio" else None
        self.alike: Hashable = (self._resources, demand.amounts, demand.scoring_cpu, demand.scoring_memory)

    def raw(self, rows: Rows) -> Column:
        if not self._resources:
            return at(self._cluster.pod_count, rows) * 0  # type: ignore[no-any-return]  # a Column
        shares = [self._share(index, weight, rows) for index, weight in self._resources]
        match self._strategy.type:
            case "MostAllocated":
                return average(shares, [most_allocated(share.used, share.cap) for share in shares])
            case "RequestedToCapacityRatio":
                assert self._table is not None, "the strategy has a table"
                return average_of_positive(shares, [ratio(share.used, share.cap, self._table) for share in shares])
            case _:
                return average(shares, [least_allocated(share.used, share.cap) for share in shares])

    def _share(self, index: int, weight: int, rows: Rows) -> Share:
        """Containers that ask for no cpu or memory count as asking a little, so that they too spread."""
        cluster, demand = self._cluster, self._demand
        cap = at(cluster.allocatable[index], rows)
        if index == CPU_INDEX:
            return Share(at(cluster.scoring_cpu, rows) + demand.scoring_cpu, cap, weight)
        if index == MEMORY_INDEX:
            return Share(at(cluster.scoring_memory, rows) + demand.scoring_memory, cap, weight)
        return Share(at(cluster.requested[index], rows) + dict(demand.amounts).get(index, 0), cap, weight)


def scored_resources(
    cluster: ClusterState, demand: Demand, resources: Sequence[ResourceWeight]
) -> tuple[tuple[int, int], ...]:
    """Numbers and weights of the resources that count for this pod: an extended one only if it is asked for."""
    asked = dict(demand.requests)
    native = (CPU, MEMORY, EPHEMERAL_STORAGE)
    counted = tuple(
        (cluster.resources.index(resource.name), resource.weight)
        for resource in resources
        if resource.name in native or asked.get(resource.name, 0) > 0
    )
    cluster.ensure_resources()
    return counted
