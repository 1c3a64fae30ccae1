"""The versions of a resource, for admission: how each names it, and how objects are converted to it.

Built-in kinds are proposed in the version they are stored in, and each other version has a conversion
(`doorman.api.machinery.conversion`). Custom objects are proposed in the version of the request, and converted by name
or by their definition's webhook.
"""

from collections.abc import Mapping, Sequence

import msgspec

from doorman.admission.plugin_contract import EquivalentVersions, Unconvertible, VersionedResource
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.conversion import from_stored, to_stored
from doorman.base.json_types import Document
from doorman.registry.custom.custom_versions import CustomVersions


class MappedResource(msgspec.Struct, frozen=True):
    """What admission calls the object of a request. Without `equivalents` there is but one version."""

    kind: str
    kind_version: str
    equivalents: EquivalentVersions | None


class EquivalentResourceMapper:
    """Finds the other versions of a resource. They are kept as long as no kind changes: every write asks."""

    def __init__(self, kinds: Kinds, versions: CustomVersions) -> None:
        self._kinds = kinds
        self._versions = versions
        self._edition = -1
        self._known: dict[tuple[str, str, str, str], MappedResource] = {}

    def of(self, kind: Kind, subresource: str) -> MappedResource:
        if self._edition != self._kinds.edition:
            self._edition = self._kinds.edition
            self._known.clear()
        key = (kind.group, kind.version, kind.resource, subresource)
        found = self._known.get(key)
        if found is None:
            own = versioned_resource_of(kind, subresource)
            found = self._known[key] = MappedResource(own.kind, own.kind_version, self._equivalents(kind, subresource))
        return found

    def _equivalents(self, kind: Kind, subresource: str) -> EquivalentVersions | None:
        rows = [
            row
            for row in self._kinds.rows
            if row.storage == kind.storage and (not subresource or row.subresource(subresource) is not None)
        ]
        if len(rows) < 2:
            return None
        equivalents = {versioned_resource_of(row, subresource): row for row in rows}
        others = [resource for resource in equivalents if resource != versioned_resource_of(kind, subresource)]
        if any(resource.kind != row.kind for resource, row in equivalents.items()):
            # A scale is a scale, whatever it is the scale of.
            return _BuiltinVersions(dict.fromkeys(equivalents, ""), others)
        if kind.is_custom:
            return _CustomVersions(kind, others, self._versions)
        return _BuiltinVersions({resource: row.conversion for resource, row in equivalents.items()}, others)


def versioned_resource_of(kind: Kind, subresource: str) -> VersionedResource:
    row = kind.subresource(subresource) if subresource else None
    if row is None:
        return _versioned_resource(kind, kind.kind, kind.group_version)
    if not row.version:
        return _versioned_resource(kind, row.kind, kind.group_version)
    return _versioned_resource(kind, row.kind, f"{row.group}/{row.version}" if row.group else row.version)


def _versioned_resource(kind: Kind, name: str, version: str) -> VersionedResource:
    return VersionedResource(
        group=kind.group, version=kind.version, resource=kind.resource, kind=name, kind_version=version
    )


class _BuiltinVersions:
    needs_webhook = False

    def __init__(self, conversions: Mapping[VersionedResource, str], others: Sequence[VersionedResource]) -> None:
        self._conversions = conversions
        self.others = others

    def convert_to(self, doc: Document, target: VersionedResource) -> Document:
        return from_stored(self._conversions[target], doc)

    def convert_from(self, doc: Document, source: VersionedResource) -> Document:
        return to_stored(self._conversions[source], doc)

    async def convert_to_async(self, doc: Document, target: VersionedResource) -> Document:
        return self.convert_to(doc, target)

    async def convert_from_async(self, doc: Document, source: VersionedResource) -> Document:
        return self.convert_from(doc, source)


class _CustomVersions:
    def __init__(self, kind: Kind, others: Sequence[VersionedResource], versions: CustomVersions) -> None:
        self._kind = kind
        self._versions = versions
        self.others = others
        self.needs_webhook = kind.converter is not None

    def convert_to(self, doc: Document, target: VersionedResource) -> Document:
        return self._at_once(doc, self._kind.version, target.version)

    def convert_from(self, doc: Document, source: VersionedResource) -> Document:
        return self._at_once(doc, source.version, self._kind.version)

    async def convert_to_async(self, doc: Document, target: VersionedResource) -> Document:
        return await self._versions.between(self._kind, doc, self._kind.version, target.version)

    async def convert_from_async(self, doc: Document, source: VersionedResource) -> Document:
        return await self._versions.between(self._kind, doc, source.version, self._kind.version)

    def _at_once(self, doc: Document, version: str, wanted: str) -> Document:
        if version == wanted:
            return doc
        if self.needs_webhook:
            raise Unconvertible("it takes the definition's webhook")
        return self._versions.pruned(self._kind, doc, wanted)
