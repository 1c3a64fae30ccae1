"""Documents as sets of field paths: what a document holds, and what one write changed.

The type table decides what is one field: atomic lists, maps and structs are (taints, tolerations, selectors); keyed
lists and sets are followed element by element.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from functools import lru_cache
from typing import Final

import msgspec

from doorman.api.json_values import is_equal
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_set import SELF, FieldSet
from doorman.base.go_format import in_html
from doorman.base.json_types import Document, Json

_encode: Final = msgspec.json.Encoder(order="sorted").encode


class FieldShape(Enum):
    LEAF = 0
    """One field as a whole."""
    STRUCT = 1
    MAP = 2
    KEYED = 3
    """A list whose elements are known by some of their fields."""
    SET = 4


class FieldType(msgspec.Struct):
    """What the walks need to know of a field, read from the type table once."""

    shape: FieldShape
    struct: str | None = None
    """Of the value (STRUCT) or of its elements (KEYED)."""
    inner: "FieldType | None" = None
    """Of a map's values."""
    keys: tuple[tuple[str, Json], ...] = ()
    """Of a keyed list: names, and what an absent one stands for (None: nothing)."""
    is_whole: bool = False
    """Of a keyed list: whether each element is one field."""


class Difference(msgspec.Struct):
    """`changed`: paths added or with another value. `removed`: paths that are gone, with all below them."""

    changed: FieldSet | None
    removed: FieldSet | None


class KeylessError(ValueError):
    """An element of a keyed list has no key: nobody can own anything of such an object."""


