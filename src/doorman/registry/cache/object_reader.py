"""How objects are read: those that are published, for everybody; the newest, for whoever is about to write."""

from collections.abc import Iterable

from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.schema import Document
from doorman.api.raw_members import RAW_MEMBERS, read_texts
from doorman.base.errors import not_found
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.stored_object import ITEM_HEAD, Stored, store_key
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
        entry = self._store.peek(store_key(kind, namespace, name))
        return self.document(entry, kind, namespace, name) if entry is not None else None

    def newest_stored(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        """The same with its view, which is shared with everybody who reads."""
        entry = self._store.peek(store_key(kind, namespace, name))
        return self.stored(entry, kind, namespace, name) if entry is not None else None

    def newest_entry(self, key: str) -> Entry | None:
        return self._store.peek(key)

    def pending(self) -> Iterable[StoreEvent]:
        """What is on its way to the disk, oldest first."""
        return self._store.pending()

    def stored(self, entry: Entry, kind: Kind, namespace: str, name: str) -> Stored:
        """An entry of the store as an object, the published one if it is that."""
        collection = self.collection(kind)
        key = object_key(kind, namespace, name)
        published = collection.get(key)
        if published is not None and published.revision == entry.revision:
            return published
        return Stored(entry, key, collection.decoder)

    def document(self, entry: Entry, kind: Kind, namespace: str, name: str) -> Document:
        stored = self.stored(entry, kind, namespace, name)
        if stored.key in self.collection(kind).aside:
            stored.check()  # it raises and says what is wrong
        return self.document_of(stored, kind)

    def document_of(self, stored: Stored, kind: Kind) -> Document:
        """A fresh document that is as good as the stored bytes: written again, it is the same."""
        doc = stored.document()
        if kind.storage in RAW_MEMBERS:
            read_texts(kind.storage, doc, stored.json(ITEM_HEAD))
        return doc
