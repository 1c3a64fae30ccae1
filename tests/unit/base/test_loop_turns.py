"""Light work is done at once, heavy work beside the loop."""

import asyncio
import threading

import pytest

from doorman.base import loop_turns as turns
from doorman.base.bounds import TURN_BYTES_MAX, TURN_SECONDS_MAX
from doorman.base.loop_turns import Turn, in_slices, in_turn, pause_if_due
from doorman.runtime.virtual_time import run_virtual


def thread_of(_: str) -> int:
    return threading.get_ident()


@pytest.mark.parametrize(("weight", "is_here"), [(0, True), (TURN_BYTES_MAX, True), (TURN_BYTES_MAX + 1, False)])
async def test_weight_decides_where_work_is_done(weight: int, is_here: bool) -> None:
    assert (await in_turn(weight, thread_of, "a") == threading.get_ident()) is is_here


async def test_others_have_their_turn_while_heavy_work_goes_on() -> None:
    is_let_go = threading.Event()
    work = asyncio.ensure_future(in_turn(TURN_BYTES_MAX + 1, is_let_go.wait, 10))
    await asyncio.sleep(0)
    is_let_go.set()  # by the loop, which is not held
    assert await work


async def test_error_of_heavy_work_is_its_caller_s() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await in_turn(TURN_BYTES_MAX + 1, int, "a")


def test_virtual_time_has_no_threads() -> None:
    async def story() -> int:
        return await in_turn(TURN_BYTES_MAX + 1, thread_of, "a")

    async def failing() -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            await in_turn(TURN_BYTES_MAX + 1, int, "a")

    assert run_virtual(story()) == threading.get_ident()
    run_virtual(failing())


async def test_turn_ends_and_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(turns, "spent", lambda: now)
    turn = Turn()
    assert not turn.is_over()
    now += TURN_SECONDS_MAX
    assert turn.is_over()
    await turn.next()
    assert not turn.is_over()


async def test_work_in_slices_lets_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(turns, "spent", lambda: now)
    told: list[str] = []

    def work(name: str) -> str:
        nonlocal now
        for step in range(3):
            told.append(f"{name}{step}")
            now += TURN_SECONDS_MAX
            pause_if_due()
        return name

    assert await asyncio.gather(in_slices(work, "a"), in_slices(work, "b")) == ["a", "b"]
    assert told == ["a0", "b0", "a1", "b1", "a2", "b2"]


async def test_work_in_slices_does_not_pause_before_its_slice_is_over() -> None:
    turns_of_the_loop = 0

    async def count() -> None:
        nonlocal turns_of_the_loop
        while True:
            turns_of_the_loop += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    pause_if_due()  # no slices here
    assert await in_slices(lambda: pause_if_due() or 7) == 7
    assert turns_of_the_loop == 0
    counting.cancel()


async def test_error_in_slices_is_its_caller_s(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(turns, "spent", lambda: now)

    def work() -> None:
        nonlocal now
        now += TURN_SECONDS_MAX
        pause_if_due()
        raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        await in_slices(work)


async def test_work_in_slices_ends_with_whoever_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(turns, "spent", lambda: now)
    told: list[str] = []

    def work() -> None:
        nonlocal now
        try:
            while True:
                now += TURN_SECONDS_MAX
                pause_if_due()
        finally:
            told.append("ended")

    waiting = asyncio.ensure_future(in_slices(work))
    await asyncio.sleep(0)
    assert not told
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert told == ["ended"]
