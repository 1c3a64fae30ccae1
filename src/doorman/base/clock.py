"""Time as a value.

An `Instant` is seconds since the Unix epoch. Pure code takes `now: Instant`; stateful code is given a
`Clock`. Only `SystemClock` reads the machine's clock. Where bytes cross a boundary waiting ends after a `CommonDelay`,
by the event loop's time.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

STEP_SECONDS_MIN: Final = 1.0
"""What is less than this is no step: two readings are never quite of one moment."""

Instant = float
"""Seconds since the Unix epoch. Whole seconds are exact, so virtual timelines are too."""

VIRTUAL_START: Instant = 1_767_225_600.0
"""2026-01-01T00:00:00Z: where virtual time begins unless told otherwise."""


class Alarm(Protocol):
    """Something that will be called at an instant, unless it is cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    def now(self) -> Instant: ...

    def steady(self) -> float:
        """Seconds from some moment on, that never jump when somebody sets the clock: for how long ago something was."""
        ...

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        """Have the event loop that runs call it when the clock shows the instant, or soon when that is past."""
        ...


async def sleep(clock: Clock, seconds: float) -> None:
    """By that clock."""
    over = asyncio.Event()
    alarm = clock.call_at(clock.now() + seconds, over.set)
    try:
        await over.wait()
    finally:
        alarm.cancel()


def _call_on_loop(clock: Clock, instant: Instant, callback: Callable[[], object]) -> Alarm:
    """With a clock that goes as fast as the event loop's time."""
    loop = asyncio.get_running_loop()
    return loop.call_at(loop.time() + max(instant - clock.now(), 0.0), callback)


class SystemClock:
    """The machine's clock. Every request asks it several times, so its methods are the machine's own functions."""

    now = staticmethod(time.time)
    steady = staticmethod(time.monotonic)

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        return _call_on_loop(self, instant, callback)


class SteadyClock:
    """What a clock would show had nobody set it since: for who counts durations, and writes no times down."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_seconds = clock.now() - clock.steady()

    def now(self) -> Instant:
        return self._clock.steady() + self._ahead_seconds

    def steady(self) -> float:
        return self._clock.steady()

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        return self._clock.call_at(self._clock.now() + (instant - self.now()), callback)


class ClockSteps:
    """By how much somebody has set a clock: a laptop that slept, a machine whose clock was wrong.

    Who keeps instants in memory and compares them with the time of day moves them by as much. Otherwise what is due in
    20 seconds comes 30 later on a clock that is set back by 30, and everything at once on one that is set forward.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_seconds = clock.now() - clock.steady()

    def take(self) -> float:
        """Since it was last asked; 0 if nobody has."""
        step = self._clock.now() - self._clock.steady() - self._ahead_seconds
        if abs(step) < STEP_SECONDS_MIN:
            return 0.0
        self._ahead_seconds += step
        return step


spent: Final = time.monotonic
"""Seconds this process has been at it, from some moment on: for how long work takes, and never for what is decided. An
event loop's own time will not do: some look at the clock once a turn.
"""


class ManualClock:
    """A clock that stands still until it is moved: virtual time. A `VirtualLoop` moves it with its own time.

    >>> clock = ManualClock()
    >>> clock.advance_to(clock.now() + 60)
    >>> clock.now() - VIRTUAL_START
    60.0
    """

    def __init__(self, start: Instant = VIRTUAL_START) -> None:
        self._now = start

    def now(self) -> Instant:
        return self._now

    def steady(self) -> float:
        return self._now

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        return _call_on_loop(self, instant, callback)

    def advance_to(self, instant: Instant) -> None:
        assert instant >= self._now, "time does not run backwards"
        self._now = instant


class CommonDelay:
    """Calls back after a delay that is the same for everybody. Who came first is due first, so one timer of the loop is
    enough for all of them; most are done before, and cost no more than a place in a table.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[int, tuple[float, Callable[[], object]]] = {}
        """With when each is due, the first due first."""
        self._last_number = 0
        self._timer: asyncio.TimerHandle | None = None

    def call(self, callback: Callable[[], object]) -> int:
        """A number, to cancel it by."""
        loop = asyncio.get_running_loop()
        self._last_number += 1
        self._waiting[self._last_number] = (loop.time() + self._seconds, callback)
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._expire)
        return self._last_number

    def cancel(self, number: int) -> None:
        """One that was called, or cancelled, is passed over."""
        self._waiting.pop(number, None)

    def _expire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._waiting:
            number, (due, callback) = next(iter(self._waiting.items()))
            if due > loop.time():
                self._timer = loop.call_at(due, self._expire)
                return
            del self._waiting[number]
            try:
                callback()  # now: who cancels later than this does not expect it any more
            except Exception as error:  # noqa: BLE001  of one: the others are called all the same
                loop.call_exception_handler({"message": "a delayed call failed", "exception": error})
