"""What readers see: a collection for every kind, fed from the store.

The watch cache reads the store by revision (its cursor) and serves everybody else.

    store ── events after N ──► Collection("pods")   objects, changes, streams
                             ├► Collection("nodes")
                             └► ...
"""

import heapq
from collections.abc import Mapping
from typing import Any, Final

from doorman.api.views.meta import Object, view_decoder
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.past_views import PastViews
from doorman.registry.cache.stored_object import Stored, Unreadable
from doorman.registry.cache.streams import (
    CacheChange,
)
from doorman.store.store_contract import Entry, Store, StoreEvent

ALL_CHANGES_BYTES_MAX: Final = 32 * 1024 * 1024
"""How far back the changes of all kinds together reach: twice as far as those of one kind may."""
KEPT_SHARE: Final = 31 / 32


class WatchCache:
    """All collections, fed from one store."""

    def __init__(self, store: Store, views: Mapping[str, type[Any]]) -> None:
        self._store = store
        self._is_shared = store.is_shared
        self.faults = store.faults
        self._views = views
        self._collections: dict[str, Collection] = {}
        self._past_views = PastViews()
        self._changes_bytes = 0
        """Of all kinds, or a little more."""
        self.revision = store.revision
        self._start = store.revision
        for entry in store.entries():
            collection, key = self._locate(entry.key)
            collection.load(Stored(entry, key, collection.decoder))
        self._epoch = store.epoch
        store.add_waker(self._pull)

    def collection(self, storage: str) -> Collection:
        found = self._collections.get(storage)
        if found is None:
            decoder = view_decoder(self._views.get(storage, Object))
            found = self._collections[storage] = Collection(
                storage, decoder, self._start, self.faults, self._past_views
            )
        return found

    def stored(self, entry: Entry) -> Stored:
        """An entry of the store as an object: the published one, with its view, if it is that."""
        storage, _, key = entry.key.partition("/")
        collection = self._collections.get(storage) or self.collection(storage)
        published: Stored | None = collection.objects.get(key)
        if published is not None and published.revision == entry.revision:
            return published
        return Stored(entry, key, collection.decoder)

    def is_aside(self, store_key: str) -> bool:
        """Whether nobody sees it because it cannot be read."""
        if not self.faults.counts:
            return False
        collection, key = self._locate(store_key)
        return key in collection.aside

    def close_streams(self) -> None:
        for collection in self._collections.values():
            collection.close_streams()

    def _pull(self) -> None:
        if self._epoch != self._store.epoch:
            self._read_anew()
        events = self._store.events_after(self.revision)
        newest = {event.key: event.revision for event in events}
        for event in events:
            try:
                self._take(event, is_overtaken=newest[event.key] != event.revision)
            except Exception as error:  # noqa: BLE001  a fault of ours, of which nobody but readers of the kind may know
                self.faults.caught("watchcache", error, key=event.key, revision=event.revision)
                self._rebuild(self._locate(event.key)[0])
            self.revision = event.revision
        self.revision = self._store.revision

    def _read_anew(self) -> None:
        """What happened in between is not known: all streams end, and whoever followed lists again."""
        self._epoch = self._store.epoch
        self.revision = self._store.revision
        for collection in self._collections.values():
            collection.clear(self.revision)
        for entry in self._store.entries():
            collection, key = self._locate(entry.key)
            collection.load(Stored(entry, key, collection.decoder))
        self.close_streams()

    def _take(self, event: StoreEvent, *, is_overtaken: bool) -> None:
        collection, key = self._locate(event.key)
        if event.revision <= collection.loaded:
            return
        if self.faults.counts:
            self.faults.written(event.key)
            collection.aside.pop(key, None)
        old: Stored | None = collection.objects.get(key)
        new = Stored(event.entry, key, collection.decoder) if event.entry is not None else None
        if new is not None:
            try:
                collection.check(new, old, is_doubtful=self._is_shared, is_overtaken=is_overtaken)
            except Unreadable as error:
                collection.set_aside(new, error)
                new = None
        if old is not None or new is not None:
            before = collection.changes_bytes
            collection.apply(CacheChange(event.revision, old, new))
            self._changes_bytes += collection.changes_bytes - before
            if self._changes_bytes > ALL_CHANGES_BYTES_MAX:
                self._forget_oldest_changes()

    def _forget_oldest_changes(self) -> None:
        """Of whichever kinds, and some more than must be, so that it is not to be done again at once."""
        collections = self._collections
        total = sum(collection.changes_bytes for collection in collections.values())
        oldest = [(found, name) for name, one in collections.items() if (found := one.oldest_change) is not None]
        heapq.heapify(oldest)
        while oldest and total > ALL_CHANGES_BYTES_MAX * KEPT_SHARE:
            _, name = oldest[0]
            collection = collections[name]
            total -= collection.changes_bytes
            collection.forget_oldest_change()
            total += collection.changes_bytes
            following = collection.oldest_change
            if following is None:
                heapq.heappop(oldest)
            else:
                heapq.heapreplace(oldest, (following, name))
        self._changes_bytes = total

    def _rebuild(self, collection: Collection) -> None:
        """Read a kind from the store again. Streams end, and those who followed list again."""
        collection.clear(self._store.revision)
        for entry in self._store.entries():
            owner, key = self._locate(entry.key)
            if owner is collection:
                collection.load(Stored(entry, key, collection.decoder))
        collection.close_streams()

    def _locate(self, store_key: str) -> tuple[Collection, str]:
        storage, _, key = store_key.partition("/")
        return self._collections.get(storage) or self.collection(storage), key
