"""Clocks that somebody sets, and calls after a delay that many share."""

import asyncio
from collections.abc import Callable

import pytest

from doorman.base.clock import Alarm, ClockSteps, CommonDelay, Instant, SteadyClock
from doorman.runtime.virtual_time import run_virtual


class Clock:
    """Shows what it is told to."""

    def __init__(self) -> None:
        self.passed, self.ahead = 0.0, 1000.0
        self.alarms: list[Instant] = []

    def now(self) -> Instant:
        return self.passed + self.ahead

    def steady(self) -> float:
        return self.passed

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        self.alarms.append(instant)
        return self

    def cancel(self) -> None:
        """Nothing rings."""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([0.0], [0.0], id="nobody-set-it"),
        pytest.param([30.0], [30.0], id="forwards"),
        pytest.param([-30.0], [-30.0], id="back"),
        pytest.param([0.9], [0.0], id="less-than-a-step"),
        pytest.param([0.5, 0.5], [0.0, 1.0], id="little-by-little"),
        pytest.param([30.0, 0.0, -30.0], [30.0, 0.0, -30.0], id="each-is-told-once"),
    ],
)
def test_steps_are_told_once(steps: list[float], expected: list[float]) -> None:
    clock = Clock()
    told = ClockSteps(clock)
    found = []
    for step in steps:
        clock.passed += 100.0
        clock.ahead += step
        found.append(told.take())
    assert found == expected


def test_steady_clock_counts_what_passes_and_nothing_else() -> None:
    clock = Clock()
    steady = SteadyClock(clock)
    clock.ahead -= 600.0
    clock.passed += 5.0
    assert (steady.now(), steady.steady()) == (1005.0, 5.0)
    steady.call_at(1015.0, print)
    assert clock.alarms == [clock.now() + 10.0]


def test_calls_with_a_common_delay_come_in_order_each_in_its_time() -> None:
    async def main() -> list[tuple[str, float]]:
        loop, told = asyncio.get_running_loop(), []
        began = loop.time()
        delay = CommonDelay(10.0)

        def tell(name: str) -> None:
            told.append((name, loop.time() - began))
            if name == "first":
                raise ValueError("of nobody else's concern")

        loop.set_exception_handler(lambda _loop, _context: None)
        delay.call(lambda: tell("first"))
        gone = delay.call(lambda: tell("gone"))
        delay.call(lambda: tell("at once with the first"))
        await asyncio.sleep(4)
        delay.call(lambda: tell("later"))
        delay.cancel(gone)
        delay.cancel(gone)
        await asyncio.sleep(100)
        delay.call(lambda: tell("last"))
        await asyncio.sleep(100)
        return told

    assert run_virtual(main()) == [("first", 10), ("at once with the first", 10), ("later", 14), ("last", 114)]
