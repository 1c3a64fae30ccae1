"""Why an applied configuration is no object of its type: every fault, with the path server-side apply gives it."""

from typing import Any, Final

from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldShape, FieldType, FieldWalker, element_key
from doorman.api.patch.field_set import written

Json = Any  # any JSON value

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
    "intstr": ("any scalar", (str, int, float, bool)),
}
"""What a scalar type is called there, and what JSON gives for it."""


_NULLS: Final = {
    FieldShape.KEYED: "associative list with keys may not have a null element",
    FieldShape.SET: "associative list without keys has an element that's an explicit null",
}
_GO_TYPES: Final = {
    str: "string", bool: "bool", dict: "map[string]interface {}", list: "[]interface {}", int: "int64",
    float: "float64",
}  # fmt: skip


def config_faults(schema: Schema, walker: FieldWalker, config: Json, type_name: str) -> list[str]:
    return _Walk(schema, walker).struct(config, type_name, "")


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
                    faults.append(f"{at}: field not declared in schema")
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
            if field.shape is FieldShape.SET and type(item) in (dict, list):
                kind = "map" if type(item) is dict else "list"
                faults.append(
                    f"{path}: element {index}: associative list without keys has an element that's a {kind} type"
                )
                continue
            if item is None and field.shape in _NULLS:
                faults.append(f"{path}: element {index}: {_NULLS[field.shape]}")
                continue
            if field.shape is FieldShape.KEYED:
                if type(item) is not dict:
                    faults.append(f"{path}: element {index}: associative list with keys may not have non-map elements")
                    continue
                at = path + written(self._walker.key(item, field))
            if field.shape in (FieldShape.KEYED, FieldShape.SET):
                key = at.removeprefix(path) if field.shape is FieldShape.KEYED else written(element_key(item))
                if key in seen:
                    faults.append(f"{path}: duplicate entries for key {key}")
                seen.add(key)
            if item is not None:
                faults += self._value(item, inner, field, at)
        return faults


def _unexpected(path: str, wanted: str, value: Json) -> str:
    shown = _GO_TYPES[type(value)] if wanted.startswith("numeric") else f"&{{{value}}}"
    return f"{path}: expected {wanted}, got {shown}"
