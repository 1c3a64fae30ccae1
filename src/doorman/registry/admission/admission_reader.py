"""What admission may look up: current documents of any kind, decoded once a version."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from doorman.admission.plugin_contract import Docs, Unconvertible, Weigh
from doorman.api.json_values import copied
from doorman.api.kinds import Kind
from doorman.api.machinery.conversion import from_stored
from doorman.base.json_types import Document
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.object_reader import ObjectReader
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Unreadable
from doorman.registry.cache.usage_totals import UsageTotals
from doorman.registry.custom.custom_versions import CustomVersions
from doorman.semantics.pods.pod_resources import Amounts

LOOKED_UP_MAX: Final = 1000
"""How many documents admission keeps decoded."""


class AdmissionReader:
    """What admission may look up: current documents of any kind, decoded once a version.

    Every pod asks for its namespace, its service account and the priority classes, which hardly ever change.
    """

    def __init__(self, reader: ObjectReader, versions: CustomVersions) -> None:
        self._reader = reader
        self._versions = versions
        self.newest_entry: Final = reader.newest_entry
        """Another one whenever `get` would give something else."""
        self._documents: dict[str, tuple[int, Document]] = {}
        self._usage_totals = UsageTotals(reader)
        self._lists: dict[tuple[str, str], tuple[Collection, int, list[Document]]] = {}
        self._converted: dict[tuple[int, str, str], Document] = {}
        """What webhooks made of custom objects."""

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:  # a document
        kind = self._reader.kinds.named(resource)
        key = kind.store_key(namespace, name)
        entry = self.newest_entry(key)
        if entry is None:
            return None
        known = self._documents.get(key)
        if known is not None and known[0] == entry.revision:
            return known[1]
        try:
            doc = self._reader.newest(kind, namespace, name)
        except Unreadable:
            return None  # it is set aside: as if it were not there
        assert doc is not None
        if len(self._documents) >= LOOKED_UP_MAX:
            self._documents.clear()
        self._documents[key] = (entry.revision, doc)
        return doc

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self._reader.newest_stored(self._reader.kinds.named(resource), namespace, name)
        try:
            return found.labels if found is not None else None
        except Unreadable:
            return None

    def key(self, resource: str, namespace: str, name: str) -> str:
        """What `newest_entry` takes."""
        return self._reader.kinds.named(resource).store_key(namespace, name)

    def source(self, resource: str) -> Collection:
        """Its last change is another one whenever `list` would give something else, in any namespace."""
        return self._reader.collection(self._reader.kinds.named(resource))

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:  # documents
        known = self._lists.get((resource, namespace))
        if known is not None and known[0].last_change == known[1]:
            return known[2]
        kind = self._reader.kinds.named(resource)
        collection = self._reader.collection(kind)
        selection = Selection(storage=kind.storage, namespace=namespace)
        docs = [stored.document() for stored in collection.select(selection)]
        if len(self._lists) >= LOOKED_UP_MAX:
            self._lists.clear()
        self._lists[resource, namespace] = (collection, collection.last_change, docs)
        return docs

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        return self._usage_totals.total(self._reader.kinds.named(resource), namespace, name, weigh)

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        row = self._row(api_version, kind)
        return (row.group_resource, row.namespaced) if row is not None else None

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        row = self._row(api_version, kind)
        if row is None:
            raise Unconvertible(f"{api_version}, Kind={kind} is no longer served")
        if not row.is_custom:
            return [from_stored(row.conversion, dict(doc)) for doc in docs]
        return [self._custom(row, doc) for doc in docs]

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        row = self._row(api_version, kind)
        if row is None or row.converter is None:
            return
        pending = [dict(doc) for doc in docs if self._custom_at_once(row, doc) is None]
        for doc, found in zip(pending, await self._versions.read(row, copied(pending)), strict=True):
            if len(self._converted) >= LOOKED_UP_MAX:
                self._converted.clear()
            self._converted[self._conversion_key(row, doc)] = {**_head(row), **found}

    def _row(self, api_version: str, kind: str) -> Kind | None:
        return next(
            (row for row in self._reader.kinds.rows if row.kind == kind and row.group_version == api_version), None
        )

    def _custom(self, row: Kind, doc: Mapping[str, Any]) -> Document:
        found = self._custom_at_once(row, doc)
        if found is None:
            raise Unconvertible(f"conversion to {row.group_version}, Kind={row.kind} failed")
        return found

    def _custom_at_once(self, row: Kind, doc: Mapping[str, Any]) -> Document | None:
        """None: it takes a webhook, which was not asked."""
        versions = self._versions
        if not versions.is_different(row, int(doc["metadata"]["resourceVersion"])):
            return {**_head(row), **doc}
        known = self._converted.get(self._conversion_key(row, doc))
        if known is not None:
            return known
        found = versions.read_at_once(row, copied(dict(doc)))
        return {**_head(row), **found} if found is not None else None

    def _conversion_key(self, row: Kind, doc: Mapping[str, Any]) -> tuple[int, str, str]:
        """What makes a conversion the same one: a revision is one object's only."""
        return self._reader.kinds.edition, row.group_version, doc["metadata"]["resourceVersion"]


def _head(kind: Kind) -> Document:
    return {"apiVersion": kind.group_version, "kind": kind.kind}
