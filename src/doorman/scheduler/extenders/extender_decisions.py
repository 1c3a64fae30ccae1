"""Decisions in which extenders have a say: begun, put off while they are asked, and ended.

A decision is begun when a pod's turn comes and ended when the answer is there, upon the cluster as it is then; a node
that has filled up meanwhile is not chosen. One decision is open at a time, and nothing else is decided meanwhile, so
pods keep their order.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cycle.attempts import Candidate, Fit, FitError
from doorman.scheduler.cycle.profile_runner import ProfileRunner
from doorman.scheduler.extenders.extender import Extender, Opinion
from doorman.scheduler.out_of_tree_plugins import PluginError
from doorman.scheduler.outcomes import AskExtenders, AskExtendersAboutVictims, NodeVictims, Outcome
from doorman.scheduler.preemption.preemption_evaluator import NO_CANDIDATE, PostFilterResult
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.queue.scheduling_queue import SchedulingQueue
from doorman.scheduler.scheduler_metrics import SchedulerMetrics


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """How a decision ends: the scheduler's own ways."""

    assume: Callable[[QueuedPod, Fit], Outcome]
    broken: Callable[[QueuedPod, str, Instant], Outcome]
    misfit: Callable[[QueuedPod, FitError, PostFilterResult | None, Instant], Outcome]


class _Consultation(msgspec.Struct, frozen=True):
    """A decision that waits for extenders."""

    queued: QueuedPod
    extenders: tuple[Extender, ...]
    misfit: FitError | None = None
    """Set when they are asked about victims."""


class ExtenderDecisions:
    """See the module's docstring."""

    def __init__(
        self,
        extenders: Sequence[Extender],
        runners: Mapping[str, ProfileRunner],
        cluster: ClusterState,
        queue: SchedulingQueue,
        measures: SchedulerMetrics,
        ends: Ends,
    ) -> None:
        self._extenders = tuple(extender for extender in extenders if extender.has_a_say)
        self._runners = runners
        self._cluster = cluster
        self._queue = queue
        self._measures = measures
        self._ends = ends
        self._open: _Consultation | None = None

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
        candidate = Candidate(queued.key, queued.shape, queued.priority)
        try:
            survey = runner.cycle.survey(candidate)
        except PluginError as error:
            return self._ends.broken(queued, str(error), now)
        if isinstance(survey, FitError):
            return self._misfit(queued, runner, candidate, survey, interested, now)
        rank = self._cluster.rank()
        rows = sorted(survey.feasible.tolist(), key=lambda row: int(rank[row]))
        self._open = _Consultation(queued, interested)
        return AskExtenders(
            pod=queued.pod, profile=queued.profile, began=queued.began, extenders=interested,
            nodes=tuple(self._cluster.node(row).metadata.name for row in rows),
        )  # fmt: skip

    def heard(self, opinion: Opinion | str, now: Instant) -> Outcome | None:
        """What extenders make of the nodes they were asked about; a text says what went wrong.

        None when there is nothing to decide any more.
        """
        consultation = self._end()
        if consultation is None:
            return None
        queued = consultation.queued
        if isinstance(opinion, str):
            return self._ends.broken(queued, opinion, now)
        runner = self._runners[queued.profile]
        candidate = Candidate(queued.key, queued.shape, queued.priority)
        try:
            attempt = runner.cycle.attempt_with(candidate, opinion)
        except PluginError as error:
            return self._ends.broken(queued, str(error), now)
        if isinstance(attempt, Fit):
            return self._ends.assume(queued, attempt)
        return self._misfit(queued, runner, candidate, attempt, consultation.extenders, now)

    def heard_of_victims(self, victims: Sequence[NodeVictims] | str, now: Instant) -> Outcome | None:
        """Whom extenders would have leave, and where; a text says what went wrong."""
        consultation = self._end()
        if consultation is None:
            return None
        queued, misfit = consultation.queued, consultation.misfit
        preemption = self._runners[queued.profile].preemption
        assert misfit is not None, "they were asked about victims"
        assert preemption is not None, "the profile preempts"
        if isinstance(victims, str):
            failure = PostFilterResult(message=f"preemption: {victims}", nominated=None)
            return self._ends.misfit(queued, misfit, failure, now)
        found = (
            preemption.clearing_of(one.node, [pod.metadata.uid for pod in one.pods], one.broken_budgets)
            for one in victims
        )
        clearings = [clearing for clearing in found if clearing is not None]
        result = PostFilterResult(message=NO_CANDIDATE, nominated=None)
        return self._ends.misfit(queued, misfit, preemption.choose(clearings) if clearings else result, now)

    def _misfit(
        self,
        queued: QueuedPod,
        runner: ProfileRunner,
        candidate: Candidate,
        misfit: FitError,
        interested: tuple[Extender, ...],
        now: Instant,
    ) -> Outcome:
        """No node is left; extenders may have a say in who must leave."""
        if not misfit.rejectors or runner.preemption is None:
            return self._ends.misfit(queued, misfit, None, now)
        self._measures.preemption_attempts += 1
        found = runner.preemption.find(queued.pod, candidate, misfit)
        if isinstance(found, PostFilterResult):
            return self._ends.misfit(queued, misfit, found, now)
        preempting = tuple(extender for extender in interested if extender.preempt_verb)
        if not preempting:
            return self._ends.misfit(queued, misfit, runner.preemption.choose(found), now)
        self._open = _Consultation(queued, interested, misfit)
        candidates = tuple(
            NodeVictims(
                node=runner.preemption.node_of(clearing),
                pods=tuple(victim.pod for victim in clearing.victims),
                broken_budgets=clearing.badness[0],
            )
            for clearing in found
        )
        return AskExtendersAboutVictims(
            pod=queued.pod, profile=queued.profile, began=queued.began, extenders=preempting, candidates=candidates
        )

    def _end(self) -> _Consultation | None:
        """None when the pod has gone, or got a node, meanwhile."""
        consultation, self._open = self._open, None
        assert consultation is not None, "somebody was asked"
        return consultation if self._queue.get(consultation.queued.key) is consultation.queued else None
