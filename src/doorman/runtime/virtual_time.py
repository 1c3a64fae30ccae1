"""Virtual time: an event loop that never waits.

When nothing is ready it jumps to the next timer instead of sleeping until it. So an hour of evictions takes
milliseconds, and because nothing happens at the same time as anything else, one seed gives one run.
"""

import asyncio
import math
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from doorman.base.clock import ManualClock
from doorman.runtime.clock.idle_loop import IdleLoop

T = TypeVar("T")


class VirtualLoop(IdleLoop):
    """Its time is the clock's; its selector passes time instead of spending it."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._epoch = clock.now()
        super().__init__(_PassingSelector(self))

    def time(self) -> float:
        return self._clock.now() - self._epoch

    def run_in_executor(  # type: ignore[override]  # gives the future that its kind of loop gives
        self, _executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """At once: nothing happens beside anything else here."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  it is for whoever awaits it
            future.set_exception(error)
        return future

    def advance(self, seconds: float) -> None:
        """By that much, and by something in any case: less than the clock can show would be no time at all."""
        now = self._clock.now()
        self._clock.advance_to(max(now + seconds, math.nextafter(now, math.inf)))


class _PassingSelector(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0:
            # Something is ready already. What threads hand over is put there too, before they wake the selector.
            return []
        ready = super().select(0)
        if ready or self._loop.run_last() or self._loop.wake_idle():
            return ready
        if timeout:
            # The loop computes the timeout to its next timer; rounding up lets no timer fire a hair too early.
            self._loop.advance(timeout)
        else:
            raise RuntimeError("virtual time stands still: everything waits and no timer is set")
        return ready


def run_virtual(main: Coroutine[Any, Any, T], *, clock: ManualClock | None = None) -> T:  # a coroutine's own types
    """Run a coroutine to its end in virtual time."""
    loop = VirtualLoop(clock or ManualClock())
    try:
        return loop.run_until_complete(main)
    finally:
        try:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
