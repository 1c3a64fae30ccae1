"""Zones that fail: how fast their nodes are tainted, when nothing is, and how they recover. Default parameters."""

from itertools import pairwise

import pytest

from doorman.base.instants import from_time
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from doorman.nodes.fleet import Fleet, FleetEntry
from doorman.nodes.node_commands import cut_off, recover
from doorman.nodes.profile import NodeProfile
from support.cluster import Story, run_story

NODES_OF_A_ZONE = 4
ZONES = ("a", "b", "c")
UNREACHABLE = ["unreachable:NoSchedule", "unreachable:NoExecute"]
MARKED_ONLY = ["unreachable:NoSchedule"]


def three_zones() -> Fleet:
    return Fleet(
        profiles={zone: NodeProfile(zone=zone) for zone in ZONES},
        nodes=tuple(FleetEntry(profile=zone, count=NODES_OF_A_ZONE, prefix=f"{zone}-") for zone in ZONES),
    )


def nodes_of(*zones: str) -> list[str]:
    return [f"{zone}-{number}" for zone in zones for number in range(1, NODES_OF_A_ZONE + 1)]


def states(story: Story) -> dict[str, tuple[str, float]]:
    controllers = [runner.controller for runner in story.cluster.runners]
    lifecycle = next(found for found in controllers if isinstance(found, NodeLifecycleController))
    return {report.zone: (report.state, report.nodes_per_second) for report in lifecycle.zones()}


def no_execute_since(story: Story, nodes: list[str]) -> list[float]:
    """When those that have it got their unreachable:NoExecute taint, in order."""
    found = [taint for node in nodes for taint in story.node(node).spec.taints if taint.effect == "NoExecute"]
    return sorted(from_time(taint.time_added) for taint in found)


async def cut_off_all(story: Story, nodes: list[str]) -> None:
    for node in nodes:
        await story.order(node, cut_off())


async def recover_all(story: Story, nodes: list[str]) -> None:
    for node in nodes:
        await story.order(node, recover())


def test_lost_zone_is_tainted_one_node_in_ten_seconds_and_its_pods_leave_so() -> None:
    async def story(cluster: Story) -> None:
        for node in nodes_of("a"):
            await cluster.given_pod(f"on-{node}", nodeSelector={"kubernetes.io/hostname": node})
        await cut_off_all(cluster, nodes_of("a"))
        await cluster.advance(120)
        assert states(cluster) == {"a": ("FullDisruption", 0.1), "b": ("Normal", 0.1), "c": ("Normal", 0.1)}
        times = no_execute_since(cluster, nodes_of("a"))
        assert [later - earlier for earlier, later in pairwise(times)] == [pytest.approx(10, abs=1.01)] * (
            NODES_OF_A_ZONE - 1
        )
        await cluster.advance(times[-1] + 302 - cluster.clock.now())
        assert all(cluster.pod(f"on-{node}").metadata.deletion_timestamp for node in nodes_of("a"))
        await recover_all(cluster, nodes_of("a"))
        await cluster.advance(20)
        assert states(cluster) == dict.fromkeys(ZONES, ("Normal", 0.1))
        assert [cluster.taints(node) for node in nodes_of("a")] == [[]] * NODES_OF_A_ZONE
        for node in nodes_of("a"):
            cluster.expect_gone(f"on-{node}")

    run_story(story, fleet=three_zones())


def test_partly_lost_small_zone_gets_no_taints_that_evict_and_recovers() -> None:
    async def story(cluster: Story) -> None:
        lost = nodes_of("a")[:3]
        await cut_off_all(cluster, lost)
        await cluster.advance(600)
        assert states(cluster)["a"] == ("PartialDisruption", 0.0)
        tainted = [cluster.taints(node) for node in lost]
        # One may have slipped through before the zone was judged, as the first token is there at once.
        assert tainted.count(UNREACHABLE) <= 1
        assert tainted.count(UNREACHABLE) + tainted.count(MARKED_ONLY) == 3
        await cluster.order(lost[0], recover())
        await cluster.advance(60)
        assert states(cluster)["a"] == ("Normal", 0.1)
        assert [cluster.taints(node) for node in lost] == [[], UNREACHABLE, UNREACHABLE]
        await recover_all(cluster, lost)
        await cluster.advance(10)
        assert [cluster.taints(node) for node in lost] == [[], [], []]

    run_story(story, fleet=three_zones())


def test_when_all_zones_are_down_nothing_is_evicted_and_recovery_begins_with_a_new_grace_period() -> None:
    async def story(cluster: Story) -> None:
        everyone = nodes_of(*ZONES)
        for node in everyone:
            await cluster.given_pod(f"on-{node}", nodeSelector={"kubernetes.io/hostname": node})
        await cut_off_all(cluster, everyone)
        await cluster.advance(3600)
        assert states(cluster) == dict.fromkeys(ZONES, ("FullDisruption", 0.0))
        assert [cluster.taints(node) for node in everyone] == [MARKED_ONLY] * len(everyone)
        for node in everyone:
            cluster.expect_running(f"on-{node}")
        await recover_all(cluster, nodes_of("a"))
        await cluster.advance(6)
        assert states(cluster)["a"] == ("Normal", 0.1)
        assert states(cluster)["b"] == states(cluster)["c"] == ("FullDisruption", 0.1)
        assert [cluster.taints(node) for node in nodes_of("a")] == [[]] * NODES_OF_A_ZONE
        await cluster.advance(100)
        assert [cluster.taints(node) for node in nodes_of("b", "c")] == [UNREACHABLE] * (2 * NODES_OF_A_ZONE)
        await recover_all(cluster, nodes_of("b", "c"))
        await cluster.advance(10)
        assert [cluster.taints(node) for node in everyone] == [[]] * len(everyone)
        for node in everyone:
            cluster.expect_running(f"on-{node}", on=node)

    run_story(story, fleet=three_zones())
