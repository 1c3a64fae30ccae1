"""Law: whatever is stored, no reader fails. Fed with every kind in any shape, past validation, to a whole cluster.

The watch cache, custom kinds, informers, every controller, the scheduler, the simulated nodes, admission of others'
pods, tables, patches and deletions meet each document; what they cannot take ends in `ReaderFaults`, which stays empty.
"""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.kinds import Kind, builtin_kinds
from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.runtime.settings import Settings
from doorman.runtime.virtual_time import VirtualLoop
from doorman.server.tables.table import table_of
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Write
from support.cluster import Story
from support.shapes import Shapes, by_seed
from support.widgets import widget_definition

KINDS = {row.storage: row for row in builtin_kinds().rows if {"list", "create"} <= set(row.verbs) and row.type_name}
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
GROUP = 12
POD: Document = {"metadata": {"name": "guest"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Feed:
    def __init__(self, story: Story, store: MemoryStore) -> None:
        self.story = story
        self.store = store
        self.count = 0

    async def put(self, kind: Kind, name: str, doc: Document) -> None:
        """Past everything that could refuse it."""
        self.count += 1
        namespace = "default" if kind.namespaced else ""
        key = kind.store_key(namespace, name)
        await self.store.commit(Write(key, to_kept_bytes(doc), ABSENT))
        await self.story.settle()
        self.show(kind, namespace, name)
        await self.story.advance(61 if self.count % 5 == 0 else 1)
        await self.bystander()
        labels = {"metadata": {"labels": {"seen": "yes"}}}
        patch = Patch(resource=kind.storage, namespace=namespace, name=name, body=labels, type=PatchType.MERGE)
        await refusable(self.story.client.patch(patch))
        await refusable(self.story.client.delete(Delete(resource=kind.storage, namespace=namespace, name=name)))
        await self.story.settle()
        left = self.store.peek(key)
        if left is not None:
            await self.store.commit(Write(key, None, left.revision))
            await self.story.settle()
        faults = self.story.cluster.cache.faults
        assert not faults.counts, f"{faults.set_aside} of {doc}"

    def show(self, kind: Kind, namespace: str, name: str) -> None:
        collection = self.story.cluster.cache.collection(kind.storage)
        stored = collection.get(f"{namespace}/{name}" if namespace else name)
        if stored is not None:  # it is collected when its owner is not there
            docs = [stored.document()]
            table_of(kind, docs, {}, version="v1", include_object="Object", now=self.story.clock.now())

    async def bystander(self) -> None:
        """Somebody else's pod comes and goes: it may be refused, for a reason."""
        await refusable(self.story.client.create(Create(resource="pods", namespace="default", body=POD)))
        await self.story.settle()
        await refusable(
            self.story.client.delete(Delete(resource="pods", namespace="default", name="guest", grace_seconds=0))
        )


async def refusable(work: Any) -> None:  # a coroutine
    try:
        await work
    except ApiError as error:
        if error.code >= 500:
            raise


def run(feed: Any) -> None:  # from a Feed to a coroutine
    clock = ManualClock()
    loop = VirtualLoop(clock)
    unhandled: list[object] = []
    loop.set_exception_handler(lambda _, context: unhandled.append(context.get("exception")))

    async def main() -> None:
        store = MemoryStore()
        story = Story(store, Settings(seed=7, data_dir=None, nodes=2), clock)
        await story.start()
        await feed(Feed(story, store))
        await story.cluster.stop()

    try:
        loop.run_until_complete(main())
        assert not any(unhandled), unhandled
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()


GROUPS = [list(KINDS)[at : at + GROUP] for at in range(0, len(KINDS), GROUP)]


@pytest.mark.parametrize("storages", GROUPS, ids=lambda group: group[0])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_reader_takes_every_stored_shape(storages: list[str], seed: int) -> None:
    async def feed(feed: Feed) -> None:
        for storage in storages:
            for number in range(4):
                name, kind = f"s{number}", KINDS[storage]
                shapes = Shapes(by_seed((storage, number, seed)), feed.story.cluster.registry.schema)
                await feed.put(kind, name, shapes.document(kind, name, "default" if kind.namespaced else ""))

    run(feed)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_definition_that_lacks_something_is_served_or_not_but_hurts_nobody(seed: int) -> None:
    async def feed(feed: Feed) -> None:
        for number in range(20):
            whole = widget_definition()
            whole["status"] = {
                "acceptedNames": dict(whole["spec"]["names"]),
                "conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}],
            }
            doc = Shapes(by_seed((number, seed))).thinned(whole)
            doc["metadata"] = {"name": "widgets.example.com", "uid": f"u{number}"}
            await feed.put(KINDS[DEFINITIONS], "widgets.example.com", doc)

    run(feed)


def test_limit_range_without_a_spec_limits_nothing() -> None:
    async def feed(feed: Feed) -> None:
        client = feed.story.client
        await client.create(Create(resource="limitranges", namespace="default", body={"metadata": {"name": "empty"}}))
        await client.create(Create(resource="pods", namespace="default", body=POD))

    run(feed)
