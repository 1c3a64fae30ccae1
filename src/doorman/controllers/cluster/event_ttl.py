"""event-ttl: an event goes an hour after it was last written.

In Kubernetes its storage forgets it; here it is deleted, so that whoever follows events sees it go. Everything is
looked at once a minute, because events are many and none is so urgent as to be worth a timer. What was written when is
told by revisions, which are noted at every look: no event need be decoded for it, but those from before the start.

    looks          10:00 @ 500    10:01 @ 730   ...   11:00: whatever was last written at 500 or before is an hour old

Keys: `sweep`, `event/<namespace>/<name>`.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from doorman.api.views.core import Event
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Delete
from doorman.client.controller_contract import DONE, Result, Retry, Source

NAME: Final = "event-ttl"
TTL_SECONDS: Final = 3600.0
SWEEP_SECONDS: Final = 60.0
WORKERS: Final = 4
ONCE: Final = Retry(attempts_max=1)
"""What could not be deleted is found again by the next sweep."""


class EventLog(Protocol):
    """Events and how old they are."""

    @property
    def revision(self) -> int:
        """Of the newest write to anything."""
        ...

    def until(self, revision: int) -> Iterable[str]:
        """Keys of those last written at that revision or before."""
        ...

    def get(self, key: str) -> Event | None: ...


def decide_expired(events: Iterable[Event], now: Instant) -> list[Event]:
    cutoff = to_time(now - TTL_SECONDS)[:19]
    return [event for event in events if event.written <= cutoff]


class EventTtlController:
    name = NAME
    sources: tuple[Source, ...] = ()
    workers = WORKERS

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._looks: deque[tuple[Instant, int]] = deque()
        """When, and at which revision: from the last one that is an hour past."""
        self._first = 0

    def start(self, now: Instant) -> Result:
        self._first = self._events.revision
        self._looks.append((now, self._first))
        return Result(wakes=(("sweep", now + SWEEP_SECONDS),))

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind == "event":
            return self._delete(rest)
        assert kind == "sweep", f"unknown key {key}"
        wakes = [(f"event/{key}", now) for key in self._expired(now)]
        self._looks.append((now, self._events.revision))
        return Result(wakes=[*wakes, ("sweep", now + SWEEP_SECONDS)])

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is gone, or was written again, or the next sweep finds it."""
        return

    def _expired(self, now: Instant) -> Iterable[str]:
        cutoff = now - TTL_SECONDS
        while len(self._looks) > 1 and self._looks[1][0] <= cutoff:
            self._looks.popleft()
        then, revision = self._looks[0]
        if then <= cutoff:
            return self._events.until(revision)
        # It is not an hour since the start: who is old was there before it, and says so.
        before = (self._events.get(key) for key in self._events.until(self._first))
        return [event.metadata.key for event in decide_expired((one for one in before if one is not None), now)]

    def _delete(self, key: str) -> Result:
        event = self._events.get(key)
        if event is None:
            return DONE
        meta = event.metadata
        delete = Delete(
            resource="events",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
        )
        return Result(actions=(delete,), retry=ONCE)
