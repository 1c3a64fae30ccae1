"""What the scheduler counts and times, under kube-scheduler's names for results and bounds of its histograms.

Attempts, preemptions and bindings are all measured. What happens inside a decision takes microseconds, and timing it
would cost as much: of decisions only some are timed in parts, so that under load it costs next to nothing.
"""

from collections import Counter
from typing import Final

from doorman.base.histograms import Histogram, LabelledHistograms, doubling, growing
from doorman.scheduler.outcomes import UNSCHEDULABLE, Placed, Rejected

ATTEMPTS_NAMED_MAX = 15
"""From so many attempts on a pod is counted under one label."""

SAMPLE_SECONDS: Final = 0.05
"""Between two decisions that are timed in parts lies at least so much."""

EVENTS_PER_SAMPLE: Final = 16
"""Of so many changes and hints one is timed."""

POINT_BOUNDS: Final = doubling(0.0001, 12)
PLUGIN_BOUNDS: Final = growing(0.00001, 1.5, 20)


class SchedulerMetrics:
    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()
        """By profile and result."""
        self.attempt_seconds: dict[tuple[str, str], Histogram] = {}
        """From the beginning of a decision to the end of the binding, or to the rejection."""
        self.algorithm_seconds = Histogram(doubling(0.001, 15))
        """Of the decision alone."""
        self.pod_attempts = Histogram(doubling(1.0, 5))
        self.sli_seconds: dict[str, Histogram] = {}
        """By number of attempts: from a pod's first attempt until it was bound."""
        self.after_flush = 0
        """Pods that were placed after nothing but time had brought them back."""
        self.preemption_attempts = 0
        self.preemption_victims = Histogram(doubling(1.0, 7))
        self.broken_budgets = 0
        """Victims whose leaving broke a disruption budget."""
        self.preempting_seconds = LabelledHistograms(doubling(0.01, 20))
        """By result: asking for the victims' deletion."""
        self.point_seconds = LabelledHistograms(POINT_BOUNDS)
        """By extension point, status and profile: all plugins together."""
        self.plugin_seconds = LabelledHistograms(PLUGIN_BOUNDS)
        """By plugin, extension point and status: one plugin, on one node where it looks at nodes."""
        self.hint_seconds = LabelledHistograms(PLUGIN_BOUNDS)
        """By plugin, event and answer."""
        self.event_seconds = LabelledHistograms(POINT_BOUNDS)
        """By event: taking in one change."""

    def bound(self, placed: Placed, *, seconds: float, waited_seconds: float, binding_seconds: float = 0.0) -> None:
        self._attempt(placed.profile, "scheduled", seconds)
        self.point_seconds.observe(("Bind", "Success", placed.profile), binding_seconds)
        self.pod_attempts.observe(placed.attempts)
        self.after_flush += placed.was_flushed
        label = str(placed.attempts) if placed.attempts < ATTEMPTS_NAMED_MAX else f"{ATTEMPTS_NAMED_MAX}+"
        histogram = self.sli_seconds.get(label)
        if histogram is None:
            histogram = self.sli_seconds[label] = Histogram(doubling(0.01, 20))
        histogram.observe(waited_seconds)

    def rejected(self, rejected: Rejected, *, seconds: float) -> None:
        self._attempt(rejected.profile, "unschedulable" if rejected.reason == UNSCHEDULABLE else "error", seconds)
        if rejected.victims:
            self.preemption_victims.observe(len(rejected.victims))
            self.broken_budgets += rejected.broken_budgets

    def _attempt(self, profile: str, result: str, seconds: float) -> None:
        key = profile, result
        self.attempts[key] += 1
        histogram = self.attempt_seconds.get(key)
        if histogram is None:
            histogram = self.attempt_seconds[key] = Histogram(doubling(0.001, 15))
        histogram.observe(seconds)
