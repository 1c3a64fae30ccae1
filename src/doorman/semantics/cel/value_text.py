"""How CEL values read as text, and times and durations from text: RFC 3339, and Go's `1h30m`."""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

from doorman.base.go_format import quote
from doorman.semantics.cel.cel_errors import CelError, no_overload
from doorman.semantics.cel.values import Duration, Optional, Timestamp, TypeName, Uint, Value

SECOND: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_LIMIT: Final = 2**63


def parse_timestamp(text: str) -> Timestamp:
    match = _TIME.fullmatch(text)
    if match is None:
        raise CelError(f"parsing time {quote(text)}: invalid timestamp")
    try:
        moment = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    except ValueError as error:
        raise CelError(f"parsing time {quote(text)}: {error}") from error
    return Timestamp(_whole_seconds(moment) * SECOND + int((match[2] or "0").ljust(9, "0")))


def _whole_seconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1)


def parse_duration(text: str) -> Duration:
    """
    >>> parse_duration("-1h30m").nanoseconds // SECOND
    -5400
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    for match in _DURATION.finditer(rest):
        if match.start() != at:
            break
        whole, _, fraction = match[1].partition(".")
        unit = _UNITS[match[2]]
        total += int(whole or "0") * unit
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        at = match.end()
    if not rest or at != len(rest) or len(rest) > 100 or total >= _LIMIT:
        raise CelError(f"time: invalid duration {quote(text)}")
    return Duration(sign * total)


def moment_of(time: Timestamp) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=time.nanoseconds // 1000)
    except OverflowError as error:
        raise CelError("timestamp overflow") from error


def to_text(value: Value) -> str:
    """What `string(value)` gives."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return double_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise CelError("invalid UTF-8 in bytes, cannot convert to string") from error
        case Timestamp():
            nanoseconds = value.nanoseconds % SECOND
            fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
            return moment_of(Timestamp(value.nanoseconds - nanoseconds)).strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"
        case Duration():
            return seconds_text(value)
    shown = getattr(value, "cel_text", None)
    if isinstance(shown, str):
        return shown
    raise no_overload()


def seconds_text(duration: Duration) -> str:
    whole, rest = divmod(abs(duration.nanoseconds), SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if duration.nanoseconds < 0 else ''}{whole}{fraction}s"


def double_text(value: float) -> str:
    """As Go prints it, shortest: `1`, `0.5`, `1e+21`."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e21:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    text = repr(value)
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa.removesuffix('.0')}e{exponent}"
    return text


def shown(value: Value, *, nested: bool = False) -> str:
    """What `%s` prints of a value."""
    match value:
        case str():
            return quote(value) if nested else value
        case None:
            return "null"
        case bytes():
            return value.decode(errors="replace")
        case list():
            return f"[{', '.join(shown(item, nested=True) for item in value)}]"
        case dict():
            entries = sorted((shown(key, nested=True), shown(item, nested=True)) for key, item in value.items())
            return "{" + ", ".join(f"{key}: {item}" for key, item in entries) + "}"
        case TypeName():
            return value.name
        case Optional():
            raise no_overload()
        case Uint():
            return str(int(value))
    return to_text(value)


def to_json(value: Value) -> Value:
    """What is stored or told of a value."""
    match value:
        case bool() | str() | float() | None:
            return value
        case int():
            return int(value)
        case list():
            return [to_json(item) for item in value]
        case dict():
            return {str(key): to_json(item) for key, item in value.items()}
        case Optional():
            return to_json(value.values[0]) if value.values else None
    return to_text(value)
