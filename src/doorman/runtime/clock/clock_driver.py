"""Moves a cluster's clock from alarm to alarm; between two of them everything that can happen happens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from doorman.base.clock import Instant, spent
from doorman.runtime.clock.idle_loop import IdleLoop
from doorman.runtime.clock.movable_clock import MovableClock


class ClockDriver:
    """One mover at a time; the others wait for their turn."""

    def __init__(self, clock: MovableClock, loop: IdleLoop, awaits_others: Callable[[], bool]) -> None:
        self.clock = clock
        self._loop = loop
        self._lock = asyncio.Lock()
        loop.awaits_others = awaits_others

    async def settle(self) -> None:
        """Let everything that can happen now happen."""
        await self._loop.until_idle()

    async def move_to(self, target: Instant, *, real_seconds_max: float | None = None) -> bool:
        """Whether it has come so far: it stops early when that takes too long by the machine's clock."""
        return await self.move_until(lambda: self.clock.now() >= target, target, real_seconds_max=real_seconds_max)

    async def move_until(
        self, is_there: Callable[[], bool], limit: Instant, *, real_seconds_max: float | None = None
    ) -> bool:
        """To the first instant at which `is_there` holds, after everything of that instant has happened.

        False: it does not hold by the limit, or within so much real time.
        """
        ends = spent() + real_seconds_max if real_seconds_max is not None else None
        async with self._moving():
            await self.settle()
            while not is_there():
                if self.clock.now() >= limit or (ends is not None and spent() >= ends):
                    return False
                await self._step(limit)
        return True

    async def step(self, limit: Instant) -> None:
        """To the next alarm, or to the limit when that is sooner."""
        async with self._moving():
            await self._step(limit)

    async def _step(self, limit: Instant) -> None:
        due = self.clock.next_due()
        self.clock.move_to(limit if due is None else min(due, limit))
        await self.settle()

    @asynccontextmanager
    async def _moving(self) -> AsyncIterator[None]:
        async with self._lock:
            self.clock.hold()
            try:
                yield
            finally:
                self.clock.release()
