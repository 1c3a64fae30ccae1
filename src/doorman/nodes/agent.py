"""The agent of all simulated nodes: their kubelets, in one controller.

It takes up every Node with the annotation `doorman.dev/simulated: "true"`. For each it renews the Lease, posts the
status, admits pods that arrive as a kubelet does, runs them in name only, and ends them when they are deleted. A node
that is cut off does none of this; when it speaks again it catches up, so its pods run on meanwhile and learn of
their deletion late.

Keys: `leases/<slot>` (all nodes that renew then), `lease/<node>`, `node/<node>` and `pod/<namespace>/<name>`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.views.coordination import Lease
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_NODE, UNFINISHED_BY_NODE
from doorman.api.views.pods import Pod
from doorman.api.well_known import NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.client.actions import Action, Patch, Renew
from doorman.client.controller_contract import DONE, ObjectChange, Result, Retry, Source
from doorman.client.informer_cache import ListerOf
from doorman.nodes.agent_settings import AgentSettings
from doorman.nodes.annotation_warnings import AnnotationWarnings
from doorman.nodes.kubelet_writes import node_event, pod_event, status_patch
from doorman.nodes.node_annotations import SCRIPT, SHUTDOWN, SIMULATED, is_simulated
from doorman.nodes.pods.graceful_shutdown import EVENT_REASON, Shutdowns
from doorman.nodes.pods.pressure_eviction import (
    INTERVAL_SECONDS,
    SHORTAGES,
    decide_victim,
    eviction_body,
    eviction_message,
    observe,
)
from doorman.nodes.pods.simulated_pods import SimulatedPods
from doorman.nodes.pods.start_requirements import StartRequirements
from doorman.nodes.profile import missing_status
from doorman.nodes.status.node_lease import decide_renewal, is_fresh, is_in_order, last_instant, next_instant, slot_of
from doorman.nodes.status.node_status import change_events, last_report, next_report, status_body, wanted_statuses
from doorman.nodes.status.simulated_health import SimulatedHealth, health_at, is_ready, wake_at_first
from doorman.nodes.status.unwritten_leases import renewed_at, renews_unwritten

NAME: Final = "simulated-nodes"
WORKERS: Final = 64
RETRY: Final = Retry(attempts_max=5, delay_seconds=0.2, delay_seconds_max=7.0)


def node_keys(change: ObjectChange) -> Iterable[str]:
    newest: Node = change.newest
    name = newest.metadata.name
    if not is_simulated(newest.metadata.annotations):
        return (f"node/{name}",) if SIMULATED in newest.metadata.annotations else ()
    old: Node | None = change.old
    if old is None or old.metadata.annotations != newest.metadata.annotations:
        return (f"node/{name}", f"lease/{name}")
    return (f"node/{name}",)


class SimulatedNodes:
    """Remembers of its nodes what a kubelet remembers; of their pods `SimulatedPods` does."""

    name = NAME
    workers = WORKERS

    def __init__(
        self,
        nodes: ListerOf[Node],
        pods: ListerOf[Pod],
        leases: ListerOf[Lease],
        settings: AgentSettings | None = None,
        requirements: StartRequirements | None = None,
    ) -> None:
        self.sources: Final[Sequence[Source]] = (Source("nodes", node_keys), Source("pods", self._pod_keys))
        self._nodes = nodes
        self._pods = pods
        self._leases = leases
        self._settings = settings if settings is not None else AgentSettings()
        self._slots: dict[int, dict[str, None]] = {}
        """The nodes that renew in each slot."""
        self._warnings = AnnotationWarnings()
        self._shutdowns = Shutdowns()
        self._requirements = requirements or StartRequirements()
        self._kubelet = SimulatedPods(pods, self._settings, self._shutdowns, self._warnings, self._requirements)
        self.metrics: Final = self._kubelet.metrics
        self._was_silent: set[str] = set()
        self._was_ready: dict[str, bool] = {}
        self._was_cordoned: set[str] = set()
        self._next_eviction: dict[str, Instant] = {}
        """By node under pressure: when it may evict again."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "leases":
                return self._renew_together(int(rest), now)
            case "lease":
                return self._renew(rest, now)
            case "pod":
                return self._sync_pod(rest, now)
            case _:
                assert kind == "node", f"unknown key {key}"
                return self._sync_node(rest, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next slot, or the next change, tries again."""
        return

    def clock_was_set(self, seconds: float) -> None:
        self._next_eviction = {name: at + seconds for name, at in self._next_eviction.items()}
        self._kubelet.clock_was_set(seconds)

    def _pod_keys(self, change: ObjectChange) -> Iterable[str]:
        """Pods of its nodes, and those it remembers: others are other kubelets' business."""
        newest: Pod = change.newest
        key = newest.metadata.key
        is_mine = self._kubelet.knows(key) or (newest.spec.node_name and self._owned(newest.spec.node_name) is not None)
        nodes = self._requirements.concerned_nodes(change) if is_mine else ()
        return (f"pod/{key}", *(f"node/{name}" for name in nodes)) if is_mine else ()

    def _owned(self, name: str) -> Node | None:
        node = self._nodes.get(name)
        return node if node is not None and is_simulated(node.metadata.annotations) else None

    def _health(self, node: Node, now: Instant) -> SimulatedHealth:
        annotations = node.metadata.annotations
        if len(annotations) == 1:
            return _GOOD_HEALTH
        text = node.metadata.creation_timestamp if SCRIPT in annotations else ""
        health = health_at(annotations, from_time(text) if text else now, now)
        if health.shutdown is not None and self._shutdowns.is_off(node.metadata.name, now):
            return msgspec.structs.replace(health, silent=True)
        return health

    def _renew(self, name: str, now: Instant) -> Result:
        """Of a node that has just come, or whose lease is not in order; from now on it goes with its slot."""
        node = self._owned(name)
        if node is None:
            return DONE
        slot = slot_of(name)
        wakes: list[tuple[str, Instant]] = []
        if self._settings.writes_leases or not renews_unwritten(node):
            self._slots.setdefault(slot, {})[name] = None
            wakes.append((f"leases/{slot}", next_instant(slot, self._settings.lease_renew_seconds, now)))
        if self._health(node, now).silent:
            return Result(wakes=wakes)
        lease = self._leases.get(f"{NODE_LEASE_NAMESPACE}/{name}")
        if (
            self._settings.is_resuming(now)
            and lease is not None
            and is_fresh(lease, now, self._settings.lease_renew_seconds)
        ):
            return Result(wakes=wakes)
        renewal = decide_renewal(node.metadata, lease, now, self._settings.lease_duration_seconds)
        return Result(actions=(renewal,), wakes=wakes, retry=RETRY)

    def _last_sign(self, node: Node, now: Instant) -> Iterable[Action]:
        """Of a node that has given signs of life unwritten and falls silent: the last, if none newer is written."""
        name = node.metadata.name
        slot = last_instant(slot_of(name), self._settings.lease_renew_seconds, now)
        last = max(slot, last_report(node, now, self._settings.status_report_seconds))
        lease = self._leases.get(f"{NODE_LEASE_NAMESPACE}/{name}")
        return (Renew(nodes=(name,), at=last),) if lease is not None and last > renewed_at(lease) else ()

    def _renew_together(self, slot: int, now: Instant) -> Result:
        members = self._slots.get(slot, {})
        duration_seconds = self._settings.lease_duration_seconds
        renewed: list[str] = []
        gone: list[str] = []
        wakes = [(f"leases/{slot}", next_instant(slot, self._settings.lease_renew_seconds, now))]
        for name in members:
            node = self._owned(name)
            if node is None or (not self._settings.writes_leases and renews_unwritten(node)):
                gone.append(name)
                continue
            health = self._health(node, now)
            if health.silent:
                if health.changes_at is None:
                    gone.append(name)  # other annotations, without which it does not speak again, bring it back
                continue
            lease = self._leases.get(f"{NODE_LEASE_NAMESPACE}/{name}")
            if lease is not None and is_in_order(node.metadata, lease, duration_seconds):
                renewed.append(name)
            else:
                wakes.append((f"lease/{name}", now))
        for name in gone:
            del members[name]
        if not members:
            return DONE
        return Result(actions=(Renew(nodes=tuple(renewed), at=now),) if renewed else (), wakes=wakes)

    def _sync_node(self, name: str, now: Instant) -> Result:
        node = self._owned(name)
        if node is None:
            self._was_silent.discard(name)
            self._was_ready.pop(name, None)
            self._was_cordoned.discard(name)
            self._next_eviction.pop(name, None)
            self._shutdowns.forget(name)
            self._kubelet.forget_node(name)
            other = self._nodes.get(name)
            if other is not None:
                return Result(actions=self._warnings.about_node(other))
            self._warnings.forget(name)
            return DONE
        actions: list[Action] = []
        wakes: list[tuple[str, Instant]] = []
        self._follow_shutdown(node, actions, wakes, now)
        health = self._health(node, now)
        actions.extend(self._warnings.about_node(node, health.error))
        if health.silent:
            if (
                not self._settings.writes_leases
                and name not in self._was_silent
                and not self._settings.is_resuming(now)
            ):
                actions.extend(self._last_sign(node, now))
            self._was_silent.add(name)
            wakes.extend(wake_at_first(f"node/{name}", health.changes_at))
            return Result(actions=actions, wakes=wakes)
        if name in self._was_silent:
            wakes.append((f"lease/{name}", now))
        reports, woken = self._requirements.node_changed(node)
        actions.extend(reports)
        wakes.extend((f"pod/{key}", now) for key in woken)
        if self._must_look_at_pods(node):
            pods = sorted(self._pods.by(BY_NODE, name), key=lambda pod: pod.metadata.creation_timestamp)
            wakes.extend((f"pod/{pod.metadata.key}", now) for pod in pods)
        wanted = wanted_statuses(health.conditions, node)
        due = next_report(node, wanted, now, self._settings.status_report_seconds, health.messages)
        missing = missing_status(node)
        if due <= now or missing:
            body = status_body(node, wanted, now, missing, health.messages)
            actions.append(Patch(resource="nodes", name=name, subresource="status", body=body))
            actions.extend(change_events(node, wanted))
            due = now + self._settings.status_report_seconds
        self._tell_of_cordon(node, actions)
        evicts_at = self._relieve(node, health, actions, now)
        plan = self._shutdowns.plan_of(name)
        off_at = plan.off if plan is not None else None
        reports_at = due if self._settings.writes_leases or not renews_unwritten(node) else None
        wakes.extend(wake_at_first(f"node/{name}", reports_at, health.changes_at, evicts_at, off_at))
        return Result(actions=actions, wakes=wakes, retry=RETRY)

    def _follow_shutdown(
        self, node: Node, actions: list[Action], wakes: list[tuple[str, Instant]], now: Instant
    ) -> None:
        """A node that is told to shut down ends its pods, each at its own time."""
        name = node.metadata.name
        annotations = node.metadata.annotations
        periods = health_at(annotations, now, now).shutdown if SHUTDOWN in annotations else None
        if periods is None and self._shutdowns.plan_of(name) is None:
            return
        pods = self._kubelet.running_on(name)
        before = self._shutdowns.plan_of(name)
        told = self._shutdowns.follow(name, periods, pods, now, ready=node.status.condition("Ready"))
        if told:
            actions.append(node_event(node, "Normal", EVENT_REASON, told))
        if self._shutdowns.plan_of(name) is not before:
            wakes.extend((f"pod/{pod.metadata.key}", self._shutdowns.end_of(pod) or now) for pod in pods)

    def _tell_of_cordon(self, node: Node, actions: list[Action]) -> None:
        name = node.metadata.name
        if node.spec.unschedulable is (name in self._was_cordoned):
            return
        if node.spec.unschedulable:
            self._was_cordoned.add(name)
        else:
            self._was_cordoned.discard(name)
        reason = "NodeNotSchedulable" if node.spec.unschedulable else "NodeSchedulable"
        actions.append(node_event(node, "Normal", reason, f"Node {name} status is now: {reason}"))

    def _relieve(self, node: Node, health: SimulatedHealth, actions: list[Action], now: Instant) -> Instant | None:
        """A node that runs short evicts one pod at a time; gives when to look again."""
        name = node.metadata.name
        shortage = next((one for one in SHORTAGES if health.conditions.get(one.condition) == "True"), None)
        if shortage is None:
            self._next_eviction.pop(name, None)
            return None
        at = self._next_eviction.setdefault(name, now)
        if now < at:
            return at
        text = f"Attempting to reclaim {shortage.resource}"
        actions.append(node_event(node, "Warning", "EvictionThresholdMet", text))
        pods = list(self._pods.by(UNFINISHED_BY_NODE, name))
        victim = decide_victim(shortage, pods)
        if victim is not None:
            message = eviction_message(shortage, victim, observe(shortage, node, pods))
            actions.append(pod_event(victim, "Evicted", message))
            actions.append(status_patch(victim, eviction_body(victim, message, now)))
        self._next_eviction[name] = now + INTERVAL_SECONDS
        return now + INTERVAL_SECONDS

    def _must_look_at_pods(self, node: Node) -> bool:
        """The node was cut off, or has just become Ready."""
        name = node.metadata.name
        ready = is_ready(node)
        became_ready = ready and self._was_ready.get(name) is False
        self._was_ready[name] = ready
        was_silent = name in self._was_silent
        self._was_silent.discard(name)
        return was_silent or became_ready

    def _sync_pod(self, key: str, now: Instant) -> Result:
        pod = self._pods.get(key)
        self._kubelet.forget_former(key, pod)
        if pod is None or not pod.spec.node_name:
            return DONE
        node = self._owned(pod.spec.node_name)
        if node is None or self._health(node, now).silent or node.metadata.name in self._was_silent:
            return DONE  # a node that has just come back looks at all its pods, in order
        return self._kubelet.sync(key, pod, node, now)


_GOOD_HEALTH: Final = SimulatedHealth()
