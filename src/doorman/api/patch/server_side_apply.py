"""Server-side apply: a manager says which fields it wants and owns exactly those.

1. The applied configuration is merged into the live object (keyed lists by key, atomic ones as a whole).
2. Fields the manager applied last time and leaves out now go, unless somebody else owns them too.
3. A field whose value would change and that another manager owns is a conflict, or is taken by force.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from doorman.api.json_values import copied
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldShape, FieldType, FieldWalker, element_key, shape_of
from doorman.api.patch.field_set import (
    SELF,
    FieldSet,
    difference,
    intersection,
    is_member,
    ordered,
    paths,
    with_named_fields,
    without_below,
)
from doorman.api.patch.managed_fields import (
    Differences,
    ManagedEntry,
    Manager,
    entries_of,
    recorded,
    set_entries,
    time_of,
)
from doorman.api.patch.typed_config import to_typed
from doorman.base.clock import Instant
from doorman.base.errors import ApiError, Cause
from doorman.base.go_format import quote
from doorman.base.instants import to_time
from doorman.base.json_types import Document, Json

BEFORE_FIRST_APPLY: Final = "before-first-apply"


class Applier:
    def __init__(self, schema: Schema, kinds: Kinds) -> None:
        self._schema = schema
        self._kinds = kinds
        self._walker = FieldWalker(schema)

    def apply(
        self,
        kind: Kind,
        live: Document | None,
        config: Document,
        manager: Manager,
        *,
        force: bool,
        now: Instant,
        unowned: FieldSet | None = None,
        where: str = "",
        kept_metadata: Sequence[str] = (),
    ) -> Document:
        """The object after the apply, with its managedFields. `live` is not changed. Raises on conflicts.

        All documents are as this version of the kind shows them; what the configuration says is taken as it was
        said, so the result is to be made an object of its type (`to_typed`). `where` names it in messages. Of what is
        `unowned` nobody needs to be asked.
        `kept_metadata` are members of metadata that this endpoint leaves as they are.
        """
        unheeded = unheeded_members(kind, manager.subresource)
        if kept_metadata and "metadata" in config:
            config = {**config, "metadata": _but(config["metadata"], kept_metadata)}
        said = self._walker.held(_but(config, unheeded), kind.type_name)
        wanted = ordered(recorded(said))
        if live is not None:
            config = _but(config, unheeded)
        before = live or {"metadata": {}}
        entries = entries_of(before)
        if live is not None and not entries:
            heeded = _but(_unmanaged(live), unheeded)
            heeded["metadata"] = _but(heeded["metadata"], kept_metadata)
            everything = ordered(recorded(self._walker.created(heeded, kind.type_name).changed))
            first = Manager(name=BEFORE_FIRST_APPLY, operation="Update", api_version=kind.group_version)
            entries.append(ManagedEntry(manager=first, time=to_time(now), fields=everything))
        own = next((entry for entry in entries if entry.manager == manager), None)
        others = [entry for entry in entries if entry is not own]
        merged = self._merge_struct(kind.type_name, _unmanaged(before), config)
        dropped = self._dropped(own, said, others)
        if dropped is not None:
            pruned = self._prune_struct(kind.type_name, merged, dropped)
            if not self._is_missed(kind, pruned, merged, others, where):
                merged = pruned
        typed = partial(to_typed, self._schema, kind, where=where)
        differences = Differences(self._walker, self._kinds, kind, merged, _unmanaged(before), typed)
        _settle_conflicts(others, differences, unowned, force=force)
        for entry in others:
            entry.fields = without_below(entry.fields, differences.in_version(entry.manager.api_version).removed)
        changes = differences.own
        # Who applies what is there already comes to own it, and nothing is said of when.
        time_before = own.time if own is not None else ""
        time = time_of(manager, now) if changes.changed is not None or changes.removed is not None else time_before
        merged["metadata"] = dict(merged["metadata"])
        set_entries(merged, [*others, ManagedEntry(manager=manager, time=time, fields=wanted)])
        return merged

    def _dropped(self, own: ManagedEntry | None, said: FieldSet | None, others: list[ManagedEntry]) -> FieldSet | None:
        """What was applied and is nobody's now. A field is somebody's as long as anything below it is: the entry that
        `kubectl apply` left behind names a map besides its members, a configuration only the members."""
        gone = own.fields if own is not None else None
        for kept in (said, *(entry.fields for entry in others)):
            gone = difference(gone, with_named_fields(kept))
        return gone

    def _is_missed(
        self, kind: Kind, pruned: Document, merged: Document, others: list[ManagedEntry], where: str
    ) -> bool:
        """Whether somebody who owns fields in the terms of another version would lose one."""
        elsewhere = [entry for entry in others if entry.manager.api_version != kind.group_version]
        if not elsewhere:
            return False
        pruned, merged = (to_typed(self._schema, kind, doc, where) for doc in (pruned, merged))
        gone = Differences(self._walker, self._kinds, kind, pruned, merged)
        return any(intersection(one.fields, gone.in_version(one.manager.api_version).removed) for one in elsewhere)

    # Merging

    def merge(self, type_name: str, live: Document, config: Document) -> Document:
        """The live object with what a configuration says, whoever owns what. `live` is not changed."""
        return self._merge_struct(type_name, live, config)

    def atomic_path(self, type_name: str | None, config: Document, path: str = "") -> str:
        """Where the configuration would replace a whole list or map, empty when it does not."""
        for name, value in config.items():
            at = f"{path}.{name}"
            field = self._field(type_name, name)
            shape = shape_of(value, field)
            if shape is FieldShape.LEAF and isinstance(value, list | dict):
                return at
            inner = [value] if shape is FieldShape.STRUCT else value if shape is FieldShape.KEYED else ()
            for item in inner:
                if isinstance(item, dict) and (found := self.atomic_path(field.struct, item, at)):
                    return found
        return ""

    def _merge_struct(self, type_name: str | None, live: Document, config: Document) -> Document:
        out = dict(live)
        for name, value in config.items():
            out[name] = self._merge(self._field(type_name, name), out.get(name), value)
        return out

    def _merge(self, field: FieldType, live: Json, value: Json) -> Json:
        """What is one field becomes what the configuration says, null too; else null leaves what there is."""
        if field.shape is FieldShape.LEAF or not live:
            return copied(value)
        if value is None:
            return live
        shape = shape_of(value, field)
        if shape is FieldShape.LEAF or type(live) is not type(value):
            return copied(value)
        if shape is FieldShape.STRUCT:
            return self._merge_struct(field.struct, live, value)
        if shape is FieldShape.MAP:
            inner = field.inner or FieldType(FieldShape.LEAF)
            return {**live, **{name: self._merge(inner, live.get(name), item) for name, item in value.items()}}
        if shape is FieldShape.SET:
            return _in_order(live, value, element_key, lambda _, item: item)
        return self._merge_keyed(field, live, value)

    def _merge_keyed(self, field: FieldType, live: list[Json], value: list[Json]) -> list[Json]:
        def both(before: Json, item: Json) -> Json:
            if before is None or field.is_whole:
                return copied(item)
            return self._merge_struct(field.struct, before, item)

        return _in_order(live, value, lambda item: self._walker.key(item, field), both)

    # Pruning

    def _prune_struct(self, type_name: str | None, value: Document, gone: FieldSet) -> Document:
        out = dict(value)
        for element, node in gone.items():
            name = element[2:]
            if not element.startswith("f:") or name not in out:
                continue
            if is_member(node) and set(node) <= {SELF}:
                del out[name]
                continue
            out[name] = self._prune(self._field(type_name, name), out[name], node)
            is_struct = shape_of(value[name], self._field(type_name, name)) is FieldShape.STRUCT
            if not out[name] and (is_member(node) or not is_struct):
                del out[name]
        return out

    def _prune(self, field: FieldType, value: Json, gone: FieldSet) -> Json:
        shape = shape_of(value, field)
        if shape is FieldShape.STRUCT:
            return self._prune_struct(field.struct, value, gone)
        if shape is FieldShape.MAP:
            return self._prune_map(field.inner or FieldType(FieldShape.LEAF), value, gone)
        if shape is FieldShape.SET:
            encoded = {element[2:] for element in gone if element.startswith("v:")}
            return [item for item in value if msgspec.json.encode(item).decode() not in encoded]
        if shape is FieldShape.KEYED:
            out = []
            for item in value:
                node = gone.get(self._walker.key(item, field))
                if node is None:
                    out.append(item)
                elif not is_member(node):
                    out.append(self._prune_struct(field.struct, item, node))
            return out
        return value

    def _prune_map(self, inner: FieldType, value: Document, gone: FieldSet) -> Document:
        out: Document = {}
        for name, item in value.items():
            node = gone.get("f:" + name)
            if node is None:
                out[name] = item
            elif not is_member(node):
                out[name] = self._prune(inner, item, node)
        return out

    def _field(self, type_name: str | None, name: str) -> FieldType:
        return self._walker.field(type_name, name)


def _settle_conflicts(
    others: list[ManagedEntry], differences: Differences, unowned: FieldSet | None, *, force: bool
) -> None:
    """Take what is changed from who else owns it, if that may be."""
    changes = [(entry, differences.in_version(entry.manager.api_version).changed) for entry in others]
    contested = [(entry, intersection(entry.fields, changed)) for entry, changed in changes]
    conflicts = [(entry, found) for entry, fields in contested if (found := list(paths(difference(fields, unowned))))]
    if conflicts and not force:
        raise conflict_error(conflicts)
    for entry, changed in changes:
        entry.fields = difference(entry.fields, changed)


def conflict_error(conflicts: list[tuple[ManagedEntry, list[str]]]) -> ApiError:
    causes = [
        Cause(reason="FieldManagerConflict", message=f"conflict with {_described(entry)}", field=path)
        for entry, contested in conflicts
        for path in contested
    ]
    if len(causes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = [f"Apply failed with {len(causes)} conflicts: "]
        texts = []
        for entry, contested in sorted(conflicts, key=lambda found: found[0].manager.name):
            listed = "".join(f"\n- {path}" for path in contested)
            texts.append(f"conflicts with {_described(entry)}:{listed}")
        message = lines[0] + "\n".join(texts)
    return ApiError(409, "Conflict", message, causes=causes)


def _described(entry: ManagedEntry) -> str:
    text = quote(entry.manager.name)
    if entry.manager.subresource:
        text += f" with subresource {quote(entry.manager.subresource)}"
    if entry.manager.operation == "Update":
        text += f" using {entry.manager.api_version}"
    return text


def _unmanaged(doc: Document) -> Document:
    hidden = ("managedFields",)
    return {**doc, "metadata": {name: value for name, value in doc["metadata"].items() if name not in hidden}}


def _in_order(
    live: list[Json], wanted: list[Json], key_of: Callable[[Json], str], both: Callable[[Json, Json], Json]
) -> list[Json]:
    """The elements of two lists that are known by their keys: those that both have in the order of the wanted list,
    each of the others after what it followed, live ones first.

    >>> _in_order(["a", "b", "x"], ["n", "b", "a"], str, lambda _, item: item)
    ['n', 'b', 'x', 'a']
    """
    before: dict[str, Json] = {}
    for item in live:
        key = key_of(item)
        before[key] = None if key in before else item  # what occurs twice is replaced, not merged
    after = {key_of(item): item for item in wanted}
    theirs = list(after)
    shared = [key for key in theirs if key in before]
    out: list[Json] = []
    at = 0
    for item in live:
        key = key_of(item)
        if key not in after:
            out.append(item)
            continue
        if shared and shared[0] != key:
            continue  # its turn comes later, or was
        # One that was taken already, occurring twice, makes room for the next.
        upto = at + 1 if not shared else theirs.index(key, at) + 1
        out += [both(before.get(one), after[one]) for one in theirs[at:upto]]
        at = upto
        shared = shared[1:]
    return out + [both(before.get(one), after[one]) for one in theirs[at:]]


def unheeded_members(kind: Kind, subresource: str) -> tuple[str, ...]:
    """Members that an endpoint leaves as they are, whatever is applied through it: nobody owns them for that."""
    if subresource == "status":
        return ("spec",)
    if subresource:
        return ()
    return kind.unowned if "status" in kind.unowned or not kind.has_status else (*kind.unowned, "status")


def _but(config: Document, members: Sequence[str]) -> Document:
    return {name: value for name, value in config.items() if name not in members} if members else config
