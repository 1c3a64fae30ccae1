"""When a schedule comes round."""

import zoneinfo

import pytest

from doorman.base.instants import from_time, to_time
from doorman.controllers.cron_schedule import ScheduleError, next_time, parse_schedule, times_between


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
        pytest.param("0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z", id="1-seven-is-sunday"),
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
    "text", ["", "* * * *", "x * * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "* * 0 * *", "@never"]
)
def test_unreadable(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)
