"""What becomes of a node that fails, and of its pods: a whole cluster at Kubernetes' default parameters."""

from typing import Any

import pytest

from doorman.base.instants import from_time
from doorman.controllers.taint_eviction.taint_eviction import EvictionTimers, TaintEvictionSettings
from doorman.nodes.node_commands import cut_off, not_ready, recover
from support.cluster import Story, run_story

DOWN_SECONDS_MAX = 60.2
"""The grace period, one health pass to hear of the last heartbeat, one to find it too old, and the tainting pass."""


def on(node: str) -> dict[str, Any]:
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def last_heartbeat(story: Story, node: str) -> float:
    lease = story.cluster.informers.lister("leases.coordination.k8s.io").get(f"kube-node-lease/{node}")
    return from_time(lease.spec.renew_time)


def marked_deleted_at(story: Story, pod: str) -> float:
    meta = story.pod(pod).metadata
    assert meta.deletion_timestamp, f"pod {pod} is not being deleted"
    return from_time(meta.deletion_timestamp) - meta.deletion_grace_period_seconds


def test_pods_of_a_silent_node_leave_350_seconds_after_its_last_heartbeat() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", **on("node-1"))
        await cluster.given_pod("elsewhere", **on("node-2"))
        await cluster.advance(100)
        await cluster.order("node-1", cut_off())
        heard = last_heartbeat(cluster, "node-1")
        await cluster.advance(heard + 50 - cluster.clock.now())
        assert cluster.taints("node-1") == []
        cluster.expect_running("p")
        await cluster.advance(DOWN_SECONDS_MAX - 50)
        assert cluster.taints("node-1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
        assert cluster.pod("p").status.condition("Ready").status == "False"
        await cluster.advance(heard + 350 - cluster.clock.now())
        cluster.expect_running("p", on="node-1")
        await cluster.advance(DOWN_SECONDS_MAX - 50)
        assert 350 <= marked_deleted_at(cluster, "p") - heard <= 300 + DOWN_SECONDS_MAX
        assert cluster.pod("p").status.condition("DisruptionTarget").reason == "DeletionByTaintManager"
        await cluster.advance(3600)
        cluster.expect_running("elsewhere", on="node-2")

    run_story(story)


def test_partitioned_node_runs_its_pods_on_and_learns_of_their_deletion_when_it_returns() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", **on("node-1"))
        await cluster.order("node-1", cut_off())
        await cluster.advance(3600)
        pod = cluster.pod("p")
        assert pod.metadata.deletion_timestamp
        assert pod.status.phase == "Running"
        await cluster.order("node-1", recover())
        await cluster.advance(10)
        cluster.expect_gone("p")
        assert cluster.taints("node-1") == []

    run_story(story)


def test_node_that_returns_in_time_keeps_its_pods() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", **on("node-1"))
        await cluster.order("node-1", cut_off())
        await cluster.advance(330)
        assert "unreachable:NoExecute" in cluster.taints("node-1")
        await cluster.order("node-1", recover())
        await cluster.advance(10)
        assert cluster.taints("node-1") == []
        assert cluster.pod("p").status.condition("Ready").status == "True"
        await cluster.advance(3600)
        cluster.expect_running("p", on="node-1")

    run_story(story)


def test_not_ready_swapped_for_unreachable_keeps_the_timer() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", **on("node-1"))
        await cluster.order("node-1", not_ready())
        await cluster.advance(6)
        assert "not-ready:NoExecute" in cluster.taints("node-1")
        tainted = from_time(cluster.node("node-1").spec.taints[-1].time_added)
        await cluster.advance(194)
        await cluster.order("node-1", cut_off())
        await cluster.advance(70)
        assert cluster.taints("node-1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
        await cluster.advance(tainted + 299 - cluster.clock.now())
        cluster.expect_running("p")
        await cluster.advance(2)
        assert marked_deleted_at(cluster, "p") == pytest.approx(tainted + 300, abs=1)

    run_story(story)


@pytest.mark.parametrize(
    ("timers", "leaves_at"),
    [
        pytest.param(EvictionTimers.FROZEN, 150.0, id="frozen-starts-again"),
        pytest.param(EvictionTimers.PERSISTENT, 100.0, id="persistent-goes-on"),
    ],
)
def test_restart_and_the_timer_of_a_taint(timers: EvictionTimers, leaves_at: float) -> None:
    async def story(cluster: Story) -> None:
        toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}
        await cluster.given_pod("p", tolerations=[toleration], **on("node-1"))
        begin = cluster.clock.now()
        await cluster.taint("node-1", "k=v:NoExecute")
        await cluster.advance(50)
        await cluster.restart()
        cluster.expect_running("p")
        await cluster.advance(begin + leaves_at - 1.5 - cluster.clock.now())
        cluster.expect_running("p")
        await cluster.advance(3)
        cluster.expect_gone("p")

    run_story(story, taint_eviction=TaintEvictionSettings(timers=timers))


def test_restart_grants_a_silent_node_a_new_grace_period() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", **on("node-1"))
        await cluster.order("node-1", cut_off())
        await cluster.advance(45)
        await cluster.restart()
        await cluster.advance(45)
        assert cluster.taints("node-1") == []
        await cluster.advance(11)
        assert cluster.taints("node-1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
        cluster.expect_running("p")

    run_story(story)


def test_out_of_service_taint_frees_what_a_dead_node_holds() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", **on("node-1"))
        await cluster.order("node-1", cut_off())
        await cluster.advance(3600)
        assert cluster.pod("p").metadata.deletion_timestamp
        await cluster.given_pod("tolerant", nodeName="node-1", tolerations=[{"operator": "Exists"}])
        await cluster.taint("node-1", "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
        await cluster.advance(20.1)
        cluster.expect_gone("p")
        assert cluster.pod("tolerant") is not None
        assert "out-of-service:NoExecute" in cluster.taints("node-1")

    run_story(story)


def test_uninitialized_taint_keeps_pods_off_until_it_goes() -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule")
        await cluster.given_pod("p", **on("node-1"))
        await cluster.advance(3600)
        assert cluster.pod("p").spec.node_name == ""
        await cluster.taint("node-1", "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule-")
        await cluster.advance(11)
        cluster.expect_running("p", on="node-1")

    run_story(story)


def test_conditions_of_a_silent_node_keep_their_order() -> None:
    async def story(cluster: Story) -> None:
        before = [condition.type for condition in cluster.node("node-1").status.conditions]
        await cluster.order("node-1", cut_off())
        await cluster.advance(120)
        after = cluster.node("node-1").status.conditions
        assert [condition.type for condition in after] == before
        assert {condition.status for condition in after} == {"Unknown"}

    run_story(story)
