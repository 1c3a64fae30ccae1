"""Law: a watch is complete and in order from where it began, or it is refused as too old; a slow one ends."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.views.view_types import VIEWS
from doorman.registry.cache import collection as collections_of_kinds
from doorman.registry.cache.collection import TooOld
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.watch_cache import WatchCache
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Write

KEPT = 20


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 80))
def test_watch_is_complete_and_in_order_or_too_old(seed: int, count: int) -> None:
    rng = random.Random(seed)

    async def main() -> None:
        store = MemoryStore()
        cache = WatchCache(store, VIEWS)
        collection = cache.collection("configmaps")
        selection = Selection(storage="configmaps")
        told: list[tuple[int, str, str]] = []
        for _ in range(count):
            name = rng.choice("abc")
            current = store.peek(f"configmaps/default/{name}")
            value = None if current is not None and rng.random() < 0.3 else b'"name":"%s"}}' % name.encode()
            event = await store.commit(
                Write(f"configmaps/default/{name}", value, current.revision if current is not None else ABSENT)
            )
            type_ = "DELETED" if value is None else "ADDED" if current is None else "MODIFIED"
            told.append((event.revision, type_, name))
        for after in range(store.revision + 1):
            wanted = [one for one in told if one[0] > after]
            if len(wanted) > KEPT:
                with pytest.raises(TooOld):
                    collection.follow(selection, after)
            else:
                events = collection.follow(selection, after).take()
                assert [(e.object.revision, str(e.type), e.object.name) for e in events] == wanted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collections_of_kinds, "CHANGES_MAX", KEPT)
        asyncio.run(main())
