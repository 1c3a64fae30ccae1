"""Informers in process: each follows one kind in the watch cache, fills its cache and tells its listeners."""

import asyncio
from collections.abc import Iterable, Sequence, Sized
from typing import Any

from doorman.api.kinds import Kinds
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.client.informers import INFORMER_READER, NOTHING_NEEDED, Listener
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.streams import EventType, Stream, StreamEvent
from doorman.registry.cache.watch_cache import WatchCache
from doorman.runtime.informer_indexes import COMMON_INDEXERS, indexed_cache


def newest_of(events: list[StreamEvent]) -> list[StreamEvent]:
    """Without those that a further one of the same object has overtaken. That an object went is always told."""
    if len(events) < 2:
        return events
    told: list[StreamEvent] = []
    overtaken: set[str] = set()
    for event in reversed(events):
        key = event.object.key
        if event.type is EventType.DELETED:
            overtaken.discard(key)
        elif key in overtaken:
            continue
        else:
            overtaken.add(key)
        told.append(event)
    told.reverse()
    return told


class WatchCacheInformer:
    def __init__(self, cache: WatchCache, resource: str, storage: str) -> None:
        self.resource = resource
        self.cache: InformerCache[Any] = indexed_cache(resource)
        self._watch_cache = cache
        self._storage = storage
        self._listeners: list[tuple[Listener, str, Sized]] = []
        self._stream: Stream | None = None
        self._is_drain_due = False
        self._is_stopped = False
        self._loop = asyncio.get_running_loop()

    def listen(self, listener: Listener, reader: str = INFORMER_READER, needed: Sized = NOTHING_NEEDED) -> None:
        self._listeners.append((listener, reader, needed))

    def forget(self, reader: str) -> None:
        """Its listeners hear no more."""
        self._listeners = [one for one in self._listeners if one[1] != reader]

    @property
    def is_following(self) -> bool:
        return self._stream is not None and not self._stream.is_closed

    def start(self) -> None:
        """Fill the cache, tell everybody what is there, follow from here on."""
        collection = self._watch_cache.collection(self._storage)
        self._stream = collection.follow(Selection(storage=self._storage), None, reader=INFORMER_READER)
        collection.read(INFORMER_READER, lambda stored: self.cache.put(stored.key, stored.view))
        self._stream.on_event(self._soon)

    def announce(self, reader: str = "") -> None:
        """Tell listeners, or only those of one who came later, of everything that is already there, as additions."""
        listeners = [one for one in self._listeners if not reader or one[1] == reader]
        for view in self.cache.list():
            self._tell(ObjectChange(self.resource, None, view), listeners)

    def stop(self) -> None:
        self._is_stopped = True
        if self._stream is not None:
            self._stream.close()

    def _soon(self) -> None:
        if not self._is_drain_due:
            self._is_drain_due = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._is_drain_due = False
        assert self._stream is not None
        if not self._stream.is_closed:
            self._stream.drain(self._take, newest_of)
        elif not self._is_stopped:
            self._list_again()

    def _take(self, event: StreamEvent) -> None:
        stored = event.object
        if event.type is EventType.DELETED:
            old = self.cache.remove(stored.key)
            if old is not None:
                self._tell(ObjectChange(self.resource, old, None))
        else:
            self._put(stored)

    def _put(self, stored: Stored) -> None:
        new = stored.view
        self._tell(ObjectChange(self.resource, self.cache.put(stored.key, new), new))

    def _list_again(self) -> None:
        """The stream has ended: it fell behind, or the watch cache was read again. Tell what is different now."""
        collection = self._watch_cache.collection(self._storage)
        self._stream = collection.follow(Selection(storage=self._storage), None, reader=INFORMER_READER)
        for key in [key for key in self.cache.objects if collection.get(key) is None]:
            self._tell(ObjectChange(self.resource, self.cache.remove(key), None))
        collection.read(INFORMER_READER, self._put)
        self._stream.on_event(self._soon)

    def _tell(self, change: ObjectChange, listeners: Sequence[tuple[Listener, str, Sized]] | None = None) -> None:
        for listener, reader, needed in self._listeners if listeners is None else listeners:
            if not needed:
                continue
            try:
                listener(change)
            except Exception as error:  # noqa: BLE001  the others hear of it all the same
                meta = change.newest.metadata
                revision = _revision_of(meta.resource_version)
                self._watch_cache.faults.caught(reader, error, key=f"{self._storage}/{meta.key}", revision=revision)


def _revision_of(version: str) -> int:
    return int(version) if version.isdecimal() else 0


class WatchCacheInformers:
    """The informers of one process, made when first asked for."""

    def __init__(self, cache: WatchCache, kinds: Kinds) -> None:
        self._cache = cache
        self._kinds = kinds
        self._informers: dict[str, WatchCacheInformer] = {}

    def of(self, resource: str) -> WatchCacheInformer:
        found = self._informers.get(resource)
        if found is None:
            found = self._informers[resource] = WatchCacheInformer(self._cache, resource, self._storage(resource))
        return found

    def _storage(self, resource: str) -> str:
        known = self._kinds.find(resource)
        return known.storage if known is not None else resource

    def lister(self, resource: str) -> InformerCache[Any]:
        return self.of(resource).cache

    def live(self, resource: str) -> "LiveLister":
        """Reads what is published now, not what an informer has told of."""
        return LiveLister(self._cache, self._cache.collection(self._kinds.named(resource).storage))

    def all(self) -> Iterable[WatchCacheInformer]:
        return list(self._informers.values())


class LiveLister:
    def __init__(self, cache: WatchCache, collection: Collection) -> None:
        self._cache = cache
        self._collection = collection

    def __len__(self) -> int:
        return len(self._collection.objects)

    def get(self, key: str) -> Any:  # the view of the kind
        found = self._collection.get(key)
        return found.view if found is not None else None

    def list(self) -> Sequence[Any]:
        return [stored.view for stored in self._collection.objects.values()]

    @property
    def revision(self) -> int:
        return self._cache.revision

    def until(self, revision: int) -> Sequence[str]:
        """Keys of those last written at that revision or before."""
        return [key for key, stored in self._collection.objects.items() if stored.revision <= revision]

    def by(self, index: str, value: str) -> Sequence[Any]:
        if index == BY_NAMESPACE:
            in_namespace = Selection(storage=self._collection.storage, namespace=value)
            return [stored.view for stored in self._collection.select(in_namespace)]
        indexer = COMMON_INDEXERS[index]
        return [view for view in self.list() if value in indexer(view)]

    def places(self, index: str) -> Sequence[str]:
        indexer = COMMON_INDEXERS[index]
        return list(dict.fromkeys(place for view in self.list() for place in indexer(view)))
