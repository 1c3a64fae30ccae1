"""Decisions in which extenders have a say: begun, put off while they are asked, and ended.

Asking takes time, and the scheduler never waits. So such a decision comes in parts: the scheduler gives out an
`AskExtenders` with the nodes that its own filters leave, and goes on when it is told what they answer. It is begun
when a pod's turn comes and ended when the answer is there, upon the cluster as it is then; a node that has filled up
meanwhile is not chosen. One decision is open at a time, and nothing else is decided meanwhile (kube-scheduler, too,
stands still), so pods keep their order.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cycle.attempts import AttemptedPod, Fit, FitError, PostFilterResult
from doorman.scheduler.extenders.extender import Extender
from doorman.scheduler.extenders.extender_result import ExtenderResult
from doorman.scheduler.out_of_tree_plugins import PluginError
from doorman.scheduler.outcomes import AskExtenders, AskExtendersAboutVictims, NodeVictims, Outcome
from doorman.scheduler.preemption.preemption_evaluator import NO_CANDIDATE
from doorman.scheduler.profile_runner import ProfileRunner
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.queue.scheduling_queue import SchedulingQueue
from doorman.scheduler.scheduler_metrics import SchedulerMetrics


class DecisionCallbacks(msgspec.Struct, frozen=True, kw_only=True):
    """How a decision ends: the scheduler's own ways."""

    assume: Callable[[QueuedPod, Fit], Outcome]
    broken: Callable[[QueuedPod, str, Instant], Outcome]
    fit_error: Callable[[QueuedPod, FitError, PostFilterResult | None, Instant], Outcome]


class _PendingDecision(msgspec.Struct, frozen=True):
    """A decision that waits for extenders."""

    queued: QueuedPod
    extenders: tuple[Extender, ...]
    fit_error: FitError | None = None
    """Set when they are asked about victims."""


class ExtenderDecisions:
    """See the module's docstring."""

    def __init__(
        self,
        extenders: Sequence[Extender],
        runners: Mapping[str, ProfileRunner],
        cluster: ClusterState,
        queue: SchedulingQueue,
        metrics: SchedulerMetrics,
        callbacks: DecisionCallbacks,
    ) -> None:
        self._extenders = tuple(extender for extender in extenders if extender.takes_part)
        self._runners = runners
        self._cluster = cluster
        self._queue = queue
        self._metrics = metrics
        self._callbacks = callbacks
        self._open: _PendingDecision | None = None

    @property
    def has_extenders(self) -> bool:
        """Whether anybody has a say at all."""
        return bool(self._extenders)

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def interested(self, pod: Pod) -> tuple[Extender, ...]:
        return tuple(extender for extender in self._extenders if extender.is_interested(pod))

    def begin(self, queued: QueuedPod, interested: tuple[Extender, ...], now: Instant) -> Outcome:
        """For a pod whose turn it is. Not always a `AskExtenders`: where no node is left there is nothing to ask."""
        assert self._open is None, "one decision is open at a time"
        runner = self._runners[queued.profile]
        attempted = AttemptedPod(queued.key, queued.shape, queued.priority, queued.pod)
        try:
            filter_result = runner.cycle.filter_result(attempted)
        except PluginError as error:
            return self._callbacks.broken(queued, str(error), now)
        if isinstance(filter_result, FitError):
            return self._fit_error(queued, runner, attempted, filter_result, interested, now)
        rank = self._cluster.rank()
        rows = sorted(filter_result.feasible.tolist(), key=lambda row: int(rank[row]))
        self._open = _PendingDecision(queued, interested)
        return AskExtenders(
            pod=queued.pod, profile=queued.profile, began=queued.began, extenders=interested,
            nodes=tuple(self._cluster.node(row).metadata.name for row in rows),
        )  # fmt: skip

    def on_filter_result(self, result: ExtenderResult | str, now: Instant) -> Outcome | None:
        """What extenders make of the nodes they were asked about; a text says what went wrong.

        None when there is nothing to decide any more.
        """
        pending = self._end()
        if pending is None:
            return None
        queued = pending.queued
        if isinstance(result, str):
            return self._callbacks.broken(queued, result, now)
        runner = self._runners[queued.profile]
        attempted = AttemptedPod(queued.key, queued.shape, queued.priority, queued.pod)
        try:
            attempt = runner.cycle.attempt_with(attempted, result)
        except PluginError as error:
            return self._callbacks.broken(queued, str(error), now)
        if isinstance(attempt, Fit):
            return self._callbacks.assume(queued, attempt)
        return self._fit_error(queued, runner, attempted, attempt, pending.extenders, now)

    def on_preemption_result(self, victims: Sequence[NodeVictims] | str, now: Instant) -> Outcome | None:
        """Whom extenders would have leave, and where; a text says what went wrong."""
        pending = self._end()
        if pending is None:
            return None
        queued, fit_error = pending.queued, pending.fit_error
        preemption = self._runners[queued.profile].preemption
        assert fit_error is not None, "they were asked about victims"
        assert preemption is not None, "the profile preempts"
        if isinstance(victims, str):
            failure = PostFilterResult(message=f"preemption: {victims}", nominated=None)
            return self._callbacks.fit_error(queued, fit_error, failure, now)
        found = (
            preemption.candidate_of(one.node, [pod.metadata.uid for pod in one.pods], one.broken_budgets)
            for one in victims
        )
        preemption_candidates = [
            preemption_candidate for preemption_candidate in found if preemption_candidate is not None
        ]
        result = PostFilterResult(message=NO_CANDIDATE, nominated=None)
        return self._callbacks.fit_error(
            queued, fit_error, preemption.choose(preemption_candidates) if preemption_candidates else result, now
        )

    def _fit_error(
        self,
        queued: QueuedPod,
        runner: ProfileRunner,
        attempted: AttemptedPod,
        fit_error: FitError,
        interested: tuple[Extender, ...],
        now: Instant,
    ) -> Outcome:
        """No node is left; extenders may have a say in who must leave."""
        if not fit_error.rejectors or runner.preemption is None:
            return self._callbacks.fit_error(queued, fit_error, None, now)
        self._metrics.preemption_attempts += 1
        found = runner.preemption.find(queued.pod, attempted, fit_error)
        if isinstance(found, PostFilterResult):
            return self._callbacks.fit_error(queued, fit_error, found, now)
        preempting = tuple(extender for extender in interested if extender.preempt_verb)
        if not preempting:
            return self._callbacks.fit_error(queued, fit_error, runner.preemption.choose(found), now)
        self._open = _PendingDecision(queued, interested, fit_error)
        candidates = tuple(
            NodeVictims(
                node=runner.preemption.node_of(preemption_candidate),
                pods=tuple(victim.pod for victim in preemption_candidate.victims),
                broken_budgets=preemption_candidate.rank_key[0],
            )
            for preemption_candidate in found
        )
        return AskExtendersAboutVictims(
            pod=queued.pod, profile=queued.profile, began=queued.began, extenders=preempting, candidates=candidates
        )

    def _end(self) -> _PendingDecision | None:
        """None when the pod has gone, or got a node, meanwhile."""
        pending, self._open = self._open, None
        assert pending is not None, "somebody was asked"
        return pending if self._queue.get(pending.queued.key) is pending.queued else None
