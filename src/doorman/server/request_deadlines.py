"""How long a request may take: a minute, or what it says with `?timeout=`; then it is answered 504 and left.

A timer for each request would cost more than most requests wait; those that say nothing share one (`CommonDelay`). What
a request had written when it was left may still become durable, as upstream.
"""

import asyncio
from typing import Final

from doorman.base.clock import CommonDelay
from doorman.base.durations import parse_duration
from doorman.base.errors import ApiError, bad_request, timeout

REQUEST_SECONDS_MAX: Final = 60.0
"""kube-apiserver's --request-timeout."""


class Deadline:
    """Of one request, in the task that handles it. Whoever had it begun calls `end`, however the request ends."""

    __slots__ = ("_common", "_handle", "_is_expired", "_number", "_task")

    def __init__(self, task: "asyncio.Task[object]") -> None:
        self._task = task
        self._handle: asyncio.TimerHandle | None = None
        self._common: CommonDelay | None = None
        self._number = 0
        self._is_expired = False

    def expire_in(self, seconds: float) -> None:
        self._handle = asyncio.get_running_loop().call_later(seconds, self._expire)

    def expire_with(self, common: CommonDelay) -> None:
        self._common, self._number = common, common.call(self._expire)

    def _expire(self) -> None:
        self._is_expired = True
        self._task.cancel()

    def end(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._common is not None:
            self._common.cancel(self._number)

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
        self._common = CommonDelay(seconds_max)

    def begin(self, query: str = "") -> Deadline:
        """For the task that runs. `query` is its `?timeout=`, or empty. Raises the 400 of one that cannot be read."""
        seconds = parse_timeout(query) if query else None
        task = asyncio.current_task()
        assert task is not None, "requests are handled in tasks"
        deadline = Deadline(task)
        if seconds is not None and 0 < seconds < self._seconds_max:
            deadline.expire_in(seconds)
        else:
            deadline.expire_with(self._common)
        return deadline


def parse_timeout(query: str) -> float:
    try:
        return parse_duration(query)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from error
