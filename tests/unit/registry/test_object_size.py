"""Objects are as large as etcd takes them, however they came to be so."""

import asyncio
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.base.bounds import STORED_BYTES_MAX
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.object_size import bounded, kept_within_bounds
from support.api import Api, running_api
from support.cluster import Story, run_story
from support.widgets import widget_definition

MAPS = builtin_kinds().named("configmaps")
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = {"content-type": "application/merge-patch+json"}


def kept(text: str, managed: str = "") -> bytes:
    metadata = {"name": "a", "managedFields": [{"manager": managed}]} if managed else {"name": "a"}
    return to_kept_bytes({"metadata": metadata, "data": {"a": text}})


@pytest.mark.parametrize(
    ("value", "is_apply", "fault"),
    [
        pytest.param(kept("x"), False, "", id="small"),
        pytest.param(kept("x" * (STORED_BYTES_MAX - 100)), False, "", id="just-fits"),
        pytest.param(kept("\n" * (STORED_BYTES_MAX - 100)), False, "", id="longer-as-json-than-as-protobuf"),
        pytest.param(kept("x" * (STORED_BYTES_MAX + 1)), False, "etcdserver: request is too large", id="too-large"),
        pytest.param(kept("x" * 2_200_000), False, "trying to send message larger than max", id="not-even-sent"),
        pytest.param(kept("x" * 1_500_000, "m" * 200_000), True, "request is too large", id="applied"),
    ],
)
def test_bounded(value: bytes, is_apply: bool, fault: str) -> None:
    if not fault:
        assert bounded(MAPS, value, is_apply=is_apply) == value
        return
    with pytest.raises(ApiError, match=fault) as error:
        bounded(MAPS, value, is_apply=is_apply)
    assert (error.value.code, error.value.reason) == (500, "")


@pytest.mark.parametrize("length", [1, 1_500_000, STORED_BYTES_MAX + 1])
@pytest.mark.parametrize("is_apply", [True, False])
def test_a_document_is_bounded_as_its_bytes_are(length: int, is_apply: bool) -> None:
    managed = [{"manager": "m" * 200_000}]
    doc = {"metadata": {"name": "a", "managedFields": managed}, "data": {"a": "x" * length}}
    try:
        expected: bytes | str = bounded(MAPS, to_kept_bytes(doc), is_apply=is_apply)
    except ApiError as error:
        expected = error.message
    try:
        found: bytes | str = kept_within_bounds(MAPS, doc, is_apply=is_apply)
    except ApiError as error:
        found = error.message
    assert found == expected
    assert doc["metadata"] == {"name": "a", "managedFields": managed}, "what is asked about stays as it is"


def test_field_owners_give_way() -> None:
    assert bounded(MAPS, kept("x" * 1_500_000, "m" * 200_000)) == kept("x" * 1_500_000)


def deployment(name: str, pieces: int, text: str = "x" * 100_000) -> dict[str, Any]:
    labels = {"matchLabels": {"a": "b"}}
    containers = [{"name": "c", "image": "i", "args": [text] * pieces}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    return {"metadata": {"name": name}, "spec": {"selector": labels, "template": template}}


def run(story: Any) -> None:
    async def main() -> None:
        async with running_api() as api:
            await story(api)

    asyncio.run(main())


def test_object_that_is_sent_too_large_is_refused_and_changes_nothing() -> None:
    async def story(api: Api) -> None:
        assert (await api.call("POST", DEPLOYMENTS, deployment("a", 15)))[0] == 201
        before = api.revision
        status, answer = await api.call("POST", DEPLOYMENTS, deployment("b", 16))
        assert (status, answer["message"]) == (500, "etcdserver: request is too large")
        assert "reason" not in answer
        assert api.revision == before

    run(story)


def test_object_that_grows_by_patches_is_refused_and_stays_as_it_was() -> None:
    async def story(api: Api) -> None:
        await api.call("POST", DEPLOYMENTS, deployment("a", 9))
        before = api.revision
        more = {
            "spec": {"template": {"spec": {"initContainers": [{"name": "i", "image": "i", "args": ["y" * 900_000]}]}}}
        }
        status, answer = await api.call("PATCH", f"{DEPLOYMENTS}/a", more, headers=MERGE)
        assert (status, answer["message"]) == (500, "etcdserver: request is too large")
        assert api.revision == before

    run(story)


def test_defaults_of_many_places_are_bounded() -> None:
    async def story(cluster: Story) -> None:
        item = {"type": "object", "properties": {"text": {"type": "string", "default": "x" * 100_000}}}
        spec = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
        versions = widget_definition()["spec"]["versions"]
        versions[0]["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        definition = widget_definition(versions=versions)
        await cluster.client.create(Create(resource="customresourcedefinitions.apiextensions.k8s.io", body=definition))
        await cluster.settle()
        for count, is_taken in ((1, True), (20, False), (3000, False)):
            body = {"metadata": {"name": f"w{count}"}, "spec": {"items": [{} for _ in range(count)]}}
            create = Create(resource="widgets.example.com", namespace="default", body=body)
            if is_taken:
                await cluster.client.create(create)
                continue
            with pytest.raises(ApiError, match=r"too large|larger than max"):
                await cluster.client.create(create)

    run_story(story, nodes=0)
