"""Light work is done at once, heavy work beside the loop."""

import asyncio
import threading

import pytest

from doorman.base import loop_turns as turns
from doorman.base.bounds import TURN_BYTES_MAX, TURN_SECONDS_MAX
from doorman.base.loop_turns import Turn, in_turn
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
