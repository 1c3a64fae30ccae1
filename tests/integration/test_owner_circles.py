"""Owners in a circle, each of which blocks the deletion of the next, go all the same."""

from typing import Any

import pytest

from doorman.client.actions import Create, Delete, Patch, PatchType
from support.cluster import Story, run_story


async def given_circle(cluster: Story, names: str) -> list[str]:
    uids = {}
    for name in names:
        body = {"metadata": {"name": name}}
        made = await cluster.client.create(Create(resource="configmaps", namespace="default", body=body))
        uids[name] = made.document()["metadata"]["uid"]
    for owner, owned in zip(names, names[1:] + names[0], strict=True):
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uids[owner]}
        change: dict[str, Any] = {"metadata": {"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}}
        await cluster.client.patch(
            Patch(resource="configmaps", namespace="default", name=owned, body=change, type=PatchType.MERGE)
        )
    await cluster.settle()
    return list(names)


def left(cluster: Story) -> list[str]:
    found = cluster.cluster.cache.collection("configmaps").objects
    return [key for key in found if key.startswith("default/") and len(key) == len("default/a")]


@pytest.mark.parametrize("names", ["a", "ab", "abc", "abcde"])
@pytest.mark.parametrize("all_at_once", [False, True])
def test_circle_is_broken(names: str, all_at_once: bool) -> None:
    async def story(cluster: Story) -> None:
        await given_circle(cluster, names)
        assert len(left(cluster)) == len(names)
        for name in names if all_at_once else names[0]:
            await cluster.client.delete(
                Delete(resource="configmaps", namespace="default", name=name, propagation="Foreground")
            )
        await cluster.advance(60)
        assert left(cluster) == []

    run_story(story, nodes=0)


def test_dependent_outside_the_circle_still_blocks() -> None:
    async def story(cluster: Story) -> None:
        await given_circle(cluster, "ab")
        owner = cluster.cluster.registry.get(cluster.cluster.kinds.named("configmaps"), "default", "a").document()
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"]}
        held = {"name": "c", "finalizers": ["example.com/held"]}
        body = {"metadata": {**held, "ownerReferences": [{**reference, "blockOwnerDeletion": True}]}}
        await cluster.client.create(Create(resource="configmaps", namespace="default", body=body))
        await cluster.settle()
        await cluster.client.delete(
            Delete(resource="configmaps", namespace="default", name="a", propagation="Foreground")
        )
        await cluster.advance(60)
        assert {"default/a", "default/c"} <= set(left(cluster))

    run_story(story, nodes=0)
