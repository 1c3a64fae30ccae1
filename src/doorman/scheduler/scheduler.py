"""The scheduler: told what changes, asked for decisions.

It never awaits, never reads a clock and never writes: `now` comes with every call, and what is to be done comes back
as outcomes. A pod that is placed counts on its node at once (it is assumed) and stays so until the pod is seen bound,
until `bind_failed` says otherwise, or until it is deleted.

How a pod moves: `pod_changed` queues it; `schedule` pops it and tries it; it ends up assumed, or waiting in the queue
for an event, a gate or an instant (`next_wake`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.api.well_known import SERVICES
from doorman.base.clock import Instant
from doorman.base.reader_faults import ReaderFaults
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_cache import PodCache, on_node
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cache.workload_selectors import CONTROLLERS, WorkloadSelectors
from doorman.scheduler.claim_states import CLAIM_KINDS, ClaimStates
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.cycle.attempts import AttemptedPod, Fit, FitError, PostFilterResult
from doorman.scheduler.cycle.fit_failures import FitFailure, FitFailures
from doorman.scheduler.cycle.stage_timing import SUCCESS, StageTiming
from doorman.scheduler.devices.device_state import DeviceGates
from doorman.scheduler.explain.explanation import Explanation
from doorman.scheduler.extender_decisions import DecisionCallbacks, ExtenderDecisions
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource
from doorman.scheduler.out_of_tree_plugins import Factory, PluginError, listed_plugins, signatures_of
from doorman.scheduler.outcomes import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    Outcome,
    Placed,
    Rejected,
    Skipped,
    Victim,
)
from doorman.scheduler.plugins.default_preemption import DefaultPreemption
from doorman.scheduler.plugins.dynamic_resources import DynamicResources
from doorman.scheduler.pod_event_handlers import PodEventHandlers, is_leaving
from doorman.scheduler.preemption.budgets import Budgets
from doorman.scheduler.preemption.pending_preemptions import PendingPreemptions
from doorman.scheduler.preemption.preemption_evaluator import PreemptionEvaluator
from doorman.scheduler.profile_runner import ProfileRunner, SharedState, make_runner
from doorman.scheduler.queue.cluster_events import node_events
from doorman.scheduler.queue.nominator import Nominator
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.queue.queueing_hints import QueueingHints
from doorman.scheduler.queue.scheduling_queue import SchedulingQueue
from doorman.scheduler.scheduler_metrics import SAMPLE_SECONDS, SchedulerMetrics
from doorman.scheduler.scheduler_statistics import SchedulerStatistics

ObjectHandler = Callable[[str, Any, Any, Instant], None]
"""Takes a resource, the old and the new view of an object, and when."""


class Scheduler:
    """See the module's docstring. Call from one thread."""

    def __init__(
        self,
        config: SchedulerConfig,
        *,
        comparison_operators: bool,
        hostname: str = "doorman",
        plugins: Mapping[str, Factory] | None = None,
        stopwatch: Callable[[], float] = float,
        faults: ReaderFaults | None = None,
        device_gates: DeviceGates | None = None,
    ) -> None:
        """`plugins` are other people's, by name (`out_of_tree_plugins.find_plugins`); profiles that list them run them.

        `stopwatch` gives seconds from any beginning, for the measures of how long deciding takes.
        """
        self.metrics = SchedulerMetrics()
        self._faults = faults or ReaderFaults()
        self._stopwatch = stopwatch
        self.hostname = hostname
        others = {profile.name: listed_plugins(profile, plugins or {}) for profile in config.profiles}
        self._cluster = ClusterState(ResourceIds(), signatures_of(others), shows_pods=any(others.values()))
        self._shapes = self._cluster.shapes
        self._workloads = WorkloadSelectors()
        self._nominator = Nominator(self._cluster)
        self._budgets = Budgets()
        self._pod_cache = PodCache(self._cluster, self._shapes)
        self._preempting = PendingPreemptions()
        self.claims = ClaimStates(self._cluster, device_gates)
        state = SharedState(
            cluster=self._cluster,
            workloads=self._workloads,
            nominator=self._nominator,
            budgets=self._budgets,
            preempting=self._preempting,
            claims=self.claims,
            comparison_operators=comparison_operators,
        )
        self._runners = {profile.name: make_runner(profile, others[profile.name], state) for profile in config.profiles}
        self._queue = self._new_queue(config)
        self._pod_events = PodEventHandlers(self._runners, self._queue, self._pod_cache, self._shapes, state)
        self.pod_changed: Final = self._pod_events.changed
        """Of pods: `(old, new, now)`, as `node_changed` of nodes."""
        callbacks = DecisionCallbacks(assume=self._assume, broken=self._broken, fit_error=self._fit_error)
        self.extender_decisions = ExtenderDecisions(
            config.extenders, self._runners, self._cluster, self._queue, self.metrics, callbacks
        )
        """Decisions in which extenders have a say. While one is open nothing else is decided."""
        self._has_extenders = self.extender_decisions.has_extenders
        self.statistics = SchedulerStatistics(self._queue, self._runners, self._cluster, self._pod_cache)
        self._handlers: Mapping[str, ObjectHandler] = {
            **dict.fromkeys(CLAIM_KINDS, self._claim_kind_changed),
            **dict.fromkeys((SERVICES, *CONTROLLERS), self._workload_changed),
            "namespaces": self._namespace_changed,
            "poddisruptionbudgets.policy": self._budget_changed,
        }
        """Of kinds other than pods and nodes, by resource."""
        self._next_sample = 0.0
        """By the stopwatch: the next decision from then on is timed in parts."""
        self._failures = FitFailures()

    def node_changed(self, old: Node | None, new: Node | None, now: Instant) -> None:
        if new is None:
            assert old is not None, "a change has an old or a new side"
            self._cluster.remove_node(old.metadata.name)
        else:
            self._cluster.set_node(new)
            self.claims.devices.node_changed(new.metadata.name)
        for event in node_events(old, new):
            self._queue.happened(event, now)

    def object_changed(self, resource: str, old: Any, new: Any, now: Instant) -> None:  # views of those kinds
        """Of kinds other than pods and nodes that decisions depend on."""
        handler = self._handlers.get(resource)
        if handler is not None:
            handler(resource, old, new, now)

    def next_wake(self) -> Instant | None:
        """The earliest instant at which `schedule` would do more; one in the past means now."""
        return self._queue.next_wake() if not self.extender_decisions.is_open else None

    def schedule(self, now: Instant, *, pods_max: int) -> list[Outcome]:
        """Decide for waiting pods until none is ready or so many outcomes have come up."""
        outcomes: list[Outcome] = []
        while len(outcomes) < pods_max and not (self._has_extenders and self.extender_decisions.is_open):
            queued = self._queue.pop(now)
            if queued is None:
                break
            queued.began = began = self._stopwatch()
            try:
                outcomes.append(self._try(queued, now))
            except Exception as error:  # noqa: BLE001  of one pod: the others are decided
                self._faults.caught("scheduler", error, about=f"pod {queued.key} is tried again later")
                outcomes.append(self._broken(queued, f"{type(error).__name__}: {error}", now))
            self.metrics.algorithm_seconds.observe(self._stopwatch() - began)
        return outcomes

    def pod_on(self, node: str, uid: str) -> Pod | None:
        """The pod of that uid, if it holds a place on the node."""
        row = self._cluster.row_or_none(node)
        records = () if row is None else self._cluster.records_on(row)
        return next((record.pod for record in records if record.pod.metadata.uid == uid), None)

    def bind_done(self, pod_key: str) -> None:
        """The binding was made. Nothing to decide: the pod stays assumed until it is seen bound."""
        queued = self._queue.get(pod_key)
        assert queued is None or pod_key in self._pod_cache, "a pod that was bound holds a place"
        self.claims.written(pod_key)

    def bind_failed(self, pod_key: str, message: str, now: Instant, *, uid: str = "") -> Outcome | None:
        """The pod is not bound after all: others may have its place, and it is tried again after a while.

        None when that is not news: the pod has been seen bound meanwhile, or is gone. With `uid`, a namesake that came
        since is left alone.
        """
        record = self._pod_cache.get(pod_key)
        queued = self._queue.get(pod_key)
        if record is None or not record.assumed or queued is None:
            return None
        if uid and record.pod.metadata.uid != uid:
            return None
        self._pod_cache.give_up(record)
        self.claims.unreserve(pod_key)
        self._queue.happened(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, on_node(record), None), now)
        return self._broken(queued, message, now)

    def preempting_last(self, pod_key: str, victim_key: str, now: Instant) -> None:
        """The deletion of all the pod's victims but this one has been asked for. Its leaving brings the pod back."""
        self._preempting.last(pod_key, victim_key)
        record = self._pod_cache.get(victim_key)
        if record is None or record.leaving:
            self._pod_events.victim_leaves(victim_key, now)

    def preempted(self, pod_key: str, now: Instant, *, failed: bool = False) -> None:
        """The deletion of the pod's victims has been asked for; `failed` if that could not be done for all of them."""
        self._preempting.end(pod_key)
        self._queue.ungate(pod_key, now)
        if failed:
            self._queue.retry(pod_key, now)

    def explain(self, pod: Pod, now: Instant) -> Explanation:
        """Why the pod fits where it fits, now. A pod that has a node is evaluated as if it had none yet."""
        del now  # nothing that is explained depends on the time
        runner = self._runners.get(pod.spec.scheduler_name)
        key = pod.metadata.key
        if runner is None:
            return Explanation(pod=key, profile=pod.spec.scheduler_name, state="Unknown")
        attempted = AttemptedPod(key, self._shapes.find(pod, placed=True), pod.spec.priority, pod)
        record = self._pod_cache.get(key)
        row = -1 if record is None else record.row
        if record is not None and row >= 0:
            self._cluster.try_remove(record)
        try:
            return runner.explainer.explain(pod, attempted, bound_to=pod.spec.node_name)
        finally:
            if record is not None and row >= 0:
                self._cluster.try_add(record, row)

    def _claim_kind_changed(self, resource: str, old: Any, new: Any, now: Instant) -> None:  # views of that kind
        for event in self.claims.changed(resource, old, new):
            self._queue.happened(event, now)

    def _namespace_changed(self, _resource: str, old: Any, new: Any, _now: Instant) -> None:  # views of a namespace
        newest = new if new is not None else old
        self._cluster.relations.set_namespace(newest.metadata.name, None if new is None else new.metadata.labels)

    def _budget_changed(self, _resource: str, old: Any, new: Any, _now: Instant) -> None:  # views of a budget
        if isinstance(new, PodDisruptionBudget):
            self._budgets.put(new)
        elif new is None:
            self._budgets.remove(old.metadata.key)

    def _workload_changed(self, resource: str, old: Any, new: Any, _now: Instant) -> None:  # views of that kind
        self._workloads.changed(resource, old, new)

    def _new_queue(self, config: SchedulerConfig) -> SchedulingQueue:
        hints = QueueingHints(
            {name: runner.plugins.hints() for name, runner in self._runners.items()},
            stopwatch=self._stopwatch,
            seconds=self.metrics.hint_seconds,
        )
        return SchedulingQueue(
            hints=hints,
            gate=self._gate,
            initial_backoff_seconds=config.pod_initial_backoff_seconds,
            max_backoff_seconds=config.pod_max_backoff_seconds,
            unschedulable_seconds_max=config.pod_max_in_unschedulable_seconds,
        )

    def _gate(self, queued: QueuedPod) -> str:
        for plugin in self._runners[queued.profile].plugins.pre_enqueue:
            if plugin.waits(queued.pod):
                return plugin.name
        return ""

    def _try(self, queued: QueuedPod, now: Instant) -> Outcome:
        pod = queued.pod
        if is_leaving(pod):
            self._queue.remove(queued.key)
            self._nominator.remove(queued.key)
            self._shapes.release(queued.shape)
            message = f"skip schedule deleting pod: {pod.metadata.namespace}/{pod.metadata.name}"
            return Skipped(pod=pod, profile=queued.profile, message=message)
        runner = self._runners[queued.profile]
        attempted = AttemptedPod(queued.key, queued.shape, queued.priority, pod)
        if self._has_extenders and (interested := self.extender_decisions.interested(pod)):
            return self.extender_decisions.begin(queued, interested, now)
        # What becomes of a pod that has a nomination or claims of its own says nothing of its likes.
        has_likes = not self._nominator.node_of(queued.key) and not runner.concerns_claims(queued)
        known = self._failures.get(queued, self._state()) if has_likes else None
        if known is not None:
            return self._fit_error(queued, known.fit_error, known.result, now)
        try:
            timing = self._timing(queued) if queued.began >= self._next_sample else None
            attempt = runner.cycle.attempt(attempted, timing)
            result = None
            if isinstance(attempt, FitError) and attempt.rejectors and runner.preemption is not None:
                result = self._preempt(runner, runner.preemption, pod, attempted, attempt)
        except PluginError as error:
            return self._broken(queued, str(error), now)
        match attempt:
            case Fit() as fit:
                return self._assume(queued, fit)
            case FitError() as fit_error:
                if has_likes:
                    self._failures.remember(queued, FitFailure(self._state(), fit_error, result))
                return self._fit_error(queued, fit_error, result, now)

    def _timing(self, queued: QueuedPod) -> StageTiming:
        self._next_sample = queued.began + SAMPLE_SECONDS
        return StageTiming(self.metrics, queued.profile, self._stopwatch)

    def _preempt(
        self,
        runner: ProfileRunner,
        preemption: PreemptionEvaluator,
        pod: Pod,
        attempted: AttemptedPod,
        fit_error: FitError,
    ) -> PostFilterResult:
        self.metrics.preemption_attempts += 1
        timing = StageTiming(self.metrics, runner.profile.name, self._stopwatch)
        began = timing.now()
        result = preemption.attempt(pod, attempted, fit_error)
        status = SUCCESS if result.nominated else UNSCHEDULABLE
        timing.plugin(DefaultPreemption.name, "PostFilter", status, since=began)
        timing.record_stage("PostFilter", status)
        return result

    def _assume(self, queued: QueuedPod, fit: Fit) -> Outcome:
        node = self._cluster.node(fit.row).metadata.name
        claims, volumes = self._runners[queued.profile].reserve(queued, fit)
        self._nominator.remove(queued.key)
        self._pod_cache.assume(queued.key, queued.pod, queued.shape, node)
        return Placed(
            pod=queued.pod, profile=queued.profile, node=node, score=fit.score, feasible_nodes=fit.feasible_nodes,
            attempts=queued.attempts, began=queued.began, first_tried=queued.first_tried,
            was_flushed=queued.was_flushed, claims=claims, volumes=volumes,
        )  # fmt: skip

    def _broken(self, queued: QueuedPod, message: str, now: Instant) -> Rejected:
        """A plugin or the binding failed: an error, not a rejection."""
        self._nominator.remove(queued.key)
        self._queue.failed(queued, now)
        return Rejected(
            pod=queued.pod, profile=queued.profile, reason=SCHEDULER_ERROR, message=message, nominated="",
            attempts=queued.attempts, began=queued.began,
        )  # fmt: skip

    def _fit_error(
        self, queued: QueuedPod, fit_error: FitError, result: PostFilterResult | None, now: Instant
    ) -> Rejected:
        nominated: str | None = ""
        message, node = fit_error.message, ""
        victims: tuple[Victim, ...] = ()
        unnominated: tuple[Pod, ...] = ()
        broken_budgets = 0
        given_up = self._claim_to_give_up(queued, fit_error)
        if given_up is not None:
            message = f"{message} deallocation of ResourceClaim completed{',' if result is not None else ''}"
        if result is not None:
            broken_budgets = result.broken_budgets
            message = f"{message} {result.message}"
            nominated = result.nominated
            if result.victims:
                assert nominated, "victims leave a node for the pod"
                node = nominated
                victims = tuple(Victim(pod=victim.pod, terminating=victim.leaving) for victim in result.victims)
                unnominated = tuple(self._nominator.lower_on_node(node, queued.priority))
                for other in unnominated:
                    self._nominator.remove(other.metadata.key)
                if not all(victim.terminating for victim in victims):
                    self._preempting.begin(queued.key)
        if nominated == "":
            self._nominator.remove(queued.key)
        elif nominated is not None:
            self._nominator.nominate(PodRecord(queued.key, queued.pod, queued.shape, nominated, assumed=True))
        self._queue.rejected(queued, fit_error.rejectors, now)
        return Rejected(
            pod=queued.pod, profile=queued.profile, reason=UNSCHEDULABLE, message=message, nominated=nominated,
            node=node, victims=victims, unnominated=unnominated, broken_budgets=broken_budgets,
            given_up=given_up, attempts=queued.attempts, began=queued.began,
        )  # fmt: skip

    def _claim_to_give_up(self, queued: QueuedPod, fit_error: FitError) -> ResourceClaim | None:
        runner = self._runners[queued.profile]
        if runner.devices is None or DynamicResources.name not in fit_error.rejectors:
            return None
        return runner.devices.claim_to_give_up(queued.pod, runner.rejected_by(DynamicResources.name, fit_error))

    def _state(self) -> tuple[int, ...]:
        """Equal as long as nothing that decisions depend on has changed."""
        return (
            self._cluster.log_end, self._nominator.version, self._cluster.relations.version, self._workloads.version,
            self._budgets.version,
        )  # fmt: skip
