"""Somebody sets the clock of the machine: what counts is the time that passes."""

import pytest

from doorman.nodes.node_commands import cut_off
from support.cluster import Story, run_story

HOUR_SECONDS = 3600.0


@pytest.mark.parametrize("step_seconds", [HOUR_SECONDS, 30.0, -30.0])
def test_pod_leaves_when_its_time_has_passed_whatever_the_clock_shows(step_seconds: float) -> None:
    async def story(cluster: Story) -> None:
        toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
        await cluster.given_pod("p", tolerations=[toleration])
        await cluster.taint("node-1", "k:NoExecute")
        await cluster.advance(5)
        await cluster.set_clock(step_seconds)
        await cluster.given_pod("other")  # something happens, so everybody looks at the clock
        await cluster.advance(14)
        cluster.expect_running("p")
        await cluster.advance(1)
        cluster.expect_gone("p")

    run_story(story, nodes=1)


@pytest.mark.parametrize("step_seconds", [8 * HOUR_SECONDS, -30.0])
def test_nodes_stay_ready(step_seconds: float) -> None:
    """As on a laptop that slept: nobody was silent for as long as it took."""

    async def story(cluster: Story) -> None:
        await cluster.given_pod("p")
        await cluster.advance(100)
        await cluster.set_clock(step_seconds)
        for _ in range(12):
            await cluster.advance(10)
            assert [cluster.taints(f"node-{number}") for number in (1, 2)] == [[], []]
        cluster.expect_running("p")

    run_story(story, nodes=2)


def test_silent_node_is_unreachable_when_its_grace_is_over_though_the_clock_was_set_back() -> None:
    async def story(cluster: Story) -> None:
        await cluster.advance(100)
        await cluster.order("node-1", cut_off())
        await cluster.advance(5)
        await cluster.set_clock(-20)
        await cluster.advance(30)
        assert cluster.taints("node-1") == []
        await cluster.advance(30)
        assert "unreachable:NoSchedule" in cluster.taints("node-1")

    run_story(story, nodes=2)


@pytest.mark.parametrize("step_seconds", [-600.0, HOUR_SECONDS])
def test_pod_that_found_no_place_is_tried_again_in_time(step_seconds: float) -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "k=v:NoSchedule")
        await cluster.given_pod("p")
        await cluster.set_clock(step_seconds)
        await cluster.taint("node-1", "k:NoSchedule-")
        await cluster.advance(11)
        cluster.expect_running("p", on="node-1")

    run_story(story, nodes=1)


def test_container_stops_when_its_time_has_passed() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p")
        await cluster.order("node-1", {"metadata": {"annotations": {"doorman.dev/pod-termination": "20s"}}})
        await cluster.delete_pod("p")
        await cluster.advance(5)
        await cluster.set_clock(-HOUR_SECONDS)
        await cluster.advance(14)
        assert cluster.pod("p") is not None
        await cluster.advance(2)
        cluster.expect_gone("p")

    run_story(story, nodes=1)
