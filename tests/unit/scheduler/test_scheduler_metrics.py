"""Attempts are counted under kube-scheduler's names."""

import pytest

from doorman.scheduler.outcomes import SCHEDULER_ERROR, UNSCHEDULABLE, Placed, Rejected, Victim
from doorman.scheduler.scheduler_metrics import SchedulerMetrics
from support.scheduling import make_pod

POD = make_pod("p")


@pytest.mark.parametrize(("attempts", "label"), [pytest.param(1, "1", id="first"), pytest.param(15, "15+", id="many")])
def test_bound_pod_is_counted_by_its_attempts(attempts: int, label: str) -> None:
    metrics = SchedulerMetrics()
    placed = Placed(pod=POD, profile="default-scheduler", node="n", attempts=attempts)
    metrics.bound(placed, seconds=0.002, waited_seconds=3.0)
    assert metrics.attempts == {("default-scheduler", "scheduled"): 1}
    assert metrics.attempt_seconds["default-scheduler", "scheduled"].total == 0.002
    assert metrics.pod_attempts.total == attempts
    assert metrics.sli_seconds[label].total == 3.0


@pytest.mark.parametrize(
    ("reason", "result"),
    [pytest.param(UNSCHEDULABLE, "unschedulable", id="no"), pytest.param(SCHEDULER_ERROR, "error", id="error")],
)
def test_rejected_pod_is_counted_by_the_reason_and_its_victims(reason: str, result: str) -> None:
    metrics = SchedulerMetrics()
    victims = (Victim(pod=POD), Victim(pod=POD))
    metrics.rejected(Rejected(pod=POD, profile="x", reason=reason, message="", victims=victims), seconds=1.0)
    assert metrics.attempts == {("x", result): 1}
    assert metrics.preemption_victims.total == 2


def test_binding_and_flushed_pods_are_counted() -> None:
    metrics = SchedulerMetrics()
    for flushed in (False, True):
        placed = Placed(pod=POD, profile="x", node="n", was_flushed=flushed)
        metrics.bound(placed, seconds=1.0, waited_seconds=1.0, binding_seconds=0.25)
    assert metrics.after_flush == 1
    assert [(labels, histogram.count, histogram.total) for labels, histogram in metrics.point_seconds.items()] == [
        (("Bind", "Success", "x"), 2, 0.5)
    ]


def test_broken_budgets_are_counted_with_the_victims() -> None:
    metrics = SchedulerMetrics()
    for broken, victims in ((2, (Victim(pod=POD),) * 2), (0, ())):
        rejected = Rejected(
            pod=POD, profile="x", reason=UNSCHEDULABLE, message="", victims=victims, broken_budgets=broken
        )
        metrics.rejected(rejected, seconds=1.0)
    assert metrics.broken_budgets == 2
