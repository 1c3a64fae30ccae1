"""Seats and queues of one level, in virtual time."""

import asyncio

import pytest

from doorman.base.errors import ApiError
from doorman.runtime.virtual_time import run_virtual
from doorman.server.flowcontrol.level_seats import PriorityLevel


def level(seats: int = 1, **more: int) -> PriorityLevel:
    return PriorityLevel("l", seats, **{"queues": 8, "hand_size": 2, "queue_length_max": 50, **more})


def test_seats_go_round_between_flows_not_to_who_asks_most() -> None:
    async def story() -> None:
        one, told = level(), []
        assert one.try_enter()

        async def ask(flow: str) -> None:
            await one.wait(flow)
            told.append(flow)
            await asyncio.sleep(0.1)
            one.leave()

        greedy = [asyncio.ensure_future(ask("greedy")) for _ in range(20)]
        await asyncio.sleep(0)
        modest = [asyncio.ensure_future(ask("modest")) for _ in range(2)]
        await asyncio.sleep(0)
        one.leave()
        await asyncio.gather(*greedy, *modest)
        assert max(at for at, flow in enumerate(told) if flow == "modest") <= 6, told

    run_virtual(story())


def test_flow_fills_its_own_hand_and_others_still_get_in() -> None:
    async def story() -> None:
        one = level(queue_length_max=3)
        assert one.try_enter()
        waiting = [asyncio.ensure_future(one.wait("greedy")) for _ in range(6)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await one.wait("greedy")
        assert (refused.value.code, refused.value.retry_after_seconds) == (429, 1)
        other = next(name for name in map(str, range(100)) if not set(one.hand_of(name)) <= set(one.hand_of("greedy")))
        asked = asyncio.ensure_future(one.wait(other))
        await asyncio.sleep(0)
        assert not asked.done()
        assert one.rejected == {"queue-full": 1}
        for task in (*waiting, asked):
            task.cancel()
        await asyncio.gather(*waiting, asked, return_exceptions=True)
        assert one.waiting == 0

    run_virtual(story())


def test_who_waits_too_long_is_told_to_come_back() -> None:
    async def story() -> None:
        one = level()
        assert one.try_enter()
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(ApiError):
            await one.wait("a")
        assert loop.time() - began == 15
        assert (one.waiting, one.rejected) == (0, {"time-out": 1})
        one.leave()
        assert one.try_enter()

    run_virtual(story())


def test_request_that_is_given_up_hands_its_seat_on() -> None:
    async def story() -> None:
        one = level()
        assert one.try_enter()
        first, second = asyncio.ensure_future(one.wait("a")), asyncio.ensure_future(one.wait("a"))
        await asyncio.sleep(0)
        one.leave()
        first.cancel()  # in the very turn in which the seat came
        await asyncio.gather(first, return_exceptions=True)
        await second
        assert one.running == 1

    run_virtual(story())


async def test_level_without_queues_refuses_at_once() -> None:
    one = PriorityLevel("l", 1)
    assert one.try_enter()
    assert not one.try_enter()
    with pytest.raises(ApiError):
        await one.wait("a")
    assert one.rejected == {"concurrency-limit": 1}


def test_hands_are_dealt_by_name_without_repeats() -> None:
    one = level(queues=16, hand_size=6)
    hands = {name: one.hand_of(name) for name in map(str, range(200))}
    assert all(len(set(hand)) == 6 and set(hand) <= set(range(16)) for hand in hands.values())
    assert hands["7"] == one.hand_of("7")
    assert len({tuple(hand) for hand in hands.values()}) > 190


async def test_other_numbers_keep_who_is_there() -> None:
    one = level(seats=1)
    assert one.try_enter()
    asked = asyncio.ensure_future(one.wait("a"))
    await asyncio.sleep(0)
    assert one.reconfigured(level(seats=2)) is one
    await asked
    assert (one.running, one.seats) == (2, 2)
