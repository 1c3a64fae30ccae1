"""Copies everything from one store to another: from a directory into etcd, and back.

Names, uids and times stay. Revisions do not: each store counts its own, so clients that watch list again, and a page
that was begun cannot be continued.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from doorman.api.scheme import Scheme
from doorman.api.views.view_types import VIEWS
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.custom.custom_kinds import CustomKinds
from doorman.store.store_contract import ABSENT, Store, Unusable, Write

AT_ONCE: Final = 256
SERVERS_OWN: Final = ("rangeallocations/", "masterleases/")
"""What servers of one etcd tell each other, and no object."""

Progress = Callable[[int, int], None]
"""Told how many are copied, of how many."""


def learn_custom_kinds(store: Store, scheme: Scheme) -> None:
    """From the definitions that are stored: of what they define, etcd's form has the version."""
    CustomKinds(WatchCache(store, VIEWS), scheme.kinds, scheme.schema).close()


async def copy_store(source: Store, target: Store, progress: Progress) -> int:
    """How many objects were copied. Raises `Unusable` when the target holds something: nothing is mixed."""
    if any(True for _ in target.entries()):
        raise Unusable("the target holds objects already", "copy to an empty one: another prefix, or another directory")
    entries = [entry for entry in source.entries() if not entry.key.startswith(SERVERS_OWN)]
    # Definitions first: what they define is written in a form of theirs.
    entries.sort(key=lambda entry: (not entry.key.startswith("customresourcedefinitions."), entry.created))
    for start in range(0, len(entries), AT_ONCE):
        some = entries[start : start + AT_ONCE]
        await asyncio.gather(*(target.commit(Write(entry.key, entry.value, ABSENT)) for entry in some))
        progress(start + len(some), len(entries))
    return len(entries)
