"""How objects are read: those that are published, for everybody; the newest, for whoever is about to write."""

from collections.abc import Iterable
from typing import Final

from doorman.api.kinds import Kind, Kinds
from doorman.api.raw_members import RAW_MEMBERS, read_texts
from doorman.base.errors import not_found
from doorman.base.json_types import Document
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.stored_object import ITEM_HEAD, Stored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.store.store_contract import Entry, Store, StoreEvent


def object_key(kind: Kind, namespace: str, name: str) -> str:
    """The key of an object within its collection."""
    return f"{namespace}/{name}" if kind.namespaced else name


class ObjectReader:
    def __init__(self, store: Store, cache: WatchCache, kinds: Kinds) -> None:
        self._store = store
        self._cache = cache
        self.kinds = kinds
        self.newest_entry: Final = store.peek

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        """As it is published. Raises 404."""
        collection, key = self.collection(kind), object_key(kind, namespace, name)
        found = collection.get(key)
        if found is None:
            if key in collection.aside:
                collection.aside[key].check()  # it raises and says what is wrong
            raise not_found(kind.named, name)
        return found

    def collection(self, kind: Kind) -> Collection:
        return self._cache.collection(kind.storage)

    def newest(self, kind: Kind, namespace: str, name: str) -> Document | None:
        """The newest document, also when it is not durable yet."""
        entry = self._store.peek(kind.store_key(namespace, name))
        return self.document(entry, kind) if entry is not None else None

    def newest_stored(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        """The same with its view, which is shared with everybody who reads."""
        entry = self._store.peek(kind.store_key(namespace, name))
        return self._cache.stored(entry) if entry is not None else None

    def pending(self) -> Iterable[StoreEvent]:
        """What is on its way to the disk, oldest first."""
        return self._store.pending()

    def document(self, entry: Entry, kind: Kind) -> Document:
        stored = self._cache.stored(entry)
        if self._cache.is_aside(entry.key):
            stored.check()  # it raises and says what is wrong
        return self.document_of(stored, kind)

    def document_of(self, stored: Stored, kind: Kind) -> Document:
        """A fresh document that is as good as the stored bytes: written again, it is the same."""
        doc = stored.document()
        if kind.storage in RAW_MEMBERS:
            read_texts(kind.storage, doc, stored.json(ITEM_HEAD))
        return doc