class FieldWalker:
    def __init__(self, schema: Schema, *, is_typed: bool = True) -> None:
        """`is_typed`: the table says what each value is, so that those of two types need not be told apart."""
        self._schema = schema
        self._is_typed = is_typed
        self._untyped = FieldWalker(schema, is_typed=False) if is_typed else self
        self._types: dict[str, dict[str, FieldType]] = {}
        self._empty: dict[str, Document] = {}
        self._open: set[str] = set()
        """Types that keep members they do not know."""

    def held(self, value: Document, type_name: str) -> FieldSet | None:
        """The leaves of a document: what somebody who applies it owns."""
        return self._held_struct(value, type_name) or None

    def is_keyless(self, item: Document, field: FieldType) -> bool:
        """Whether nothing tells an element of a keyed list from others."""
        return not any(name in item or default is not None for name, default in field.keys)

    def complete(self, value: Document, type_name: str) -> None:
        """See `Schema.complete`."""
        self._schema.complete(value, type_name)

    def created(self, new: Document, type_name: str) -> Difference:
        """What whoever creates an object owns of it.

        An object of a type never lacks the members that are always written, so bringing it about does not set those.
        """
        empty = self._empty.get(type_name)
        if empty is None:
            empty = self._empty[type_name] = {"metadata": {}}
            self._schema.complete(empty, type_name)
        return self.diff(new, {name: empty[name] for name in new if name in empty}, type_name)

    def diff(self, new: Document, old: Document, type_name: str) -> Difference:
        walker = self if self._schema.structural(type_name) is None else self._untyped
        changed, removed = walker._diff_members(new, old, type_name)
        return Difference(changed or None, removed or None)

    def field(self, type_name: str | None, name: str) -> FieldType:
        if type_name is None:
            return _LEAF
        fields = self._types.get(type_name)
        if fields is None:
            fields = self._types[type_name] = self._read(type_name)
        return fields.get(name, _LEAF) if type_name not in self._open else fields.get(name, _FREE)

    def key(self, item: Document, field: FieldType) -> str:
        """The path element of an element of a keyed list."""
        if len(field.keys) == 1:
            name, default = field.keys[0]
            value = item.get(name, default)
            if type(value) is str:
                return _single_key(name, value)
        found = {name: item.get(name, default) for name, default in field.keys if name in item or default is not None}
        return "k:" + in_html(_encode(found).decode())

    # What is held

    def _held_struct(self, value: Document, type_name: str | None) -> FieldSet:
        return _held_members((name, self._held(value[name], self.field(type_name, name))) for name in value)

    def _held(self, value: Json, field: FieldType) -> FieldSet | None:
        """None: nothing that could be owned, as of a list of elements that has none."""
        shape = shape_of(value, field)
        if shape is FieldShape.LEAF or value == {}:
            return {}
        if shape is FieldShape.STRUCT:
            return self._held_struct(value, field.struct) or None
        if shape is FieldShape.MAP:
            inner = field.inner or _LEAF
            return {"f:" + name: _with_self(self._held(member, inner) or {}) for name, member in value.items()}
        if shape is FieldShape.KEYED:
            held = {self.key(item, field): self._element(item, field, self._held_struct) for item in value}
            return held or None
        return {element_key(item): {} for item in value} or None

    # What a write changed

    def _diff_members(self, new: Document, old: Document, type_name: str | None) -> tuple[FieldSet, FieldSet]:
        changed: FieldSet = {}
        removed: FieldSet = {"f:" + name: {} for name in old if name not in new}
        for name, member in new.items():
            before = old.get(name)
            if member is before or (member == before and (self._is_typed or is_equal(member, before))):
                continue
            field = self.field(type_name, name)
            if before is not None:
                self._diff_value(member, before, field, "f:" + name, changed, removed)
                continue
            node = self._added(member, field)
            if name in old:
                node.pop(SELF, None)  # it was there, if only as null
            changed["f:" + name] = node
        return changed, removed

    def _is_equal(self, one: Json, other: Json) -> bool:
        return is_equal(one, other) if not self._is_typed else bool(one == other)

    def _elements(self, items: list[Json], field: FieldType) -> dict[str, Json]:
        """The elements of a keyed list by their key. Those that share one are one field, as a list."""
        found: dict[str, Json] = {}
        for item in items:
            if self.is_keyless(item, field):
                raise KeylessError(", ".join(name for name, _ in field.keys))
            key = self.key(item, field)
            if key in found:
                before = found[key]
                found[key] = [*before, item] if isinstance(before, list) else [before, item]
            else:
                found[key] = item
        return found

    def _added_element(self, item: Json, field: FieldType) -> FieldSet:
        return {} if isinstance(item, list) else self._element(item, field, self._added_struct)

    def _element(self, item: Document, field: FieldType, walk: Callable[[Document, str | None], FieldSet]) -> FieldSet:
        """What stands below the key of an element of a keyed list."""
        return {} if field.is_whole else _with_self(walk(item, field.struct))

    def _diff_value(
        self, new: Json, old: Json, field: FieldType, element: str, changed: FieldSet, removed: FieldSet
    ) -> None:
        shape = shape_of(new, field)
        before = shape_of(old, field)
        if new is None and before in (FieldShape.KEYED, FieldShape.SET):
            removed[element] = {}  # its elements had owners, and it has none by itself
            return
        if shape is FieldShape.LEAF or shape is not before:
            changed[element] = {}
            if before is not FieldShape.LEAF and (gone := self._held(old, field)):
                removed[element] = {name: {} for name in gone}
            return
        if shape is FieldShape.STRUCT:
            inner = self._diff_members(new, old, field.struct)
        elif shape is FieldShape.MAP:
            inner = self._diff_map(new, old, field.inner or _LEAF)
        elif shape is FieldShape.KEYED:
            inner = self._diff_keyed(new, old, field)
        else:
            inner = _diff_set(new, old)
        if inner[0]:
            changed[element] = inner[0]
        if inner[1]:
            removed[element] = inner[1]

    def _diff_map(self, new: Document, old: Document, inner: FieldType) -> tuple[FieldSet, FieldSet]:
        changed: FieldSet = {}
        removed: FieldSet = {"f:" + name: {} for name in old if name not in new}
        for name, member in new.items():
            if name not in old:
                changed["f:" + name] = self._added(member, inner)
            elif not self._is_equal(member, old[name]):
                self._diff_value(member, old[name], inner, "f:" + name, changed, removed)
        return changed, removed

    def _diff_keyed(self, new: list[Json], old: list[Json], field: FieldType) -> tuple[FieldSet, FieldSet]:
        before, after = self._elements(old, field), self._elements(new, field)
        changed: FieldSet = {}
        removed: FieldSet = {key: {} for key in before if key not in after}
        for key, item in after.items():
            if key not in before:
                changed[key] = self._added_element(item, field)
            elif self._is_equal(item, before[key]):
                continue
            elif field.is_whole or isinstance(item, list) or isinstance(before[key], list):
                changed[key] = {}
                if isinstance(item, list) and isinstance(before[key], dict):
                    removed[key] = {name: {} for name in self._held_struct(before[key], field.struct)}
            else:
                inner = self._diff_members(item, before[key], field.struct)
                if inner[0]:
                    changed[key] = inner[0]
                if inner[1]:
                    removed[key] = inner[1]
        return changed, removed

    def _added(self, value: Json, field: FieldType) -> FieldSet:
        """Everything below a place that was not there before; the place itself counts too."""
        shape = shape_of(value, field)
        if shape is FieldShape.LEAF:
            return {}
        if shape is FieldShape.STRUCT:
            return _with_self(self._added_struct(value, field.struct))
        if shape is FieldShape.MAP:
            element = field.inner or _LEAF
            if element.shape is FieldShape.LEAF:
                return _with_self({"f:" + key: {} for key in value})
            return _with_self({"f:" + key: self._added(member, element) for key, member in value.items()})
        if shape is FieldShape.KEYED:
            elements = self._elements(value, field)
            return _with_self({key: self._added_element(item, field) for key, item in elements.items()})
        return _with_self({element_key(item): {} for item in value})

    def _added_struct(self, value: Document, type_name: str | None) -> FieldSet:
        out: FieldSet = {}
        for name, member in value.items():
            if type(member) is str:
                out["f:" + name] = {}
                continue
            out["f:" + name] = self._added(member, self.field(type_name, name))
        return out

    # Types

    def _read(self, type_name: str) -> dict[str, FieldType]:
        if self._schema.row(type_name).get("keepsUnknown"):
            self._open.add(type_name)
        fields = self._schema.fields(type_name)
        return {
            name: self._field_type(spec if isinstance(spec, dict) else {"t": spec}) for name, spec in fields.items()
        }

    def _field_type(self, spec: Json) -> FieldType:
        expression = spec["t"]
        if isinstance(expression, str):
            if expression == "free":
                return _FREE
            if not expression.startswith("@"):
                return _LEAF
            struct = expression[1:]
            is_atomic = (spec.get("mt") or self._schema.row(struct).get("mapType")) == "atomic"
            return _LEAF if is_atomic else FieldType(FieldShape.STRUCT, struct=struct)
        if expression[0] == "map":
            if spec.get("mt") == "atomic":
                return _LEAF
            return FieldType(FieldShape.MAP, inner=self._field_type({"t": expression[1]}))
        if spec.get("lt") == "set":
            return FieldType(FieldShape.SET)
        if spec.get("lt") != "map":
            return _LEAF
        element = expression[1]
        struct_name = element[1:] if isinstance(element, str) and element.startswith("@") else None
        keys = tuple((name, self._default_of(struct_name, name)) for name in spec["lk"])
        is_whole = struct_name is not None and self._schema.row(struct_name).get("mapType") == "atomic"
        return FieldType(FieldShape.KEYED, struct=struct_name, keys=keys, is_whole=is_whole)

    def _default_of(self, struct: str | None, name: str) -> Json:
        spec = self._schema.fields(struct).get(name) if struct is not None else None
        if not isinstance(spec, dict):
            return None
        # A text or a number that is always written is there, if empty or zero.
        return spec.get("def", _ZEROS.get(spec["t"]) if spec.get("always") and isinstance(spec["t"], str) else None)


