"""event-ttl: an event goes an hour after it was last written.

In Kubernetes its storage forgets it; here it is deleted, so that whoever follows events sees it go. Everything is
looked at once a minute, because events are many and none is so urgent as to be worth a timer.

Keys: `sweep`, `event/<namespace>/<name>`.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.events import Event
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Delete
from doorman.client.controller import DONE, Result, Retry, Source
from doorman.client.informer import ListerOf

NAME: Final = "event-ttl"
TTL_SECONDS: Final = 3600.0
SWEEP_SECONDS: Final = 60.0
WORKERS: Final = 4
ONCE: Final = Retry(attempts_max=1)
"""What could not be deleted is found again by the next sweep."""


def decide_expired(events: Iterable[Event], now: Instant) -> list[Event]:
    cutoff = to_time(now - TTL_SECONDS)[:19]
    return [event for event in events if event.written <= cutoff]


class EventTtlController:
    name = NAME
    sources: tuple[Source, ...] = ()
    workers = WORKERS

    def __init__(self, events: ListerOf[Event]) -> None:
        self._events = events

    def start(self, now: Instant) -> Result:
        return Result(wakes=(("sweep", now + SWEEP_SECONDS),))

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind == "event":
            return self._delete(rest)
        assert kind == "sweep", f"unknown key {key}"
        wakes = [(f"event/{event.metadata.key}", now) for event in decide_expired(self._events.list(), now)]
        return Result(wakes=[*wakes, ("sweep", now + SWEEP_SECONDS)])

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is gone, or was written again, or the next sweep finds it."""
        return

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
