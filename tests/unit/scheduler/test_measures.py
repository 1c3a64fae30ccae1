"""Attempts are counted under kube-scheduler's names."""

import pytest

from doorman.scheduler.measures import SchedulerMeasures
from doorman.scheduler.outcomes import SCHEDULER_ERROR, UNSCHEDULABLE, Placed, Rejected, Victim
from support.scheduling import make_pod

POD = make_pod("p")


@pytest.mark.parametrize(("attempts", "label"), [pytest.param(1, "1", id="first"), pytest.param(15, "15+", id="many")])
def test_bound_pod_is_counted_by_its_attempts(attempts: int, label: str) -> None:
    measures = SchedulerMeasures()
    placed = Placed(pod=POD, profile="default-scheduler", node="n", attempts=attempts)
    measures.bound(placed, seconds=0.002, waited_seconds=3.0)
    assert measures.attempts == {("default-scheduler", "scheduled"): 1}
    assert measures.attempt_seconds["default-scheduler", "scheduled"].total == 0.002
    assert measures.pod_attempts.total == attempts
    assert measures.sli_seconds[label].total == 3.0


@pytest.mark.parametrize(
    ("reason", "result"),
    [pytest.param(UNSCHEDULABLE, "unschedulable", id="no"), pytest.param(SCHEDULER_ERROR, "error", id="error")],
)
def test_rejected_pod_is_counted_by_the_reason_and_its_victims(reason: str, result: str) -> None:
    measures = SchedulerMeasures()
    victims = (Victim(pod=POD), Victim(pod=POD))
    measures.rejected(Rejected(pod=POD, profile="x", reason=reason, message="", victims=victims), seconds=1.0)
    assert measures.attempts == {("x", result): 1}
    assert measures.preemption_victims.total == 2
