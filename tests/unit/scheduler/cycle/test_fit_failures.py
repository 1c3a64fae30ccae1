"""Why a shape fitted nowhere is good for its likes, while nothing has changed."""

from typing import Any

import pytest

from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cycle import fit_failures
from doorman.scheduler.cycle.fit_failures import FitFailure, FitFailures
from doorman.scheduler.outcomes import Victim
from doorman.scheduler.queue.queued_pod import QueuedPod
from support.scheduling import make_pod

SHAPES = ShapeTable(ResourceIds())


def queued(name: str = "p", profile: str = "s", **more: Any) -> QueuedPod:
    pod = make_pod(name, **more)
    return QueuedPod(name, pod, SHAPES.take(pod), profile, 0.0)


def failure(*state: int, result: Any = None) -> FitFailure:
    return FitFailure(state, None, result)  # type: ignore[arg-type]  # why is not looked at here


class Result:
    def __init__(self, *victims: Victim) -> None:
        self.victims = victims


@pytest.mark.parametrize(
    ("other", "is_known"),
    [
        pytest.param(queued("other"), True, id="of-the-same-shape"),
        pytest.param(queued(requests={"cpu": "1"}), False, id="of-another-shape"),
        pytest.param(queued(priority=1), False, id="of-another-priority"),
        pytest.param(queued(profile="t"), False, id="of-another-profile"),
        pytest.param(queued(preemptionPolicy="Never"), False, id="of-another-preemption-policy"),
    ],
)
def test_failure_is_good_for_pods_alike(other: QueuedPod, is_known: bool) -> None:
    failures, found = FitFailures(), failure(1, 2)
    failures.remember(queued(), found)
    assert failures.get(other, (1, 2)) is (found if is_known else None)


def test_failure_of_another_state_is_none() -> None:
    failures = FitFailures()
    failures.remember(queued(), failure(1, 2))
    assert failures.get(queued(), (1, 3)) is None


def test_failure_with_victims_is_not_remembered() -> None:
    failures = FitFailures()
    failures.remember(queued(), failure(1, result=Result(Victim(pod=make_pod("v")))))
    assert failures.get(queued(), (1,)) is None
    failures.remember(queued(), failure(1, result=Result()))
    assert failures.get(queued(), (1,)) is not None


def test_not_more_than_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_failures, "FAILURES_MAX", 2)
    failures = FitFailures()
    for priority in range(3):
        failures.remember(queued(priority=priority), failure(1))
    known = [priority for priority in range(3) if failures.get(queued(priority=priority), (1,)) is not None]
    assert known == [2]
