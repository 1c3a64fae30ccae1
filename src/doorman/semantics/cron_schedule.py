"""Schedules as cron writes them: `*/5 * * * *`, `0 9-17 * * MON-FRI`, `@hourly`, in a time zone.

Rules
-----
1. Five fields: minute, hour, day of the month, month, day of the week (0 to 6 from Sunday). Each is a list of `*`, `?`,
   a number or name, a range, and any of these with a step; empty items of a list are passed over.
2. When both days are restricted either will do; when one is `*` or `?` (with no step beyond 1) the other decides.
3. Times that a change of the clock skips do not come; the next one does.
4. `@every 90s` comes so long after the last time, whole seconds and at least one.
5. What cannot be read is told in the words of the cron library that Kubernetes uses, the first fault only.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from doorman.base.clock import Instant
from doorman.base.durations import parse_duration
from doorman.base.go_format import quote

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = {
    name: at
    for at, name in enumerate(
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"], start=1
    )
}
_EVERY: Final = "@every "
_ZONE_PREFIXES: Final = ("TZ=", "CRON_TZ=")
_DAYS: Final = {name: at for at, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
_YEARS_MAX: Final = 5
_DIGITS: Final = re.compile(r"\+?[0-9]+")
_DIGITS_MAX: Final = 18


class ScheduleError(ValueError):
    """A schedule that cannot be read."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    every_seconds: int = 0
    """Rule 4; the fields then say nothing."""

    def is_day(self, moment: datetime) -> bool:
        """Rule 2."""
        if moment.month not in self.months:
            return False
        by_day = moment.day in self.days
        by_weekday = moment.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return by_day and by_weekday
        return by_day or by_weekday


@lru_cache(maxsize=4096)
def parse_schedule(text: str) -> Schedule:
    """
    >>> parse_schedule("*/20 9 * * MON-FRI").minutes == {0, 20, 40}
    True
    >>> parse_schedule("61 * * * *")
    Traceback (most recent call last):
    ...
    doorman.semantics.cron_schedule.ScheduleError: end of range (61) above maximum (59): 61
    """
    text = _without_zone(text)
    if text.startswith("@"):
        if text.startswith(_EVERY):
            return _every(text)
        if text not in _MACROS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
    fields = _MACROS.get(text, text).split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minute, hour, day, month, weekday = fields
    return Schedule(
        minutes=_parse_field(minute, 0, 59, {})[0],
        hours=_parse_field(hour, 0, 23, {})[0],
        days=(days := _parse_field(day, 1, 31, {}))[0],
        months=_parse_field(month, 1, 12, _MONTHS)[0],
        weekdays=(weekdays := _parse_field(weekday, 0, 6, _DAYS))[0],
        any_day=days[1],
        any_weekday=weekdays[1],
    )


def zone_fault(zone: str) -> str:
    """What is wrong with the name of a time zone; empty when it is known.

    On a machine that knows no zones at all every name passes that could be one: the schedule then says so when it runs.

    >>> zone_fault("UTC"), zone_fault("..")
    ('', 'unknown time zone ..')
    """
    try:
        _place(zone)
    except ZoneInfoNotFoundError:
        return f"unknown time zone {zone}" if _knows_zones() else ""
    except (ValueError, OSError):
        return f"unknown time zone {zone}"
    return ""


def next_time(schedule: Schedule, after: Instant, zone: str = "") -> Instant | None:
    """The next instant after `after`; None when there is none within five years.

    >>> from doorman.base.instants import from_time, to_time
    >>> to_time(next_time(parse_schedule("30 9 * * *"), from_time("2026-01-01T09:30:00Z")))
    '2026-01-02T09:30:00Z'
    """
    if schedule.every_seconds:
        return math.floor(after) + float(schedule.every_seconds)
    place = _place(zone)
    start = datetime.fromtimestamp(after // 60 * 60 + 60, place)
    moment = start.replace(second=0, microsecond=0)
    end = start.year + _YEARS_MAX
    while moment.year <= end:
        if not schedule.is_day(moment):
            moment = _next_day(moment)
        elif moment.hour not in schedule.hours:
            moment = _plus(moment, timedelta(hours=1)).replace(minute=0)
        elif moment.minute not in schedule.minutes:
            moment = _plus(moment, timedelta(minutes=1))
        else:
            return moment.timestamp()
    return None


def times_between(schedule: Schedule, after: Instant, until: Instant, zone: str = "") -> Iterator[Instant]:
    """All instants after `after` up to and including `until`."""
    found = next_time(schedule, after, zone)
    while found is not None and found <= until:
        yield found
        found = next_time(schedule, found, zone)


def _place(zone: str) -> tzinfo:
    return UTC if zone in ("", "UTC") else ZoneInfo(zone)


@lru_cache(maxsize=1)
def _knows_zones() -> bool:
    return bool(available_timezones())


def _plus(moment: datetime, span: timedelta) -> datetime:
    """Real time, not the clock's: an hour later is an hour later, whatever the clock says then."""
    return (moment.astimezone(UTC) + span).astimezone(moment.tzinfo)


def _next_day(moment: datetime) -> datetime:
    tomorrow = (moment + timedelta(days=1)).replace(hour=0, minute=0)
    return tomorrow.astimezone(UTC).astimezone(moment.tzinfo)


def _without_zone(text: str) -> str:
    """A zone may come before the fields."""
    if not text.startswith(_ZONE_PREFIXES):
        return text
    head, _, rest = text.partition(" ")
    zone = head.partition("=")[2]
    if fault := zone_fault(zone):
        raise ScheduleError(f"provided bad location {zone}: {fault}")
    return rest.strip()


def _every(text: str) -> Schedule:
    try:
        seconds = parse_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None
    nothing: frozenset[int] = frozenset()
    return Schedule(
        minutes=nothing, hours=nothing, days=nothing, months=nothing, weekdays=nothing, any_day=True, any_weekday=True,
        every_seconds=max(int(seconds), 1),
    )  # fmt: skip


def _parse_field(text: str, low: int, high: int, names: Mapping[str, int]) -> tuple[frozenset[int], bool]:
    """The numbers that a field means, and whether it restricts nothing."""
    found: set[int] = set()
    is_any = False
    for part in filter(None, text.split(",")):
        numbers, everything = _parse_range(part, low, high, names)
        found.update(numbers)
        is_any = is_any or everything
    return frozenset(found), is_any


def _parse_range(part: str, low: int, high: int, names: Mapping[str, int]) -> tuple[range, bool]:
    span, *steps = part.split("/")
    first_text, *rest = span.split("-")
    is_any = first_text in ("*", "?")
    first, last = low, high
    if not is_any:
        first = last = _number(first_text, names)
        if len(rest) > 1:
            raise ScheduleError(f"too many hyphens: {part}")
        if rest:
            last = _number(rest[0], names)
    step = 1
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {part}")
    if steps:
        step = _number(steps[0], {})
        if not rest:
            last = high
        is_any = is_any and step <= 1
    if first < low:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({low}): {part}")
    if last > high:
        raise ScheduleError(f"end of range ({last}) above maximum ({high}): {part}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {part}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {part}")
    return range(first, last + 1, step), is_any


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.upper() in names:
        return names[text.upper()]
    if not _DIGITS.fullmatch(text):
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    if len(text.lstrip("+0")) > _DIGITS_MAX:
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range")
    return int(text)
