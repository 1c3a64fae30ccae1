"""What the scheduler counts and times, under kube-scheduler's names for results and bounds of its histograms."""

from collections import Counter

from doorman.base.tally import Tally, doubling
from doorman.scheduler.outcomes import UNSCHEDULABLE, Placed, Rejected

ATTEMPTS_NAMED_MAX = 15
"""From so many attempts on a pod is counted under one label."""


class SchedulerMeasures:
    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()
        """By profile and result."""
        self.attempt_seconds: dict[tuple[str, str], Tally] = {}
        """From the beginning of a decision to the end of the binding, or to the rejection."""
        self.algorithm_seconds = Tally(doubling(0.001, 15))
        """Of the decision alone."""
        self.pod_attempts = Tally(doubling(1.0, 5))
        self.sli_seconds: dict[str, Tally] = {}
        """By number of attempts: from a pod's first attempt until it was bound."""
        self.preemption_attempts = 0
        self.preemption_victims = Tally(doubling(1.0, 7))

    def bound(self, placed: Placed, *, seconds: float, waited_seconds: float) -> None:
        self._attempt(placed.profile, "scheduled", seconds)
        self.pod_attempts.observe(placed.attempts)
        label = str(placed.attempts) if placed.attempts < ATTEMPTS_NAMED_MAX else f"{ATTEMPTS_NAMED_MAX}+"
        tally = self.sli_seconds.get(label)
        if tally is None:
            tally = self.sli_seconds[label] = Tally(doubling(0.01, 20))
        tally.observe(waited_seconds)

    def rejected(self, rejected: Rejected, *, seconds: float) -> None:
        self._attempt(rejected.profile, "unschedulable" if rejected.reason == UNSCHEDULABLE else "error", seconds)
        if rejected.victims:
            self.preemption_victims.observe(len(rejected.victims))

    def _attempt(self, profile: str, result: str, seconds: float) -> None:
        key = profile, result
        self.attempts[key] += 1
        tally = self.attempt_seconds.get(key)
        if tally is None:
            tally = self.attempt_seconds[key] = Tally(doubling(0.001, 15))
        tally.observe(seconds)
