"""What decides for a profile: which parts it has, and who was the first to say no."""

from typing import Any

import pytest

from doorman.scheduler.config.scheduler_config import DEFAULT_ORDER, Profile, SchedulerConfig
from doorman.scheduler.cycle.attempts import AttemptedPod, FitError
from doorman.scheduler.profile_runner import ProfileRunner
from doorman.scheduler.queue.queued_pod import QueuedPod
from support.scheduling import Desk, make_pod


def runner(desk: Desk) -> ProfileRunner:
    (found,) = desk.scheduler._runners.values()
    return found


def without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in DEFAULT_ORDER if name not in names)


def desk_with(**profile: Any) -> Desk:
    return Desk(SchedulerConfig(profiles=(Profile(**profile),)))


@pytest.mark.parametrize(
    ("profile", "parts"),
    [
        pytest.param({}, (True, True, True), id="default"),
        pytest.param({"post_filters": without("DefaultPreemption")}, (False, True, True), id="nobody-must-leave"),
        pytest.param({"filters": without("DynamicResources")}, (True, False, True), id="without-devices"),
        pytest.param({"filters": without("VolumeBinding")}, (True, True, False), id="without-volumes"),
    ],
)
def test_parts_are_those_of_the_profile(profile: dict[str, Any], parts: tuple[bool, bool, bool]) -> None:
    found = runner(desk_with(**profile))
    assert (found.preemption is not None, found.devices is not None, found.volumes is not None) == parts


@pytest.mark.parametrize(
    ("spec", "concerns"),
    [
        pytest.param({}, False, id="plain"),
        pytest.param({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, True, id="a-claim"),
        pytest.param({"volumes": [{"name": "v", "emptyDir": {}}]}, False, id="no-claim"),
        pytest.param({"resourceClaims": [{"name": "r", "resourceClaimName": "c"}]}, True, id="a-device"),
    ],
)
def test_whether_claims_have_a_say(spec: dict[str, Any], concerns: bool) -> None:
    desk = Desk()
    pod = make_pod("p", **spec)
    queued = QueuedPod("p", pod, desk.scheduler._shapes.take(pod), "default-scheduler", 0.0)
    assert runner(desk).concerns_claims(queued) is concerns


def test_first_plugin_that_rejected_a_row() -> None:
    desk = Desk()
    desk.node("tainted", taints="a:NoSchedule")
    desk.node("small", cpu="1")
    found = runner(desk)
    pod = make_pod("p", requests={"cpu": "2"})
    shape = desk.scheduler._shapes.take(pod)
    error = found.cycle.attempt(AttemptedPod("p", shape, 0, pod))
    assert isinstance(error, FitError)
    by_taints = found.rejected_by("TaintToleration", error)
    by_size = found.rejected_by("NodeResourcesFit", error)
    assert ([by_taints(0), by_taints(1)], [by_size(0), by_size(1)]) == ([True, False], [False, True])
