"""What one run of a container wrote, as a value: lines at instants, and lines that come again and again.

A container that says something every second for a year has said much; only what is asked for is made.
"""

import math
from collections.abc import Iterator
from heapq import merge
from typing import Final

import msgspec

from doorman.base.clock import Instant

LINES_MAX: Final = 10_000
"""So many lines of a run are kept, as a kubelet keeps the last files of a log that rotates."""


class LogLine(msgspec.Struct, frozen=True, order=True):
    at: Instant
    text: str


class RepeatedLine(msgspec.Struct, frozen=True, kw_only=True):
    """Texts in turn, from `first` on, one every `period_seconds`."""

    texts: tuple[str, ...]
    first: Instant
    period_seconds: float
    before: Instant = math.inf
    """From here on they come no more."""


class RunLog(msgspec.Struct, frozen=True, kw_only=True):
    began: Instant
    ended: Instant | None = None
    lines: tuple[LogLine, ...] = ()
    """In order."""
    repeated: tuple[RepeatedLine, ...] = ()


def lines_of(log: RunLog, *, since: Instant, until: Instant, count_max: int = LINES_MAX) -> list[LogLine]:
    """The last `count_max` lines from `since` to `until`, both included; lines of one instant as they were written.

    >>> log = RunLog(began=0.0, lines=(LogLine(0.0, "up"),), repeated=(
    ...     RepeatedLine(texts=("tick", "tack"), first=1.0, period_seconds=2.0),))
    >>> [line.text for line in lines_of(log, since=0.0, until=5.0)]
    ['up', 'tick', 'tack', 'tick']
    >>> [line.at for line in lines_of(log, since=0.0, until=1e9, count_max=2)]
    [999999997.0, 999999999.0]
    """
    if count_max <= 0:
        return []
    until = until if log.ended is None else min(until, log.ended)
    fixed = (line for line in log.lines if since <= line.at <= until)
    each = [_occurrences(one, since, until, count_max) for one in log.repeated]
    return list(merge(fixed, *each, key=lambda line: line.at))[-count_max:]


def next_line_at(log: RunLog, after: Instant) -> Instant | None:
    """When the next line is due that is known by now, and comes before the run ends."""
    due = [line.at for line in log.lines if line.at > after]
    for one in log.repeated:
        number = max(0, math.floor((after - one.first) / one.period_seconds) + 1)
        if (at := one.first + one.period_seconds * number) < one.before:
            due.append(at)
    return min((at for at in due if log.ended is None or at <= log.ended), default=None)


def _occurrences(line: RepeatedLine, since: Instant, until: Instant, count_max: int) -> Iterator[LogLine]:
    last = math.floor((until - line.first) / line.period_seconds)
    if line.before <= until:
        last = math.ceil((line.before - line.first) / line.period_seconds) - 1
    first = max(0, math.ceil((since - line.first) / line.period_seconds), last - count_max + 1)
    for number in range(first, last + 1):
        yield LogLine(line.first + number * line.period_seconds, line.texts[number % len(line.texts)])
