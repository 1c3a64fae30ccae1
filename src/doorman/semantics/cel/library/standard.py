"""The language's own functions: sizes, conversions, types, times, optionals and sets."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

from doorman.semantics.cel.cel_errors import CelError, no_overload
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.overloads import DYN, Table, table
from doorman.semantics.cel.value_text import SECOND, moment_of, parse_duration, parse_timestamp, to_text
from doorman.semantics.cel.values import (
    INT64_MAX,
    INT64_MIN,
    NONE,
    Duration,
    Optional,
    Timestamp,
    TypeName,
    Value,
    checked_int,
    checked_uint,
    equals,
    is_zero,
    type_of,
)

_TIME: Final = Timestamp.cel_type
_DURATION: Final = Duration.cel_type
_OPTIONAL: Final = Optional.cel_type
_DIGITS_MAX: Final = 20


def _size(_meter: CostBudget, value: Value) -> int:
    return len(value)


def _to_int(_meter: CostBudget, value: Value) -> int:
    match value:
        case str():
            return checked_int(_integer(value))
        case float():
            if math.isnan(value) or not INT64_MIN < value < INT64_MAX:
                raise CelError("integer overflow")
            return int(value)
        case int() if not isinstance(value, bool):
            return checked_int(int(value))
        case Timestamp():
            return value.nanoseconds // SECOND
        case Duration():
            return value.nanoseconds
    raise no_overload()


def _integer(text: str) -> int:
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS_MAX:
        raise CelError(f"type conversion error from 'string' to 'int': {text}")
    return int(text)


def _to_uint(_meter: CostBudget, value: Value) -> Value:
    match value:
        case str():
            return checked_uint(_integer(value))
        case float() if math.isfinite(value):
            return checked_uint(int(value))
        case int() if not isinstance(value, bool):
            return checked_uint(int(value))
    raise no_overload()


def _to_double(_meter: CostBudget, value: Value) -> float:
    if isinstance(value, str):
        try:
            return float(value) if "_" not in value else math.nan
        except ValueError as error:
            raise CelError(f"type conversion error from 'string' to 'double': {value}") from error
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise no_overload()


def _to_string(meter: CostBudget, value: Value) -> str:
    if isinstance(value, str | bytes):
        meter.charge_size(len(value))
    return to_text(value)


def _to_bool(_meter: CostBudget, value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in ("1", "t", "T", "true", "TRUE", "True"):
            return True
        if value in ("0", "f", "F", "false", "FALSE", "False"):
            return False
        raise CelError(f"type conversion error from 'string' to 'bool': {value}")
    raise no_overload()


def _to_bytes(meter: CostBudget, value: Value) -> bytes:
    meter.charge_size(len(value))
    return value if isinstance(value, bytes) else str(value).encode()


def _to_timestamp(_meter: CostBudget, value: Value) -> Timestamp:
    match value:
        case Timestamp():
            return value
        case str():
            return parse_timestamp(value)
        case int() if not isinstance(value, bool):
            return Timestamp(value * SECOND)
    raise no_overload()


def _to_duration(_meter: CostBudget, value: Value) -> Duration:
    match value:
        case Duration():
            return value
        case str():
            return parse_duration(value)
        case int() if not isinstance(value, bool):
            return Duration(value)
    raise no_overload()


def _calendar(part: Callable[[datetime], int]) -> Callable[..., Value]:
    def apply(_meter: CostBudget, time: Timestamp, zone: str = "UTC") -> int:
        return part(moment_of(time).astimezone(_zone(zone)))

    return apply


def _zone(name: str) -> timezone | ZoneInfo:
    sign, rest = (-1, name[1:]) if name.startswith("-") else (1, name.removeprefix("+"))
    hours, colon, minutes = rest.partition(":")
    if colon and hours.isdigit() and minutes.isdigit() and int(hours) < 24 and int(minutes) < 60:
        return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise CelError(f"unknown time zone {name}") from error


def _whole(unit: int) -> Callable[..., Value]:
    def apply(_meter: CostBudget, duration: Duration) -> int:
        found = abs(duration.nanoseconds) // unit
        return found if duration.nanoseconds >= 0 else -found

    return apply


def _milliseconds(_meter: CostBudget, duration: Duration) -> int:
    found = abs(duration.nanoseconds) // 10**6 % 1000
    return found if duration.nanoseconds >= 0 else -found


def _optional_value(_meter: CostBudget, optional: Optional) -> Value:
    if not optional.values:
        raise CelError("optional.none() dereference")
    return optional.values[0]


def _contains_all(meter: CostBudget, one: list[Value], other: list[Value]) -> bool:
    meter.charge(len(one) * len(other))
    return all(any(equals(item, found) for found in one) for item in other)


def _intersects(meter: CostBudget, one: list[Value], other: list[Value]) -> bool:
    meter.charge(len(one) * len(other))
    return any(equals(item, found) for found in one for item in other)


_CALENDAR: Final = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}

_SIZED: Final = ("string", "bytes", "list", "map")

FUNCTIONS: Final[Table] = table(
    *(("size", (kind,), "int", _size) for kind in _SIZED),
    ("int", (DYN,), "int", _to_int),
    ("uint", (DYN,), "uint", _to_uint),
    ("double", (DYN,), "double", _to_double),
    ("string", (DYN,), "string", _to_string),
    ("bool", (DYN,), "bool", _to_bool),
    ("bytes", ("string",), "bytes", _to_bytes),
    ("bytes", ("bytes",), "bytes", _to_bytes),
    ("timestamp", (DYN,), _TIME, _to_timestamp),
    ("duration", (DYN,), _DURATION, _to_duration),
    ("dyn", (DYN,), DYN, lambda _meter, value: value),
    ("type", (DYN,), "type", lambda _meter, value: TypeName(type_of(value))),
    ("optional.of", (DYN,), _OPTIONAL, lambda _meter, value: Optional((value,))),
    ("optional.none", (), _OPTIONAL, lambda _meter: NONE),
    ("optional.ofNonZeroValue", (DYN,), _OPTIONAL, lambda _m, value: NONE if is_zero(value) else Optional((value,))),
    ("sets.contains", ("list", "list"), "bool", _contains_all),
    ("sets.intersects", ("list", "list"), "bool", _intersects),
    (
        "sets.equivalent",
        ("list", "list"),
        "bool",
        lambda meter, one, other: _contains_all(meter, one, other) and _contains_all(meter, other, one),
    ),
)

METHODS: Final[Table] = table(
    *(("size", (kind,), "int", _size) for kind in _SIZED),
    *((name, (_TIME,), "int", _calendar(part)) for name, part in _CALENDAR.items()),
    *((name, (_TIME, "string"), "int", _calendar(part)) for name, part in _CALENDAR.items()),
    ("getHours", (_DURATION,), "int", _whole(3600 * SECOND)),
    ("getMinutes", (_DURATION,), "int", _whole(60 * SECOND)),
    ("getSeconds", (_DURATION,), "int", _whole(SECOND)),
    ("getMilliseconds", (_DURATION,), "int", _milliseconds),
    ("hasValue", (_OPTIONAL,), "bool", lambda _meter, optional: bool(optional.values)),
    ("value", (_OPTIONAL,), DYN, _optional_value),
)
