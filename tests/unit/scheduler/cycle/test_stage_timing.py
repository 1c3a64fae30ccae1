"""A decision's parts by the watch: extension points, plugins, and how many pods each plugin judged."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from doorman.base.histograms import LabelledHistograms
from support.scheduling import Desk

SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]


def ticking() -> Callable[[], float]:
    """A stopwatch that moves on by a second whenever it is looked at."""
    ticks: Iterator[int] = count()
    return lambda: float(next(ticks))


def counts(histograms: LabelledHistograms) -> dict[tuple[str, ...], int]:
    return {labels: histogram.count for labels, histogram in histograms.items()}


@pytest.fixture
def desk() -> Desk:
    return Desk(stopwatch=ticking())


def test_placed_pod_is_filtered_and_scored(desk: Desk) -> None:
    desk.node("a")
    desk.node("b")
    desk.pod("p")
    desk.settle()
    points = counts(desk.scheduler.metrics.point_seconds)
    assert points == {
        ("PreFilter", "Success", "default-scheduler"): 1,
        ("Filter", "Success", "default-scheduler"): 1,
        ("Score", "Success", "default-scheduler"): 1,
    }
    plugins = counts(desk.scheduler.metrics.plugin_seconds)
    assert plugins["TaintToleration", "Filter", "Success"] == 1
    assert plugins["NodeResourcesFit", "Score", "Success"] == 1
    assert plugins["PodTopologySpread", "PreFilter", "Skip"] == 1


def test_pod_without_a_choice_is_not_scored(desk: Desk) -> None:
    desk.node("a")
    desk.node("b", taints="k:NoSchedule")
    desk.pod("p", topologySpreadConstraints=SPREAD, labels={"app": "web"})
    desk.settle()
    points = counts(desk.scheduler.metrics.point_seconds)
    assert ("Filter", "Success", "default-scheduler") in points
    assert ("Score", "Success", "default-scheduler") not in points
    assert counts(desk.scheduler.metrics.plugin_seconds)["PodTopologySpread", "PreFilter", "Success"] == 1


@pytest.mark.parametrize(
    ("priority", "status"), [pytest.param(0, "Unschedulable", id="in-vain"), pytest.param(9, "Success", id="victims")]
)
def test_preemption_is_a_post_filter(desk: Desk, priority: int, status: str) -> None:
    desk.node("a")
    desk.pod("low", node="a", requests={"cpu": "4"})
    desk.pod("p", requests={"cpu": "4"}, priority=priority)
    desk.run()
    points = counts(desk.scheduler.metrics.point_seconds)
    assert points["PostFilter", status, "default-scheduler"] == 1
    assert points["Filter", "Unschedulable", "default-scheduler"] == 1
    assert counts(desk.scheduler.metrics.plugin_seconds)["DefaultPreemption", "PostFilter", status] == 1


def test_every_pod_counts_for_the_plugins_that_judged_it(desk: Desk) -> None:
    desk.node("a")
    desk.node("b")
    for at in range(5):
        desk.pod(f"p{at}", requests={"cpu": "100m"})
    desk.pod("spread", topologySpreadConstraints=SPREAD, labels={"app": "web"})
    desk.settle()
    evaluated = desk.scheduler.statistics.evaluated()
    assert evaluated["TaintToleration", "PreFilter", "default-scheduler"] == 6
    assert evaluated["TaintToleration", "Filter", "default-scheduler"] == 6
    assert evaluated["NodeResourcesFit", "Score", "default-scheduler"] == 6
    assert evaluated["NodeResourcesBalancedAllocation", "Score", "default-scheduler"] == 5
    assert evaluated["PodTopologySpread", "Filter", "default-scheduler"] == 1


def test_under_load_few_decisions_are_timed() -> None:
    desk = Desk()  # its stopwatch stands still
    desk.node("a")
    for at in range(50):
        desk.pod(f"p{at}")
    desk.settle()
    assert counts(desk.scheduler.metrics.point_seconds)["PreFilter", "Success", "default-scheduler"] == 1
    assert desk.scheduler.statistics.evaluated()["TaintToleration", "Filter", "default-scheduler"] == 50
