"""Which flow's request begins next.

Seats say how many requests may be under way, and upstream's figures suit a server that runs many at once. Ours runs
one at a time: whoever begins a hundred together keeps everybody else waiting for all of them. So with each turn of the
event loop one request begins, and those that wait for their turn go by flows, one of each in order. The hundred wait
for each other, and another flow's request waits for one of them.

Rules
-----
1. A request begins at once when none has begun in this turn and nobody waits.
2. Else it waits behind the requests of its own flow.
3. Each turn one flow is served, the one that was served longest ago first.
"""

import asyncio
from collections import deque


class Turns:
    def __init__(self) -> None:
        self._flows: dict[str, deque[asyncio.Future[None]]] = {}
        """Those that wait, the flow whose turn is next first. None of them is empty."""
        self._is_taken = False

    def try_begin(self) -> bool:
        """Rule 1."""
        if self._is_taken:
            return False
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._turn)
        return True

    async def begin(self, flow: str) -> None:
        """Rule 1, or rule 2."""
        if self.try_begin():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._flows.setdefault(flow, deque()).append(waiter)
        await waiter

    def _turn(self) -> None:
        """Rule 3. Who has gone away meanwhile is passed over."""
        while self._flows:
            flow = next(iter(self._flows))
            waiting = self._flows.pop(flow)
            waiter = waiting.popleft()
            if waiting:
                self._flows[flow] = waiting
            if not waiter.done():
                waiter.set_result(None)
                asyncio.get_running_loop().call_soon(self._turn)
                return
        self._is_taken = False