@lru_cache(maxsize=4096)
def _single_key(name: str, value: str) -> str:
    """Of the many lists that are keyed by one name: types of conditions, names of containers."""
    return "k:" + in_html(_encode({name: value}).decode())


_ZEROS: Final = {"string": "", "int32": 0, "int64": 0}
_LEAF: Final = FieldType(FieldShape.LEAF)
_FREE: Final = FieldType(FieldShape.MAP)
"""Of no known shape: objects are followed member by member, everything else is one field."""
_FREE.inner = _FREE


def element_key(item: Json) -> str:
    """The path element of an element of a set."""
    return "v:" + in_html(_encode(item).decode())


def shape_of(value: Json, field: FieldType) -> FieldShape:
    """The field's shape, or LEAF when the value does not have it."""
    wanted = field.shape
    if wanted is FieldShape.LEAF:
        return wanted
    if wanted is FieldShape.KEYED:
        # Of custom objects ownership is looked at before their values are: anything may be in a list.
        fits = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    else:
        fits = isinstance(value, list if wanted is FieldShape.SET else dict)
    return wanted if fits else FieldShape.LEAF


def _diff_set(new: list[Json], old: list[Json]) -> tuple[FieldSet, FieldSet]:
    after, before = dict.fromkeys(map(element_key, new)), dict.fromkeys(map(element_key, old))
    changed: FieldSet = {element: {} for element in after if element not in before}
    removed: FieldSet = {element: {} for element in before if element not in after}
    return changed, removed


def _held_members(members: Iterable[tuple[str, FieldSet | None]]) -> FieldSet:
    return {"f:" + name: held for name, held in members if held is not None}


def _with_self(children: FieldSet) -> FieldSet:
    return {SELF: {}, **children} if children else {}
