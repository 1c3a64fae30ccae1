"""One request begins with each turn of the event loop, and flows take turns."""

import asyncio

from doorman.server.flowcontrol.turns import Turns


async def begin(turns: Turns, flow: str, begun: list[str]) -> None:
    await turns.begin(flow)
    begun.append(flow)


async def test_who_comes_alone_begins_at_once() -> None:
    turns = Turns()
    for _ in range(3):
        assert turns.try_begin()
        await asyncio.sleep(0)


async def test_second_of_one_turn_waits_for_the_next() -> None:
    turns = Turns()
    assert turns.try_begin()
    assert not turns.try_begin()
    await turns.begin("a")
    assert not turns.try_begin()


async def test_flows_take_turns_and_each_keeps_its_order() -> None:
    turns, begun = Turns(), list[str]()
    asked = ["a", "a", "a", "a", "b", "b", "c"]
    await asyncio.gather(*(begin(turns, flow, begun) for flow in asked))
    assert begun == ["a", "a", "b", "c", "a", "b", "a"]


async def test_who_went_away_is_passed_over() -> None:
    turns, begun = Turns(), list[str]()
    assert turns.try_begin()
    gone, stays = (asyncio.ensure_future(begin(turns, flow, begun)) for flow in ("gone", "stays"))
    gone.cancel()
    await stays
    assert begun == ["stays"]
    await asyncio.sleep(0)
    assert turns.try_begin()


async def test_who_comes_while_others_wait_does_not_overtake_its_flow() -> None:
    turns, begun = Turns(), list[str]()
    first = [asyncio.ensure_future(begin(turns, "a", begun)) for _ in range(3)]
    await first[0]
    assert not turns.try_begin()
    await asyncio.gather(*first)
