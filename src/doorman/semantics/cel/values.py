"""CEL's values, as Python sees them.

| CEL | Python |
|---|---|
| bool, int, double, string, bytes, null | bool, int, float, str, bytes, None |
| uint | `Uint` |
| list, map | list, dict |
| timestamp, duration | `Timestamp`, `Duration`, both in nanoseconds |
| optional, type | `Optional`, `TypeName` |

Values that only libraries know (quantities, addresses …) are frozen structs with a `cel_type`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from doorman.semantics.cel.cel_errors import CelError, no_overload
from doorman.semantics.taints.canonical_integers import INT64_MAX as INT64_MAX
from doorman.semantics.taints.canonical_integers import INT64_MIN as INT64_MIN

Value = Any  # a CEL value: one of the above

UINT64_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned integer; equal to the int of the same value."""


class Timestamp(msgspec.Struct, frozen=True, order=True):
    nanoseconds: int
    cel_type: ClassVar[str] = "google.protobuf.Timestamp"


class Duration(msgspec.Struct, frozen=True, order=True):
    nanoseconds: int
    cel_type: ClassVar[str] = "google.protobuf.Duration"


class Optional(msgspec.Struct, frozen=True):
    """At most one value; `NONE` has none."""

    values: tuple[Value, ...] = ()
    cel_type: ClassVar[str] = "optional_type"


class DefaultMap(dict[str, Any]):  # CEL values
    """A map in which every key that is not there is an empty map: the domains of a device's attributes.

    >>> DefaultMap({"gpu.example.com": {"model": "a100"}}).cel_type
    'map'
    """

    cel_type: ClassVar[str] = "map"


class TypeName(msgspec.Struct, frozen=True):
    name: str
    cel_type: ClassVar[str] = "type"


NONE: Final = Optional()

_TYPES: Final = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
}


def type_of(value: Value) -> str:
    """
    >>> [type_of(value) for value in (True, 1, Uint(1), 1.0, "a", None, [], {})]
    ['bool', 'int', 'uint', 'double', 'string', 'null_type', 'list', 'map']
    """
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    named: str = value.cel_type
    return named


def is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equals(one: Value, other: Value) -> bool:
    """Numbers compare by value whatever their types; everything else only with its own kind.

    >>> equals(1, 1.0), equals(1, True), equals([1, {"a": None}], [1.0, {"a": None}])
    (True, False, True)
    """
    if is_number(one) and is_number(other):
        return bool(one == other)
    if type_of(one) != type_of(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equals, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(key in other and equals(value, other[key]) for key, value in one.items())
    if isinstance(one, Optional):
        return len(one.values) == len(other.values) and all(map(equals, one.values, other.values))
    return bool(one == other)


def compare(one: Value, other: Value) -> int:
    """Negative, zero or positive. Raises CelError for what has no order."""
    if is_number(one) and is_number(other):
        pass
    elif type_of(one) != type_of(other) or not isinstance(one, bool | str | bytes | Timestamp | Duration):
        raise no_overload()
    if isinstance(one, str):
        # Go orders strings by their bytes.
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


def map_key(value: Value) -> Value:
    """A key under which equal numbers are the same, and true is not 1."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_number(value):
        return int(value) if isinstance(value, int) else value
    raise CelError(f"unsupported key type: {type_of(value)}")


def look_up(mapping: dict[Value, Value], key: Value) -> tuple[Value, ...]:
    """The value under a key, if there is one."""
    try:
        key = map_key(key)
    except CelError:
        return ()
    if isinstance(key, bool) or key in (0, 1):
        # Python takes true for one.
        for found, value in mapping.items():
            if found == key and isinstance(found, bool) is isinstance(key, bool):
                return (value,)
        return ()
    return (mapping[key],) if key in mapping else ()


def checked_int(value: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value <= UINT64_MAX:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def is_zero(value: Value) -> bool:
    """Whether it is its type's empty value."""
    if isinstance(value, Timestamp | Duration):
        return value.nanoseconds == 0
    if isinstance(value, bool | int | float | str | bytes | list | dict):
        return not value
    return value is None


def from_json(value: object) -> Value:
    """A document, with lists and maps of any sort as plain ones. Numbers beyond 64 bits become doubles."""
    match value:
        case dict() | list() | str() | bool() | float() | None:
            return value
        case int():
            return value if INT64_MIN <= value <= INT64_MAX else float(value)
        case Mapping():
            return dict(value)
        case Sequence():
            return list(value)
    return value
