"""A stopwatch through one decision: how long each extension point took, and each plugin at it.

Filters and scores of all nodes are one computation here: up to the list of feasible nodes it counts as Filter, choosing
one of them as Score. Plugins are timed on one node, as kube-scheduler times them.
"""

from collections.abc import Callable, Iterable
from typing import Final

from doorman.scheduler.cycle.bound_plugins import BoundFilter, BoundScorer
from doorman.scheduler.outcomes import UNSCHEDULABLE
from doorman.scheduler.scheduler_metrics import SchedulerMetrics

SUCCESS: Final = "Success"
SKIP: Final = "Skip"


class StageTiming:
    """For one decision of one profile."""

    def __init__(self, metrics: SchedulerMetrics, profile: str, stopwatch: Callable[[], float]) -> None:
        self._metrics = metrics
        self._profile = profile
        self.now = stopwatch
        self._last = stopwatch()
        self._filtered: float | None = None

    def record_stage(self, point: str, status: str = SUCCESS) -> None:
        """All since the last stage was this."""
        self._record_stage(point, status, self.now())

    def filtered(self) -> None:
        """The feasible nodes are known. What follows is choosing, unless there is nothing to choose."""
        self._filtered = self.now()

    def decided(self, *, fits: bool, chose: bool) -> None:
        if chose and self._filtered is not None:
            self._record_stage("Filter", SUCCESS, self._filtered)
            self.record_stage("Score")
        else:
            self.record_stage("Filter", SUCCESS if fits else UNSCHEDULABLE)

    def plugin(self, name: str, point: str, status: str, *, since: float) -> None:
        self._metrics.plugin_seconds.observe((name, point, status), self.now() - since)

    def time_plugins(
        self, filters: Iterable[tuple[str, BoundFilter]], scorers: Iterable[tuple[str, BoundScorer]], row: int
    ) -> None:
        """Ask plugins once more about one node, by the watch. No part of any extension point's time."""
        for name, bound_plugin in filters:
            began = self.now()
            refuses = int(bound_plugin.filter.codes(row)) != 0
            self.plugin(name, "Filter", UNSCHEDULABLE if refuses else SUCCESS, since=began)
        for name, scorer in scorers:
            began = self.now()
            scorer.scorer.raw(row)
            self.plugin(name, "Score", SUCCESS, since=began)
        self._last = self.now()

    def _record_stage(self, point: str, status: str, now: float) -> None:
        self._metrics.point_seconds.observe((point, status, self._profile), now - self._last)
        self._last = now
