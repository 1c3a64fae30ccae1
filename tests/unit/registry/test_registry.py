"""The one way anything is written: verbs upon what is there, names that are taken, what a dry run leaves."""

from typing import Any

import pytest

from doorman.api.identity import User
from doorman.base.errors import ApiError
from doorman.registry.caller import Caller
from doorman.registry.deletion import DeleteOptions
from doorman.registry.registry import NAME_TRIES_MAX
from doorman.registry.write_target import WriteTarget
from support.api import Api, running_api

CALLER = Caller(user=User(name="u", groups=("system:masters",)), manager="m")
DRY = Caller(user=User(name="u", groups=("system:masters",)), dry_run=True)


def config(name: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name} if name else {}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, **more}


class Desk:
    def __init__(self, api: Api) -> None:
        self.registry = api.cluster.registry
        self.kind = self.registry.kinds.named("configmaps")

    async def create(self, doc: dict[str, Any], caller: Caller = CALLER) -> dict[str, Any]:
        return (await self.registry.create(self.kind, "default", doc, caller)).document()

    def names(self) -> list[str]:
        found = self.registry.cluster.list("configmaps", "default")
        return [doc["metadata"]["name"] for doc in found if doc["metadata"]["name"] != "kube-root-ca.crt"]


async def test_created_object_has_what_the_server_owns() -> None:
    async with running_api() as api:
        sent = config("a", data={"k": "v"}, metadata={"uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z"})
        made = await Desk(api).create(sent)
        assert made["data"] == {"k": "v"}
        assert made["metadata"]["uid"] != "mine"
        assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert [one["manager"] for one in made["metadata"]["managedFields"]] == ["m"]


async def test_name_that_is_taken() -> None:
    async with running_api() as api:
        desk = Desk(api)
        await desk.create(config("a"))
        with pytest.raises(ApiError) as caught:
            await desk.create(config("a"))
        assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")


async def test_generated_name_that_is_taken_is_generated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_api() as api:
        desk = Desk(api)
        given = iter(["a-1", "a-1", "a-2"])
        monkeypatch.setattr(desk.registry._names, "generate", lambda _prefix: next(given))
        for _ in range(2):
            await desk.create(config(metadata={"generateName": "a-"}))
        assert desk.names() == ["a-1", "a-2"]
        monkeypatch.setattr(desk.registry._names, "generate", lambda _prefix: "a-1")
        with pytest.raises(ApiError) as caught:
            await desk.create(config(metadata={"generateName": "a-"}))
        assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")
        assert NAME_TRIES_MAX > 1


async def test_update_is_made_upon_what_is_there() -> None:
    async with running_api() as api:
        desk = Desk(api)
        await desk.create(config("a", data={"k": "1"}))
        seen: list[Any] = []

        def transform(doc: dict[str, Any]) -> dict[str, Any]:
            seen.append(doc["data"])
            return {**doc, "data": {**doc["data"], "l": "2"}}

        written = await desk.registry.update(WriteTarget(desk.kind, "default", "a"), transform, CALLER)
        assert seen == [{"k": "1"}]
        assert written.stored.document()["data"] == {"k": "1", "l": "2"}
        assert not written.is_created


async def test_update_that_changes_nothing_writes_nothing() -> None:
    async with running_api() as api:
        desk = Desk(api)
        await desk.create(config("a", data={"k": "1"}))
        before = api.revision
        await desk.registry.update(WriteTarget(desk.kind, "default", "a"), lambda doc: doc, CALLER)
        assert api.revision == before


async def test_update_of_what_is_not_there() -> None:
    async with running_api() as api:
        desk = Desk(api)
        with pytest.raises(ApiError) as caught:
            await desk.registry.update(WriteTarget(desk.kind, "default", "a"), lambda doc: doc, CALLER)
        assert caught.value.code == 404

        async def made() -> dict[str, Any]:
            return config("a", data={"k": "1"})

        written = await desk.registry.update(
            WriteTarget(desk.kind, "default", "a"), lambda doc: doc, CALLER, create=made
        )
        assert written.is_created


async def test_dry_run_leaves_everything_as_it_was() -> None:
    async with running_api() as api:
        desk = Desk(api)
        await desk.create(config("a", data={"k": "1"}))
        before = api.revision
        made = await desk.create(config("b"), DRY)
        assert made["metadata"]["uid"]
        changed = await desk.registry.update(
            WriteTarget(desk.kind, "default", "a"), lambda doc: {**doc, "data": {"k": "2"}}, DRY
        )
        assert changed.stored.document()["data"] == {"k": "2"}
        gone = await desk.registry.delete(
            WriteTarget(desk.kind, "default", "a"), DeleteOptions(dry_run=("All",)), CALLER
        )
        assert gone.is_removed
        assert (desk.names(), api.revision) == (["a"], before)


async def test_object_with_finalizers_is_marked_and_goes_with_the_last_of_them() -> None:
    async with running_api() as api:
        desk = Desk(api)
        await desk.create(config("a", metadata={"finalizers": ["example.com/x"]}))
        marked = await desk.registry.delete(WriteTarget(desk.kind, "default", "a"), DeleteOptions(), CALLER)
        assert not marked.is_removed
        assert desk.names() == ["a"]

        def released(doc: dict[str, Any]) -> dict[str, Any]:
            metadata = {name: value for name, value in doc["metadata"].items() if name != "finalizers"}
            return {**doc, "metadata": metadata}

        last = await desk.registry.update(WriteTarget(desk.kind, "default", "a"), released, CALLER)
        assert last.stored.document()["metadata"]["name"] == "a"
        assert desk.names() == []
