"""A clock that stands still until it is moved, or goes faster than real time."""

from doorman.runtime.clock.idle_loop import IdleLoop
from doorman.runtime.clock.movable_clock import MovableClock


class Stopwatch:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_alarms_ring_in_their_order_and_only_when_due() -> None:
    clock, rung = MovableClock(100.0), []
    clock.call_at(130.0, lambda: rung.append("late"))
    clock.call_at(110.0, lambda: rung.append("first"))
    clock.call_at(110.0, lambda: rung.append("second"))
    clock.move_to(129.0)
    assert rung == ["first", "second"]
    assert clock.next_due() == 130.0
    clock.move_to(130.0)
    assert rung == ["first", "second", "late"]
    assert clock.next_due() is None


def test_cancelled_alarm_does_not_ring_even_when_one_of_its_instant_cancels_it() -> None:
    clock, rung = MovableClock(0.0), []
    never = clock.call_at(5.0, lambda: rung.append("never"))
    never.cancel()
    clock.call_at(10.0, lambda: other.cancel())
    other = clock.call_at(10.0, lambda: rung.append("other"))
    clock.move_to(20.0)
    assert rung == []


def test_time_does_not_run_backwards() -> None:
    clock = MovableClock(100.0)
    clock.move_to(50.0)
    assert clock.now() == 100.0


def test_rate_is_times_real_time_but_while_it_is_held() -> None:
    watch = Stopwatch()
    clock = MovableClock(1000.0, rate=60.0, stopwatch=watch)
    watch.seconds = 2.0
    assert clock.now() == 1120.0
    clock.hold()
    watch.seconds = 10.0
    assert clock.now() == 1120.0
    clock.move_to(2000.0)
    assert clock.now() == 2000.0


def test_clock_with_a_rate_rings_by_itself() -> None:
    loop = IdleLoop()

    async def main() -> float:
        clock = MovableClock(0.0, rate=100_000.0)
        rung = loop.create_future()
        clock.call_at(100.0, lambda: rung.set_result(clock.now()))
        return await rung

    try:
        assert loop.run_until_complete(main()) >= 100.0
    finally:
        loop.close()
