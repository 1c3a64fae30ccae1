"""When a schedule comes round."""

import zoneinfo

import pytest

from doorman.base.instants import from_time, to_time
from doorman.semantics.cron_schedule import ScheduleError, next_time, parse_schedule, times_between, zone_fault


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        pytest.param("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", id="every-minute"),
        pytest.param("* * * * *", "2026-01-01T00:00:59Z", "2026-01-01T00:01:00Z", id="next-minute"),
        pytest.param("*/15 * * * *", "2026-01-01T00:46:00Z", "2026-01-01T01:00:00Z", id="1-step"),
        pytest.param("5/20 * * * *", "2026-01-01T00:26:00Z", "2026-01-01T00:45:00Z", id="1-step-from"),
        pytest.param("0 9-17/4 * * *", "2026-01-01T10:00:00Z", "2026-01-01T13:00:00Z", id="1-range-with-step"),
        pytest.param("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z", id="1-leap-day"),
        pytest.param("30 9 * * MON-FRI", "2026-01-02T10:00:00Z", "2026-01-05T09:30:00Z", id="1-names"),
        pytest.param("0 0 * * 0", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z", id="1-zero-is-sunday"),
        pytest.param("0 0 */12 * MON", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z", id="2-step-restricts"),
        pytest.param("0 0 */1 * MON", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z", id="2-step-of-one-does-not"),
        pytest.param("0,,30 * * * *", "2026-01-01T00:01:00Z", "2026-01-01T00:30:00Z", id="1-empty-item"),
        pytest.param("@every 90s", "2026-01-01T00:00:10Z", "2026-01-01T00:01:40Z", id="4-every"),
        pytest.param("@every 1ms", "2026-01-01T00:00:10Z", "2026-01-01T00:00:11Z", id="4-at-least-a-second"),
        pytest.param("TZ=UTC 5 * * * *", "2026-01-01T00:00:10Z", "2026-01-01T00:05:00Z", id="zone-in-front"),
        pytest.param("0 0 13 * FRI", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", id="2-either-day"),
        pytest.param("0 0 13 * *", "2026-01-01T00:00:00Z", "2026-01-13T00:00:00Z", id="2-day-alone"),
        pytest.param("@daily", "2026-01-01T12:00:00Z", "2026-01-02T00:00:00Z", id="macro"),
        pytest.param("0 12 1 JAN,jul ?", "2026-01-02T00:00:00Z", "2026-07-01T12:00:00Z", id="1-months-by-name"),
    ],
)
def test_next(schedule: str, after: str, expected: str) -> None:
    found = next_time(parse_schedule(schedule), from_time(after))
    assert found is not None
    assert to_time(found) == expected


@pytest.mark.skipif("Europe/Berlin" not in zoneinfo.available_timezones(), reason="the machine has no time zones")
def test_next_in_a_time_zone_over_a_change_of_the_clock() -> None:
    schedule = parse_schedule("30 2 * * *")
    found = next_time(schedule, from_time("2026-03-28T12:00:00Z"), "Europe/Berlin")
    assert found is not None
    assert to_time(found) == "2026-03-30T00:30:00Z"
    noon = next_time(parse_schedule("0 12 * * *"), from_time("2026-07-01T00:00:00Z"), "Europe/Berlin")
    assert noon is not None
    assert to_time(noon) == "2026-07-01T10:00:00Z"


def test_never() -> None:
    assert next_time(parse_schedule("0 0 31 2 *"), 0.0) is None


def test_between_is_open_at_the_beginning_and_closed_at_the_end() -> None:
    found = list(times_between(parse_schedule("*/10 * * * *"), 600.0, 1800.0))
    assert found == [1200.0, 1800.0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("* * * *", "expected exactly 5 fields, found 4: [* * * *]", id="5-four-fields"),
        pytest.param("", "expected exactly 5 fields, found 0: []", id="5-nothing"),
        pytest.param(
            "x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax', id="5-no-number"
        ),
        pytest.param("60 * * * *", "end of range (60) above maximum (59): 60", id="5-too-large"),
        pytest.param("0 0 * * 7", "end of range (7) above maximum (6): 7", id="5-no-day-seven"),
        pytest.param("* * 0 * *", "beginning of range (0) below minimum (1): 0", id="5-too-small"),
        pytest.param("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1", id="5-backwards"),
        pytest.param("*/0 * * * *", "step of range should be a positive number: */0", id="5-no-step"),
        pytest.param("1-2-3 * * * *", "too many hyphens: 1-2-3", id="5-hyphens"),
        pytest.param("*/2/3 * * * *", "too many slashes: */2/3", id="5-slashes"),
        pytest.param("@never", "unrecognized descriptor: @never", id="5-descriptor"),
        pytest.param(
            "@every 1x", 'failed to parse duration @every 1x: time: unknown unit "x" in duration "1x"', id="5-unit"
        ),
        pytest.param(
            "@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"', id="5-duration"
        ),
        pytest.param("TZ=.. * * * * *", "provided bad location ..: unknown time zone ..", id="5-zone-in-front"),
        pytest.param(
            f"{'9' * 20} * * * *",
            f'failed to parse int from {"9" * 20}: strconv.Atoi: parsing "{"9" * 20}": value out of range',
            id="5-huge",
        ),
    ],
)
def test_unreadable(text: str, fault: str) -> None:
    with pytest.raises(ScheduleError) as raised:
        parse_schedule(text)
    assert str(raised.value) == fault


@pytest.mark.parametrize("zone", ["../etc/passwd", "/etc/passwd", ".."])
def test_unknown_zone(zone: str) -> None:
    assert zone_fault(zone) == f"unknown time zone {zone}"
