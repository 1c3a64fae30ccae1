"""NodeResourcesBalancedAllocation: nodes whose resources are used evenly are better."""

import pytest

from support.scheduling import Desk


def scores(desk: Desk, name: str) -> dict[str, int]:
    found = desk.scheduler.explain(desk.pods[name], desk.now)
    plugin = "NodeResourcesBalancedAllocation"
    return {node.node: next((each.score for each in node.scores if each.plugin == plugin), -1) for node in found.nodes}


@pytest.mark.parametrize(
    ("requests", "better"),
    [
        pytest.param({"cpu": "2", "memory": "1Gi"}, "wide", id="much CPU"),
        pytest.param({"cpu": "100m", "memory": "6Gi"}, "tall", id="much memory"),
    ],
)
def test_node_that_stays_even_is_better(requests: dict[str, str], better: str) -> None:
    desk = Desk()
    desk.node("wide", cpu="16", memory="8Gi")
    desk.node("tall", cpu="4", memory="64Gi")
    desk.pod("p", requests=requests, schedulingGates=[{"name": "hold"}])
    found = scores(desk, "p")
    assert max(found, key=lambda name: found[name]) == better


def test_pod_that_asks_for_nothing_is_not_scored() -> None:
    desk = Desk()
    desk.node("n1")
    desk.pod("p", schedulingGates=[{"name": "hold"}])
    assert scores(desk, "p") == {"n1": -1}
