"""Which of several servers of one store leads, and how it stops."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from doorman.base.clock import ManualClock
from doorman.runtime.leadership import RELEASE_SECONDS_MAX, Leadership
from doorman.runtime.virtual_time import run_virtual


class Releasing:
    """An elector whose lease is given back after some time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.is_released = False

    async def release(self) -> None:
        await asyncio.sleep(self._seconds)
        self.is_released = True


@pytest.mark.parametrize(("seconds", "is_released"), [(1.0, True), (3600.0, False)])
def test_server_that_stops_does_not_wait_for_a_store_that_does_not_answer(seconds: float, is_released: bool) -> None:
    resigned: list[str] = []
    cluster = SimpleNamespace(
        api=SimpleNamespace(system_client=lambda: None, newest=None, registry=SimpleNamespace(catch_up=None)),
        resign_scheduling=lambda: resigned.append("scheduler"),
        resign_controllers=lambda: resigned.append("controllers"),
    )
    clock = ManualClock()
    leadership = Leadership(cast(Any, cluster), clock)
    electors = {"one": Releasing(seconds), "other": Releasing(0.0)}
    leadership.electors = cast(Any, electors)
    began = clock.now()
    run_virtual(leadership.stop(), clock=clock)
    assert clock.now() - began <= RELEASE_SECONDS_MAX
    assert (electors["one"].is_released, electors["other"].is_released) == (is_released, True)
    assert resigned == ["scheduler", "controllers"]
