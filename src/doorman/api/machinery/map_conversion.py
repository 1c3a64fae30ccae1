"""What a strategic merge patch made, and an applied configuration, is converted from a map to the type.

That names types alone, and whether it "cannot convert" or finds an "unrecognized type" is a matter of what Go could
convert (an integer to a string, never a string to an integer). Types that have a decoder of their own tell their own
faults.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from doorman.api.machinery.decode_errors import NAMED, DecodeError, go_type
from doorman.api.machinery.go_scalars import base64_fault
from doorman.api.machinery.typed_decoding import OWN_DECODERS

_SCALARS: Final = ("string", "bool", "int32", "int64", "double")
_INTEGERS: Final = ("int32", "int64")
_SOURCES: Final = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map", list: "slice"}


class Fields(Protocol):
    """Where the members of a type are looked up: `Schema`."""

    def fields(self, type_name: str) -> Mapping[str, Any]: ...  # a field is a type expression or a dict with one


def conversion_fault(schema: Fields, value: Any, expression: Any, member: str = "") -> str | None:  # JSON, its type
    """What the conversion from a map says of the first value that does not fit; None when nothing is of a wrong type,
    or when what is wrong is told by a type's own decoder."""
    if value is None:
        return None
    source = _source(value)
    if isinstance(expression, list):
        shape, inner = expression
        if source != {"list": "slice", "map": "map"}[shape]:
            return f"cannot restore {'slice' if shape == 'list' else 'map'} from {source}"
        faults = (conversion_fault(schema, item, inner) for item in (value if shape == "list" else value.values()))
        return next((fault for fault in faults if fault), None)
    if expression.startswith("@"):
        fields = schema.fields(expression[1:])
        if not fields or expression.endswith(("OrBool", "OrArray", "OrStringArray")):
            return None
        if source != "map":
            return f"cannot restore struct from: {source}"
        owner = expression.rpartition(".")[2]
        for name, field in fields.items():
            inner = field["t"] if isinstance(field, dict) else field
            if name in value and (fault := conversion_fault(schema, value[name], inner, f"{owner}.{name}")):
                return fault
        return None
    if expression == "bytes":
        fault = base64_fault(value) if source == "string" else ""
        return f"error decoding from json: {fault}" if fault else None if source == "string" else _no_slice(source)
    if expression in OWN_DECODERS:
        return _own_fault(value, expression)
    return _scalar_fault(source, value, expression, member) if expression in _SCALARS else None


def _source(value: Any) -> str:  # JSON
    """The type that Go reads it as: an integer that 64 bits do not hold is a float."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "float64"
    return _SOURCES[type(value)]


def _own_fault(value: Any, expression: str) -> str | None:  # JSON
    try:
        OWN_DECODERS[expression](value)
    except DecodeError as error:
        return str(error)
    return None


def _no_slice(source: str) -> str:
    return f"cannot restore slice from {source}"


def converted(schema: Fields, value: Any, expression: Any) -> Any:  # JSON, its type
    """A value with its integers as the conversion from a map makes them: cut to their bits, not refused.

    >>> converted(None, [2**31, 2**64, 1.0], ["list", "int32"])
    [-2147483648, 0, 1]
    """
    if isinstance(expression, list):
        if expression[0] == "list" and isinstance(value, list):
            return [converted(schema, item, expression[1]) for item in value]
        if expression[0] == "map" and isinstance(value, dict):
            return {name: converted(schema, item, expression[1]) for name, item in value.items()}
        return value
    if expression in _INTEGERS:
        return _cut(value, 32 if expression == "int32" else 64)
    if expression.startswith("@") and isinstance(value, dict):
        fields = schema.fields(expression[1:])
        types = {name: field["t"] if isinstance(field, dict) else field for name, field in fields.items()}
        return {name: converted(schema, item, types[name]) if name in types else item for name, item in value.items()}
    return value


def _cut(value: Any, bits: int) -> Any:  # JSON
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        return value
    whole = int(value)
    if not -(2**63) <= whole < 2**63:
        whole = -(2**63)  # as processors convert what is out of range
    return (whole + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _scalar_fault(source: str, value: Any, expression: str, member: str) -> str | None:
    is_integer = expression in _INTEGERS
    wanted = go_type(expression)
    if source == wanted or (source == "int64" and (is_integer or expression == "double")):
        return None
    if source == "float64" and is_integer:
        return None if float(value).is_integer() else f"cannot convert float64 to {wanted}"
    if source == "int64" and expression == "string":
        return f"cannot convert int64 to {NAMED.get(member, 'string')}"
    return f"unrecognized type: {wanted}"
