"""Time as a value.

An `Instant` is seconds since the Unix epoch. Pure code takes `now: Instant`; stateful code is given a
`Clock`. Only `SystemClock` reads the machine's clock.
"""

import time
from typing import Protocol

Instant = float
"""Seconds since the Unix epoch. Whole seconds are exact, so virtual timelines are too."""

VIRTUAL_START: Instant = 1_767_225_600.0
"""2026-01-01T00:00:00Z: where virtual time begins unless told otherwise."""


class Clock(Protocol):
    def now(self) -> Instant: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> Instant:
        return time.time()


def spent() -> float:
    """Seconds this process has been at it, from some moment on: for how long work takes, and never for what is decided.
    An event loop's own time will not do: some look at the clock once a turn.
    """
    return time.monotonic()


class ManualClock:
    """A clock that stands still until it is moved: virtual time.

    >>> clock = ManualClock()
    >>> clock.advance_to(clock.now() + 60)
    >>> clock.now() - VIRTUAL_START
    60.0
    """

    def __init__(self, start: Instant = VIRTUAL_START) -> None:
        self._now = start

    def now(self) -> Instant:
        return self._now

    def advance_to(self, instant: Instant) -> None:
        assert instant >= self._now, "time does not run backwards"
        self._now = instant
