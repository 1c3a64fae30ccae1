"""A node that shuts down ends its pods in their order, each in its time."""

import msgspec
import pytest

from doorman.api.views.meta import Condition
from doorman.api.views.pods import Pod
from doorman.nodes.node_annotations import ShutdownPeriods, parse_shutdown_periods
from doorman.nodes.pods.graceful_shutdown import (
    BEGUN,
    CANCELLED,
    Shutdowns,
    decide_plan,
    terminated_body,
)
from doorman.nodes.pods.pod_admission import CRITICAL_PRIORITY
from support.objects import pod

PERIODS = ShutdownPeriods(total_seconds=30, critical_seconds=10)


def view(name: str, termination: str = "", *, critical: bool = False, grace: int = 30) -> Pod:
    annotations = {"doorman.dev/termination": termination} if termination else {}
    spec = {
        "priority": CRITICAL_PRIORITY if critical else 0,
        "terminationGracePeriodSeconds": grace,
        "containers": [{"name": "c"}],
    }
    metadata = {"uid": name, "annotations": annotations}
    return msgspec.convert(pod(name, "n1", metadata=metadata, spec=spec, status={"phase": "Running"}), Pod)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("30s/10s", PERIODS, id="1-both"),
        pytest.param("30s", ShutdownPeriods(total_seconds=30), id="1-none-for-critical-pods"),
        pytest.param("0s", ShutdownPeriods(total_seconds=0), id="1-switched-off"),
    ],
)
def test_periods(text: str, expected: ShutdownPeriods) -> None:
    assert parse_shutdown_periods(text) == expected


@pytest.mark.parametrize("text", [pytest.param("soon", id="no-duration"), pytest.param("5s/10s", id="part-is-more")])
def test_periods_that_make_no_sense(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_shutdown_periods(text)


@pytest.mark.parametrize(
    ("pods", "ends", "off"),
    [
        pytest.param([], {}, 101.0, id="3-nobody-takes-no-time"),
        pytest.param([view("a", "5s"), view("b")], {"a": 105.0, "b": 100.0}, 106.0, id="3-each-in-its-time"),
        pytest.param([view("a", "60s")], {"a": 120.0}, 121.0, id="3-not-longer-than-the-group"),
        pytest.param([view("a", "60s", grace=3)], {"a": 103.0}, 104.0, id="3-not-longer-than-its-own-grace"),
        pytest.param(
            [view("c", "60s", critical=True), view("a", "4s")], {"a": 104.0, "c": 114.0}, 115.0, id="3-critical-last"
        ),
        pytest.param([view("c", "2s", critical=True)], {"c": 102.0}, 103.0, id="3-empty-group-is-passed-over"),
    ],
)
def test_plan(pods: list[Pod], ends: dict[str, float], off: float) -> None:
    plan = decide_plan(PERIODS, pods, 100.0)
    assert (plan.ends, plan.off) == (ends, off)


def test_machine_that_is_switched_off_ends_nobody() -> None:
    plan = decide_plan(ShutdownPeriods(total_seconds=0), [view("a")], 100.0)
    assert (plan.ends, plan.off) == ({}, 100.0)


def test_shutdown_taken_back_in_time_is_told_and_one_that_is_over_is_a_new_start() -> None:
    shutdowns = Shutdowns()
    shutdowns.follow("n1", PERIODS, [view("a", "5s")], 100.0)
    assert shutdowns.follow("n1", PERIODS, [], 101.0) == ""
    assert shutdowns.follow("n1", None, [], 103.0) == CANCELLED
    shutdowns.follow("n1", PERIODS, [view("a", "5s")], 200.0)
    assert (shutdowns.is_off("n1", 205.0), shutdowns.is_off("n1", 206.0)) == (False, True)
    assert shutdowns.follow("n1", None, [], 300.0) == ""
    assert not shutdowns.is_off("n1", 300.0)


@pytest.mark.parametrize(
    ("ready", "told", "off"),
    [
        pytest.param(Condition(status="True"), BEGUN, 106.0, id="begins"),
        pytest.param(Condition(status="False", message="node is shutting down"), "", 106.0, id="was-on-its-way"),
        pytest.param(Condition(status="Unknown"), BEGUN, 106.0, id="cut-off-with-pods"),
    ],
)
def test_shutdown_is_told_once_over_restarts(ready: Condition, told: str, off: float) -> None:
    shutdowns = Shutdowns()
    assert shutdowns.follow("n1", PERIODS, [view("a", "5s")], 100.0, ready=ready) == told
    plan = shutdowns.plan_of("n1")
    assert plan is not None
    assert plan.off == off


def test_node_that_is_off_stays_off_over_restarts() -> None:
    shutdowns = Shutdowns()
    assert shutdowns.follow("n1", PERIODS, [], 100.0, ready=Condition(status="Unknown")) == ""
    assert shutdowns.is_off("n1", 100.0)


def test_ended_pod_says_why() -> None:
    status = terminated_body(view("a"), 0.0)["status"]
    text = "Pod was terminated in response to imminent node shutdown."
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Terminated", text)
    target = next(one for one in status["conditions"] if one["type"] == "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("TerminationByKubelet", text)
