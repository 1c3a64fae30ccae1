"""One priority level: so many seats, and queues of those who wait for one.

Rules
-----
1. A request takes a seat when one is free and nobody waits; else it waits in a queue, or is refused where the level
   says `Reject`, or its queue is as long as it may be.
2. Each flow has a hand of queues, dealt by its name, and joins the shortest of them. So one flow that asks for too much
   fills its own hand only, and shares few queues with any other.
3. A seat that comes free goes to the queue that has had the least, counted in seats since it was last empty.
4. Seats that a level has lent may be taken by others, as long as it does not need them; see `FlowControl`.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from typing import Final

from doorman.base.errors import ApiError, too_many_requests

WAIT_SECONDS_MAX: Final = 15.0
RETRY_AFTER_SECONDS: Final = 1
MAY_NOT: Final[Callable[["PriorityLevel"], bool]] = lambda _: False  # noqa: E731  it is said where it is needed


class _Queue:
    __slots__ = ("served", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.served = 0.0
        """Rule 3, on a scale that all queues of the level share."""


class PriorityLevel:
    def __init__(
        self,
        name: str,
        seats: int,
        *,
        lendable: int = 0,
        borrowable: int | None = None,
        queues: int = 0,
        hand_size: int = 1,
        queue_length_max: int = 0,
    ) -> None:
        """Without queues nobody waits. `borrowable` is how many seats it may take beyond its own; None: any number."""
        self.name = name
        self.seats = seats
        self.lendable = lendable
        self.borrowable = borrowable
        self.running = 0
        self.waiting = 0
        self.rejected: dict[str, int] = {}
        self.dispatched = 0
        self._queues = [_Queue() for _ in range(queues)]
        self._hand_size = hand_size
        self._queue_length_max = queue_length_max
        self._served = 0.0
        """Of the queue that was served last."""

    def reconfigured(self, wanted: "PriorityLevel") -> "PriorityLevel":
        """The same level with other numbers. Who waits goes on waiting, unless there are other queues: then all of them
        are told to come back.
        """
        self.seats, self.lendable, self.borrowable = wanted.seats, wanted.lendable, wanted.borrowable
        self._hand_size, self._queue_length_max = wanted._hand_size, wanted._queue_length_max
        if len(self._queues) != len(wanted._queues):
            for queue in self._queues:
                while queue.waiting:
                    waiter = queue.waiting.popleft()
                    self.waiting -= 1
                    if not waiter.done():
                        waiter.set_exception(self._refusal("queue-full"))
            self._queues = wanted._queues
        while self.running < self.seats and self.hand_on():
            pass
        return self

    @property
    def borrowed(self) -> int:
        return max(self.running - self.seats, 0)

    @property
    def lent_out_at_most(self) -> int:
        """Seats that others may have of it now."""
        return max(min(self.lendable, self.seats - self.running), 0)

    def try_enter(self, may_borrow: Callable[["PriorityLevel"], bool] = MAY_NOT) -> bool:
        """Rule 1, but for those who wait."""
        if self.waiting or (self.running >= self.seats and not may_borrow(self)):
            return False
        self.running += 1
        self.dispatched += 1
        return True

    async def wait(self, flow: str) -> None:
        """Until there is a seat. Raises the 429."""
        if not self._queues:
            raise self._refusal("concurrency-limit")
        queue = min((self._queues[number] for number in self.hand_of(flow)), key=lambda one: len(one.waiting))
        if len(queue.waiting) >= self._queue_length_max:
            raise self._refusal("queue-full")
        if not queue.waiting:
            queue.served = max(queue.served, self._served)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.waiting.append(waiter)
        self.waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await waiter
        except (TimeoutError, asyncio.CancelledError) as error:
            self._give_back(queue, waiter)
            if isinstance(error, TimeoutError):
                raise self._refusal("time-out") from None
            raise

    def leave(self) -> None:
        """The seat is free, and goes to whoever waits here."""
        assert self.running > 0, "somebody left who never came in"
        self.running -= 1
        if self.running < self.seats:
            self.hand_on()

    def hand_on(self) -> bool:
        """Rule 3: give a seat to the next in line, if there is one."""
        while self.waiting:
            queue = min((one for one in self._queues if one.waiting), key=lambda one: one.served)
            waiter = queue.waiting.popleft()
            self.waiting -= 1
            if not waiter.done():
                queue.served += 1.0
                self._served = queue.served
                self.running += 1
                self.dispatched += 1
                waiter.set_result(None)
                return True
        return False

    def hand_of(self, flow: str) -> list[int]:
        """Rule 2: the numbers of its queues, all different."""
        value = int.from_bytes(hashlib.blake2b(f"{self.name}/{flow}".encode(), digest_size=16).digest(), "big")
        left = list(range(len(self._queues)))
        hand = []
        for _ in range(min(self._hand_size, len(left))):
            value, card = divmod(value, len(left))
            hand.append(left.pop(card))
        return hand

    def _give_back(self, queue: _Queue, waiter: "asyncio.Future[None]") -> None:
        """Out of the line, or, when the seat had just come, on to the next."""
        if waiter.done() and not waiter.cancelled():
            self.leave()
        elif waiter in queue.waiting:
            queue.waiting.remove(waiter)
            self.waiting -= 1

    def _refusal(self, reason: str) -> ApiError:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        return refused()


def refused() -> ApiError:
    return too_many_requests("Too many requests, please try again later.", retry_after_seconds=RETRY_AFTER_SECONDS)
