"""Structural schemas: what a CustomResourceDefinition says about its objects' shape.

A `Structural` is compiled from `openAPIV3Schema`. `prune` leaves out members it does not know, `fill_defaults` puts in
what it gives by default, `type_rows` says the same in the form of the type table, which field ownership is walked by.
Values (bounds, patterns, enumerations) are checked by `doorman.validation.apiextensions.structural`.
"""

from typing import Final

import msgspec

from doorman.api.json_values import copied
from doorman.base.bounds import MADE_BYTES_MAX, SCHEMA_DEPTH_MAX
from doorman.base.json_types import Json

_ROOT_MEMBERS: Final = ("apiVersion", "kind", "metadata")
_SCALARS: Final = {"string": "string", "integer": "int64", "number": "double", "boolean": "bool"}


class Structural(msgspec.Struct, frozen=True, kw_only=True):
    """One level of a schema. `source` is the schema it was read from, for its checks of values."""

    type: str
    source: dict[str, Json]
    properties: dict[str, "Structural"]
    additional: "Structural | bool | None"
    """What other members of an object are; None: there are none."""
    items: "Structural | None"
    keeps_unknown: bool
    is_object: bool
    """Whether it is a whole object with kind and metadata: the root, or an embedded one."""
    is_nullable: bool
    has_default: bool
    has_rules: bool
    """Whether there are rules in CEL for it or for anything below it."""


def compile_schema(source: dict[str, Json], *, is_root: bool = True, depth: int = 0) -> Structural:
    if depth > SCHEMA_DEPTH_MAX:
        raise ValueError(f"a schema may be nested {SCHEMA_DEPTH_MAX} deep")

    def inner(member: Json) -> Structural:
        return compile_schema(member if isinstance(member, dict) else {}, is_root=False, depth=depth + 1)

    additional = source.get("additionalProperties")
    items = source.get("items")
    properties = {name: inner(member) for name, member in source.get("properties", {}).items()}
    others = inner(additional) if isinstance(additional, dict) else additional or None
    elements = inner(items) if isinstance(items, dict) else None
    below = (*properties.values(), *(one for one in (others, elements) if isinstance(one, Structural)))
    return Structural(
        type=source.get("type", ""),
        source=source,
        properties=properties,
        additional=others,
        items=elements,
        keeps_unknown=bool(source.get("x-kubernetes-preserve-unknown-fields")),
        is_object=is_root or bool(source.get("x-kubernetes-embedded-resource")),
        is_nullable=bool(source.get("nullable")),
        has_default="default" in source,
        has_rules=bool(source.get("x-kubernetes-validations")) or any(one.has_rules for one in below),
    )


def prune(value: Json, schema: Structural, problems: list[str], path: str = "") -> Json:
    """The value without members the schema does not know; each is noted in `problems`. The given one is not changed."""
    if isinstance(value, dict):
        out: dict[str, Json] = {}
        for name, member in value.items():
            here = f"{path}.{name}" if path else name
            known = schema.properties.get(name)
            if schema.is_object and name in _ROOT_MEMBERS:
                out[name] = member
            elif known is not None:
                out[name] = prune(member, known, problems, here)
            elif isinstance(schema.additional, Structural):
                out[name] = prune(member, schema.additional, problems, here)
            elif schema.additional or schema.keeps_unknown:
                out[name] = member
            else:
                problems.append(f'unknown field "{here}"')
        return out
    if isinstance(value, list) and schema.items is not None:
        return [prune(item, schema.items, problems, f"{path}[{i}]") for i, item in enumerate(value)]
    return value


class TooMuch(Exception):
    """Defaults would make more of an object than anything may be."""


class Room:
    """What defaults may still add to one object: a default may be long, and the places for it many."""

    __slots__ = ("_bytes", "_sizes")

    def __init__(self) -> None:
        self._bytes = MADE_BYTES_MAX
        self._sizes: dict[int, int] = {}

    def take(self, schema: Structural) -> Json:
        """A copy of the schema's default. Raises `TooMuch`."""
        default = schema.source["default"]
        size = self._sizes.get(id(schema))
        if size is None:
            size = self._sizes[id(schema)] = len(msgspec.json.encode(default))
        self._bytes -= size
        if self._bytes < 0:
            raise TooMuch
        return copied(default)


def fill_defaults(value: Json, schema: Structural, room: Room | None = None) -> None:
    """In place. A null where none may be counts as absent. Raises `TooMuch`."""
    if room is None:
        room = Room()
    if isinstance(value, dict):
        for name in [name for name, member in value.items() if member is None]:
            known = _member(schema, name)
            if known is not None and not known.is_nullable:
                del value[name]
        for name, known in schema.properties.items():
            if known.has_default and name not in value:
                value[name] = room.take(known)
        for name, member in value.items():
            if isinstance(member, dict | list):
                known = _member(schema, name)
                if known is not None and not (schema.is_object and name == "metadata"):
                    fill_defaults(member, known, room)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            fill_defaults(item, schema.items, room)


def _member(schema: Structural, name: str) -> Structural | None:
    known = schema.properties.get(name)
    if known is not None:
        return known
    return schema.additional if isinstance(schema.additional, Structural) else None


def type_rows(name: str, schema: Structural) -> dict[str, Json]:
    """Rows of a type table (see `data/types.json`): one for the type itself, one for each object below it."""
    rows: dict[str, Json] = {}
    _add_row(name, schema, rows)
    return rows


def _add_row(name: str, schema: Structural, rows: dict[str, Json]) -> None:
    fields: dict[str, Json] = {}
    row: dict[str, Json] = {"fields": fields}
    if schema.source.get("x-kubernetes-map-type") == "atomic":
        row["mapType"] = "atomic"
    if schema.keeps_unknown:
        row["keepsUnknown"] = True
    rows[name] = row
    if schema.is_object:
        fields.update({"apiVersion": "string", "kind": "string", "metadata": "@meta.v1.ObjectMeta"})
    needed = schema.source.get("required", ())
    for member, inner in schema.properties.items():
        if member not in fields:
            fields[member] = _field(f"{name}.{member}", inner, rows, is_required=member in needed)


def _field(name: str, schema: Structural, rows: dict[str, Json], *, is_required: bool = False) -> dict[str, Json]:
    field: dict[str, Json] = {"t": _expression(name, schema, rows)}
    for extension, key in (("list-type", "lt"), ("list-map-keys", "lk"), ("map-type", "mt")):
        found = schema.source.get(f"x-kubernetes-{extension}")
        if found:
            field[key] = found
    if is_required:
        field["req"] = 1
    if schema.has_default:
        field["def"] = schema.source["default"]
    return field


def _expression(name: str, schema: Structural, rows: dict[str, Json]) -> Json:
    if schema.source.get("x-kubernetes-int-or-string"):
        return "intstr"
    if schema.type == "array" and schema.items is not None:
        return ["list", _expression(name, schema.items, rows)]
    if schema.type == "object" or schema.properties:
        if isinstance(schema.additional, Structural):
            return ["map", _expression(f"{name}.*", schema.additional, rows)]
        if schema.properties or schema.is_object:
            _add_row(name, schema, rows)
            return f"@{name}"
        return "free"
    return _SCALARS.get(schema.type, "free")
