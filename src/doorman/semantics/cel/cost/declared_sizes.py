"""How large the values can be that an expression is given: from the bounds that a schema declares.

What has no bound is bounded by the size of a request. Strings are counted in bytes, of which a character can take four.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.structural_schema import Structural
from doorman.semantics.cel.cost.cost_ranges import Range
from doorman.semantics.cel.property_names import unescaped_or_none

REQUEST_BYTES_MAX: Final = 3 * 1024 * 1024
ITEMS: Final = "@items"
KEYS: Final = "@keys"
VALUES: Final = "@values"

_TEXT_MAX: Final = REQUEST_BYTES_MAX - 2
_FORMATS: Final = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
"""Strings that stand for something else: the least bytes they take in JSON, and the most characters."""


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A value: how many elements or characters it has at most, and what is in it."""

    most: int = 0
    bytes_min: int = 2
    """The least it takes in JSON."""
    fields: Mapping[str, "Declared"] = {}
    item: "Declared | None" = None
    key: "Declared | None" = None
    item_by_name: bool = False
    """Whether what a member holds is an item whatever its name is."""

    def at(self, path: Sequence[str]) -> "Declared | None":
        """What a path leads to; None when that is not known."""
        found: Declared | None = self
        for name in path:
            if found is None:
                return None
            if name in (ITEMS, VALUES):
                found = found.item
            elif name == KEYS:
                found = found.key
            else:
                found = found.field(name)
        return found

    def field(self, name: str) -> "Declared | None":
        found = self.fields.get(name) or self.fields.get(unescaped_or_none(name) or "")
        return self.item if found is None and self.item_by_name else found

    def size(self, path: Sequence[str]) -> Range | None:
        found = self.at(path)
        return Range(0, found.most) if found is not None else None


_TEXT: Final = Declared(most=_TEXT_MAX)
_META: Final = Declared(fields={"name": _TEXT, "generateName": _TEXT})


def declared_size(schema: Structural) -> Declared | None:
    """Of a schema; None when expressions cannot speak of such values."""
    source = schema.source
    if source.get("x-kubernetes-int-or-string"):
        length = source.get("maxLength")
        return Declared(most=_TEXT_MAX if length is None else _positive(length) * 4, bytes_min=1)
    match schema.type:
        case "array":
            return _array(schema)
        case "object":
            return _map(schema) if isinstance(schema.additional, Structural) else _object(schema)
        case "string":
            return _text(source)
        case "boolean":
            return Declared(bytes_min=4)
        case "integer" | "number":
            return Declared(bytes_min=1)
    return None


def occurrences_max(declared: Declared) -> int:
    """How often such a value can be in one request."""
    return REQUEST_BYTES_MAX // (declared.bytes_min + 1)


def _array(schema: Structural) -> Declared | None:
    item = declared_size(schema.items) if schema.items is not None else None
    if item is None:
        return None
    items = schema.source.get("maxItems")
    most = (REQUEST_BYTES_MAX - 2) // (item.bytes_min + 1) if items is None else _positive(items)
    return Declared(most=most, item=item)


def _map(schema: Structural) -> Declared | None:
    assert isinstance(schema.additional, Structural), "a map"
    item = declared_size(schema.additional)
    if item is None:
        return None
    properties = schema.source.get("maxProperties")
    most = (REQUEST_BYTES_MAX - 2) // (item.bytes_min + 6) if properties is None else _positive(properties)
    return Declared(most=most, item=item, key=Declared())


def _object(schema: Structural) -> Declared:
    required = schema.source.get("required") or ()
    fields: dict[str, Declared] = {}
    bytes_min = 2
    for name, inner in schema.properties.items():
        field = declared_size(inner)
        if field is None:
            continue
        fields[name] = field
        if name in required and inner.source.get("default") is None:
            bytes_min += len(name.encode()) + field.bytes_min + 4
    if schema.is_object:
        fields.update({"apiVersion": _TEXT, "kind": _TEXT, "metadata": _META})
    return Declared(bytes_min=bytes_min, fields=fields)


def _text(source: Mapping[str, Any]) -> Declared:
    form, length = source.get("format", ""), source.get("maxLength")
    if form in _FORMATS:
        bytes_min, most = _FORMATS[form]
        return Declared(most=most, bytes_min=bytes_min)
    if length is not None:
        return Declared(most=_positive(length) * (1 if form == "byte" else 4))
    if form != "byte" and source.get("enum"):
        return Declared(most=max((len(one.encode()) for one in source["enum"] if isinstance(one, str)), default=0))
    return _TEXT


def _positive(number: int) -> int:
    return max(number, 0)
