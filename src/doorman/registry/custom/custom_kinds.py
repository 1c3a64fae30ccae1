"""Custom kinds: what established CustomResourceDefinitions add to the kinds and types of this server.

It follows the definitions in the watch cache and acts as soon as a change is published, so whoever has seen
`Established` can use the kind. Everybody else finds the rows in `Kinds` and the types in `Schema`.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds, PrinterColumn, ScalePaths, Subresource
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import compile_schema
from doorman.api.views.apiextensions import RESOURCE
from doorman.base.json_types import Document
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.streams import EventType, Stream, StreamEvent
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.custom.custom_versions import converter_of

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which upstream names them of custom kinds, and of no others."""
_READ_AND_WRITE: Final = ("get", "patch", "update")

READER: Final = "customkinds"

KindListener = Callable[[str], None]
"""Told the group resource of a kind that is served from now on."""


class CustomKinds:
    def __init__(self, cache: WatchCache, kinds: Kinds, schema: Schema) -> None:
        self._cache = cache
        self._kinds = kinds
        self._schema = schema
        self._types: dict[str, list[str]] = {}
        """The types of each definition that is served."""
        self._shapes: dict[str, tuple[bytes, int]] = {}
        """What each definition says of its versions, and since which revision: older objects may look different."""
        self._listeners: list[KindListener] = []
        self._editions = 0
        self._definitions = cache.collection(RESOURCE)
        self._is_closed = False
        self._stream = self._follow()

    def listen(self, listener: KindListener) -> None:
        self._listeners.append(listener)

    def close(self) -> None:
        self._is_closed = True
        self._stream.close()

    def _follow(self) -> Stream:
        """Take what is there, and what changes from now on."""
        stream = self._definitions.follow(Selection(storage=RESOURCE), None, reader=READER)
        self._definitions.read(READER, self._serve)
        stream.on_event(self._drain)
        return stream

    def _drain(self) -> None:
        if not self._stream.is_closed:
            self._stream.drain(self._take)
        elif not self._is_closed:
            for name in [name for name in self._types if self._definitions.get(name) is None]:
                self._withdraw(name)
            self._stream = self._follow()

    def _take(self, event: StreamEvent) -> None:
        if event.type is EventType.DELETED:
            self._withdraw(event.object.name)
        else:
            self._serve(event.object)

    def _serve(self, stored: Stored) -> None:
        doc, name = stored.document(), stored.name
        if not is_established(doc):
            return
        if not is_servable(doc):
            self._withdraw(name)
            return
        self._editions += 1
        before = self._types.get(name)
        types = {version["name"]: self._describe(name, version) for version in doc["spec"]["versions"]}
        shape = msgspec.json.encode(doc["spec"]["versions"])
        known = self._shapes.get(name)
        if known is None or known[0] != shape:
            known = self._shapes[name] = (shape, stored.revision)
        rows = [
            kind_of(doc, version, types[version["name"]], types=types, schema_revision=known[1])
            for version in doc["spec"]["versions"]
            if version.get("served")
        ]
        self._types[name] = list(types.values())
        was_served = self._kinds.find(name) is not None
        self._kinds.replace(name, rows)
        for type_name in before or ():
            self._schema.remove(type_name)
        if rows and not was_served:
            for listener in self._listeners:
                listener(name)

    def _withdraw(self, name: str) -> None:
        self._kinds.replace(name, ())
        self._shapes.pop(name, None)
        for type_name in self._types.pop(name, ()):
            self._schema.remove(type_name)
        self._cache.collection(name).close_streams()

    def _describe(self, name: str, version: Document) -> str:
        """Add the type of one version, also of one that is not served: objects may be stored in it."""
        type_name = f"custom.{self._editions}.{name}.{version['name']}"
        source = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
        self._schema.add(type_name, compile_schema(source))
        return type_name


def is_established(doc: Document) -> bool:
    conditions = (doc.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def is_servable(doc: Document) -> bool:
    """Whether a definition says all that takes to serve it: validation sees to it, but not to all that is stored."""
    spec = doc.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or ()
    return (
        bool(names.get("kind"))
        and f"{names.get('plural', '')}.{spec.get('group', '')}" == doc["metadata"]["name"]
        and bool(versions)
        and all(version.get("name") for version in versions)
    )


def kind_of(
    doc: Document,
    version: Document,
    type_name: str,
    *,
    types: Mapping[str, str] | None = None,
    schema_revision: int = 0,
) -> Kind:
    """The row of one version of a definition. `types`: those of all its versions."""
    spec = doc["spec"]
    # A status may say anything: it is heard when it names a kind, and the path is the spec's in any case.
    accepted = (doc.get("status") or {}).get("acceptedNames") or {}
    if not accepted.get("kind"):
        accepted = spec["names"]
    group, kind = spec["group"], accepted["kind"]
    below = version.get("subresources") or {}
    subresources: list[Subresource] = []
    if "status" in below:
        subresources.append(Subresource("status", kind, group, version["name"], _READ_AND_WRITE))
    if "scale" in below:
        subresources.append(Subresource("scale", "Scale", "autoscaling", "v1", _READ_AND_WRITE))
    storage = next((one["name"] for one in spec["versions"] if one.get("storage")), version["name"])
    return Kind(
        group=group,
        version=version["name"],
        resource=spec["names"]["plural"],
        singular=accepted.get("singular", ""),
        kind=kind,
        namespaced=spec.get("scope") == "Namespaced",
        short_names=tuple(accepted.get("shortNames", ())),
        categories=tuple(accepted.get("categories", ())),
        verbs=_VERBS,
        storage_version_hash=version_hash(group, storage, kind),
        subresources=tuple(subresources),
        type_name=type_name,
        storage=doc["metadata"]["name"],
        needs_resource_version=True,
        has_status="status" in below,
        generation=True,
        is_custom=True,
        unowned=("status",) if "status" in below else (),
        schema_revision=schema_revision,
        stored_version=storage if len(spec["versions"]) > 1 else "",
        version_types=tuple((types or {}).items()) if len(spec["versions"]) > 1 else (),
        converter=converter_of(doc),
        columns=tuple(_column(raw) for raw in version.get("additionalPrinterColumns", ())),
        scale=_scale(below["scale"]) if "scale" in below else None,
        selectable=tuple(one.get("jsonPath", "").removeprefix(".") for one in version.get("selectableFields", ())),
        deprecation=_deprecation(group, kind, version),
    )


def version_hash(group: str, version: str, kind: str) -> str:
    """
    >>> version_hash("", "v1", "Pod")
    'xPOwRZ+Yhw8='
    """
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


def _column(raw: dict[str, Any]) -> PrinterColumn:
    return PrinterColumn(
        name=raw.get("name", ""),
        type=raw.get("type", ""),
        path=raw.get("jsonPath", ""),
        format=raw.get("format", ""),
        description=raw.get("description", ""),
        is_wide=raw.get("priority", 0) > 0,
    )


def _scale(raw: dict[str, Any]) -> ScalePaths:
    def steps(name: str) -> tuple[str, ...]:
        return tuple(step for step in raw.get(name, "").split(".") if step)

    return ScalePaths(
        replicas=steps("specReplicasPath"),
        status_replicas=steps("statusReplicasPath"),
        selector=steps("labelSelectorPath"),
    )


def _deprecation(group: str, kind: str, version: Document) -> str:
    if not version.get("deprecated"):
        return ""
    text: str = version.get("deprecationWarning", f"{group}/{version['name']} {kind} is deprecated")
    return text
