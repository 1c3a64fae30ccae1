"""node-lifecycle-controller: taints nodes by their conditions, and tells who has gone silent.

It reads nodes, leases and pods. Whenever a node changes, its NoSchedule taints are made to follow its conditions.
A health pass every few seconds notes signs of life, marks silent nodes Unknown and their pods not ready, and queues
failing nodes zone by zone; a tainting pass on a grid of 100 ms gives the queued nodes their NoExecute taint as fast
as their zone's limiter lets it. See `node_health`, `node_taints` and `node_zones` for the rules.

All taints of a node are written under one key, so that two decisions never race for its list. Before a node is marked
Unknown its lease is looked up where it is stored, if the controller was given a way: a newer one means that the cache
is behind and the node may well be alive, and no node is monitored until the cache has caught up.

Keys: `health`, `taint`, `node/<name>`, `mark/<name>`, `flipped/<name>` and `pod/<namespace>/<name>`.
"""

from collections.abc import Callable, Sequence, Set
from typing import Final

from prometheus_client.metrics import MetricWrapperBase

from doorman.api.views.coordination import Lease
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_NODE
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.client.actions import Action
from doorman.client.controller_contract import DONE, Result, Retry
from doorman.client.informer_cache import ListerOf
from doorman.controllers.node.no_execute_taints import NoExecuteTaints
from doorman.controllers.node.node_collector_metrics import NodeCollectorMetrics
from doorman.controllers.node.node_health import (
    NodeMemory,
    as_unknown,
    decide_mark,
    decide_pod_not_ready,
    grace_seconds,
    node_event,
    observe,
    ready_status,
    remember,
    resume,
    unknown_conditions,
)
from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.controllers.node.node_lifecycle_sources import SOURCES
from doorman.controllers.node.node_taints import (
    decide_labels,
    decide_taints,
    has_no_execute,
    no_execute_since,
)
from doorman.controllers.node.node_zones import (
    Disruption,
    Rates,
    ZoneCount,
    ZoneReport,
    Zones,
    report_zone,
    zone_of,
)
from doorman.semantics.taints.condition_taints import UNREACHABLE_NO_EXECUTE
from doorman.semantics.taints.taint_lists import has_taint

NAME: Final = "node-lifecycle-controller"
EXCLUDE_LABEL: Final = "node.kubernetes.io/exclude-disruption"
WORKERS: Final = 16

MARK_RETRY: Final = Retry(attempts_max=5, delay_seconds=0.02, factor=1.0)
TAINT_RETRY: Final = Retry(attempts_max=5, delay_seconds=0.1, factor=1.0)


