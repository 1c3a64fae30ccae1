"""When a cluster is idle: nothing has changed for a while, and everything that was waited for has come.

Leases, events and what nodes report of themselves without a change are routine. A change restarts the wait. When it is
over, the controllers' wakes that are pending then (an eviction in an hour, a taint that expires) are waited for, too.
"""

from collections.abc import Callable
from typing import Any, Final

from doorman.base.clock import Clock, Instant
from doorman.registry.cache.stored_object import Unreadable, unstored
from doorman.store.store_contract import Entry, Store, StoreEvent

QUIET_SECONDS: Final = 600.0
_ROUTINE: Final = ("leases.coordination.k8s.io/", "events/", "events.events.k8s.io/")
_NODES: Final = "nodes/"
_REPORTED: Final = ("lastHeartbeatTime",)


class QuietTime:
    def __init__(self, store: Store, clock: Clock, last_wake: Callable[[], Instant]) -> None:
        self._store = store
        self._clock = clock
        self._last_wake = last_wake
        self._revision = store.revision
        self.changed_at = clock.now()
        """When something changed last."""
        self._waited_for: Instant | None = None
        store.add_waker(self._look)

    def is_idle(self, quiet_seconds: float = QUIET_SECONDS) -> bool:
        now = self._clock.now()
        if now < self.changed_at + quiet_seconds:
            return False
        if self._waited_for is None:
            self._waited_for = self._last_wake()
        return now >= self._waited_for

    def _look(self) -> None:
        events = self._store.events_after(self._revision)
        self._revision = self._store.revision
        if any(is_change(event) for event in events):
            self.changed_at, self._waited_for = self._clock.now(), None


def is_change(event: StoreEvent) -> bool:
    """Whether more than routine."""
    if event.key.startswith(_ROUTINE):
        return False
    if event.key.startswith(_NODES) and event.entry is not None and event.previous is not None:
        return bool(_lasting(event.entry) != _lasting(event.previous))
    return True


def _lasting(entry: Entry) -> Any:  # JSON without what a node says again and again
    try:
        node = unstored(entry.value, entry.key, 1).document()
        metadata = {name: value for name, value in node["metadata"].items() if name != "managedFields"}
        status = dict(node.get("status") or {})
        status["conditions"] = [
            {name: value for name, value in condition.items() if name not in _REPORTED}
            for condition in status.get("conditions") or ()
        ]
    except (Unreadable, KeyError, TypeError, AttributeError, ValueError):
        return entry.value
    return {**node, "metadata": metadata, "status": status}
