"""Moving the clock from alarm to alarm, with everything of an instant done before the next."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from doorman.base.clock import sleep
from doorman.runtime.clock.clock_driver import ClockDriver
from doorman.runtime.clock.idle_loop import IdleLoop
from doorman.runtime.clock.movable_clock import MovableClock


def run(
    main: Callable[[ClockDriver], Coroutine[Any, Any, None]], *, others: Callable[[], bool] = lambda: False
) -> None:
    loop = IdleLoop()

    async def on_loop() -> None:
        await main(ClockDriver(MovableClock(0.0), loop, others))

    try:
        loop.run_until_complete(on_loop())
    finally:
        loop.close()


def test_sleepers_wake_at_their_instant_with_all_consequences() -> None:
    async def main(driver: ClockDriver) -> None:
        seen: list[float] = []

        async def work() -> None:
            for _ in range(3):
                await sleep(driver.clock, 10)
                await asyncio.sleep(0)
                seen.append(driver.clock.now())

        task = asyncio.create_task(work())
        await driver.move_to(25.0)
        assert seen == [10.0, 20.0]
        assert driver.clock.now() == 25.0
        await driver.move_to(30.0)
        assert seen == [10.0, 20.0, 30.0]
        await task

    run(main)


def test_an_instant_is_not_over_while_a_thread_works_or_somebody_else_has_to_answer() -> None:
    is_waiting = False

    async def main(driver: ClockDriver) -> None:
        nonlocal is_waiting
        loop, gate, order = asyncio.get_running_loop(), threading.Event(), []

        async def work() -> None:
            nonlocal is_waiting
            await loop.run_in_executor(None, gate.wait)
            order.append("thread")
            is_waiting = True
            loop.call_later(0.01, answered)

        def answered() -> None:
            nonlocal is_waiting
            is_waiting = False
            order.append("answer")

        task = asyncio.create_task(work())
        loop.call_later(0.01, gate.set)
        await driver.move_to(1.0)
        assert order == ["thread", "answer"]
        await task

    run(main, others=lambda: is_waiting)


def test_moving_until_something_holds_stops_there_or_at_the_limit() -> None:
    async def main(driver: ClockDriver) -> None:
        rung: list[float] = []
        for at in (5.0, 15.0, 25.0):
            driver.clock.call_at(at, lambda at=at: rung.append(at))  # type: ignore[misc]  # bound now
        assert await driver.move_until(lambda: len(rung) == 2, 100.0)
        assert driver.clock.now() == 15.0
        assert not await driver.move_until(lambda: len(rung) == 9, 20.0)
        assert driver.clock.now() == 20.0
        assert not await driver.move_to(1000.0, real_seconds_max=0.0)

    run(main)


def test_last_calls_come_when_nothing_else_happens_at_the_instant_and_before_it_is_over() -> None:
    async def main(driver: ClockDriver) -> None:
        loop, order = asyncio.get_running_loop(), []
        assert isinstance(loop, IdleLoop)
        loop.call_last(lambda: order.append("last"))

        async def work() -> None:
            for step in range(3):
                await asyncio.sleep(0)
                order.append(str(step))

        task = asyncio.create_task(work())
        await driver.settle()
        assert order == ["0", "1", "2", "last"]
        await task

    run(main)
