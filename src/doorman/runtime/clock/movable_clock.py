"""A clock that users move: it stands still until it is told, or goes some times as fast as the machine's."""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable

from doorman.base.clock import Alarm, Instant, spent
from doorman.base.timers import TimerHeap


class MovableClock:
    """Alarms are its own and not the event loop's: they ring when this clock has come to them, in their order.

    >>> clock, rung = MovableClock(1000.0), []
    >>> late = clock.call_at(1060.0, lambda: rung.append("late"))
    >>> soon = clock.call_at(1030.0, lambda: rung.append("soon"))
    >>> clock.next_due(), clock.move_to(1030.0), rung, clock.now()
    (1030.0, None, ['soon'], 1030.0)
    """

    def __init__(
        self,
        start: Instant,
        rate: float = 0.0,
        stopwatch: Callable[[], float] = spent,
        *,
        on_move: Callable[[Instant], None] = lambda _: None,
    ) -> None:
        """`rate` is how many times as fast as real time; 0 stands still. `on_move` is told the instant that comes
        before anything of it happens.
        """
        self.rate = rate
        self._on_move = on_move
        self._stopwatch = stopwatch
        self._base = start
        self._since = stopwatch()
        self._is_held = False
        self._alarms: TimerHeap[_Alarm] = TimerHeap()
        self._timer: TimerHandle | None = None

    def now(self) -> Instant:
        if not self.rate or self._is_held:
            return self._base
        return self._base + self.rate * (self._stopwatch() - self._since)

    def steady(self) -> float:
        """It is moved on purpose: what waits by it is meant to be done waiting."""
        return self.now()

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        alarm = _Alarm(self._alarms, callback)
        self._alarms.add(alarm, instant)
        if self.rate:
            self._arm()
        return alarm

    def next_due(self) -> Instant | None:
        """Of the next alarm; None without any."""
        return self._alarms.next_due()

    def move_to(self, instant: Instant) -> None:
        """And ring everything that is due by then. Time does not run backwards: it may have passed the instant."""
        self._base = max(instant, self.now())
        self._since = self._stopwatch()
        self._ring()

    def hold(self) -> None:
        """Stand still while somebody moves it."""
        self._base, self._is_held = self.now(), True

    def release(self) -> None:
        self._since, self._is_held = self._stopwatch(), False
        if self.rate:
            self._arm()

    def _ring(self) -> None:
        self._on_move(self.now())
        for alarm in self._alarms.pop_due(self.now()):
            if not alarm.is_cancelled:  # by one that rang before it
                alarm.callback()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.next_due()
        if due is not None and not self._is_held:
            seconds = max(due - self.now(), 0.0) / self.rate
            self._timer = get_running_loop().call_later(seconds, self._pass)

    def _pass(self) -> None:
        self._timer = None
        if not self._is_held:
            self._ring()
            self._arm()


class _Alarm:
    __slots__ = ("_alarms", "callback", "is_cancelled")

    def __init__(self, alarms: "TimerHeap[_Alarm]", callback: Callable[[], object]) -> None:
        self._alarms = alarms
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        self._alarms.cancel(self)
