"""Who tainted a node, why, and until when: over the API, on virtual time."""

import json
from typing import Any

import pytest

from doorman.api.views.resource.devices import TAINT_RULES
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Patch, PatchType
from support.cluster import Story, run_story

NAME = "doorman.dev/taints"


def records(cluster: Story, node: str = "node-1") -> list[dict[str, Any]]:
    view = cluster.cluster.informers.lister("nodes").get(node)
    found: list[dict[str, Any]] = json.loads(view.metadata.annotations.get(NAME, "[]"))
    return found


async def annotate(cluster: Story, *entries: dict[str, Any]) -> None:
    body = {"metadata": {"annotations": {NAME: json.dumps(entries)}}}
    await cluster.client.patch(Patch(resource="nodes", name="node-1", body=body, type=PatchType.MERGE))
    await cluster.settle()


def test_taint_goes_when_its_time_is_up_and_the_pod_gets_in() -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "upgrade:NoSchedule", "other:NoSchedule")
        (mine, _) = records(cluster)
        assert (mine["user"], mine["manager"]) == ("admin", "story")
        await annotate(cluster, {"key": "upgrade", "reason": "kernel", "for": "2h"})
        await cluster.given_pod("p", tolerations=[{"key": "other", "operator": "Exists"}])
        await cluster.advance(7199)
        assert cluster.pod("p").spec.node_name == ""
        assert [record.get("reason") for record in records(cluster)] == ["kernel", None]
        await cluster.advance(1.1)  # a heartbeat of the same instant may make it try twice
        assert [record["key"] for record in records(cluster)] == ["other"]
        await cluster.advance(60)
        cluster.expect_running("p", on="node-1")

    run_story(story, nodes=1)


def test_time_that_is_renewed_counts_anew() -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "k:NoSchedule")
        await annotate(cluster, {"key": "k", "for": "1h"})
        await cluster.advance(1800)
        await annotate(cluster, {"key": "k", "for": "1h"})
        await cluster.advance(3599)
        assert len(records(cluster)) == 1
        await cluster.advance(1.1)
        assert records(cluster) == []

    run_story(story, nodes=1)


def test_taints_of_controllers_are_recorded_too() -> None:
    async def story(cluster: Story) -> None:
        body = {"spec": {"unschedulable": True}}
        await cluster.client.patch(Patch(resource="nodes", name="node-1", body=body, type=PatchType.MERGE))
        await cluster.settle()
        (record,) = records(cluster)
        assert record["user"] == "system:serviceaccount:kube-system:node-controller"

    run_story(story, nodes=1)


def test_rule_for_devices_is_recorded_and_goes_when_its_time_is_up() -> None:
    async def story(cluster: Story) -> None:
        annotations = {NAME: json.dumps([{"key": "hot", "reason": "fan", "for": "1h"}])}
        spec = {"deviceSelector": {"driver": "d.example.com"}, "taint": {"key": "hot", "effect": "NoSchedule"}}
        body = {"metadata": {"name": "fan", "annotations": annotations}, "spec": spec}
        await cluster.client.create(Create(resource=TAINT_RULES, body=body))
        await cluster.settle()
        rules = cluster.cluster.informers.lister(TAINT_RULES)
        (record,) = json.loads(rules.get("fan").metadata.annotations[NAME])
        assert (record["user"], record["key"], record["reason"]) == ("admin", "hot", "fan")
        await cluster.advance(3599)
        assert rules.get("fan") is not None
        await cluster.advance(1.1)
        assert rules.get("fan") is None

    run_story(story, nodes=1)


def test_rule_with_records_that_cannot_be_read_is_refused() -> None:
    async def story(cluster: Story) -> None:
        annotations = {NAME: '[{"key":"hot","for":"soon"}]'}
        body = {
            "metadata": {"name": "fan", "annotations": annotations},
            "spec": {"taint": {"key": "hot", "effect": "None"}},
        }
        with pytest.raises(ApiError) as refused:
            await cluster.client.create(Create(resource=TAINT_RULES, body=body))
        assert (refused.value.code, refused.value.details.get("kind")) == (422, "DeviceTaintRule")

    run_story(story, nodes=1)
