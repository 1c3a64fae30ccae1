"""What is heavy is done beside the loop, and what is light on it."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from doorman.base import loop_turns as turns
from doorman.base.bounds import CEL_COST_MAX
from doorman.client.actions import Create, Delete
from doorman.registry import proposal
from doorman.server.request import Query, Request
from support.api import Api, running_api
from support.cluster import Story, run_story
from support.widgets import widget, widget_definition

MAPS = "/api/v1/namespaces/default/configmaps"


class _Recording(ThreadPoolExecutor):
    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self.done: list[str] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        work = fn.func if isinstance(fn, partial) else fn
        self.done.append(work.__qualname__)
        return super().submit(fn, *args, **kwargs)


@pytest.fixture
def heavy(monkeypatch: pytest.MonkeyPatch) -> _Recording:
    recording = _Recording()
    monkeypatch.setattr(turns, "_heavy", recording)
    return recording


async def sent(api: Api, method: str, path: str, body: bytes, content_type: str) -> int:
    headers = {"content-type": content_type, "authorization": f"Bearer {api.credentials.admin_token}"}
    plain, _, query = path.partition("?")
    request = Request(method=method, path=plain, query=Query(query), headers=headers, body=body)
    return (await api.pipeline.handle(request)).status


def yaml_map(name: str, keys: int) -> bytes:
    data = "".join(f"  key{i}: value\n" for i in range(keys))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{data}".encode()


async def test_light_requests_stay_on_the_loop(heavy: _Recording) -> None:
    async with running_api() as api:
        assert await sent(api, "POST", MAPS, yaml_map("a", 10), "application/yaml") == 201
        assert await sent(api, "PATCH", f"{MAPS}/a", b'{"data":{"b":"c"}}', "application/merge-patch+json") == 200
    assert heavy.done == []


async def test_large_yaml_is_read_defaulted_tracked_and_checked_beside_the_loop(heavy: _Recording) -> None:
    async with running_api() as api:
        assert await sent(api, "POST", MAPS, yaml_map("a", 5000), "application/yaml") == 201
    assert heavy.done == [
        "decode_object",
        "KindRules.default",
        "ManagedFields.track_create",
        "KindRules.before_create",
        "kept_within_bounds",
    ]


async def test_many_keys_are_applied_beside_the_loop(heavy: _Recording) -> None:
    path, content_type = f"{MAPS}/a?fieldManager=m", "application/apply-patch+yaml"
    async with running_api() as api:
        assert await sent(api, "PATCH", path, yaml_map("a", 5000), content_type) == 201
        assert {"read_patch", "ResourceHandlers._plan"} <= set(heavy.done)
        assert any("<lambda>" in work for work in heavy.done)
        heavy.done.clear()
        assert await sent(api, "PATCH", path, yaml_map("a", 5001), content_type) == 200
        assert "KindRules.before_update" in heavy.done


async def test_patches_that_copy_are_followed_beside_the_loop(heavy: _Recording) -> None:
    operations = [{"op": "copy", "from": "/data", "path": f"/data/c{i}"} for i in range(40)]
    body = json.dumps(operations).encode()
    async with running_api() as api:
        await sent(api, "POST", MAPS, yaml_map("a", 1), "application/yaml")
        assert await sent(api, "PATCH", f"{MAPS}/a", body, "application/json-patch+json") == 422
    assert any("transform" in work for work in heavy.done)


async def test_more_keys_than_can_be_stored_are_refused(heavy: _Recording) -> None:
    async with running_api() as api:
        body = yaml_map("a", 150_000)
        assert await sent(api, "PATCH", f"{MAPS}/a?fieldManager=m", body, "application/apply-patch+yaml") in (422, 500)
    assert heavy.done


def test_rules_in_cel_are_evaluated_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: dict[str, int] = {}

    async def weighed(weight: int, work: Callable[..., Any], *args: Any, **more: Any) -> Any:
        weights[work.__qualname__] = weight
        return work(*args, **more)

    monkeypatch.setattr(proposal, "in_turn", weighed)

    async def story(cluster: Story) -> None:
        versions = widget_definition()["spec"]["versions"]
        schema = versions[0]["schema"]["openAPIV3Schema"]
        rules = [{"rule": "self.spec.size != 'none'"}]
        versions[0]["schema"] = {"openAPIV3Schema": {**schema, "x-kubernetes-validations": rules}}
        for definition, weight in ((widget_definition(), 0), (widget_definition(versions=versions), CEL_COST_MAX)):
            resource = "customresourcedefinitions.apiextensions.k8s.io"
            await cluster.client.create(Create(resource=resource, body=definition))
            await cluster.settle()
            await cluster.client.create(Create(resource="widgets.example.com", namespace="default", body=widget("w")))
            assert weights["KindRules.before_create"] == weight
            await cluster.client.delete(Delete(resource=resource, name="widgets.example.com"))
            await cluster.advance(5)

    run_story(story, nodes=0)


async def test_first_events_of_a_watch_are_looked_through_as_they_are_sent() -> None:
    """Opening it looks at no labels: of a large collection that would hold everybody up."""
    looked_at: list[str] = []

    class Wanted:
        def matches(self, labels: Mapping[str, str]) -> bool:
            looked_at.append(labels["is"])
            return labels["is"] == "wanted"

    async with running_api() as api:
        for name, label in (("a", "wanted"), ("b", "other"), ("c", "wanted")):
            body = {"metadata": {"name": name, "labels": {"is": label}}}
            assert (await api.call("POST", MAPS, body))[0] == 201
        headers = {"authorization": f"Bearer {api.credentials.admin_token}"}
        query = Query("watch=true&labelSelector=is%3Dwanted")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("doorman.server.listing.parse_selector", lambda _: Wanted())
            request = Request(method="GET", path=MAPS, query=query, headers=headers)
            response = await api.pipeline.handle(request)
        assert looked_at == []
        assert response.stream is not None
        first = await anext(aiter(response.stream.lines()))
        assert [json.loads(line)["object"]["metadata"]["name"] for line in first.splitlines()] == ["a", "c"]
        assert looked_at == ["wanted", "other", "wanted"]
        response.stream.close()
