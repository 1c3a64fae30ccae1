"""How many requests are worked on at once: few enough to answer each soon, shared fairly between users.

There are two lanes, for requests that write and for those that read. A lane has so many places; who finds none waits,
and a place that comes free goes to the next user in turn, not to whoever asked most. Who would wait too long, or in
too long a line, is told to come back: 429 with Retry-After. Watches have no place in a lane, but a user may only have
so many. Masters are never made to wait, so that somebody can always look what is going on.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from doorman.api.identity import MASTERS, User
from doorman.base.errors import ApiError, too_many_requests
from doorman.server.request import EventStream, RequestInfo

MUTATING_MAX: Final = 200
READ_ONLY_MAX: Final = 400
WAITING_MAX: Final = 4000
WAITING_PER_USER_MAX: Final = 500
WAIT_SECONDS_MAX: Final = 15.0
WATCHES_PER_USER_MAX: Final = 2000
RETRY_AFTER_SECONDS: Final = 1

_WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_PROBES: Final = frozenset(("/healthz", "/livez", "/readyz"))


class Lane:
    """So many places, and users who wait for one in turn."""

    __slots__ = ("_queues", "_turns", "places", "running", "waiting")

    def __init__(self, places: int) -> None:
        self.places = places
        self.running = 0
        self.waiting = 0
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        self._turns: deque[str] = deque()
        """Users with somebody waiting, each once, the next in turn first."""

    def try_enter(self) -> bool:
        # A place that comes free is handed on at once: while anybody waits there is none.
        if self.running < self.places:
            self.running += 1
            return True
        return False

    def leave(self) -> None:
        while self._turns:
            user = self._turns.popleft()
            queue = self._queues[user]
            waiter = queue.popleft()
            self.waiting -= 1
            if queue:
                self._turns.append(user)
            else:
                del self._queues[user]
            if not waiter.done():
                waiter.set_result(None)
                return
        self.running -= 1
        assert self.running >= 0, "somebody left who never came in"

    async def wait(self, user: str) -> None:
        """Until it is this user's turn. Raises the 429 when that takes too long."""
        queue = self._queues.get(user)
        if self.waiting >= WAITING_MAX or (queue is not None and len(queue) >= WAITING_PER_USER_MAX):
            raise refused()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if queue is None:
            queue = self._queues[user] = deque()
            self._turns.append(user)
        queue.append(waiter)
        self.waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await waiter
        except TimeoutError:
            self._give_back(user, waiter)
            raise refused() from None
        except asyncio.CancelledError:
            self._give_back(user, waiter)
            raise

    def _give_back(self, user: str, waiter: "asyncio.Future[None]") -> None:
        """Out of the line, or, when the turn had just come, on to the next."""
        if waiter.done() and not waiter.cancelled():
            self.leave()
            return
        queue = self._queues.get(user)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            self.waiting -= 1
            if not queue:
                del self._queues[user]
                self._turns.remove(user)


class FlowControl:
    def __init__(self, *, mutating_max: int = MUTATING_MAX, read_only_max: int = READ_ONLY_MAX) -> None:
        self.mutating = Lane(mutating_max)
        self.read_only = Lane(read_only_max)
        self._watches: dict[str, int] = {}

    def lane_of(self, user: User, info: RequestInfo) -> Lane | None:
        """None: goes ahead whatever is going on."""
        verb = info.verb
        if verb == "watch" or MASTERS in user.groups or (not info.is_resource and info.path in _PROBES):
            return None
        return self.mutating if verb in _WRITES else self.read_only

    def counted(self, user: User, stream: EventStream) -> EventStream:
        """The same stream, counted until it ends."""
        count = self._watches.get(user.name, 0)
        if count >= WATCHES_PER_USER_MAX and MASTERS not in user.groups:
            stream.close()
            raise refused()
        self._watches[user.name] = count + 1
        return _CountedStream(stream, self, user.name)

    @property
    def watches(self) -> int:
        """All that are open."""
        return sum(self._watches.values())

    def watches_of(self, name: str) -> int:
        return self._watches.get(name, 0)

    def watch_ended(self, name: str) -> None:
        left = self._watches[name] - 1
        if left:
            self._watches[name] = left
        else:
            del self._watches[name]


class _CountedStream:
    __slots__ = ("_flow", "_is_counted", "_stream", "_user")

    def __init__(self, stream: EventStream, flow: FlowControl, user: str) -> None:
        self._stream = stream
        self._flow = flow
        self._user = user
        self._is_counted = True

    def lines(self) -> AsyncIterator[bytes]:
        return self._stream.lines()

    def close(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._flow.watch_ended(self._user)
        self._stream.close()


def refused() -> ApiError:
    return too_many_requests("Too many requests, please try again later.", retry_after_seconds=RETRY_AFTER_SECONDS)
