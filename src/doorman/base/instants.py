"""Instants on the wire: RFC 3339, in whole seconds (`Time`) or with six digits (`MicroTime`)."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from doorman.base.clock import Instant

_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)([.,]\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_time(instant: Instant) -> str:
    """Whole seconds, cut off.

    >>> to_time(1767225600.9)
    '2026-01-01T00:00:00Z'
    """
    return _second_text(int(instant // 1))


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    """Remembered, because thousands of objects are stamped within one second."""
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_micro_time(instant: Instant) -> str:
    """
    >>> to_micro_time(1767225600.25)
    '2026-01-01T00:00:00.250000Z'
    """
    micros = round(instant * 1_000_000)
    return f"{to_time(micros // 1_000_000)[:-1]}.{micros % 1_000_000:06d}Z"


def from_time(text: str) -> Instant:
    """Either form. Raises ValueError when the text is no RFC 3339 time.

    >>> from_time("2026-01-01T01:00:00.5+01:00")
    1767225600.5
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    offset = UTC if zone in "Zz" else timezone(_offset(zone))
    whole = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=offset)
    return (whole - _EPOCH).total_seconds() + (float("0." + fraction[1:]) if fraction else 0.0)


def _offset(zone: str) -> timedelta:
    span = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
    return -span if zone[0] == "-" else span
