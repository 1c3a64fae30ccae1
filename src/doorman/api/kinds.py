"""The kinds this server knows, as rows of data.

A row comes from `data/resources.json` (names, verbs, subresources) and `data/traits.json` (who may be created by
PUT, what DELETE answers, whose generation is kept). To serve a new kind, add a row and its types; give it a strategy
in `registry` only if it behaves in a way of its own.

The rows of one server change while it runs: `Kinds.replace` puts in and takes out those of a
CustomResourceDefinition. Everything else looks them up when it needs them, or keeps what it made of them
together with `Kinds.edition`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from doorman.api.machinery.conversion import CONVERSIONS
from doorman.api.views.admissionregistration import ClientConfig
from doorman.base.errors import GroupResource


class Subresource(msgspec.Struct, frozen=True):
    name: str
    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]


class PrinterColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a custom kind's table, by a JSON path."""

    name: str
    type: str
    path: str
    format: str = ""
    description: str = ""
    is_wide: bool = False


class ScalePaths(msgspec.Struct, frozen=True, kw_only=True):
    """Where a custom kind keeps what its scale subresource shows; members from the outside in."""

    replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] = ()


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One served resource of one group version."""

    group: str
    version: str
    resource: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    storage_version_hash: str = ""
    subresources: tuple[Subresource, ...] = ()
    type_name: str = ""
    """The name of its type in `data/types.json`; empty when there is none."""
    storage: str = ""
    """The group resource under which its objects are stored: kinds with the same storage are versions of one."""
    conversion: str = ""
    """The name of its `Conversion`; empty when it looks as it is stored."""
    creates_on_update: bool = False
    needs_resource_version: bool = False
    returns_deleted: bool = False
    orphans_by_default: bool = False
    has_status: bool = False
    unowned: tuple[str, ...] = ()
    """Members nobody owns for having sent them with the object: the server does not take them from there."""
    status_keeps_metadata: bool = False
    """Whether a write of its status leaves metadata as it was."""
    generation: bool = False
    """Whether metadata.generation is kept."""
    is_custom: bool = False
    """Whether a CustomResourceDefinition made it."""
    schema_revision: int = 0
    """Custom objects of this revision or an older one were written under another schema than the current one."""
    stored_version: str = ""
    """The version custom objects are stored in, when there are several."""
    version_types: tuple[tuple[str, str], ...] = ()
    """Versions of a custom kind that has several, each with its type."""
    converter: ClientConfig | None = None
    """The webhook that converts between versions; None: they differ by name only."""
    columns: tuple[PrinterColumn, ...] = ()
    scale: ScalePaths | None = None
    """None: as Kubernetes' own workloads have it."""
    selectable: tuple[str, ...] = ()
    """Fields a field selector may name besides those of `field_selectors.py`."""
    deprecation: str = ""
    """What whoever uses it is warned of."""

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`pods`, `daemonsets.apps`: how components name it."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    @property
    def named(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    @property
    def path(self) -> str:
        """The collection's path prefix, without a namespace."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def store_key(self, namespace: str, name: str) -> str:
        """The key of an object in the store."""
        return f"{self.storage}/{namespace}/{name}" if self.namespaced else f"{self.storage}/{name}"

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)

SHARED_STORAGE: Final = {"events.events.k8s.io": "events"}
"""One store, two APIs: objects of the second are converted on the way in and out."""


class Kinds:
    """The rows of one server, by the ways they are looked up."""

    def __init__(self, rows: Iterable[Kind]) -> None:
        self.edition = 0
        """Counts changes."""
        self._set(tuple(rows))

    def _set(self, rows: tuple[Kind, ...]) -> None:
        self.rows = rows
        self._by_path = {(row.group, row.version, row.resource): row for row in self.rows}
        self._by_group_resource: dict[str, Kind] = {}
        self.named: Callable[[str], Kind] = self._by_group_resource.__getitem__
        """By `pods` or `daemonsets.apps`; its preferred version."""
        self._by_kind: dict[tuple[str, str, str], Kind] = {}
        for row in self.rows:
            self._by_group_resource.setdefault(row.group_resource, row)
            self._by_kind.setdefault((row.group, row.version, row.kind), row)

    def replace(self, group_resource: str, rows: Iterable[Kind]) -> None:
        """Serve a resource as these rows say, in place of what was served under its name. No rows: no longer."""
        others = [row for row in self.rows if row.group_resource != group_resource]
        self._set(tuple(sorted((*others, *rows), key=lambda row: version_order(row.version))))
        self.edition += 1

    def at(self, group: str, version: str, resource: str) -> Kind | None:
        return self._by_path.get((group, version, resource))

    def find(self, group_resource: str) -> Kind | None:
        return self._by_group_resource.get(group_resource)

    def of_kind(self, group: str, version: str, kind: str) -> Kind | None:
        return self._by_kind.get((group, version, kind))

    def group_versions(self) -> Mapping[str, list[str]]:
        """Versions by group, groups in discovery's order, preferred version first."""
        found: dict[str, list[str]] = {}
        order: list[str] = traits()["groupOrder"]  # it decides which resource a short name means
        for group in (*order, *sorted({row.group for row in self.rows} - set(order))):
            versions = list(dict.fromkeys(row.version for row in self.rows if row.group == group))
            if versions:
                found[group] = versions
        return found

    def stored(self, kind: Kind) -> Kind:
        """The row whose version objects of this kind are stored in."""
        return self._by_group_resource[kind.storage] if kind.conversion else kind

    def in_version(self, group: str, version: str) -> list[Kind]:
        return [row for row in self.rows if row.group == group and row.version == version]


def data_file(name: str) -> Any:  # JSON of whatever shape the file has; the reader knows it
    return msgspec.json.decode(files("doorman.api").joinpath("data", name).read_bytes())


@cache
def builtin_kinds() -> Kinds:
    """Every kind of a v1.37 API server, in all its versions, the preferred one of each first."""
    type_names = {tuple(gvk): name for name, row in type_table().items() for gvk in row.get("gvk", ())}
    rows = sorted(data_file("resources.json"), key=lambda raw: version_order(raw["version"]))
    newest: dict[tuple[str, str], str] = {}
    for raw in rows:
        found = type_names.get((raw["group"], raw["version"], raw["kind"]), "")
        newest.setdefault((raw["group"], raw["kind"]), found)
    # A version without types of its own has those of the newest one.
    return Kinds(
        _row(raw, type_names.get((raw["group"], raw["version"], raw["kind"])) or newest[raw["group"], raw["kind"]])
        for raw in rows
    )


def version_order(version: str) -> tuple[int, int, int]:
    """Sorts stable versions before beta before alpha, newer before older.

    >>> sorted(("v1alpha1", "v1", "v2", "v1beta2", "v1beta10"), key=version_order)
    ['v2', 'v1', 'v1beta10', 'v1beta2', 'v1alpha1']
    """
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0)
    return ({None: 0, "beta": 1, "alpha": 2}[found[2]], -int(found[1]), -int(found[3] or 0))


