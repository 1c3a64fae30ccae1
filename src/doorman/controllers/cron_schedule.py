"""Schedules as cron writes them: `*/5 * * * *`, `0 9-17 * * MON-FRI`, `@hourly`, in a time zone.

Rules
-----
1. Five fields: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). Each is a list of `*`, `?`,
   a number or name, a range, and any of these with a step.
2. When both days are restricted either will do; when one is `*` or `?` the other decides.
3. Times that a change of the clock skips do not come; the next one does.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from doorman.base.clock import Instant

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
_DAYS: Final = {name: at for at, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
_YEARS_MAX: Final = 5


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
    doorman.controllers.cron_schedule.ScheduleError: "61" is not between 0 and 59
    """
    fields = _MACROS.get(text.strip(), text).split()
    if len(fields) != 5:
        raise ScheduleError(f'expected exactly 5 fields, found {len(fields)}: "{text}"')
    minute, hour, day, month, weekday = fields
    return Schedule(
        minutes=_parse_field(minute, 0, 59, {}),
        hours=_parse_field(hour, 0, 23, {}),
        days=_parse_field(day, 1, 31, {}),
        months=_parse_field(month, 1, 12, _MONTHS),
        weekdays=frozenset(one % 7 for one in _parse_field(weekday, 0, 7, _DAYS)),
        any_day=day[0] in "*?",
        any_weekday=weekday[0] in "*?",
    )


def next_time(schedule: Schedule, after: Instant, zone: str = "") -> Instant | None:
    """The next instant after `after`; None when there is none within five years.

    >>> from doorman.base.instants import from_time, to_time
    >>> to_time(next_time(parse_schedule("30 9 * * *"), from_time("2026-01-01T09:30:00Z")))
    '2026-01-02T09:30:00Z'
    """
    place = ZoneInfo(zone) if zone else UTC
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


def _plus(moment: datetime, span: timedelta) -> datetime:
    """Real time, not the clock's: an hour later is an hour later, whatever the clock says then."""
    return (moment.astimezone(UTC) + span).astimezone(moment.tzinfo)


def _next_day(moment: datetime) -> datetime:
    tomorrow = (moment + timedelta(days=1)).replace(hour=0, minute=0)
    return tomorrow.astimezone(UTC).astimezone(moment.tzinfo)


def _parse_field(text: str, low: int, high: int, names: Mapping[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, 1, high, {}) if slash else 1
        if span in ("*", "?"):
            first, last = low, high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, low, high, names)
            last = _number(end, low, high, names) if dash else (high if slash else first)
        if last < first:
            raise ScheduleError(f'beginning of range after its end: "{part}"')
        found.update(range(first, last + 1, step))
    return frozenset(found)


def _number(text: str, low: int, high: int, names: Mapping[str, int]) -> int:
    if text.upper() in names:
        return names[text.upper()]
    if not text.isdecimal():
        raise ScheduleError(f'"{text}" is no number')
    number = int(text)
    if not low <= number <= high:
        raise ScheduleError(f'"{text}" is not between {low} and {high}')
    return number
