"""Claims of pods that are alike come out alike, each with its own owner."""

import copy
from typing import Any

import pytest

from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from support.cluster import Story, run_story

Document = dict[str, Any]

OWNER_UIDS = ("2c5b4f0e-0d9c-4a3e-9a3e-000000000001", "2c5b4f0e-0d9c-4a3e-9a3e-000000000002")
CLAIM_SPEC: Document = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}


async def claim(story: Story, pod: str, uid: str, **metadata: Any) -> Document:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": True}
    head = {"generateName": f"{pod}-", "ownerReferences": [owner], **metadata}
    body = {"metadata": head, "spec": copy.deepcopy(CLAIM_SPEC)}
    return (await story.client.create(Create(resource=CLAIMS, namespace="default", body=body))).document()


def keys(story: Story) -> list[bytes]:
    return list(story.cluster.registry._create_cache._entries)


def test_claim_of_the_next_pod_has_its_own_owner() -> None:
    async def story(cluster: Story) -> None:
        first = await claim(cluster, "a", OWNER_UIDS[0])
        kept = keys(cluster)
        await cluster.advance(60)
        second = await claim(cluster, "b", OWNER_UIDS[1])
        assert keys(cluster) == kept, "the second one took the pattern of the first"
        assert (second["spec"], second["status"]) == (first["spec"], first["status"])
        metadata = second["metadata"]
        assert metadata["name"].startswith("b-")
        (owner,) = metadata["ownerReferences"]
        assert (owner["name"], owner["uid"], owner["controller"]) == ("b", OWNER_UIDS[1], True)
        (entry,) = metadata["managedFields"]
        owned = entry["fieldsV1"]["f:metadata"]["f:ownerReferences"]
        assert owned == {".": {}, f'k:{{"uid":"{OWNER_UIDS[1]}"}}': {}}
        assert entry["time"] == metadata["creationTimestamp"] != first["metadata"]["creationTimestamp"]

    run_story(story, nodes=0)


def test_every_claim_has_its_metadata_checked() -> None:
    async def story(cluster: Story) -> None:
        await claim(cluster, "a", OWNER_UIDS[0])
        with pytest.raises(ApiError, match="is invalid"):
            await claim(cluster, "", OWNER_UIDS[0], generateName="b-")
        with pytest.raises(ApiError, match="is invalid"):
            await claim(cluster, "B!", OWNER_UIDS[1])

    run_story(story, nodes=0)


def test_claim_whose_owner_is_not_told_apart_is_like_no_other() -> None:
    async def story(cluster: Story) -> None:
        await claim(cluster, "a", "f")
        await claim(cluster, "a", OWNER_UIDS[0], labels={OWNER_UIDS[0]: "x"})
        assert not keys(cluster)

    run_story(story, nodes=0)
