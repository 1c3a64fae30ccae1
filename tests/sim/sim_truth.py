"""What truly happened: every write in the order of revisions, as the store published it, over all lives of the server.

Whatever a client is told is compared with it. When a server opens the store, what it finds must be exactly what was
published before, and of what was still on its way the first so many writes: nothing published is lost, nothing that
was never taken is there.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable

import msgspec

from doorman.registry.cache.stored_object import AFTER_REVISION, ITEM_HEAD
from doorman.store.store_contract import Entry, Store, StoreEvent
from sim.sim_world import World


class TrueEvent(msgspec.Struct, frozen=True):
    revision: int
    key: str
    value: bytes | None
    """None: it was deleted."""
    previous: int
    """The revision of what was there before; 0: nothing."""


def token_of(value: bytes) -> str:
    """Of the kept bytes of a config map: who wrote it last, and which of his writes it was."""
    data = json.loads(ITEM_HEAD + b"0" + AFTER_REVISION + value).get("data") or {}
    return str(data.get("token", ""))


class Truth:
    def __init__(self, world: World) -> None:
        self._world = world
        self._store: Store | None = None
        self._in_flight: list[StoreEvent] = []
        self._unseen: list[StoreEvent] = []
        """What was on its way when a server died and was not found by the next."""
        self.revision = 0
        self.events: list[TrueEvent] = []
        self.by_revision: dict[int, TrueEvent] = {}
        self.by_key: dict[str, list[TrueEvent]] = {}
        self.current: dict[str, TrueEvent] = {}
        self._tokens: dict[str, int] = {}
        """What clients wrote, each time something else, and at which revision it is."""
        self.listeners: list[Callable[[TrueEvent], None]] = []
        self.opened = 0

    # The store's lives.

    def take_up(self, store: Store) -> None:
        """A server has opened the store."""
        self._world.note(f"the store opens at {store.revision}; {self.revision} was published")
        found = {entry.key: entry for entry in store.entries()}
        for event in self._taken_by(store, found):
            self._add(event)
        if self.revision != store.revision:
            self._world.fail(f"the store opens at revision {store.revision}, and {self.revision} was published")
        self._unseen = [event for event in self._in_flight if event.revision > store.revision] or self._unseen
        self._in_flight = []
        for key in sorted(found.keys() | self.current.keys()):
            entry, known = found.get(key), self.current.get(key)
            if entry is None:
                self._world.fail(f"{key} is lost: it was written at revision {known.revision if known else 0}")
            elif known is None:
                self._world.fail(f"{key} is there, at revision {entry.revision}, and was deleted or never written")
            elif (entry.revision, entry.value) != (known.revision, known.value):
                self._world.fail(
                    f"{key} is another: found {entry.revision} {entry.value!r}, known {known.revision} {known.value!r}"
                )
        self._store = store
        self.opened += 1
        store.add_waker(self._hear)

    def _taken_by(self, store: Store, found: dict[str, Entry]) -> list[StoreEvent]:
        """Of the writes that were on their way, those that the store holds. A disk that gave back less than there was
        may have hidden what was on its way before: then that is what it holds.
        """
        for candidates in (self._in_flight, self._unseen):
            taken = [event for event in candidates if self.revision < event.revision <= store.revision]
            newest = {event.key: event for event in taken}
            if all(found.get(key) == event.entry for key, event in newest.items()):
                return taken
        return []

    def server_died(self) -> None:
        if self._store is not None:
            self._hear()
            self._in_flight = list(self._store.pending())
            self._store = None

    def _hear(self) -> None:
        if self._store is None:
            return
        for event in self._store.events_after(self.revision):
            self._add(event)

    def _add(self, event: StoreEvent) -> None:
        if event.revision != self.revision + 1:
            self._world.fail(f"revision {event.revision} follows {self.revision}")
        before = self.current.get(event.key)
        if (before.revision if before is not None else 0) != (event.previous.revision if event.previous else 0):
            self._world.fail(f"revision {event.revision} of {event.key} was written upon another than the last")
        self.add(event.revision, event.key, event.entry.value if event.entry is not None else None)

    def add(self, revision: int, key: str, value: bytes | None) -> None:
        """Something was written. Only what goes with a lease of etcd goes at one revision with other keys."""
        before = self.current.get(key)
        true = TrueEvent(revision, key, value, before.revision if before else 0)
        self.revision = revision
        self.events.append(true)
        self.by_revision[true.revision] = true
        self.by_key.setdefault(true.key, []).append(true)
        if value is None:
            self.current.pop(true.key, None)
        else:
            self.current[true.key] = true
        if value is not None and true.key.startswith("configmaps/default/k"):
            self._check_token(true, value)
        for listener in self.listeners:
            listener(true)

    def _check_token(self, event: TrueEvent, value: bytes) -> None:
        """Every write of a client is done once."""
        token = token_of(value)
        first = self._tokens.setdefault(token, event.revision)
        if token and first != event.revision:
            self._world.fail(f"{token} was written at {first}, and again at {event.revision}")

    # Questions.

    def revision_of(self, token: str) -> int | None:
        """Where a write of a client was done; None: it was not."""
        return self._tokens.get(token)

    def at(self, key: str, revision: int) -> TrueEvent | None:
        """What the key held then; None: nothing."""
        events = self.by_key.get(key, [])
        place = bisect_right(events, revision, key=lambda event: event.revision)
        found = events[place - 1] if place else None
        return found if found is not None and found.value is not None else None

    def versions(self, key: str, first: int, last: int) -> Iterable[TrueEvent | None]:
        """What the key held at any revision from one to another."""
        yield self.at(key, first)
        for event in self.by_key.get(key, []):
            if first < event.revision <= last:
                yield event if event.value is not None else None

    def state(self, prefix: str, revision: int) -> dict[str, int]:
        """The revisions of all keys of a prefix, as it was then."""
        held = ((key, self.at(key, revision)) for key in self.by_key if key.startswith(prefix))
        return {key: event.revision for key, event in held if event is not None}

    def between(self, prefix: str, first: int, last: int) -> list[TrueEvent]:
        """Events of a prefix after one revision, up to another."""
        start = bisect_right(self.events, first, key=lambda event: event.revision)
        end = bisect_right(self.events, last, key=lambda event: event.revision)
        return [event for event in self.events[start:end] if event.key.startswith(prefix)]
