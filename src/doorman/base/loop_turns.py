"""Turns on the event loop: nobody holds it for longer than `TURN_SECONDS_MAX`, whatever is asked.

What is light is done here and now. What is heavy and touches nothing but what it is given goes to a thread, one such
work at a time; what is heavy and can be cut is cut, and the loop has its turn in between. What can be cut only deep
inside, such as an expression over what the cluster has, runs in a greenlet: it pauses wherever it is.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from greenlet import getcurrent, greenlet

from doorman.base.bounds import TURN_BYTES_MAX, TURN_SECONDS_MAX
from doorman.base.clock import spent

P = ParamSpec("P")
T = TypeVar("T")

_SLICE_SECONDS: Final = TURN_SECONDS_MAX / 4
"""Of work that is cut: a request of somebody else takes a few turns, and is to be answered within that time."""

_heavy: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="heavy")
"""One: two would take the interpreter from the loop twice as often, and be done no sooner."""


async def in_turn(weight_bytes: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` gives, which must be a function of its arguments alone. `weight_bytes` is how much it works on."""
    if weight_bytes <= TURN_BYTES_MAX:
        return work(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_heavy, partial(work, *args, **kwargs))


class _Sliced(greenlet):
    """Work that pauses when its slice is over."""

    ends = 0.0


async def in_slices(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` gives, which calls `pause_if_due` again and again; the loop has its turn whenever it pauses.

    Nothing else runs in between but the loop's own work, in the same thread: `work` may read whatever the loop may, and
    finds it changed after a pause as after an `await`.
    """
    sliced = _Sliced(work)
    sliced.ends = spent() + _SLICE_SECONDS
    result = sliced.switch(*args, **kwargs)
    try:
        while not sliced.dead:
            await asyncio.sleep(0)
            sliced.ends = spent() + _SLICE_SECONDS
            result = sliced.switch()
    finally:
        if not sliced.dead:
            sliced.throw()  # whoever waited has given up
    given: T = result
    return given


def pause_if_due() -> None:
    """A place where work that runs in slices may pause; nothing anywhere else."""
    current = getcurrent()
    if isinstance(current, _Sliced) and spent() >= current.ends:
        assert current.parent is not None, "somebody waits for it"
        current.parent.switch()


class Turn:
    """A stretch of work on the loop: `if turn.is_over(): await turn.next()`."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends = spent() + _SLICE_SECONDS

    def is_over(self) -> bool:
        return spent() >= self._ends

    async def next(self) -> None:
        await asyncio.sleep(0)
        self._ends = spent() + _SLICE_SECONDS
