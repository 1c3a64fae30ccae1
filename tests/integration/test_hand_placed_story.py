"""Pods with spec.nodeName: judged by the node they were sent to, whatever the scheduler would have said."""

from typing import Any

import pytest

from doorman.api.identity import ADMIN
from doorman.client.actions import Patch, PatchType
from doorman.nodes.node_commands import cut_off, pressure, recover
from support.cluster import Story, run_story

MINUTE = {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}


def requesting(**requests: str) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}


@pytest.mark.parametrize(
    ("taint", "spec", "outcome"),
    [
        pytest.param("gpu:NoSchedule", {}, "", id="no-schedule-is-the-schedulers-business"),
        pytest.param("gpu:PreferNoSchedule", {}, "", id="nor-is-prefer-no-schedule"),
        pytest.param("gpu:NoExecute", {"tolerations": [MINUTE]}, "", id="tolerated-for-a-while"),
        pytest.param("other:NoSchedule", requesting(cpu="5"), "OutOfcpu", id="no-room"),
        pytest.param("other:NoSchedule", {"nodeSelector": {"disk": "ssd"}}, "NodeAffinity", id="wrong-node"),
    ],
)
def test_pod_placed_by_hand(taint: str, spec: dict[str, Any], outcome: str) -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", taint)
        await cluster.given_pod("p", nodeName="node-1", **spec)
        pod = cluster.pod("p")
        assert (pod.status.phase, pod.status.reason) == (("Failed", outcome) if outcome else ("Running", ""))
        scheduled = pod.status.condition("PodScheduled")
        assert (scheduled is not None) is not bool(outcome)

    run_story(story, nodes=1)


def test_pod_that_does_not_tolerate_is_refused_or_evicted_and_one_can_ask_why() -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "gpu:NoExecute")
        await cluster.given_pod("p", nodeName="node-1")
        await cluster.advance(5)
        cluster.expect_gone("p")
        told = cluster.cluster.explainer().explain("default", "p", ADMIN)
        assert {event["reason"] for event in told["history"]} >= {"TaintManagerEviction", "TaintEvictionDetail"}
        await cluster.given_pod("big", nodeName="node-2", **requesting(cpu="5"))
        await cluster.advance(1)
        (event,) = cluster.cluster.explainer().explain("default", "big", ADMIN)["history"]
        assert event["reason"] == "OutOfcpu"

    run_story(story, nodes=2)


def test_pod_tolerated_for_a_minute_is_taken_and_leaves_after_a_minute() -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "gpu:NoExecute")
        await cluster.given_pod("p", nodeName="node-1", tolerations=[MINUTE])
        await cluster.advance(59)
        cluster.expect_running("p", on="node-1")
        await cluster.advance(2)
        cluster.expect_gone("p")

    run_story(story, nodes=1)


def test_pods_sent_to_a_node_that_is_cut_off_wait_until_it_is_back() -> None:
    async def story(cluster: Story) -> None:
        await cluster.order("node-1", cut_off())
        await cluster.given_pod("first", nodeName="node-1", **requesting(cpu="3"))
        await cluster.advance(2)
        await cluster.given_pod("a-second", nodeName="node-1", **requesting(cpu="3"))
        await cluster.given_pod("deleted", nodeName="node-1")
        await cluster.delete_pod("deleted")
        assert [cluster.pod(name).status.phase for name in ("first", "a-second", "deleted")] == ["Pending"] * 3
        await cluster.order("node-1", recover())
        await cluster.advance(1)
        cluster.expect_running("first", on="node-1")
        assert cluster.pod("a-second").status.reason == "OutOfcpu"
        cluster.expect_gone("deleted")

    run_story(story, nodes=1)


def test_node_under_pressure_sends_best_effort_pods_away_and_takes_no_more() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("small", nodeName="node-1")
        await cluster.given_pod("asked", nodeName="node-1", **requesting(memory="1Gi"))
        await cluster.order("node-1", pressure(["memory"]))
        await cluster.advance(1)
        evicted = cluster.pod("small").status
        assert (evicted.phase, evicted.reason) == ("Failed", "Evicted")
        assert evicted.container_statuses[0].state.terminated.exit_code == 137
        assert evicted.condition("DisruptionTarget").reason == "TerminationByKubelet"
        assert cluster.taints("node-1") == ["memory-pressure:NoSchedule"]
        await cluster.given_pod("late", nodeName="node-1")
        await cluster.given_pod("late-but-asks", nodeName="node-1", **requesting(memory="1Gi"))
        await cluster.advance(1)
        assert cluster.pod("late").status.message == "Pod was rejected: The node had condition: [MemoryPressure]. "
        cluster.expect_running("late-but-asks", on="node-1")

    run_story(story, nodes=1)


def test_pod_is_ready_when_its_gate_opens_and_says_no_more_why_it_was_not() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", nodeName="node-1", readinessGates=[{"conditionType": "a.b/c"}])
        assert cluster.pod("p").status.condition("Ready").reason == "ReadinessGatesNotReady"
        opens = {"status": {"conditions": [{"type": "a.b/c", "status": "True"}]}}
        await cluster.client.patch(
            Patch(
                resource="pods",
                namespace="default",
                name="p",
                subresource="status",
                body=opens,
                type=PatchType.STRATEGIC,
            )
        )
        await cluster.settle()
        ready = cluster.pod("p").status.condition("Ready")
        assert (ready.status, ready.reason, ready.message) == ("True", "", "")

    run_story(story, nodes=1)
