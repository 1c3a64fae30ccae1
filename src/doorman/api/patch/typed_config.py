"""Applied configurations and types: every fault of one, with the path server-side apply gives it; and what an apply
made, as an object of its type."""

from typing import Final

from doorman.api.kinds import Kind
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.map_conversion import conversion_fault, converted
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldShape, FieldType, FieldWalker, element_key
from doorman.api.patch.field_set import written
from doorman.base.errors import ApiError
from doorman.base.go_format import quote
from doorman.base.json_types import Document, Json

_EXPECTED: Final = {
    "string": ("string", (str,)),
    "bytes": ("string", (str,)),
    "time": ("any scalar", (str, int, float, bool)),
    "microtime": ("any scalar", (str, int, float, bool)),
    "int32": ("numeric (int or float)", (int, float)),
    "int64": ("numeric (int or float)", (int, float)),
    "double": ("numeric (int or float)", (int, float)),
    "bool": ("boolean", (bool,)),
    "quantity": ("any scalar", (str, int, float, bool)),
}
"""What a scalar type is called there, and what JSON gives for it."""


_KEYED: Final = "associative list with keys "
_NO_DEFAULTS: Final = "(and doesn't have default values for any key fields)"
_SET_FAULTS: Final[dict[type, str]] = {
    dict: "associative list without keys has an element that's a map type",
    list: "not supported: associative list with lists as elements",
    type(None): "associative list without keys has an element that's an explicit null",
}
_GO_TYPES: Final = {
    str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}", int: "int64",
    float: "float64",
}  # fmt: skip


def config_faults(schema: Schema, walker: FieldWalker, config: Json, type_name: str) -> list[str]:
    return _Walk(schema, walker).struct(config, type_name, "")


def to_typed(schema: Schema, kind: Kind, merged: Document, where: str) -> Document:
    """The merged object as one of its type: that numbers and texts are none of their own is found only here."""
    if not kind.type_name:
        return merged
    try:
        return schema.clean(merged, kind.type_name)[0]
    except DecodeError as error:
        fault = str(error)
    if not kind.is_custom:
        try:
            return schema.clean(converted(schema, merged, f"@{kind.type_name}"), kind.type_name)[0]
        except DecodeError as error:
            fault = conversion_fault(schema, merged, f"@{kind.type_name}") or str(error)
    proper = f"{kind.group}/{kind.version}, Kind={kind.kind}"
    text = f"failed to convert new object ({where}) to proper version: unable to convert unstructured object to"
    raise ApiError(500, "", f"{text} {proper}: {fault}")


class _Walk:
    def __init__(self, schema: Schema, walker: FieldWalker) -> None:
        self._schema = schema
        self._walker = walker

    def struct(self, value: Json, type_name: str, path: str) -> list[str]:
        if type(value) is not dict:
            return [_unexpected(path, "map", value)]
        faults: list[str] = []
        fields = self._schema.fields(type_name)
        for name, member in value.items():
            spec = fields.get(name)
            at = f"{path}.{name}"
            if spec is None:
                if not self._schema.row(type_name).get("keepsUnknown"):
                    return [*faults, f"{at}: field not declared in schema"]  # upstream looks no further
            elif member is not None:
                expression = spec["t"] if isinstance(spec, dict) else spec
                faults += self._value(member, expression, self._walker.field(type_name, name), at)
        return faults

    def _value(self, value: Json, expression: Json, field: FieldType, path: str) -> list[str]:
        if isinstance(expression, list):
            if expression[0] == "map":
                return self._map(value, expression[1], field, path)
            return self._list(value, expression[1], field, path)
        if expression.startswith("@"):
            name = expression[1:]
            return self.struct(value, name, path) if self._schema.row(name)["fields"] else []
        known = _EXPECTED.get(expression)
        if known is None or (type(value) in known[1]):
            return []
        return [_unexpected(path, known[0], value)]

    def _map(self, value: Json, inner: Json, field: FieldType, path: str) -> list[str]:
        if type(value) is not dict:
            return [_unexpected(path, "map", value)]
        below = field.inner or field
        return [
            fault
            for name, member in value.items()
            if member is not None
            for fault in self._value(member, inner, below, f"{path}.{name}")
        ]

    def _list(self, value: Json, inner: Json, field: FieldType, path: str) -> list[str]:
        if type(value) is not list:
            return [_unexpected(path, "list", value)]
        faults: list[str] = []
        seen: set[str] = set()
        for index, item in enumerate(value):
            at = f"{path}[{index}]"
            if fault := self._element_fault(item, field):
                return [*faults, f"{path}: element {index}: {fault}"]
            if field.shape is FieldShape.KEYED:
                at = path + written(self._walker.key(item, field))
            if field.shape in (FieldShape.KEYED, FieldShape.SET):
                key = at.removeprefix(path) if field.shape is FieldShape.KEYED else written(element_key(item))
                if key in seen:
                    faults.append(f"{path}: duplicate entries for key {key}")
                seen.add(key)
            if item is not None:
                faults += self._value(item, inner, field, at)
        return faults

    def _element_fault(self, item: Json, field: FieldType) -> str:
        """Why no path leads to an element: what comes after it in the list is not looked at."""
        if field.shape is FieldShape.SET:
            return _SET_FAULTS.get(type(item), "")
        if field.shape is not FieldShape.KEYED:
            return ""
        if type(item) is not dict:
            return _KEYED + ("may not have a null element" if item is None else "may not have non-map elements")
        if self._walker.is_keyless(item, field):
            keys = " ".join(quote(name) for name, _ in field.keys)
            return _KEYED + f"has an element that omits all key fields [{keys}] {_NO_DEFAULTS}"
        return ""


def _unexpected(path: str, wanted: str, value: Json) -> str:
    shown = _GO_TYPES[type(value)] if wanted.startswith("numeric") else f"&{{{value}}}"
    return f"{path}: expected {wanted}, got {shown}"
