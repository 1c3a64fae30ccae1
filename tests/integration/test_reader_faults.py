"""One object that a reader cannot take costs nobody else anything: not the writer, not other readers, not the start."""

import asyncio
from typing import Any

import pytest

from doorman.api.views.view_types import VIEWS
from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.client.controller_contract import ObjectChange
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.watch_cache import WatchCache
from doorman.runtime.settings import Settings
from doorman.runtime.virtual_time import VirtualLoop, run_virtual
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Write
from support.cluster import Story, run_story
from support.widgets import widget, widget_definition

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
WIDGETS = "widgets.example.com"
DAMAGED = {
    "no-json": b"\x00\x01garbage",
    "cut-short": b'"name":"bad","namespace":"default","uid":"u"',
    "wrong-type": b'"name":"bad","namespace":"default","labels":7}}',
    "no-utf-8": b'"name":"bad","namespace":"default","annotations":{"a":"\xff\xfe"}}}',
}


async def make(story: Story, name: str) -> None:
    await story.client.create(Create(resource="configmaps", namespace="default", body={"metadata": {"name": name}}))
    await story.settle()


def names(story: Story, resource: str) -> list[str]:
    return [stored.name for stored in story.cluster.cache.collection(resource).select(Selection(storage=resource))]


CONDITIONS: list[Any] = [
    [{"message": "x"}],
    [{}],
    [],
    None,
    [{"type": "Established"}],
    [{"type": "", "status": ""}],
]


@pytest.mark.parametrize("conditions", CONDITIONS, ids=repr)
def test_definition_takes_any_condition_and_the_server_starts_on_it(conditions: Any) -> None:
    async def story(cluster: Story) -> None:
        await cluster.client.create(Create(resource=DEFINITIONS, body=widget_definition()))
        await cluster.settle()
        body = {"status": {"conditions": conditions}}
        await cluster.client.patch(
            Patch(resource=DEFINITIONS, name=WIDGETS, subresource="status", body=body, type=PatchType.MERGE)
        )
        await cluster.settle()
        await make(cluster, "after")
        await cluster.restart()
        assert "after" in names(cluster, "configmaps")
        await cluster.client.create(Create(resource=WIDGETS, namespace="default", body=widget("a")))

    run_story(story, nodes=0)


def test_reader_that_raises_reaches_neither_the_writer_nor_other_readers() -> None:
    async def story(cluster: Story) -> None:
        collection = cluster.cluster.cache.collection("configmaps")

        def broken(change: ObjectChange | None = None) -> None:
            raise KeyError("type")

        stream = collection.follow(Selection(storage="configmaps"), None, reader="broken")
        stream.on_event(broken)
        seen: list[str] = []
        informer = cluster.cluster.informers.of("configmaps")
        informer.listen(broken, "broken")
        informer.listen(lambda change: seen.append(change.newest.metadata.name), "whole")
        await make(cluster, "one")
        await make(cluster, "two")
        assert seen == ["one", "two"]
        faults = cluster.cluster.cache.faults
        assert [(one.key, one.reader) for one in faults.set_aside] == [
            ("configmaps/default/one", "broken"),
            ("configmaps/default/two", "broken"),
        ]

    run_story(story, nodes=0, allowed_faults={"broken": 4})


def test_selection_that_raises_ends_one_stream() -> None:
    class Broken:
        def matches(self, labels: object) -> bool:
            raise TypeError("no")

    async def story(cluster: Story) -> None:
        collection = cluster.cluster.cache.collection("configmaps")
        broken = collection.follow(Selection(storage="configmaps", labels=Broken()), None)
        whole = collection.follow(Selection(storage="configmaps"), None)
        await make(cluster, "one")
        assert broken.is_closed
        assert [event.object.name for event in whole.take()] == ["one"]

    run_story(story, nodes=0, allowed_faults={"watch": 1})