@cache
def type_table() -> dict[str, Any]:  # see data/types.json
    found: dict[str, Any] = data_file("types.json")
    return found


@cache
def traits() -> dict[str, Any]:  # see data/traits.json
    found: dict[str, Any] = data_file("traits.json")
    return found


def _unowned(name: str, subresources: Iterable[Subresource]) -> tuple[str, ...]:
    status = tuple(sub.name for sub in subresources if sub.name == "status")
    return (*status, "spec") if name == "certificatesigningrequests.certificates.k8s.io" else status


def _row(raw: dict[str, Any], type_name: str) -> Kind:
    name = f"{raw['resource']}.{raw['group']}" if raw["group"] else raw["resource"]
    conversion = f"{name}/{raw['version']}"
    has: dict[str, list[str]] = traits()["kinds"]
    subresources = tuple(
        Subresource(sub["name"], sub["kind"], sub["group"], sub["version"], tuple(sub["verbs"]))
        for sub in raw.get("subresources", ())
    )
    return Kind(
        group=raw["group"],
        version=raw["version"],
        resource=raw["resource"],
        singular=raw["singular"],
        kind=raw["kind"],
        namespaced=raw["namespaced"],
        short_names=tuple(raw["shortNames"]),
        categories=tuple(raw["categories"]),
        verbs=tuple(raw["verbs"]),
        storage_version_hash=raw["storageVersionHash"],
        subresources=subresources,
        type_name=type_name,
        storage=SHARED_STORAGE.get(name, name),
        conversion=conversion if conversion in CONVERSIONS else "",
        creates_on_update=name in has["createsOnUpdate"],
        needs_resource_version=name in has["needsResourceVersion"] or conversion in has["needsResourceVersion"],
        returns_deleted=name in has["returnsDeleted"] or conversion in has["returnsDeleted"],
        orphans_by_default=name in has["orphansByDefault"],
        has_status=any(sub.name == "status" for sub in subresources),
        unowned=_unowned(name, subresources),
        status_keeps_metadata=name in has["statusKeepsMetadata"],
        generation=name in has["generation"],
        deprecation=traits()["deprecations"].get(conversion, ""),
    )


@cache
def _builtin_groups() -> frozenset[str]:
    return frozenset(row.group for row in builtin_kinds().rows)


def is_builtin_group(group: str) -> bool:
    """Whether Kubernetes itself serves something of this group."""
    return group in _builtin_groups()


def go_package(kind: Kind) -> str:
    """The package of Kubernetes' own types of a kind, as its messages name it."""
    return kind.group.split(".")[0] or "core"
