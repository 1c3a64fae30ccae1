"""Why Go refuses a time or a base64 text: the words of its own parsers, which decoding errors repeat."""

import re
from calendar import monthrange
from typing import Final

from doorman.base.go_format import quote

TIME_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
MICRO_TIME_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"

_Step = tuple[str, str, "re.Pattern[str]", int, int, str]

_TWO: Final = re.compile(r"\d\d", re.ASCII)
_STEPS: Final[tuple[_Step, ...]] = (
    # what stands before it, how the layout writes it, its form, bounds, its name
    ("", "2006", re.compile(r"\d{4}", re.ASCII), 0, 9999, "year"),
    ("-", "01", _TWO, 1, 12, "month"),
    ("-", "02", _TWO, 0, 99, "day"),
    ("T", "15", re.compile(r"\d\d?", re.ASCII), 0, 23, "hour"),
    (":", "04", _TWO, 0, 59, "minute"),
    (":", "05", _TWO, 0, 59, "second"),
)
_FRACTION: Final = re.compile(r"[.,]\d+", re.ASCII)
_SIX_DIGITS: Final = re.compile(r"[.,]\d{6}", re.ASCII)
_ZONE: Final = re.compile(r"Z|[+-](\d\d):(\d\d)", re.ASCII)


def time_fault(text: str, layout: str) -> str:
    """What `time.Parse` says of a text it cannot read; empty when it can.

    >>> time_fault("x", TIME_LAYOUT)
    'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'
    >>> time_fault("2024-13-02T03:04:05Z", TIME_LAYOUT)
    'parsing time "2024-13-02T03:04:05Z": month out of range'
    >>> time_fault("2024-01-02T03:04:05Z", TIME_LAYOUT)
    ''
    >>> time_fault("\u00e9", TIME_LAYOUT).partition(" as ")[0]
    'parsing time "\\\\xc3\\\\xa9"'
    """

    def unreadable(rest: str, element: str) -> str:
        return f"{_parsing(text)} as {quote(layout)}: cannot parse {_time_quote(rest)} as {quote(element)}"

    rest = text
    numbers: dict[str, int] = {}
    for before, element, form, low, high, name in _STEPS:
        if not rest.startswith(before):
            return unreadable(rest, before)
        rest = rest[len(before) :]
        found = form.match(rest)
        if found is None:
            return unreadable(rest, element)
        rest = rest[found.end() :]
        numbers[name] = int(found[0])
        if not low <= numbers[name] <= high:
            return f"{_parsing(text)}: {name} out of range"
    if layout == MICRO_TIME_LAYOUT:
        if _SIX_DIGITS.match(rest) is None:
            return unreadable(rest, ".000000")
        rest = rest[7:]
    elif (fraction := _FRACTION.match(rest)) is not None:
        rest = rest[fraction.end() :]
    zone = _ZONE.match(rest)
    if zone is None:
        return unreadable(rest, "Z07:00")
    fault = _end_fault(zone, rest[zone.end() :], numbers)
    return f"{_parsing(text)}: {fault}" if fault else ""


def _end_fault(zone: re.Match[str], rest: str, numbers: dict[str, int]) -> str:
    if zone[1] and int(zone[1]) > 24:
        return "time zone offset hour out of range"
    if zone[2] and int(zone[2]) > 60:
        return "time zone offset minute out of range"
    if rest:
        return f"extra text: {quote(rest)}"
    last = monthrange(numbers["year"] or 4, numbers["month"])[1]
    return "" if 1 <= numbers["day"] <= last else "day out of range"


def _parsing(text: str) -> str:
    return f"parsing time {_time_quote(text)}"


def base64_fault(text: str) -> str:
    """What Go's base64 decoder says of a text it cannot read; empty when it can.

    >>> base64_fault("Bogus"), base64_fault("a-b="), base64_fault("QQ==")
    ('illegal base64 data at input byte 4', 'illegal base64 data at input byte 1', '')
    """
    place = _first_illegal(text)
    return "" if place is None else f"illegal base64 data at input byte {place}"


_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _first_illegal(text: str) -> int | None:
    """Groups of four; `=` may stand in for the last one or two letters of the last group. Line ends do not count."""
    at, filled = 0, 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter in "\r\n":
            continue
        if letter in _ALPHABET:
            filled = (filled + 1) % 4
            continue
        if letter != "=" or filled < 2:
            return at - 1
        if filled == 2:
            at = _past_line_ends(text, at)
            if at == len(text):
                return at
            if text[at] != "=":
                return at - 1
            at += 1
        at = _past_line_ends(text, at)
        return at if at < len(text) else None
    return at - filled if filled else None


def _past_line_ends(text: str, at: int) -> int:
    while at < len(text) and text[at] in "\r\n":
        at += 1
    return at


def _time_quote(text: str) -> str:
    """Package time quotes by a rule of its own: whatever is no plain letter is shown byte by byte."""
    shown = (
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
        for byte in text.encode(errors="replace")
    )
    return f'"{"".join(shown)}"'
