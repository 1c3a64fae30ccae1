"""Which flow's request begins next.

Seats say how many requests may be under way, and upstream's figures suit a server that runs many at once. Ours runs
one at a time: whoever begins a hundred together keeps everybody else waiting for all of them, again when they are
written together, and once more when a hundred answers leave. So with each turn of the event loop one request begins,
and those that wait for their turn go by flows, one of each in order. And while several flows ask, none has more than a
few under way: the hundred wait for each other, and another flow's request waits for some of them.

Rules
-----
1. A request begins at once when none has begun in this turn and nobody waits whose flow may begin one.
2. Else it waits behind the requests of its own flow.
3. Each turn one flow is served, the one that was served longest ago first.
4. A flow is held back, unless it has been alone for a while, when so many of its requests are under way. One that takes
   longer than a moment does not count: it waits for something else than this server.
5. So many are three; and where a flow has everything under way that it asked for, as many as that has, or one: who asks
   for little waits for what has begun before it, and for hardly anything that begins after it.
"""

import asyncio
from collections import deque
from typing import Final

UNDER_WAY_MAX: Final = 3
MOMENT_SECONDS: Final = 0.02
ALONE_SECONDS_MIN: Final = 1.0
"""A flow is alone when no other has begun anything for so long, and at most twice as long."""


class Turns:
    def __init__(self) -> None:
        self._flows: dict[str, deque[asyncio.Future[None]]] = {}
        """Those that wait, the flow whose turn is next first. None of them is empty."""
        self._is_taken = False
        """Something has begun in this turn, or somebody may begin in the next."""
        self._begun: dict[str, deque[float]] = {}
        """By flow: when requests began in the last moment; of those that have ended the oldest are left out."""
        self._alarm: asyncio.TimerHandle | None = None
        self._active: set[str] = set()
        self._active_before: set[str] = set()
        """Flows of which something began in this stretch of time, and in the one before."""
        self._stretch_ends = 0.0

    def try_begin(self, flow: str) -> bool:
        """Rule 1."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._is_taken or flow in self._flows:
            return False
        if flow in self._begun and self._is_held_back(flow, now, self._under_way_max(now, flow)):
            return False
        self._is_taken = True
        self._note(flow, now)
        loop.call_soon(self._turn)
        return True

    async def begin(self, flow: str) -> None:
        """Rule 1, or rule 2."""
        if self.try_begin(flow):
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._flows.setdefault(flow, deque()).append(waiter)
        if not self._is_taken and self._alarm is None:
            self._alarm = loop.call_later(MOMENT_SECONDS, self._turn)
        await waiter

    def ended(self, flow: str) -> None:
        """A request of the flow has been answered."""
        begun = self._begun.get(flow)
        if begun is None:
            return
        begun.popleft()
        if not begun:
            del self._begun[flow]
        if self._flows and not self._is_taken:
            self._is_taken = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Rule 3. Who has gone away meanwhile is passed over."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._is_taken = False
        under_way_max = self._under_way_max(now) if self._flows else 0
        for flow in list(self._flows):
            if self._is_held_back(flow, now, under_way_max):
                continue
            waiting = self._flows.pop(flow)
            while waiting:
                waiter = waiting.popleft()
                if not waiter.done():
                    break
            else:
                continue
            if waiting:
                self._flows[flow] = waiting
            self._is_taken = True
            self._note(flow, now)
            waiter.set_result(None)
            loop.call_soon(self._turn)
            return
        if self._flows:
            self._alarm = loop.call_later(MOMENT_SECONDS, self._turn)

    def _is_held_back(self, flow: str, now: float, under_way_max: int) -> bool:
        """Rule 4."""
        begun = self._begun.get(flow)
        if begun is None or len(begun) < under_way_max:
            return False
        while begun and begun[0] < now - MOMENT_SECONDS:
            begun.popleft()
        if not begun:
            del self._begun[flow]
        return len(begun) >= under_way_max and not self._is_alone(flow, now)

    def _under_way_max(self, now: float, flow: str = "") -> int:
        """Rule 5, for a flow that asks, or for those that wait."""
        since, found = now - MOMENT_SECONDS, UNDER_WAY_MAX
        for other, begun in self._begun.items():
            if len(begun) < found and other != flow and other not in self._flows and begun[-1] >= since:
                found = len(begun)
        return found

    def _is_alone(self, flow: str, now: float) -> bool:
        self._pass_time(now)
        return not (self._active - {flow} or self._active_before - {flow})

    def _note(self, flow: str, now: float) -> None:
        self._pass_time(now)
        self._active.add(flow)
        self._begun.setdefault(flow, deque()).append(now)

    def _pass_time(self, now: float) -> None:
        if now >= self._stretch_ends:
            is_next = now < self._stretch_ends + ALONE_SECONDS_MIN
            self._active_before, self._active = (self._active if is_next else set()), set()
            self._stretch_ends = now + ALONE_SECONDS_MIN
            # Requests that were refused a seat, or given up, end without a word.
            self._begun = {flow: begun for flow, begun in self._begun.items() if begun[-1] >= now - MOMENT_SECONDS}
