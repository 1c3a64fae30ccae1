"""Nodes set apart: the whole way from the object to where pods land."""

from typing import Any

import pytest

from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, PatchType
from support.cluster import Story, run_story


async def set_apart(cluster: Story, **spec: Any) -> None:
    label = {"metadata": {"labels": {"team": "ml"}}}
    await cluster.client.patch(Patch(resource="nodes", name="node-2", body=label, type=PatchType.MERGE))
    await cluster.client.create(Create(resource="namespaces", body={"metadata": {"name": "lab"}}))
    await cluster.settle()
    body = {"metadata": {"name": "ml"}, "spec": {"nodeSelector": {"matchLabels": {"team": "ml"}}, **spec}}
    await cluster.client.create(Create(resource="dedicatednodes.doorman.dev", body=body))
    await cluster.settle()


def taints(cluster: Story, node: str) -> list[str]:
    return [str(taint) for taint in cluster.cluster.informers.lister("nodes").get(node).spec.taints]


def test_theirs_land_there_and_others_do_not() -> None:
    async def story(cluster: Story) -> None:
        await set_apart(cluster, namespaces=["lab"])
        assert taints(cluster, "node-2") == ["doorman.dev/dedicated=ml:NoSchedule"]
        for number in range(3):
            await cluster.given_pod(f"mine-{number}", namespace="lab")
            await cluster.given_pod(f"other-{number}")
        for number in range(3):
            assert cluster.pod(f"mine-{number}", namespace="lab").spec.node_name == "node-2"
            assert cluster.pod(f"other-{number}").spec.node_name == "node-1"
        with pytest.raises(ApiError, match="sets apart for others"):
            await cluster.given_pod("intruder", tolerations=[{"operator": "Exists"}])

    run_story(story, nodes=2)


def test_with_no_execute_others_leave_and_the_taint_goes_with_the_object() -> None:
    async def story(cluster: Story) -> None:
        for number in range(2):
            await cluster.given_pod(f"p-{number}")
        await set_apart(cluster, namespaces=["lab"], effect="NoExecute")
        await cluster.advance(60)
        left = [pod for number in range(2) if (pod := cluster.pod(f"p-{number}")) is not None]
        assert all(pod.spec.node_name == "node-1" for pod in left)
        await cluster.client.delete(Delete(resource="dedicatednodes.doorman.dev", name="ml"))
        await cluster.settle()
        assert taints(cluster, "node-2") == []

    run_story(story, nodes=2)


def test_policy_cannot_be_overridden_by_the_namespace() -> None:
    async def story(cluster: Story) -> None:
        spec = {"deny": [{"key": "secret", "operator": "Exists"}]}
        body = {"metadata": {"name": "no-secret"}, "spec": spec}
        await cluster.client.create(Create(resource="tolerationpolicies.doorman.dev", body=body))
        defaults = {"scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key":"secret","operator":"Exists"}]'}
        namespace = {"metadata": {"name": "sly", "annotations": defaults}}
        await cluster.client.create(Create(resource="namespaces", body=namespace))
        await cluster.settle()
        with pytest.raises(ApiError, match='TolerationPolicy "no-secret" denies'):
            await cluster.given_pod("p", namespace="sly")
        await cluster.given_pod("p")
        cluster.expect_running("p")

    run_story(story, nodes=1)
