"""How long a request may take: a minute, or what it says with `?timeout=`; then it is answered 504 and left.

A timer for each request would cost more than most requests wait. Those that say nothing have the same length, so their
deadlines come in the order in which they began, and one timer is enough for all of them; in a quiet server it is
set once a minute. What a request had written when it was left may still become durable, as upstream.
"""

import asyncio
from typing import Final

from doorman.base.durations import parse_duration
from doorman.base.errors import ApiError, bad_request, timeout

REQUEST_SECONDS_MAX: Final = 60.0
"""kube-apiserver's --request-timeout."""


class Deadline:
    """Of one request, in the task that handles it. Whoever had it begun calls `end`, however the request ends."""

    __slots__ = ("_deadlines", "_handle", "_is_expired", "_task", "due")

    def __init__(self, deadlines: "Deadlines", task: "asyncio.Task[object]", due: float) -> None:
        self._deadlines = deadlines
        self._task = task
        self._handle: asyncio.TimerHandle | None = None
        self._is_expired = False
        self.due = due

    def expire_in(self, seconds: float) -> None:
        self._handle = asyncio.get_running_loop().call_later(seconds, self.expire)

    def expire(self) -> None:
        self._is_expired = True
        self._task.cancel()

    def end(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._deadlines.forget(self)

    def timeout_error(self) -> ApiError | None:
        """Why the task was cancelled, if it was for the time: the task goes on from there."""
        if not self._is_expired:
            return None
        self._is_expired = False
        self._task.uncancel()
        return timeout("request did not complete within requested timeout - context deadline exceeded")


class Deadlines:
    def __init__(self, seconds_max: float = REQUEST_SECONDS_MAX) -> None:
        self._seconds_max = seconds_max
        self._open: dict[int, Deadline] = {}
        """Those that said nothing, the first due first."""
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, query: str) -> Deadline:
        """For the task that runs. `query` is its `?timeout=`, or empty. Raises the 400 of one that cannot be read."""
        seconds = parse_timeout(query) if query else None
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None, "requests are handled in tasks"
        if seconds is not None and 0 < seconds < self._seconds_max:
            deadline = Deadline(self, task, loop.time() + seconds)
            deadline.expire_in(seconds)
            return deadline
        deadline = Deadline(self, task, loop.time() + self._seconds_max)
        self._open[id(deadline)] = deadline
        if self._timer is None:
            self._timer = loop.call_later(self._seconds_max, self._expire)
        return deadline

    def forget(self, deadline: Deadline) -> None:
        self._open.pop(id(deadline), None)

    def _expire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._open:
            key, first = next(iter(self._open.items()))
            if first.due > loop.time():
                self._timer = loop.call_at(first.due, self._expire)
                return
            del self._open[key]
            first.expire()


def parse_timeout(query: str) -> float:
    try:
        return parse_duration(query)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from error
