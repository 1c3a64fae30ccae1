"""What admission may look up: current documents of any kind, decoded once a version."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from doorman.admission.contract import Weigh
from doorman.api.schema import Document
from doorman.registry.selection import Selection
from doorman.registry.stored import store_key
from doorman.registry.tallies import Tallies
from doorman.semantics.pod_resources import Amounts
from doorman.store.contract import ABSENT

if TYPE_CHECKING:
    from doorman.registry.registry import Registry

LOOKED_UP_MAX: Final = 1000
"""How many documents admission keeps decoded."""


class ClusterReader:
    """What admission may look up: current documents of any kind, decoded once a version.

    Every pod asks for its namespace, its service account and the priority classes, which hardly ever change.
    """

    def __init__(self, registry: "Registry") -> None:
        self._registry = registry
        self._documents: dict[str, tuple[int, Document]] = {}
        self._tallies = Tallies(registry)
        self._lists: dict[tuple[str, str], tuple[int, list[Document]]] = {}

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:  # a document
        kind = self._registry.kinds.named(resource)
        key = store_key(kind, namespace, name)
        entry = self._registry.newest_entry(key)
        if entry is None:
            return None
        known = self._documents.get(key)
        if known is not None and known[0] == entry.revision:
            return known[1]
        doc = self._registry.newest(kind, namespace, name)
        assert doc is not None
        if len(self._documents) >= LOOKED_UP_MAX:
            self._documents.clear()
        self._documents[key] = (entry.revision, doc)
        return doc

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self._registry.newest_stored(self._registry.kinds.named(resource), namespace, name)
        return found.labels if found is not None else None

    def key(self, resource: str, namespace: str, name: str) -> str:
        """What `age` takes."""
        return store_key(self._registry.kinds.named(resource), namespace, name)

    def age(self, key: str) -> int:
        """Changes whenever `get` would give something else."""
        entry = self._registry.newest_entry(key)
        return entry.revision if entry is not None else ABSENT

    def age_of_list(self, resource: str) -> int:
        """Changes whenever `list` would give something else, in any namespace."""
        return self._registry.collection(self._registry.kinds.named(resource)).last_change

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:  # documents
        kind = self._registry.kinds.named(resource)
        collection = self._registry.collection(kind)
        known = self._lists.get((resource, namespace))
        if known is not None and known[0] == collection.last_change:
            return known[1]
        selection = Selection(storage=kind.storage, namespace=namespace)
        docs = [stored.document() for stored in collection.select(selection)]
        if len(self._lists) >= LOOKED_UP_MAX:
            self._lists.clear()
        self._lists[resource, namespace] = (collection.last_change, docs)
        return docs

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        return self._tallies.total(self._registry.kinds.named(resource), namespace, name, weigh)

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        for row in self._registry.kinds.rows:
            if row.kind == kind and row.group_version == api_version:
                return row.group_resource, row.namespaced
        return None