@pytest.mark.parametrize("value", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("resource", ["pods", "configmaps", "limitranges", WIDGETS])
def test_server_starts_on_a_damaged_object_which_can_be_deleted(resource: str, value: bytes) -> None:
    store = MemoryStore()

    async def main() -> None:
        clock = ManualClock()
        story = Story(store, Settings(seed=7, data_dir=None, nodes=0), clock)
        await story.start()
        await story.client.create(Create(resource=DEFINITIONS, body=widget_definition()))
        await story.settle()
        await make(story, "whole")
        await store.commit(Write(f"{resource}/default/bad", value, ABSENT))
        await story.settle()
        await check(story)
        await story.restart()
        await check(story)
        await story.client.delete(Delete(resource=resource, namespace="default", name="bad"))
        await story.settle()
        assert story.cluster.cache.faults.set_aside == []
        with pytest.raises(ApiError, match="not found"):
            await story.client.delete(Delete(resource=resource, namespace="default", name="bad"))
        await story.cluster.stop()

    async def check(story: Story) -> None:
        assert [one.key for one in story.cluster.cache.faults.set_aside] == [f"{resource}/default/bad"]
        assert "bad" not in names(story, resource)
        assert "whole" in names(story, "configmaps")
        kind = story.cluster.kinds.named(resource)
        with pytest.raises(ApiError, match="damaged and can only be deleted"):
            story.cluster.registry.get(kind, "default", "bad")
        with pytest.raises(ApiError, match="damaged and can only be deleted"):
            await story.client.patch(Patch(resource=resource, namespace="default", name="bad", body={}))
        await story.given_pod(f"p{store.revision}")

    run_on_virtual_loop(main)


def run_on_virtual_loop(main: Any) -> None:  # a coroutine function
    loop = VirtualLoop(ManualClock())
    try:
        loop.run_until_complete(main())
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()


BOOTSTRAPPED = (
    "namespaces/default",
    "clusterroles.rbac.authorization.k8s.io/cluster-admin",
    "clusterrolebindings.rbac.authorization.k8s.io/system:node",
    "endpoints/default/kubernetes",
    "services/default/kubernetes",
    "priorityclasses.scheduling.k8s.io/system-node-critical",
    "nodes/node-1",
    "leases.coordination.k8s.io/kube-node-lease/node-1",
)


@pytest.mark.parametrize("key", BOOTSTRAPPED)
def test_server_starts_when_what_every_cluster_has_is_damaged(key: str) -> None:
    store = MemoryStore()

    async def main() -> None:
        story = Story(store, Settings(seed=7, data_dir=None, nodes=2), ManualClock())
        await story.start()
        await story.advance(15)
        await story.cluster.stop()
        entry = store.peek(key)
        assert entry is not None
        await store.commit(Write(key, b"garbage", entry.revision))
        await story.restart()
        await story.advance(60)
        assert [one.key for one in story.cluster.cache.faults.set_aside] == [key]
        assert story.node("node-2").status.condition("Ready").status == "True"
        await story.cluster.stop()

    run_on_virtual_loop(main)


def test_watch_cache_that_fails_is_read_again_and_its_readers_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(cluster: Story) -> None:
        await make(cluster, "before")
        collection = cluster.cluster.cache.collection("configmaps")
        apply, calls = collection.apply, []

        def broken(change: Any) -> None:
            calls.append(change)
            if len(calls) == 1:
                raise RuntimeError("half way")
            apply(change)

        monkeypatch.setattr(collection, "apply", broken)
        watch = collection.follow(Selection(storage="configmaps"), None)
        await make(cluster, "lost")
        assert watch.is_closed, "a gap would go unnoticed"
        await make(cluster, "after")
        wanted = ["after", "before", "lost"]
        assert [name for name in names(cluster, "configmaps") if name in wanted] == wanted
        lister = cluster.cluster.informers.lister("configmaps")
        assert all(lister.get(f"default/{name}") is not None for name in wanted)

    run_story(story, nodes=0, allowed_faults={"watchcache": 1})


def test_damaged_object_that_replaces_a_whole_one_goes_from_everybodys_sight() -> None:
    async def main() -> None:
        store = MemoryStore()
        cache = WatchCache(store, VIEWS)
        event = await store.commit(Write("pods/default/a", b'"name":"a","namespace":"default"}}', ABSENT))
        stream = cache.collection("pods").follow(Selection(storage="pods"), None)
        await store.commit(Write("pods/default/a", b"garbage", event.revision))
        assert [event.type for event in stream.take()] == ["DELETED"]
        assert cache.collection("pods").get("default/a") is None

    run_virtual(main())
