"""Reading a document by the table of types, with the paths, changes and messages of Go's decoder.

This is the slow walk, for documents that are not in stored form already. A value of the wrong type does not end it: the
first such fault is kept and told at the end, unless a type that has a decoder of its own (a time, a quantity) finds a
fault, which ends it at once. A member that occurs twice is read twice, the second time into what the first one left.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from doorman.api.machinery.decode_errors import DecodeError, json_type, member_place, unmarshal_fault
from doorman.api.machinery.go_scalars import MICRO_TIME_LAYOUT, TIME_LAYOUT, base64_fault, time_fault
from doorman.api.machinery.quantity import QuantityError, canonical_quantity
from doorman.base.go_format import go_json, whole
from doorman.base.instants import from_time, to_micro_time, to_time
from doorman.base.json_types import Document, Json

TypeExpression = Any  # a type expression of data/types.json
MemberCheck = Callable[[str, str], Callable[[Json], bool]]
"""From a type and the name of a member to what says whether a value of it is in stored form already."""

INT_BOUNDS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_SCHEMA: Final = "apiextensions.v1.JSONSchemaProps"
OR_BOOL: Final = f"{_SCHEMA}OrBool"
OR_ARRAY: Final = f"{_SCHEMA}OrArray"
OR_TEXTS: Final = f"{_SCHEMA}OrStringArray"
OR_STRUCT: Final = {OR_BOOL: _SCHEMA, OR_ARRAY: _SCHEMA, OR_TEXTS: _SCHEMA}
"""Types that are a struct or something else."""

_KEPT_EMPTY: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "autoscaling.v2.HorizontalPodAutoscaler": {"autoscaling.v2.HPAScalingRules": ("policies",)},
    "discovery.v1.EndpointSlice": {"discovery.v1.EndpointSlice": ("endpoints", "ports")},
    **{
        f"resource.{version}.ResourceSlice": {
            "core.v1.NodeSelector": ("nodeSelectorTerms",),
            f"resource.{version}.{'BasicDevice' if version == 'v1beta1' else 'Device'}": (
                "bindingConditions",
                "bindingFailureConditions",
            ),
        }
        for version in ("v1", "v1beta1", "v1beta2")
    },
}
"""By kind and type: lists of which owners and validation tell an empty one from none. Strategies make them alike."""

_NOTHING: Final = object()
"""What a value of the wrong type leaves."""

_CANONICAL_TIME: Final = re.compile(
    r"[12][0-9]{3}-(0[1-9]|1[0-2])-([01][1-9]|[12]0|2[0-8])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z"
)
"""In a month's first 28 days, for which no calendar is needed: it is stored as it is."""