class NodeLifecycleController:
    """Owns the memory of nodes, the zones with their queues, and which NoExecute taint each node is to get."""

    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        nodes: ListerOf[Node],
        pods: ListerOf[Pod],
        leases: ListerOf[Lease],
        settings: NodeLifecycleSettings | None = None,
        *,
        live_leases: ListerOf[Lease] | None = None,
        stopwatch: Callable[[], float] | None = None,
    ) -> None:
        """`live_leases` reads what is stored, not what an informer has heard of; None: nobody is asked.

        `stopwatch` gives seconds from any beginning, for the metrics of how long monitoring takes; None: it takes none.
        """
        self._nodes = nodes
        self._pods = pods
        self._leases = leases
        self._live_leases = live_leases
        self._stopwatch = stopwatch if stopwatch is not None else float
        self._settings = settings = settings if settings is not None else NodeLifecycleSettings()
        self._memories: dict[str, NodeMemory] = {}
        self._zones = Zones(
            Rates(
                primary=settings.node_eviction_rate,
                secondary=settings.secondary_node_eviction_rate,
                large_zone_size_min=settings.large_cluster_size_threshold,
                unhealthy_share_min=settings.unhealthy_zone_threshold,
            )
        )
        self._marked: set[str] = set()
        """Ready nodes whose flip to Unknown is this controller's own doing and whose pods are to be marked for it."""
        self._behind: tuple[str, int] | None = None
        """A lease, and the version of it that the cache must have heard of before nodes are monitored again."""
        self._monitored: Sequence[Node] = ()
        """The nodes as they were listed for the last pass; of them those that the next one must look at, if it finds
        the same list, and by zone how many others are ready.
        """
        self._watched: list[Node] = []
        self._passed_over: dict[str, int] = {}
        self._measures = NodeCollectorMetrics()
        self._no_execute = NoExecuteTaints(nodes, self._zones, self._measures.evictions)

    @property
    def metrics(self) -> Sequence[MetricWrapperBase]:
        return self._measures.all

    def zones(self) -> list[ZoneReport]:
        """How every zone is doing, and why nothing is tainted where nothing is."""
        return [report_zone(zone, found) for zone, found in sorted(self._zones.items()) if found.state is not None]

    def start(self, now: Instant) -> Result:
        self._no_execute.started = now
        return Result(wakes=(("health", now),))

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "node":
                return self._sync_node(rest, now)
            case "health":
                return self._health_pass(now)
            case "taint":
                return self._no_execute.taint_pass(now)
            case "pod":
                return self._sync_pod(rest, now)
            case "mark":
                return self._mark(rest, now)
            case _:
                assert kind == "flipped", f"unknown key {key}"
                return self._flipped(rest, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        kind, _, name = key.partition("/")
        if kind == "node":
            self._no_execute.intents.pop(name, None)
        elif kind == "mark":
            self._forget_mark(name)
            memory = self._memories.get(name)
            if memory is not None:
                self._zones.known(memory.zone).remove(name)

    def clock_was_set(self, seconds: float) -> None:
        for memory in self._memories.values():
            memory.probed += seconds
        self._no_execute.clock_was_set(seconds)

    def _sync_node(self, name: str, now: Instant) -> Result:
        node = self._nodes.get(name)
        if node is None:
            self._no_execute.intents.pop(name, None)
            return DONE
        if ready_status(node) == "Unknown":
            self._no_execute.unseen.discard(name)
        patch = decide_taints(node, self._no_execute.intents.get(name), now)
        if patch is None:
            self._no_execute.intents.pop(name, None)
        labels = decide_labels(node)
        actions = [action for action in (patch, labels) if action is not None]
        return Result(actions=actions, retry=TAINT_RETRY) if actions else DONE

    def _health_pass(self, now: Instant) -> Result:
        again = ("health", now + self._settings.node_monitor_period_seconds)
        nodes = self._nodes.list()
        actions: list[Action] = []
        wakes: list[tuple[str, Instant]] = []
        self._note_arrivals(nodes, now, actions, wakes)
        if self._is_behind():
            return Result(actions=actions, wakes=(*wakes, again))
        counts = self._monitor_all(nodes, now, wakes)
        self._evaluate_zones(counts, nodes, now, wakes)
        wakes.extend(self._no_execute.next_pass(now))
        return Result(actions=actions, wakes=(*wakes, again))

    def _monitor_all(
        self, nodes: Sequence[Node], now: Instant, wakes: list[tuple[str, Instant]]
    ) -> dict[str, ZoneCount]:
        """How many of each zone are ready. While no node changes, those passed over are not even counted again."""
        is_unchanged = nodes is self._monitored
        if not is_unchanged:
            self._monitored, self._watched, self._passed_over = nodes, [], {}
        ready: dict[str, int] = {}
        not_ready: dict[str, int] = {}
        begun = node_begun = self._stopwatch()
        for node in self._watched if is_unchanged else nodes:
            memory = self._memories[node.metadata.name]
            current = self._unchanged_status(node, memory, now)
            if current is None:
                current = self._monitor(node, memory, now, wakes)
                node_ended = self._stopwatch()
                self._measures.node_seconds.observe(node_ended - node_begun)
                node_begun = node_ended
            if not is_unchanged and not memory.is_passed_over:
                self._watched.append(node)
            if memory.is_counted:
                is_kept = memory.is_passed_over and not is_unchanged
                counts = self._passed_over if is_kept else ready if current == "True" else not_ready
                counts[memory.zone] = counts.get(memory.zone, 0) + 1
        self._measures.pass_seconds.observe(node_begun - begun)
        passed_over = self._passed_over
        return {
            zone: ZoneCount(ready=passed_over.get(zone, 0) + ready.get(zone, 0), not_ready=not_ready.get(zone, 0))
            for zone in sorted({*passed_over, *ready, *not_ready})
        }

    def _unchanged_status(self, node: Node, memory: NodeMemory, now: Instant) -> str | None:
        """The Ready status of a node of which nothing is new; None: it is to be monitored."""
        if memory.node is not node:
            return None
        if memory.is_settled and (memory.is_passed_over or self._is_alive(memory, now)):
            return "True"
        if not (memory.is_given_up or memory.is_waiting):
            return None
        if self._leases.get(memory.lease_key) is not memory.lease:
            return None
        is_kept = memory.is_given_up or self._no_execute.keep_waiting(node.metadata.name, memory.zone, now)
        return "Unknown" if is_kept else None

    def _monitor(self, node: Node, memory: NodeMemory, now: Instant, wakes: list[tuple[str, Instant]]) -> str | None:
        current = self._observe(node, memory, now, wakes)
        is_unknown = ready_status(node) == "Unknown"
        memory.is_counted = EXCLUDE_LABEL not in node.metadata.labels
        memory.is_settled = current == "True" and not has_no_execute(node)
        memory.is_given_up = is_unknown and has_taint(node.spec.taints, UNREACHABLE_NO_EXECUTE)
        memory.is_waiting = is_unknown and not has_no_execute(node)
        memory.is_passed_over = memory.is_settled and self._settings.is_alive_for_certain(node)
        if current is not None:
            self._no_execute.decide(node, memory.zone, current, now, wakes)
        return current

    def _note_arrivals(
        self, nodes: Sequence[Node], now: Instant, actions: list[Action], wakes: list[tuple[str, Instant]]
    ) -> None:
        memories = self._memories
        if nodes is self._monitored:
            return
        changed = [n for n in nodes if (known := memories.get(n.metadata.name)) is None or known.node is not n]
        if len(memories) + sum(node.metadata.name not in memories for node in changed) != len(nodes):
            self._note_departures({node.metadata.name for node in nodes}, actions)
        for node in changed:
            name = node.metadata.name
            zone = zone_of(node.metadata.labels)
            known = memories.get(name)
            if known is not None:
                if known.zone != zone:
                    self._zones.known(known.zone).remove(name)
                    known.zone = zone
                self._ensure_zone(zone, now)
                continue
            self._ensure_zone(zone, now)
            memories[name] = self._remember(node, zone, now)
            text = f"Node {name} event: Registered Node {name} in Controller"
            actions.append(node_event(node.metadata, "RegisteredNode", text))
            if not self._settings.is_resuming(now):
                self._no_execute.clear(node, zone, now, wakes)

    def _remember(self, node: Node, zone: str, now: Instant) -> NodeMemory:
        memory = remember(node, zone, now)
        if self._settings.is_resuming(now):
            resume(memory, self._leases.get(memory.lease_key), now, self._settings.node_monitor_period_seconds)
            if has_no_execute(node):
                self._zones.known(zone).resume(node.metadata.name, no_execute_since(node))
        return memory

    def _note_departures(self, present: Set[str], actions: list[Action]) -> None:
        for name in [name for name in self._memories if name not in present]:
            memory = self._memories.pop(name)
            self._zones.known(memory.zone).remove(name)
            self._no_execute.intents.pop(name, None)
            self._forget_mark(name)
            meta = ObjectMeta(name=name, uid=memory.uid)
            actions.append(node_event(meta, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller"))

    def _is_alive(self, memory: NodeMemory, now: Instant) -> bool:
        """Of a settled node: whether its grace is not over. Most nodes need no other look most of the time."""
        lease = self._leases.get(memory.lease_key)
        if lease is not memory.lease:
            observe(memory, memory.node, lease, now)
        return now <= memory.probed + self._settings.node_monitor_grace_period_seconds

    def _is_behind(self) -> bool:
        if self._behind is None:
            return False
        key, version = self._behind
        lease = self._leases.get(key)
        if lease is not None and _version(lease) < version:
            return True
        self._behind = None
        return False

    def _has_newer_lease(self, memory: NodeMemory) -> bool:
        """Whether the node has renewed its lease and the cache has not heard of it yet."""
        key = memory.lease_key
        live = self._live_leases.get(key) if self._live_leases is not None else None
        if live is None or (memory.lease is not None and _version(live) <= _version(memory.lease)):
            return False
        self._behind = (key, _version(live))
        return True

    def _observe(self, node: Node, memory: NodeMemory, now: Instant, wakes: list[tuple[str, Instant]]) -> str | None:
        """The node's Ready status as it is, or as it will be once the node is marked."""
        name = node.metadata.name
        if memory.is_passed_over:
            resume(memory, self._leases.get(memory.lease_key), now, self._settings.node_monitor_period_seconds)
        observe(memory, node, self._leases.get(memory.lease_key), now)
        if self._is_overdue(node, memory, now) and unknown_conditions(node, now):
            if self._has_newer_lease(memory):
                return ready_status(node)
            wakes.append((f"mark/{name}", now))
            self._no_execute.unseen.add(name)
            memory.ready = as_unknown(memory.ready, node)
            return "Unknown"
        self._forget_mark(name)
        return ready_status(node)

    def _forget_mark(self, name: str) -> None:
        self._marked.discard(name)
        self._no_execute.unseen.discard(name)

    def _is_overdue(self, node: Node, memory: NodeMemory, now: Instant) -> bool:
        grace = grace_seconds(
            node,
            monitor_seconds=self._settings.node_monitor_grace_period_seconds,
            startup_seconds=self._settings.node_startup_grace_period_seconds,
        )
        return now > memory.probed + grace

    def _mark(self, name: str, now: Instant) -> Result:
        node, memory = self._nodes.get(name), self._memories.get(name)
        if node is None or memory is None:
            return DONE
        observe(memory, node, self._leases.get(memory.lease_key), now)
        actions: list[Action] = []
        if self._is_overdue(node, memory, now) and not self._has_newer_lease(memory):
            actions = decide_mark(node, now)
        if not actions:
            self._no_execute.unseen.discard(name)
            return DONE
        memory.ready = as_unknown(memory.ready, node)
        if ready_status(node) == "True":
            self._marked.add(name)
        return Result(actions=actions, retry=MARK_RETRY)

    def _flipped(self, name: str, now: Instant) -> Result:
        """A node that was Ready is not any more: if this controller said so, its pods are not ready either."""
        if name not in self._marked:
            return DONE
        self._marked.discard(name)
        pods = self._pods.by(BY_NODE, name)
        return Result(wakes=[(f"pod/{pod.metadata.namespace}/{pod.metadata.name}", now) for pod in pods])

    def _sync_pod(self, key: str, now: Instant) -> Result:
        pod = self._pods.get(key)
        if pod is None or not pod.spec.node_name:
            return DONE
        memory = self._memories.get(pod.spec.node_name)
        if memory is None or memory.ready is None or memory.ready.status == "True":
            return DONE
        return Result(actions=decide_pod_not_ready(pod, now))

    def _evaluate_zones(
        self, counts: dict[str, ZoneCount], nodes: Sequence[Node], now: Instant, wakes: list[tuple[str, Instant]]
    ) -> None:
        match self._zones.evaluate(counts, now):
            case Disruption.ENTERED:
                for node in nodes:
                    self._no_execute.clear(node, self._memories[node.metadata.name].zone, now, wakes)
            case Disruption.LEFT:
                for memory in self._memories.values():
                    memory.probed = now
        for name, zone in self._zones.items():
            self._measures.set_zone(name, zone.count)

    def _ensure_zone(self, zone: str, now: Instant) -> None:
        if self._zones.ensure(zone, now):
            self._measures.evictions.labels(zone)


def _version(lease: Lease) -> int:
    return int(lease.metadata.resource_version or 0)
