"""Room in quotas where several servers give it out: the store they share decides.

What takes room in a quota is written in one transaction with that quota, upon the version of it that was looked at. So
everything that was let in before has left its trace there, and whoever knows the newest version of a quota has seen all
that counts in it. The trace is what kube-apiserver leaves, too: what is used, in the quota's status.

Of one server requests take their turns, namespace by namespace: at once all but one would only be told of a conflict.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.cache.watch_cache import WatchCache
from doorman.store.store_contract import Store, Write

QUOTAS: Final = "resourcequotas"

QuotaUsed = Mapping[str, Mapping[str, str]]
"""By the name of a quota: of what it limits, how much is used."""
QuotaClaim = Callable[[], AbstractAsyncContextManager[Sequence[Write]]]
"""What is to be written with an object. Raises the refusal."""


class QuotaClaims:
    def __init__(self, store: Store, cache: WatchCache) -> None:
        self._store = store
        self._cache = cache
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def has_quotas(self, namespace: str) -> bool:
        return bool(namespace) and any(True for _ in self._keys(namespace))

    @asynccontextmanager
    async def claim(self, namespace: str, limit: Callable[[], QuotaUsed]) -> AsyncIterator[Sequence[Write]]:
        """`limit` counts what there is, and gives what is used with what is to be written. Raises what it raises."""
        turn = self._turns.setdefault(namespace, asyncio.Lock())
        async with turn:
            while self._is_behind(namespace):
                await self._store.catch_up()
            yield [self._noted(f"{QUOTAS}/{namespace}/{name}", used) for name, used in limit().items()]

    def _is_behind(self, namespace: str) -> bool:
        """Whether somebody has written a quota, and with it what counts there, that is not published here."""
        newest = map(self._store.peek, self._keys(namespace))
        return any(entry is None or entry.revision > self._store.revision for entry in newest)

    def _keys(self, namespace: str) -> list[str]:
        selection = Selection(storage=QUOTAS, namespace=namespace)
        return [f"{QUOTAS}/{quota.key}" for quota in self._cache.collection(QUOTAS).select(selection)]

    def _noted(self, key: str, used: Mapping[str, str]) -> Write:
        """A quota that has not been reported on yet gets no report here: it is written as it is."""
        entry = self._store.peek(key)
        assert entry is not None, "what was counted is there"
        doc = self._cache.stored(entry).document()
        known = (doc.get("status") or {}).get("used") or {}
        if used.keys() <= known.keys():
            doc["status"]["used"] = {**known, **used}
        return Write(key, to_kept_bytes(doc), entry.revision)
