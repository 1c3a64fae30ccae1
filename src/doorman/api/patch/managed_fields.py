"""Who owns which field: `metadata.managedFields`.

Every write records its manager, in the terms of the version it was written in. A write that changes a field takes it
from the others; server-side apply (`doorman.api.patch.server_side_apply`) makes conflicts out of that. Binding and
deletion are not recorded, as upstream.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.conversion import from_stored, to_stored
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import Difference, FieldWalker, KeylessError
from doorman.api.patch.field_set import FieldSet, difference, ordered, union, without_below
from doorman.api.raw_members import RAW_MEMBERS, without_own_texts, without_texts
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document

UPDATE_ENTRIES_MAX: Final = 10
ANCIENT: Final = "ancient-changes"

_NEVER_RECORDED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        "f:name": {}, "f:namespace": {}, "f:creationTimestamp": {}, "f:selfLink": {}, "f:uid": {}, "f:generation": {},
        "f:managedFields": {}, "f:resourceVersion": {},
    },
}  # fmt: skip


_RESET: Final[dict[tuple[str, str], FieldSet]] = {
    (CERTIFICATE_SIGNING_REQUESTS, "status"): {"f:status": {"f:conditions": {}}},
    (CERTIFICATE_SIGNING_REQUESTS, "approval"): {"f:status": {"f:certificate": {}}},
}
"""Of a kind and a subresource: what is not its to write, so that nobody owns it for having sent it there."""


class Manager(msgspec.Struct, frozen=True, kw_only=True):
    """Whose entry a write goes to."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""


class ManagedEntry(msgspec.Struct, kw_only=True):
    """One entry, its fields as a set."""

    manager: Manager
    time: str
    fields: FieldSet | None


def recorded(fields: FieldSet | None) -> FieldSet | None:
    """Without what is nobody's to own."""
    return without_below(fields, _NEVER_RECORDED)


def entries_of(doc: Document) -> list[ManagedEntry]:
    found = []
    for raw in doc["metadata"].get("managedFields", ()):
        if raw.get("manager") is None and not raw.get("fieldsV1"):
            continue
        manager = Manager(
            name=raw.get("manager", ""),
            operation=raw.get("operation", "Update"),
            api_version=raw.get("apiVersion", ""),
            subresource=raw.get("subresource", ""),
        )
        found.append(ManagedEntry(manager=manager, time=raw.get("time") or "", fields=raw.get("fieldsV1") or None))
    return found


def set_entries(doc: Document, entries: list[ManagedEntry]) -> None:
    kept = _with_few_updates([entry for entry in entries if entry.fields])
    kept.sort(key=_order)
    if kept:
        doc["metadata"]["managedFields"] = [_written(entry) for entry in kept]
    else:
        doc["metadata"].pop("managedFields", None)


class Differences:
    """What a write changes, in the terms of each version that somebody owns fields in."""

    def __init__(
        self,
        walker: FieldWalker,
        kinds: Kinds,
        kind: Kind,
        new: Document,
        old: Document,
        typed: Callable[[Document], Document] | None = None,
    ) -> None:
        """The documents are as `kind` shows them. `typed` makes an object of its type out of the new one, when it is
        none yet and has to be converted to another version."""
        self.own = difference_of(walker, kind, new, old)
        self._walker = walker
        self._kinds = kinds
        self._kind = kind
        self._new = new
        self._old = old
        self._typed = typed
        # Texts count in the version that was written, and in no other.
        self._known: dict[str, Difference] = {} if kind.storage in RAW_MEMBERS else {kind.conversion: self.own}
        """By conversion: versions that look the same share it."""

    def in_version(self, api_version: str) -> Difference:
        own = self._kind
        group, _, version = api_version.rpartition("/")
        kind = self._kinds.of_kind(group, version, own.kind) or own
        found = self._known.get(kind.conversion)
        if found is None:
            made = self._typed(self._new) if self._typed is not None else self._new
            # What is converted is compared as values.
            stored = (without_texts(own.storage, to_stored(own.conversion, doc)) for doc in (made, self._old))
            new, old = (from_stored(kind.conversion, doc) for doc in stored)
            found = self._known[kind.conversion] = difference_of(self._walker, kind, new, old)
        return found


def difference_of(walker: FieldWalker, kind: Kind, new: Document, old: Document) -> Difference:
    found = walker.diff(new, old, kind.type_name)
    found.changed, found.removed = recorded(found.changed), recorded(found.removed)
    return found


