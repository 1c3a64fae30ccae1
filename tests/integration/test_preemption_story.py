"""Pods of high priority take the room of others: a whole cluster in process, in virtual time."""

from typing import Any

import pytest

from doorman.client.actions import Create, Delete
from support.cluster import Story, run_story


def asking(cpu: int, **more: Any) -> dict[str, Any]:
    """A pod's spec that asks for so many cores."""
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}], **more}


async def given_full_node(cluster: Story, *, grace: int) -> int:
    """A node with four pods that nobody would miss; how many cores each of them has."""
    body = {"metadata": {"name": "high"}, "value": 1000}
    await cluster.client.create(Create(resource="priorityclasses.scheduling.k8s.io", body=body))
    share = int(cluster.node("node-1").status.allocatable["cpu"]) // 4
    for at in range(4):
        await cluster.given_pod(f"low-{at}", **asking(share, terminationGracePeriodSeconds=grace))
    return share


def notes(cluster: Story, reason: str) -> list[str]:
    """About whom there are events of that reason, each as often as it was told."""
    registry = cluster.cluster.registry
    events = [event.document() for event in registry.collection(registry.kinds.named("events")).objects.values()]
    return sorted(event["involvedObject"]["name"] for event in events if event["reason"] == reason)


@pytest.mark.parametrize("grace", [pytest.param(0, id="gone-at-once"), pytest.param(7, id="stopped-by-their-node")])
def test_preemptor_chooses_victims_once_and_takes_their_place(grace: int) -> None:
    async def story(cluster: Story) -> None:
        share = await given_full_node(cluster, grace=grace)
        await cluster.given_pod("high", **asking(3 * share, priorityClassName="high"))
        await cluster.advance(grace + 1)
        cluster.expect_running("high", on="node-1")
        assert notes(cluster, "Preempted") == [f"low-{at}" for at in range(4) if cluster.pod(f"low-{at}") is None]
        assert len(notes(cluster, "Preempted")) == 3

    run_story(story, nodes=1)


def test_preemptor_is_tried_once_before_and_once_after_its_victims_are_gone() -> None:
    async def story(cluster: Story) -> None:
        share = await given_full_node(cluster, grace=0)
        await cluster.given_pod("high", **asking(3 * share, priorityClassName="high"))
        assert notes(cluster, "FailedScheduling") == ["high"]
        runner = cluster.cluster.scheduler
        assert runner is not None
        assert runner.scheduler.metrics.preemption_attempts == 1

    run_story(story, nodes=1)


def test_preemptor_whose_victims_may_not_be_deleted_tries_again_after_its_penalty() -> None:
    async def story(cluster: Story) -> None:
        share = await given_full_node(cluster, grace=0)
        group = "admissionregistration.k8s.io"
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
        policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
        bound = {"policyName": "stay", "validationActions": ["Deny"]}
        for resource, spec in (("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", bound)):
            body = {"metadata": {"name": "stay"}, "spec": spec}
            await cluster.client.create(Create(resource=f"{resource}.{group}", body=body))
        await cluster.given_pod("high", **asking(3 * share, priorityClassName="high"))
        assert notes(cluster, "Preempted") == []
        await cluster.client.delete(Delete(resource=f"validatingadmissionpolicybindings.{group}", name="stay"))
        await cluster.settle()
        assert cluster.pod("high").spec.node_name == ""
        await cluster.advance(11)
        cluster.expect_running("high", on="node-1")

    run_story(story, nodes=1)
