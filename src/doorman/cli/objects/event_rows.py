"""Events as kubectl lists them: the oldest first, each with when it was last seen and how often."""

from collections.abc import Iterable
from typing import Any, Final

from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time

HEADER: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")

_NEVER: Final = "<unknown>"


def in_order(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: last_seen(event) or 0.0)


def last_seen(event: dict[str, Any]) -> Instant | None:
    series = event.get("series") or {}
    return _time(series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime"))


def row(event: dict[str, Any], now: Instant) -> list[str]:
    about = event.get("involvedObject") or {}
    return [
        interval(event, now),
        event.get("type") or "",
        event.get("reason") or "",
        f"{about.get('kind', '')}/{about.get('name', '')}",
        (event.get("message") or "").strip(),
    ]


def interval(event: dict[str, Any], now: Instant) -> str:
    """`5s`, or `5s (x3 over 2m)` of one that came several times."""
    first = _time(event.get("firstTimestamp") or event.get("eventTime"))
    series = event.get("series") or {}
    count = series.get("count") or event.get("count") or 0
    last = since(last_seen(event), now)
    return f"{last} (x{count} over {since(first, now)})" if count > 1 else last


def since(then: Instant | None, now: Instant) -> str:
    return human_span(now - then) if then is not None else _NEVER


def _time(text: str | None) -> Instant | None:
    return from_time(text) if text else None
