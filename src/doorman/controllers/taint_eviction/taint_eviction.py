"""taint-eviction-controller: deletes pods from nodes whose NoExecute taints they do not tolerate, or no longer.

It reads nodes and pods. It gives a status patch (condition DisruptionTarget) and a plain delete for each pod that
must leave, now or when the tolerated time is over, and events that say so.

A timer, once set, is frozen: a further finitely tolerated taint or other seconds do not move it; only no taint at
all, tolerance for ever or a vanished pod cancel it, and only a taint that is not tolerated overtakes it. Keys of
timers have no UID, so a namesake inherits the timer. Both are Kubernetes' own rules. `EvictionTimers.PERSISTENT`
replaces the first: then the time counts from when each taint was added, or from when the pod came if that was later;
it follows every change and survives a restart.

Keys: `node/<name>`, `pod/<namespace>/<name>/<node>`, `evict/<namespace>/<name>` (something is due) and
`ended/<namespace>/<name>` (the pod was marked deleted, or is gone).
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, assert_never

import msgspec
from prometheus_client import Counter, Histogram
from prometheus_client.metrics import MetricWrapperBase

from doorman.api.taints import Effect, Taint
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_NODE
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.base.clock import Instant
from doorman.client.actions import Action, Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Retry, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.taint_eviction.eviction_budget import BudgetGate
from doorman.controllers.taint_eviction.eviction_messages import (
    NAME,
    EvictionCause,
    decide_condition_patch,
    detail_event,
    detail_message,
    eviction_event,
    held_back_message,
)
from doorman.controllers.taint_eviction.eviction_timers import (
    PendingEviction,
    Timer,
    arrival_of,
    decide_persistent_eviction,
    decide_resumed_eviction,
)
from doorman.semantics.taints.eviction_time import At, Eviction, Never, Now, decide_eviction
from doorman.semantics.taints.taint_records import ANNOTATION, dated_taints, read_records

ATTEMPTS_MAX: Final = 5
RETRY: Final = Retry(attempts_max=ATTEMPTS_MAX, delay_seconds=0.010, factor=1.0)
WORKERS: Final = 256
BUDGET_RETRY_SECONDS: Final = 5.0

DURATION_BUCKETS_SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


class EvictionTimers(StrEnum):
    FROZEN = "frozen"
    PERSISTENT = "persistent"


class TaintEvictionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults are Kubernetes' behaviour; the others are Doorman's own options."""

    comparison_operators: bool = True
    timers: EvictionTimers = EvictionTimers.FROZEN
    evictions_per_second: float = 0.0
    """Zero: no limit. Otherwise pods that are due leave one after another at this pace."""
    respects_budgets: bool = False
    """A pod that is due stays as long as a PodDisruptionBudget does not let it go."""
    resumed_at: Instant | None = None
    """The cluster was taken up as it was at this instant: timers that ran then go on from where they were."""


def node_keys(change: ObjectChange) -> Iterable[str]:
    """Rules N1 to N3: only the list of NoExecute taints matters, and it does with order, values and times."""
    old: Node | None = change.old
    new: Node | None = change.new
    if old is not None and new is not None and no_execute_taints(old) == no_execute_taints(new):
        return ()
    return (f"node/{change.newest.metadata.name}",)


def pod_keys(change: ObjectChange) -> Iterable[str]:
    """Rules P1 and P2: only tolerations and the node matter. That it is being deleted merely ends our own eviction."""
    old: Pod | None = change.old
    new: Pod | None = change.new
    newest: Pod = change.newest
    name = f"{newest.metadata.namespace}/{newest.metadata.name}"
    if old is None and not newest.spec.node_name:
        return ()
    if old is None or new is None or not _is_same_placement(old, new):
        return (f"pod/{name}/{newest.spec.node_name}",)
    if new.metadata.deletion_timestamp and not old.metadata.deletion_timestamp:
        return (f"ended/{name}",)
    return ()


SOURCES: Final = (Source("nodes", node_keys), Source("pods", pod_keys))


def no_execute_taints(node: Node) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.spec.taints if taint.effect == Effect.NO_EXECUTE)