class RepeatedMembers(dict[str, Json]):
    """An object of which a member occurs twice: as JSON has it the last one counts, `pairs` are all."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class TypedDecoder:
    """One reading of one document."""

    def __init__(
        self,
        fields: Callable[[str], Mapping[str, TypeExpression]],
        problems: list[str],
        *,
        names_keys: bool = True,
        check_of: MemberCheck | None = None,
    ) -> None:
        """`names_keys`: whether problems name the keys of maps on the way. `check_of`: what it finds in stored form
        near the root is taken as it is; a document seldom has more than one member that is not.
        """
        self._fields = fields
        self._check_of = check_of
        self._problems = problems
        self._names_keys = names_keys
        self._fault: str | None = None
        self._kept_empty: Mapping[str, tuple[str, ...]] = {}

    def document(self, value: Json, type_name: str, path: str = "", place: str = "") -> Document:
        """The document to store; strict problems are told in the order they are met. Raises the fault found."""
        self._kept_empty = _KEPT_EMPTY.get(type_name, {})
        cleaned = self._struct(value, type_name, path, place)
        if self._fault is not None:
            raise DecodeError(self._fault)
        return cleaned if cleaned is not _NOTHING else {}

    def _refuse(self, found: str, expression: TypeExpression, place: str) -> Json:
        """Of the wrong type: told at the end, if it is the first."""
        if self._fault is None:
            self._fault = unmarshal_fault(found, expression, place)
        return _NOTHING

    def _struct(self, value: Json, type_name: str, path: str, place: str) -> Json:
        if not isinstance(value, dict):
            return self._refuse(json_type(value), f"@{type_name}", place)
        fields = self._fields(type_name)
        kept = self._kept_empty.get(type_name, ())
        check_of = self._check_of if "." not in path else None
        out: Document = {}
        seen: set[str] = set()
        for name, member in _members(value):
            field = fields.get(name)
            here = f"{path}.{name}" if path else name
            if field is None:
                self._problems.append(f'unknown field "{here}"')
                continue
            if name in seen:
                self._problems.append(f'duplicate field "{here}"')
            seen.add(name)
            if check_of is not None and member is not None and check_of(type_name, name)(member):
                out.pop(name, None)
                out[name] = member
                continue
            self._member(out, name, member, field, here, member_place(type_name, place, name))
            if member == [] and name in kept:
                out[name] = []
        return out

    def _member(self, out: Document, name: str, member: Json, field: TypeExpression, path: str, place: str) -> None:
        spec = field if isinstance(field, dict) else {"t": field}
        if member is None:
            if name in out and is_nullable(spec):
                del out[name]
            return
        cleaned = self._value(member, spec["t"], path, place)
        if cleaned is _NOTHING:
            return
        out.pop(name, None)
        if not cleaned and is_list_or_null(spec):
            out[name] = None
        elif is_kept(spec) or not _is_left_out(cleaned, spec["t"]):
            out[name] = cleaned

    def _value(self, value: Json, expression: TypeExpression, path: str, place: str) -> Json:
        if isinstance(expression, list):
            read = self._list if expression[0] == "list" else self._map
            return read(value, expression, path, place)
        if expression.startswith("@"):
            struct = OR_STRUCT.get(expression[1:])
            if struct is not None:
                return self._struct_or_else(value, expression[1:], struct, path, place)
            return self._struct(value, expression[1:], path, place)
        if expression == "bytes" and type(value) is list:
            return self._bytes_of(value, place)
        return self._scalar(value, expression, place)

    def _struct_or_else(self, value: Json, name: str, struct: str, path: str, place: str) -> Json:
        """A decoder of its own reads it, which does not look for unknown fields."""
        own = TypedDecoder(self._fields, [])
        if isinstance(value, dict):
            return own.document(value, struct, path, place)
        if name == OR_BOOL and type(value) is not bool:
            raise DecodeError("boolean or JSON schema expected")
        if name == OR_ARRAY:
            items = value if isinstance(value, list) and value else ()
            return [own.document({} if item is None else item, struct, path, place) for item in items] or _NOTHING
        return value

    def _list(self, value: Json, expression: TypeExpression, path: str, place: str) -> Json:
        if type(value) is not list:
            return self._refuse(json_type(value), expression, place)
        inner = expression[1]
        items = (self._item(item, inner, f"{path}[{i}]", place) for i, item in enumerate(value))
        return list(items)

    def _map(self, value: Json, expression: TypeExpression, path: str, place: str) -> Json:
        if not isinstance(value, dict):
            return self._refuse(json_type(value), expression, place)
        out: Document = {}
        seen: set[str] = set()
        for name, item in _members(value):
            here = f"{path}.{name}" if self._names_keys else path
            if name in seen:
                self._problems.append(f'duplicate field "{here}"')
            seen.add(name)
            out[name] = self._item(item, expression[1], here, place)
        return out

    def _item(self, value: Json, expression: TypeExpression, path: str, place: str) -> Json:
        cleaned = self._value(value, expression, path, place) if value is not None else _NOTHING
        return _zero(expression) if cleaned is _NOTHING else cleaned

    def _bytes_of(self, value: list[Json], place: str) -> Json:
        """An array of numbers is bytes too."""
        numbers = [self._byte(item, place) for item in value]
        return base64.b64encode(bytes(numbers)).decode()

    def _byte(self, value: Json, place: str) -> int:
        if type(value) is int and 0 <= value <= 255:
            return value
        if value is not None:
            self._refuse(_number(value) if type(value) in (int, float) else json_type(value), "uint8", place)
        return 0

    def _scalar(self, value: Json, expression: str, place: str) -> Json:
        if expression in OWN_DECODERS:
            return OWN_DECODERS[expression](value)
        if expression in INT_BOUNDS:
            low, high = INT_BOUNDS[expression]
            if type(value) is int and low <= value <= high:
                return value
            if type(value) in (int, float):
                return self._refuse(_number(value), expression, place)
        elif expression == "bool":
            if type(value) is bool:
                return value
        elif expression == "double":
            if type(value) in (float, int):
                return whole(float(value))
        elif type(value) is str:
            if expression == "bytes" and (fault := base64_fault(value)):
                self._fault = self._fault or fault
                return _NOTHING
            return value.replace("\n", "").replace("\r", "") if expression == "bytes" else value
        return self._refuse(json_type(value), expression, place)


def is_kept(spec: Mapping[str, Json]) -> bool:  # a member's row in data/types.json
    """Whether upstream writes 0, false, "" or an empty list for this member when it was given."""
    return bool(spec.get("keep") or spec.get("always"))


def is_nullable(spec: Mapping[str, Json]) -> bool:
    """Whether null takes away what was there: not from a value that is no pointer, list or map."""
    return isinstance(spec["t"], list) or spec["t"] in ("bytes", "raw") or bool(spec.get("keep")) or may_be_null(spec)


def may_be_null(spec: Mapping[str, Json]) -> bool:
    """Whether upstream writes null for it when there is nothing to say."""
    always = spec.get("always")
    return always == "null" or bool(
        always and (isinstance(spec["t"], list) or spec["t"] in ("time", "microtime", "raw", "bytes"))
    )


def is_list_or_null(spec: Mapping[str, Json]) -> bool:
    """Whether an empty list, which is the same as none, is written as null."""
    return isinstance(spec["t"], list) and may_be_null(spec)


def _members(value: Document) -> Iterable[tuple[str, Json]]:
    return value.pairs if isinstance(value, RepeatedMembers) else value.items()


def _number(value: float) -> str:
    return f"number {value!r}"


# Types with a decoder of their own


def _quantity(value: Json) -> str:
    # What is no string is read as it was written.
    text = value.strip() if type(value) is str else go_json(value)
    try:
        return canonical_quantity(text)
    except QuantityError as error:
        raise DecodeError(str(error)) from error


def _time(value: Json, layout: str) -> str:
    if type(value) is not str:
        raise DecodeError(unmarshal_fault(json_type(value), "string", ""))
    if layout == TIME_LAYOUT and _CANONICAL_TIME.fullmatch(value):
        return value
    if fault := time_fault(value, layout):
        raise DecodeError(fault)
    instant = from_time(value.replace(",", "."))
    return to_time(instant) if layout == TIME_LAYOUT else to_micro_time(instant)


def _integer_or_string(value: Json) -> Json:
    low, high = INT_BOUNDS["int32"]
    if type(value) is str or (type(value) is int and low <= value <= high):
        return value
    raise DecodeError(unmarshal_fault(_number(value) if type(value) in (int, float) else json_type(value), "int32", ""))


OWN_DECODERS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "quantity": _quantity,
    "time": lambda value: _time(value, TIME_LAYOUT),
    "microtime": lambda value: _time(value, MICRO_TIME_LAYOUT),
    "intstr": _integer_or_string,
    "raw": lambda value: value,
}


def _is_left_out(value: Json, expression: TypeExpression) -> bool:
    """Whether upstream writes nothing for this value of an optional field."""
    if isinstance(expression, list):
        return not value
    if expression == "string":
        return bool(value == "")
    if expression in INT_BOUNDS:
        return bool(value == 0)
    if expression == "bool":
        return value is False
    return bool(expression == "bytes" and value == "")


def _zero(expression: TypeExpression) -> Json:
    """What Go makes of a null inside a list or a map."""
    if isinstance(expression, list):
        return None if expression[0] == "list" else {}
    if expression in INT_BOUNDS or expression == "intstr":
        return 0
    if expression == "bool":
        return False
    if expression == "quantity":
        return "0"
    if expression == "raw":
        return None
    return {} if expression.startswith("@") else ""
