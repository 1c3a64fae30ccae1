"""Durations in Go's syntax (`50s`, `1m30s`) and spans of time as kubectl shows them (`5m`, `2d3h`)."""

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
SECONDS_MAX = 2**63 / 1e9
"""As many as Go can count in nanoseconds: 292 years."""
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^.\d]*)", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError with Go's words when the text is no duration.

    >>> parse_duration("1m30s"), parse_duration("-1.5h"), parse_duration("0")
    (90.0, -5400.0, 0.0)
    """
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    total, at = 0.0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            break
        if not part[2]:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if part[2] not in _UNITS:
            raise ValueError(f'time: unknown unit "{part[2]}" in duration "{text}"')
        total += float(part[1]) * _UNITS[part[2]]
        at = part.end()
    if not rest or at != len(rest) or total > SECONDS_MAX:
        raise ValueError(f'time: invalid duration "{text}"')
    return sign * total


def format_duration(seconds: float) -> str:
    """As Go prints it.

    >>> format_duration(90), format_duration(3600), format_duration(0.25), format_duration(0)
    ('1m30s', '1h0m0s', '250ms', '0s')
    """
    nanos = round(seconds * 1_000_000_000)
    if nanos == 0:
        return "0s"
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    if nanos < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if nanos >= size:
                return f"{sign}{nanos / size:g}{unit}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1_000_000_000:.9f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def human_span(seconds: float) -> str:
    """The short form in AGE columns.

    >>> [human_span(s) for s in (-5, 0, 119, 120, 601, 3 * 3600, 8 * 3600, 50 * 3600, 400 * 86400)]
    ['<invalid>', '0s', '119s', '2m', '10m', '3h', '8h', '2d2h', '400d']
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 120:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 10:
        return f"{minutes}m{whole % 60}s" if whole % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = whole // 3600
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if hours < 17520:
        return f"{days}d"
    years = days // 365
    if hours < 70080:
        return f"{years}y{days % 365}d" if days % 365 else f"{years}y"
    return f"{years}y"
