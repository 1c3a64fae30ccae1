"""All that is followed while a plan is made, and how it becomes the plan."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from doorman.api.views.nodes import Node
from doorman.base.clock import Clock, Instant
from doorman.base.instants import to_time
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.cluster.disruption import RESOURCE as BUDGETS
from doorman.nodes.node_annotations import SILENT
from doorman.plan.node_fill import full_nodes
from doorman.plan.plan_options import PlanOptions
from doorman.plan.plan_result import Plan, PodMove, Summary
from doorman.plan.trails.budget_trail import BudgetTrails
from doorman.plan.trails.event_trail import EventTrail
from doorman.plan.trails.node_trail import NodeTrails
from doorman.plan.trails.pending_pods import pending_pods
from doorman.plan.trails.pod_departures import DELETED, Departures
from doorman.plan.trails.pod_trail import PodTrail, PodTrails
from doorman.plan.trails.workload_trail import KINDS, WorkloadTrails
from doorman.plan.trails.zone_trail import ZoneTrails
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.in_process.zone_reports import reports_zones

STARTING_SECONDS_MAX: Final = 600.0
"""A pod that is not ready so long after it got its node will not be waited for."""


class FollowedCluster(Protocol):
    """A cluster that can be followed."""

    @property
    def clock(self) -> Clock: ...

    @property
    def plane(self) -> ControlPlane: ...

    @property
    def events(self) -> EventTrail: ...


class ClusterTrail:
    def __init__(self, copy: FollowedCluster, *, is_running: bool = False) -> None:
        """Made before the cluster is started, so that it hears of everything; one that runs is looked through."""
        self._copy = copy
        self._clock = copy.clock
        self._begun: Instant = copy.clock.now()
        informers = copy.plane.informers
        self._nodes = informers.lister("nodes")
        self._pods = informers.lister("pods")
        self._workloads = WorkloadTrails(copy.clock, informers.lister("replicasets.apps"))
        self._budgets = BudgetTrails(copy.clock)
        self._trails = PodTrails(copy.clock, copy.events)
        self._trails.on_readiness(self._workloads.readiness_changed)
        self._zones = ZoneTrails(None, self._begun)
        self._node_changed_at = self._begun
        self._node_trails = NodeTrails(copy.clock)
        self._is_begun = False
        listeners: list[tuple[str, Callable[[ObjectChange], None]]] = [
            *((resource, self._workloads.workload_changed) for resource in KINDS),
            (BUDGETS, self._budgets.changed),
            ("nodes", self._node_changed),
            ("pods", self._trails.changed),
        ]
        for resource, listener in listeners:
            informers.of(resource).listen(listener, "plan")
            for view in informers.lister(resource).list() if is_running else ():
                listener(ObjectChange(resource, None, view))

    def begin(self) -> None:
        """Whatever was told until now was there before."""
        self._zones = ZoneTrails(self._copy.plane.find(reports_zones), self._begun)
        self._is_begun = True
        self._workloads.begin()
        self._budgets.begin()
        self._trails.begin()

    def look(self) -> None:
        """At what nobody tells of."""
        self._zones.look(self._clock.now())

    @property
    def changed_at(self) -> Instant:
        """When something that matters changed last."""
        return max(self._trails.changed_at, self._node_changed_at)

    def is_waiting(self) -> bool:
        """Whether something that was begun is to come: a node's taint, a pod's start or its end."""
        if self._zones.is_waiting:
            return True
        now = self._clock.now()
        for trail in self._trails.all():
            if trail.gone is not None or not trail.node or self._is_silent(trail.node):
                continue
            if trail.deleted is not None and not trail.is_ended:
                return True
            is_starting = trail.bound is not None and trail.ready is None and not trail.last.is_finished
            if is_starting and now - (trail.bound or now) < STARTING_SECONDS_MAX:
                return True
        return False

    def told(self, *, action: str, options: PlanOptions, notes: tuple[str, ...]) -> Plan:
        now, begun = self._clock.now(), self._begun
        owner_of = self._workloads.top_of
        trails = list(self._trails.all())
        departures = Departures(self._copy.events, owner_of, begun)
        moves = tuple(departures.moves(trails))
        runner = self._copy.plane.scheduler
        pending = tuple(pending_pods(trails, runner.scheduler if runner is not None else None, owner_of, begun))
        newcomers = [trail.last for trail in trails if trail.bound is not None and trail.gone is None]
        full = tuple(full_nodes(self._nodes, self._pods, newcomers))
        workloads = tuple(self._workloads.effects(now))
        budgets = tuple(self._budgets.effects(begun, now))
        preemptions = tuple(departures.preemptions(trails))
        is_over = now - begun >= options.horizon_seconds
        summary = Summary(
            evicted=len(evicted(moves)),
            pending=sum(one.since_seconds >= 0 for one in pending),
            budgets_broken=len(budgets),
            workloads_below=sum(one.below_desired_seconds > 0 for one in workloads),
            preempted=len(preemptions),
            not_replaced=sum(move.owner is None for move in evicted(moves)),
            nodes_full=len({one.name for one in full}),
            quiet_at_seconds=None if is_over else round(self.changed_at - begun, 1),
        )
        return Plan(
            action=action,
            snapshot_time=to_time(begun),
            nodes=len(self._nodes),
            pods_total=self._trails.count,
            horizon_seconds=options.horizon_seconds,
            seed=options.seed,
            summary=summary,
            pods=moves,
            pending=pending,
            workloads=workloads,
            budgets=budgets,
            preemptions=preemptions,
            zones=tuple(self._zones.histories()),
            nodes_changed=tuple(self._node_trails.changes(begun)),
            full_nodes=full,
            notes=(*notes, *self._refusals(), *self._unattached(trails)),
        )

    def _refusals(self) -> Iterator[str]:
        for (workload, namespace), message in sorted(self._copy.events.refusals.items()):
            yield f"{namespace}/{workload} cannot make a pod: {message}"

    def _unattached(self, trails: Iterable[PodTrail]) -> Iterator[str]:
        """Pods that have a node and do not start there, for want of their volumes."""
        for trail in trails:
            pod = trail.last
            message = self._copy.events.attachment_failure(pod.metadata.uid)
            if message and trail.gone is None and pod.status.phase == "Pending":
                yield f"{pod.metadata.key} does not start on {pod.spec.node_name}: {message}"

    def _is_silent(self, name: str) -> bool:
        node: Node | None = self._nodes.get(name)
        return node is None or node.metadata.annotations.get(SILENT) == "true"

    def _node_changed(self, change: ObjectChange) -> None:
        old: Node | None = change.old
        new: Node | None = change.new
        if old is None or new is None or _matters(old) != _matters(new):
            self._node_changed_at = self._clock.now()
        if self._is_begun and old is not None and new is not None:
            self._node_trails.changed(old, new)


def evicted(moves: tuple[PodMove, ...]) -> list[PodMove]:
    """Those whom something other than their own workload made leave."""
    return [move for move in moves if move.because.reason != DELETED]


def _matters(node: Node) -> tuple[object, ...]:
    """Of a node, what is not merely another heartbeat."""
    statuses = tuple((condition.type, condition.status) for condition in node.status.conditions)
    return node.spec, node.metadata.annotations, node.metadata.labels, statuses