class TaintEvictionController:
    """Owns the timers and the evictions under way."""

    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        nodes: ListerOf[Node],
        pods: ListerOf[Pod],
        settings: TaintEvictionSettings | None = None,
        *,
        budgets: ListerOf[PodDisruptionBudget] | None = None,
    ) -> None:
        """`budgets` are needed only by settings that respect them."""
        self._nodes = nodes
        self._pods = pods
        self._settings = settings if settings is not None else TaintEvictionSettings()
        self._gate: BudgetGate | None = None
        if self._settings.respects_budgets:
            assert budgets is not None, "who respects budgets must be shown them"
            self._gate = BudgetGate(budgets, pods)
        self._tainted: dict[str, tuple[Taint, ...]] = {}
        self._timers: dict[str, Timer] = {}
        self._pending: dict[str, PendingEviction] = {}
        self._next_slot: Instant = 0.0
        self._deletions = Counter(
            "taint_eviction_controller_pod_deletions_total",
            "Pods deleted because of NoExecute taints.",
            registry=None,
        )
        self._durations = Histogram(
            "taint_eviction_controller_pod_deletion_duration_seconds",
            "Seconds from the instant at which a pod had to leave until it was marked deleted.",
            buckets=DURATION_BUCKETS_SECONDS,
            registry=None,
        )

    @property
    def metrics(self) -> Sequence[MetricWrapperBase]:
        return (self._deletions, self._durations)

    @property
    def timers_pending(self) -> int:
        return len(self._timers)

    def timer_of(self, pod_key: str) -> Timer | None:
        """The planned eviction of `namespace/name`, for those who explain."""
        return self._timers.get(pod_key)

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "evict":
                return self._evict(rest, now)
            case "pod":
                pod_key, _, node_name = rest.rpartition("/")
                return self._handle_pod(pod_key, node_name, now)
            case "node":
                return self._handle_node(rest, now)
            case _:
                assert kind == "ended", f"unknown key {key}"
                self._end_eviction(rest, now)
                return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The eviction is forgotten until a node or pod event asks for it again."""
        kind, _, rest = key.partition("/")
        if kind == "evict":
            self._pending.pop(rest, None)

    def clock_was_set(self, seconds: float) -> None:
        """Kubernetes' timers know nothing of the time of day either; persistent ones go by times that are written."""
        if self._settings.timers is EvictionTimers.PERSISTENT:
            return
        for pod_key, timer in self._timers.items():
            self._timers[pod_key] = msgspec.structs.replace(
                timer, created=timer.created + seconds, fires=timer.fires + seconds
            )
        for pending in self._pending.values():
            pending.due += seconds
            pending.starts += seconds
            if pending.timer_created is not None:
                pending.timer_created += seconds
        self._next_slot += seconds

    def _handle_node(self, name: str, now: Instant) -> Result:
        node = self._nodes.get(name)
        if node is None:
            # Timers of its pods run on; what is left of the pods is the pod garbage collector's.
            self._tainted.pop(name, None)
            return DONE
        taints = no_execute_taints(node)
        if taints and (self._settings.timers is EvictionTimers.PERSISTENT or self._is_resuming(now)):
            taints = dated_taints(taints, read_records(node.metadata.annotations.get(ANNOTATION)))
        if taints:
            self._tainted[name] = taints
        else:
            self._tainted.pop(name, None)
        actions: list[Action] = []
        wakes: list[tuple[str, Instant]] = []
        for pod in self._pods.by(BY_NODE, name):
            if taints:
                self._process(pod, taints, now, actions, wakes)
            else:
                self._cancel_with_event(pod.metadata.key, actions)
        return Result(actions=actions, wakes=wakes)

    def _handle_pod(self, pod_key: str, node_name: str, now: Instant) -> Result:
        actions: list[Action] = []
        wakes: list[tuple[str, Instant]] = []
        pod = self._pods.get(pod_key)
        if pod is None:
            self._end_eviction(pod_key, now)
            self._cancel_with_event(pod_key, actions)
            return Result(actions=actions)
        if pod.spec.node_name != node_name or not node_name:
            return DONE
        taints = self._tainted.get(node_name)
        if taints is None:
            # Without cancelling: a pod that is observed again on an untainted node keeps a timer it has.
            return DONE
        self._process(pod, taints, now, actions, wakes)
        return Result(actions=actions, wakes=wakes)

    def _process(
        self,
        pod: Pod,
        taints: tuple[Taint, ...],
        now: Instant,
        actions: list[Action],
        wakes: list[tuple[str, Instant]],
    ) -> None:
        """What becomes of one pod of a tainted node."""
        assert taints, "an untainted node's pods are not evicted"
        pod_key = pod.metadata.key
        decision = self._decide(taints, pod, now)
        match decision:
            case Never():
                self._cancel_with_event(pod_key, actions)
            case Now(toleration=None):
                self._cancel_with_event(pod_key, actions)
                self._begin_eviction(
                    pod_key, PendingEviction(now, pod.spec.node_name, decision.taint, None, None), now, wakes
                )
            case Now():
                if pod_key not in self._timers or self._settings.timers is EvictionTimers.PERSISTENT:
                    self._timers.pop(pod_key, None)
                    pending = PendingEviction(now, pod.spec.node_name, decision.taint, decision.toleration, None)
                    self._begin_eviction(pod_key, pending, now, wakes)
            case At():
                self._plan(pod, decision, now, actions, wakes)
            case _:
                assert_never(decision)

    def _decide(self, taints: tuple[Taint, ...], pod: Pod, now: Instant) -> Eviction:
        operators = self._settings.comparison_operators
        tolerations = pod.spec.tolerations
        if self._settings.timers is EvictionTimers.PERSISTENT:
            came = arrival_of(pod)
            return decide_persistent_eviction(taints, tolerations, now, came=came, comparison_operators=operators)
        if self._is_resuming(now):
            came = arrival_of(pod)
            return decide_resumed_eviction(taints, tolerations, now, came=came, comparison_operators=operators)
        return decide_eviction(taints, tolerations, now, comparison_operators=operators)

    def _is_resuming(self, now: Instant) -> bool:
        return self._settings.resumed_at is not None and now <= self._settings.resumed_at

    def _plan(
        self, pod: Pod, decision: At, now: Instant, actions: list[Action], wakes: list[tuple[str, Instant]]
    ) -> None:
        """Rule 5: a timer that exists stays as it is, unless it was set in what is now the future."""
        pod_key = pod.metadata.key
        existing = self._timers.get(pod_key)
        created, fires = now, decision.instant
        if self._is_resuming(now):
            created = min(now, fires - (decision.toleration.toleration_seconds or 0))
        if existing is not None and self._settings.timers is EvictionTimers.FROZEN:
            if existing.created <= now:
                return
            # The clock was set back. The delay counts from the old beginning, not from now.
            created, fires = existing.created, now + (decision.instant - existing.created)
            self._cancel_with_event(pod_key, actions)
            if fires <= now:
                pending = PendingEviction(now, pod.spec.node_name, decision.taint, decision.toleration, created)
                self._begin_eviction(pod_key, pending, now, wakes)
                return
        self._timers[pod_key] = Timer(
            created=created, fires=fires, node=pod.spec.node_name, taint=decision.taint, toleration=decision.toleration
        )
        wakes.append((f"evict/{pod_key}", fires))

    def _begin_eviction(
        self, pod_key: str, pending: PendingEviction, now: Instant, wakes: list[tuple[str, Instant]]
    ) -> None:
        """An eviction that nobody has begun yet is not begun twice."""
        rate = self._settings.evictions_per_second
        if rate > 0:
            pending.starts = max(now, self._next_slot)
            self._next_slot = pending.starts + 1 / rate
        self._pending[pod_key] = pending
        wakes.append((f"evict/{pod_key}", pending.starts))

    def _evict(self, pod_key: str, now: Instant) -> Result:
        wakes: list[tuple[str, Instant]] = []
        timer = self._timers.get(pod_key)
        if timer is not None and timer.fires <= now:
            del self._timers[pod_key]
            pending = PendingEviction(timer.fires, timer.node, timer.taint, timer.toleration, timer.created)
            self._begin_eviction(pod_key, pending, now, wakes)
        elif timer is not None:
            wakes.append((f"evict/{pod_key}", timer.fires))
        current = self._pending.get(pod_key)
        if current is None or current.starts > now:
            return Result(wakes=wakes)
        if current.attempts >= ATTEMPTS_MAX:
            del self._pending[pod_key]
            return Result(wakes=[wake for wake in wakes if wake[1] > now])
        held_back = self._hold_back(pod_key, current, now)
        if held_back is not None:
            return held_back
        actions = self._eviction_actions(pod_key, current, now)
        current.attempts += 1
        later = [wake for wake in wakes if wake[1] > now]
        pod = self._pods.get(pod_key)
        if pod is not None and pod.metadata.deletion_timestamp:
            # It was marked deleted before: nobody will tell us that it is now.
            later.append((f"ended/{pod_key}", now))
        return Result(actions=actions, wakes=later, retry=RETRY)

    def _hold_back(self, pod_key: str, pending: PendingEviction, now: Instant) -> Result | None:
        """Later, if a budget says so; told once."""
        pod = self._pods.get(pod_key)
        if self._gate is None or pod is None or pending.attempts > 0:
            return None
        budget = self._gate.refusing(pod)
        if not budget:
            return None
        pending.starts = now + BUDGET_RETRY_SECONDS
        actions = () if pending.is_held_back else (detail_event(pod, held_back_message(pending, budget)),)
        pending.is_held_back = True
        return Result(actions=actions, wakes=((f"evict/{pod_key}", pending.starts),))

    def _eviction_actions(self, pod_key: str, pending: PendingEviction, now: Instant) -> list[Action]:
        pod = self._pods.get(pod_key)
        actions: list[Action] = []
        if pending.attempts == 0:
            actions.append(eviction_event(pod_key, f"Marking for deletion Pod {pod_key}"))
            if pod is not None:
                cause = EvictionCause(taint=pending.taint, toleration=pending.toleration)
                actions.append(detail_event(pod, detail_message(pending), cause))
        if pod is None:
            self._pending.pop(pod_key, None)
            return actions
        namespace, name = pod.metadata.namespace, pod.metadata.name
        why = decide_condition_patch(pod, now)
        actions.append(Delete(resource="pods", namespace=namespace, name=name, status_patch=why))
        return actions

    def _cancel_with_event(self, pod_key: str, actions: list[Action]) -> None:
        if self._timers.pop(pod_key, None) is not None:
            actions.append(eviction_event(pod_key, f"Cancelling deletion of Pod {pod_key}"))

    def _end_eviction(self, pod_key: str, now: Instant) -> None:
        """The pod was marked deleted: if that was our doing, the eviction has succeeded."""
        pending = self._pending.get(pod_key)
        if pending is not None and pending.attempts > 0:
            del self._pending[pod_key]
            self._deletions.inc()
            self._durations.observe(max(0.0, now - pending.due))


def _is_same_placement(old: Pod, new: Pod) -> bool:
    return old.spec.node_name == new.spec.node_name and old.spec.tolerations == new.spec.tolerations
