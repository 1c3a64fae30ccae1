"""So many requests at once, so many a second: in virtual time."""

from doorman.base.clock import ManualClock
from doorman.client.http.request_limit import RequestLimit
from doorman.runtime.virtual_time import run_virtual


def seconds_for(requests: int, *, qps: float, burst: int) -> float:
    clock = ManualClock()

    async def story() -> float:
        limit = RequestLimit(clock, qps=qps, burst=burst)
        began = clock.now()
        for _ in range(requests):
            await limit.take()
        return clock.now() - began

    return run_virtual(story(), clock=clock)


def test_burst_is_free_and_the_rest_waits() -> None:
    assert seconds_for(30, qps=20.0, burst=30) == 0.0
    assert round(seconds_for(50, qps=20.0, burst=30), 3) == 1.0


def test_no_limit() -> None:
    assert seconds_for(1000, qps=0.0, burst=1) == 0.0
