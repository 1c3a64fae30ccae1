"""Instants on the wire: RFC 3339, in whole seconds (`Time`) or with six digits (`MicroTime`)."""

import re
from datetime import datetime, timedelta
from functools import lru_cache

from doorman.base.clock import Instant

_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d?):(\d\d):(\d\d)([.,]\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1)
_LEAP_YEAR = 4
_SECONDS_TO_LEAP_YEAR = 1461 * 86_400.0
"""From year 0, which Python does not have."""
_FIRST, _LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"


def to_time(instant: Instant) -> str:
    """Whole seconds, cut off.

    >>> to_time(1767225600.9)
    '2026-01-01T00:00:00Z'
    """
    return _second_text(int(instant // 1))


@lru_cache(maxsize=256)
def _second_text(second: int) -> str:
    """Remembered, because thousands of objects are stamped within one second."""
    try:
        return (_EPOCH + timedelta(seconds=second)).isoformat(timespec="seconds") + "Z"
    except OverflowError:
        return _FIRST if second < 0 else _LAST


def to_micro_time(instant: Instant) -> str:
    """
    >>> to_micro_time(1767225600.25)
    '2026-01-01T00:00:00.250000Z'
    """
    micros = round(instant * 1_000_000)
    return f"{to_time(micros // 1_000_000)[:-1]}.{micros % 1_000_000:06d}Z"


def from_time(text: str) -> Instant:
    """Either form. Raises ValueError when the text is no RFC 3339 time, as Go reads it: an hour may have one digit, an
    offset be a whole day, and there is a year 0.

    >>> from_time("2026-01-01T01:00:00.5+01:00"), from_time("2026-01-01T1:00:00+01:00")
    (1767225600.5, 1767225600.0)
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    number = int(year)
    whole = datetime(number or _LEAP_YEAR, int(month), int(day), int(hour), int(minute), int(second))
    seconds = (whole - _EPOCH).total_seconds()
    if number == 0:
        seconds -= _SECONDS_TO_LEAP_YEAR
    if zone not in "Zz":
        seconds -= _offset_seconds(zone)
    return seconds + (float("0." + fraction[1:]) if fraction else 0.0)


def _offset_seconds(zone: str) -> float:
    seconds = int(zone[1:3]) * 3600.0 + int(zone[4:6]) * 60.0
    return -seconds if zone[0] == "-" else seconds
