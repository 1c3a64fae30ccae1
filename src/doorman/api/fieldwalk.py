"""Documents as sets of field paths: what a document holds, and what one write changed.

The type table decides what is one field: atomic lists, maps and structs are (taints, tolerations, selectors); keyed
lists and sets are followed element by element.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.fieldset import SELF, FieldSet
from doorman.api.schema import Document, Schema

Json = Any  # any JSON value
_IMPLIED: Final = frozenset(("metadata", "spec", "status", "template", "strategy", "updateStrategy", "jobTemplate"))
"""Structs that are part of every object of their type, so that no write brings them about."""

_encode: Final = msgspec.json.Encoder(order="sorted").encode


class Difference(msgspec.Struct):
    """`changed`: paths added or with another value. `removed`: paths that are gone, with all below them."""

    changed: FieldSet | None
    removed: FieldSet | None


class FieldWalker:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def held(self, value: Document, type_name: str) -> FieldSet | None:
        """The leaves of a document: what somebody who applies it owns."""
        return self._held_struct(value, type_name) or None

    def diff(self, new: Document, old: Document, type_name: str) -> Difference:
        changed, removed = self._diff_members(new, old, type_name)
        return Difference(changed or None, removed or None)

    # What is held

    def _held_struct(self, value: Document, type_name: str | None) -> FieldSet:
        out: FieldSet = {}
        for name, member in value.items():
            field = self.field(type_name, name)
            node = self._held(member, field)
            out["f:" + name] = node
        return out

    def _held(self, value: Json, field: Mapping[str, Json]) -> FieldSet:
        shape = self.shape(value, field)
        if shape == "struct":
            return self._held_struct(value, _struct_of(field))
        if shape == "map":
            inner = {"t": field["t"][1]}
            return {"f:" + name: self._held(member, inner) for name, member in value.items()}
        if shape == "keyed":
            element = _element_struct(field)
            return {self.key(item, field): _with_self(self._held_struct(item, element)) for item in value}
        if shape == "set":
            return {"v:" + _encode(item).decode(): {} for item in value}
        return {}

    # What a write changed

    def _diff_members(self, new: Document, old: Document, type_name: str | None) -> tuple[FieldSet, FieldSet]:
        changed: FieldSet = {}
        removed: FieldSet = {}
        for name, member in new.items():
            before = old.get(name)
            if member == before:
                continue
            field = self.field(type_name, name)
            if before is None:
                node = self._added(member, field, name)
                if node or name not in _IMPLIED or not isinstance(member, dict):
                    changed["f:" + name] = node
                continue
            self._diff_value(member, before, field, "f:" + name, changed, removed)
        for name in old:
            if name not in new:
                removed["f:" + name] = {}
        return changed, removed

    def _diff_value(
        self, new: Json, old: Json, field: Mapping[str, Json], element: str, changed: FieldSet, removed: FieldSet
    ) -> None:
        shape = self.shape(new, field)
        if shape != self.shape(old, field) or shape == "leaf":
            changed[element] = {}
            return
        if shape == "struct":
            inner = self._diff_members(new, old, _struct_of(field))
        elif shape == "map":
            inner = self._diff_map(new, old, {"t": field["t"][1]})
        elif shape == "keyed":
            inner = self._diff_keyed(new, old, field)
        else:
            inner = _diff_set(new, old)
        if inner[0]:
            changed[element] = inner[0]
        if inner[1]:
            removed[element] = inner[1]

    def _diff_map(self, new: Document, old: Document, inner: Mapping[str, Json]) -> tuple[FieldSet, FieldSet]:
        changed: FieldSet = {}
        removed: FieldSet = {"f:" + name: {} for name in old if name not in new}
        for name, member in new.items():
            if name not in old:
                changed["f:" + name] = self._added(member, inner, "")
            elif member != old[name]:
                self._diff_value(member, old[name], inner, "f:" + name, changed, removed)
        return changed, removed

    def _diff_keyed(self, new: list[Json], old: list[Json], field: Mapping[str, Json]) -> tuple[FieldSet, FieldSet]:
        element = _element_struct(field)
        before = {self.key(item, field): item for item in old}
        after = {self.key(item, field): item for item in new}
        changed: FieldSet = {}
        removed: FieldSet = {key: {} for key in before if key not in after}
        for key, item in after.items():
            if key not in before:
                changed[key] = _with_self(self._added_struct(item, element))
            elif item != before[key]:
                inner = self._diff_members(item, before[key], element)
                if inner[0]:
                    changed[key] = inner[0]
                if inner[1]:
                    removed[key] = inner[1]
        return changed, removed

    def _added(self, value: Json, field: Mapping[str, Json], name: str) -> FieldSet:
        """Everything below a place that was not there before; the place itself counts too."""
        shape = self.shape(value, field)
        if shape == "struct":
            inner = self._added_struct(value, _struct_of(field))
            return inner if name in _IMPLIED else _with_self(inner)
        if shape == "map":
            element = {"t": field["t"][1]}
            return _with_self({"f:" + key: self._added(member, element, "") for key, member in value.items()})
        if shape == "keyed":
            struct = _element_struct(field)
            items = {self.key(item, field): _with_self(self._added_struct(item, struct)) for item in value}
            return items if field.get("req") else _with_self(items)
        if shape == "set":
            return _with_self({"v:" + _encode(item).decode(): {} for item in value})
        return {}

    def _added_struct(self, value: Document, type_name: str | None) -> FieldSet:
        out: FieldSet = {}
        for name, member in value.items():
            node = self._added(member, self.field(type_name, name), name)
            if node or name not in _IMPLIED or not isinstance(member, dict):
                out["f:" + name] = node
        return out

    # Types

    def field(self, type_name: str | None, name: str) -> Mapping[str, Json]:
        if type_name is None:
            return _RAW
        field = self._schema.fields(type_name).get(name)
        if field is None:
            return _RAW
        return field if isinstance(field, dict) else {"t": field}

    def shape(self, value: Json, field: Mapping[str, Json]) -> str:
        """`struct`, `map`, `keyed`, `set`, or `leaf` for everything that is one field as a whole."""
        expression = field["t"]
        if isinstance(value, dict):
            if isinstance(expression, str) and expression.startswith("@"):
                is_atomic = field.get("mt") == "atomic" or self._schema.row(expression[1:]).get("mapType") == "atomic"
                return "leaf" if is_atomic else "struct"
            if isinstance(expression, list) and expression[0] == "map" and field.get("mt") != "atomic":
                return "map"
        elif isinstance(value, list) and isinstance(expression, list):
            if field.get("lt") == "map":
                return "keyed"
            if field.get("lt") == "set":
                return "set"
        return "leaf"

    def key(self, item: Document, field: Mapping[str, Json]) -> str:
        struct = _element_struct(field)
        found = {}
        for name in field["lk"]:
            if name in item:
                found[name] = item[name]
            elif struct is not None:
                spec = self._schema.fields(struct).get(name)
                if isinstance(spec, dict) and "def" in spec:
                    found[name] = spec["def"]
        return "k:" + _encode(found).decode()


_RAW: Final[Mapping[str, Json]] = {"t": "raw"}


def _diff_set(new: list[Json], old: list[Json]) -> tuple[FieldSet, FieldSet]:
    changed: FieldSet = {"v:" + _encode(item).decode(): {} for item in new if item not in old}
    removed: FieldSet = {"v:" + _encode(item).decode(): {} for item in old if item not in new}
    return changed, removed


def _struct_of(field: Mapping[str, Json]) -> str | None:
    expression = field["t"]
    return expression[1:] if isinstance(expression, str) and expression.startswith("@") else None


def _element_struct(field: Mapping[str, Json]) -> str | None:
    expression = field["t"][1]
    return expression[1:] if isinstance(expression, str) and expression.startswith("@") else None


def _with_self(children: FieldSet) -> FieldSet:
    return {SELF: {}, **children} if children else {}
