"""One request begins with each turn of the event loop, and flows take turns."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from doorman.runtime.virtual_time import run_virtual
from doorman.server.flowcontrol.turns import ALONE_SECONDS_MIN, MOMENT_SECONDS, UNDER_WAY_MAX, Turns


async def begin(turns: Turns, flow: str, begun: list[str]) -> None:
    await turns.begin(flow)
    begun.append(flow)


async def test_who_comes_alone_begins_at_once() -> None:
    turns = Turns()
    for _ in range(3):
        assert turns.try_begin("a")
        await asyncio.sleep(0)


async def test_second_of_one_turn_waits_for_the_next() -> None:
    turns = Turns()
    assert turns.try_begin("a")
    assert not turns.try_begin("a")
    await turns.begin("a")
    assert not turns.try_begin("a")


async def test_flows_take_turns_and_each_keeps_its_order() -> None:
    turns, begun = Turns(), list[str]()
    asked = ["a", "a", "a", "a", "b", "b", "c"]
    await asyncio.gather(*(begin(turns, flow, begun) for flow in asked))
    assert begun == ["a", "a", "b", "c", "a", "b", "a"]


async def test_who_went_away_is_passed_over() -> None:
    turns, begun = Turns(), list[str]()
    assert turns.try_begin("a")
    gone, stays = (asyncio.ensure_future(begin(turns, flow, begun)) for flow in ("gone", "stays"))
    gone.cancel()
    await stays
    assert begun == ["stays"]
    await asyncio.sleep(0)
    assert turns.try_begin("b")


async def test_who_comes_while_others_wait_does_not_overtake_its_flow() -> None:
    turns, begun = Turns(), list[str]()
    first = [asyncio.ensure_future(begin(turns, "a", begun)) for _ in range(3)]
    await first[0]
    assert not turns.try_begin("a")
    await asyncio.gather(*first)


def in_virtual_time(story: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    return lambda: run_virtual(story())


async def begin_many(turns: Turns, flow: str, many: int) -> list[asyncio.Task[None]]:
    """Those that are held back stay."""
    tasks = [asyncio.ensure_future(turns.begin(flow)) for _ in range(many)]
    for _ in range(many + 2):
        await asyncio.sleep(0)
    return tasks


async def end(turns: Turns, flow: str, many: int) -> None:
    for _ in range(many):
        turns.ended(flow)
    for _ in range(2 * UNDER_WAY_MAX):
        await asyncio.sleep(0)


async def begin_and_end(turns: Turns, flow: str) -> None:
    """It is there, and has nothing under way."""
    await turns.begin(flow)
    await end(turns, flow, 1)


def begun_of(tasks: list[asyncio.Task[None]]) -> int:
    return sum(task.done() for task in tasks)


@in_virtual_time
async def test_flow_that_is_alone_has_as_many_under_way_as_it_likes() -> None:
    tasks = await begin_many(Turns(), "greedy", 100)
    assert begun_of(tasks) == 100


@in_virtual_time
async def test_flow_beside_another_has_a_few_under_way_and_one_more_for_each_that_ends() -> None:
    turns = Turns()
    await begin_and_end(turns, "modest")
    tasks = await begin_many(turns, "greedy", 100)
    assert begun_of(tasks) == UNDER_WAY_MAX
    await end(turns, "greedy", 2)
    assert begun_of(tasks) == UNDER_WAY_MAX + 2
    assert turns.try_begin("modest"), "nobody waits who might begin"


@in_virtual_time
async def test_while_somebody_has_all_he_asked_for_under_way_no_flow_has_more() -> None:
    turns = Turns()
    await begin_and_end(turns, "modest")
    tasks = await begin_many(turns, "greedy", 100)
    await turns.begin("modest")
    await end(turns, "greedy", UNDER_WAY_MAX - 1)
    assert begun_of(tasks) == UNDER_WAY_MAX, "one is under way: as many as the other has"
    await end(turns, "greedy", 1)
    assert begun_of(tasks) == UNDER_WAY_MAX + 1, "one may always be"
    await end(turns, "modest", 1)
    assert begun_of(tasks) == 2 * UNDER_WAY_MAX


@in_virtual_time
async def test_flows_that_all_want_more_have_as_many_under_way_as_each_other() -> None:
    turns = Turns()
    await begin_and_end(turns, "modest")
    first = await begin_many(turns, "greedy", 100)
    second = await begin_many(turns, "grasping", 100)
    assert (begun_of(first), begun_of(second)) == (UNDER_WAY_MAX, UNDER_WAY_MAX)
    for _ in range(10):
        await end(turns, "greedy", 1)
        await end(turns, "grasping", 1)
    assert (begun_of(first), begun_of(second)) == (UNDER_WAY_MAX + 10, UNDER_WAY_MAX + 10)


@in_virtual_time
async def test_what_takes_long_lets_others_have_more_than_it_has() -> None:
    turns = Turns()
    await turns.begin("modest")
    tasks = await begin_many(turns, "greedy", 100)
    assert begun_of(tasks) == 1
    await asyncio.sleep(1.5 * MOMENT_SECONDS)
    assert begun_of(tasks) == 1 + UNDER_WAY_MAX


@in_virtual_time
async def test_requests_that_take_long_hold_nothing_back() -> None:
    turns = Turns()
    await begin_and_end(turns, "modest")
    tasks = await begin_many(turns, "greedy", 3 * UNDER_WAY_MAX)
    await asyncio.sleep(1.5 * MOMENT_SECONDS)
    assert begun_of(tasks) == 2 * UNDER_WAY_MAX
    await asyncio.sleep(1.5 * MOMENT_SECONDS)
    assert begun_of(tasks) == 3 * UNDER_WAY_MAX


@in_virtual_time
async def test_who_asks_no_more_holds_nobody_back_for_long() -> None:
    turns = Turns()
    await turns.begin("modest")
    await asyncio.sleep(2 * ALONE_SECONDS_MIN)
    assert begun_of(await begin_many(turns, "greedy", 100)) == 100


@in_virtual_time
async def test_what_ended_without_a_word_is_forgotten() -> None:
    turns = Turns()
    for number in range(50):
        await turns.begin(f"flow-{number}")
    await asyncio.sleep(2 * ALONE_SECONDS_MIN)
    await turns.begin("another")
    assert list(turns._begun) == ["another"]
