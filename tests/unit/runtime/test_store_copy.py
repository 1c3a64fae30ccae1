"""Everything is copied from one store to another."""

import pytest

from doorman.runtime.store_copy import copy_store
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Unusable, Write

DEFINITION = "customresourcedefinitions.apiextensions.k8s.io/widgets.example.com"


async def filled(*keys: str) -> MemoryStore:
    store = MemoryStore()
    for key in keys:
        await store.commit(Write(key, b'"name":"x"}', ABSENT))
    return store


async def test_objects_are_copied_and_what_servers_tell_each_other_is_not() -> None:
    source = await filled(
        "pods/default/a",
        "rangeallocations/servicenodeports",
        "masterleases/192.0.2.1",
        "widgets.example.com/w",
        DEFINITION,
    )
    target = MemoryStore()
    told: list[tuple[int, int]] = []
    assert await copy_store(source, target, lambda done, count: told.append((done, count))) == 3
    assert told == [(3, 3)]
    entries = {entry.key: entry.revision for entry in target.entries()}
    assert set(entries) == {"pods/default/a", "widgets.example.com/w", DEFINITION}
    assert min(entries, key=lambda key: entries[key]) == DEFINITION, "what it defines is written in a form of its own"


async def test_nothing_is_mixed() -> None:
    with pytest.raises(Unusable, match="holds objects already"):
        await copy_store(await filled("pods/default/a"), await filled("pods/default/b"), lambda _done, _count: None)
