"""Timers fall due in order, once, and cost little when cancelled."""

import random
import tracemalloc

import pytest

from doorman.base.timers import FORGOTTEN_ENTRIES_MIN, TimerHeap


@pytest.mark.parametrize(
    ("added", "now", "expected"),
    [
        pytest.param([], 10.0, [], id="nothing-pending"),
        pytest.param([("a", 10.0)], 9.999, [], id="a-moment-before"),
        pytest.param([("a", 10.0)], 10.0, ["a"], id="at-the-instant"),
        pytest.param([("b", 2.0), ("a", 1.0)], 5.0, ["a", "b"], id="by-instant"),
        pytest.param([("b", 1.0), ("a", 1.0), ("c", 1.0)], 1.0, ["b", "a", "c"], id="equal-instants-by-insertion"),
        pytest.param([("a", 1.0), ("a", 3.0)], 2.0, [], id="added-again-later-counts"),
        pytest.param([("a", 3.0), ("a", 1.0)], 2.0, ["a"], id="added-again-sooner-counts"),
        pytest.param([("a", 1.0), ("b", 1.0), ("a", 1.0)], 1.0, ["b", "a"], id="added-again-is-a-new-insertion"),
    ],
)
def test_keys_fall_due_in_order(added: list[tuple[str, float]], now: float, expected: list[str]) -> None:
    timers = TimerHeap[str]()
    for key, due in added:
        timers.add(key, due)
    assert timers.pop_due(now) == expected


def test_shifted_keys_fall_due_so_much_later_in_the_same_order() -> None:
    timers = TimerHeap[str]()
    for key, due in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        timers.add(key, due)
    timers.cancel("c")
    timers.shift(10.0)
    assert timers.next_due() == 11.0
    timers.add("d", 11.5)
    assert timers.pop_due(20.0) == ["a", "d", "b"]


def test_popped_key_is_gone_and_may_be_added_again() -> None:
    timers = TimerHeap[str]()
    timers.add("a", 1.0)
    assert timers.pop_due(1.0) == ["a"]
    assert timers.pop_due(1.0) == []
    assert "a" not in timers
    timers.add("a", 2.0)
    assert timers.next_due() == 2.0


def test_cancelled_key_does_not_fall_due() -> None:
    timers = TimerHeap[str]()
    timers.add("a", 1.0)
    timers.add("b", 2.0)
    assert timers.cancel("a")
    assert not timers.cancel("a")
    assert timers.next_due() == 2.0
    assert timers.pop_due(5.0) == ["b"]
    assert timers.next_due() is None


def test_limit_leaves_the_rest_for_later() -> None:
    timers = TimerHeap[int]()
    for number in range(5):
        timers.add(number, 1.0)
    assert timers.pop_due(1.0, limit=2) == [0, 1]
    assert timers.pop_due(1.0) == [2, 3, 4]


def test_cancelled_entries_are_cleared_away() -> None:
    timers = TimerHeap[int]()
    for number in range(10_000):
        timers.add(number, float(number))
        timers.cancel(number)
    assert len(timers) == 0
    assert len(timers._heap) <= FORGOTTEN_ENTRIES_MIN


def test_heap_agrees_with_a_sorted_list_under_random_use() -> None:
    rng = random.Random(7)
    timers = TimerHeap[int]()
    model: dict[int, tuple[float, int]] = {}
    now, inserted = 0.0, 0
    for _ in range(5_000):
        key = rng.randrange(200)
        match rng.randrange(4):
            case 0 | 1:
                due = now + rng.randrange(50)
                timers.add(key, due)
                inserted += 1
                model[key] = (due, inserted)
            case 2:
                assert timers.cancel(key) is (model.pop(key, None) is not None)
            case _:
                now += rng.randrange(10)
                expected = sorted((k for k in model if model[k][0] <= now), key=lambda k: model[k])
                assert timers.pop_due(now) == expected
                for popped in expected:
                    del model[popped]
        assert len(timers) == len(model)
        assert timers.next_due() == min((due for due, _ in model.values()), default=None)


def test_many_that_are_due_at_once_come_in_order_and_leave_the_others() -> None:
    rng = random.Random(3)
    timers = TimerHeap[int]()
    dues = [float(rng.randrange(100)) for _ in range(20_000)]
    for key, due in enumerate(dues):
        timers.add(key, due)
    for key in range(0, 20_000, 3):
        timers.cancel(key)
    expected = sorted((key for key in range(20_000) if key % 3), key=lambda key: (dues[key], key))
    early = [key for key in expected if dues[key] <= 60.0]
    assert timers.pop_due(60.0) == early
    assert timers.pop_due(100.0) == expected[len(early) :]
    assert timers.next_due() is None


@pytest.mark.slow
def test_a_pending_timer_takes_under_300_bytes_beyond_its_key() -> None:
    count = 100_000
    keys = [f"namespace/pod-{number}" for number in range(count)]
    tracemalloc.start()
    timers = TimerHeap[str]()
    for number, key in enumerate(keys):
        timers.add(key, number * 0.25 + 1e9)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / count < 300, f"{held / count:.0f} bytes each"