class ManagedFields:
    """Keeps the entries of ordinary writes. Documents are in the form they are stored in."""

    def __init__(self, schema: Schema, kinds: Kinds) -> None:
        self.walker = FieldWalker(schema)
        self._kinds = kinds

    def track_create(self, kind: Kind, doc: Document, manager: Manager, now: Instant) -> None:
        if not kind.type_name:
            return
        if manager.operation == "Apply":
            return  # apply has set its own entries
        doc["metadata"].pop("managedFields", None)
        shown = from_stored(kind.conversion, doc)
        visible = {name: value for name, value in shown.items() if name not in kind.unowned}
        try:
            fields = recorded(self.walker.created(visible, kind.type_name).changed)
        except KeylessError:
            return
        if fields:
            doc["metadata"]["managedFields"] = [
                _written(ManagedEntry(manager=manager, time=to_time(now), fields=ordered(fields)))
            ]

    def track_update(self, kind: Kind, new: Document, old: Document, manager: Manager, now: Instant) -> None:
        if not kind.type_name or manager.operation == "Apply":
            return
        given, kept = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
        if manager.subresource:
            given = None  # through a subresource nobody changes them
        if given is None and kept is not None:
            new["metadata"]["managedFields"] = given = kept
        if given is None or given == [{}]:
            # Nobody tracks this object, or the writer asked for that.
            new["metadata"].pop("managedFields", None)
            return
        after, before = _tracked(kind, new), _tracked(kind, old)
        try:
            differences = Differences(self.walker, self._kinds, kind, after, before)
        except KeylessError:
            new["metadata"].pop("managedFields", None)
            return
        written = differences.own
        written.changed = without_below(written.changed, _RESET.get((kind.storage, manager.subresource)))
        entries = entries_of(new)
        if written.changed is None and written.removed is None:
            if given != kept:
                set_entries(new, entries)  # whatever order the writer has put them in
            return
        own = next((entry for entry in entries if entry.manager == manager), None)
        if own is None:
            own = ManagedEntry(manager=manager, time="", fields=None)
            entries.append(own)
        for entry in entries:
            version = entry.manager.api_version
            found = written if version == kind.group_version else differences.in_version(version)
            left = without_below(entry.fields, found.removed)
            entry.fields = union(left, found.changed) if entry is own else difference(left, found.changed)
        if written.changed is not None:
            own.time = time_of(manager, now)
            own.fields = ordered(own.fields)
        set_entries(new, entries)


def _order(entry: ManagedEntry) -> tuple[bool, str, str, str, str]:
    manager = entry.manager
    return manager.operation != "Apply", entry.time, manager.name, manager.api_version, manager.subresource


def _tracked(kind: Kind, doc: Document) -> Document:
    """As the kind shows it, without what nobody is said to own."""
    shown = from_stored(kind.conversion, without_own_texts(kind.storage, doc))
    metadata = dict(shown["metadata"])
    metadata.pop("managedFields", None)
    metadata.pop("resourceVersion", None)
    return {**shown, "metadata": metadata}


def _with_few_updates(entries: list[ManagedEntry]) -> list[ManagedEntry]:
    """The oldest Update entries beyond the limit become one."""
    if len(entries) <= UPDATE_ENTRIES_MAX:
        return entries
    updates = sorted((e for e in entries if e.manager.operation == "Update"), key=lambda e: e.time)
    surplus = len(updates) - UPDATE_ENTRIES_MAX
    if surplus <= 0:
        return entries
    merged = updates[: surplus + 1]
    fields: FieldSet | None = None
    for entry in merged:
        fields = union(fields, entry.fields)
    last = merged[-1]
    manager = Manager(name=ANCIENT, operation="Update", api_version=last.manager.api_version)
    rest = [entry for entry in entries if not any(entry is gone for gone in merged)]
    return [*rest, ManagedEntry(manager=manager, time=last.time, fields=fields)]


def time_of(manager: Manager, now: Instant) -> str:
    """When fields came to be a manager's. Of what is written through a scale upstream does not say."""
    return "" if manager.subresource == "scale" else to_time(now)


def _written(entry: ManagedEntry) -> dict[str, Any]:  # one element of managedFields
    """An entry that does not say when has no time: an empty one no other server could read."""
    out: dict[str, Any] = {
        "manager": entry.manager.name,
        "operation": entry.manager.operation,
        "apiVersion": entry.manager.api_version,
        **({"time": entry.time} if entry.time else {}),
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields,
    }
    if entry.manager.subresource:
        out["subresource"] = entry.manager.subresource
    return out
