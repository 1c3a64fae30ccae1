"""A store that forgets when the process ends: for tests, simulation and planning."""

from collections.abc import Callable, Iterator, Sequence

from doorman.store.contract import Entry, Event, Write
from doorman.store.ledger import Ledger


class MemoryStore:
    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()

    @property
    def revision(self) -> int:
        return self._ledger.revision

    def peek(self, key: str) -> Entry | None:
        return self._ledger.newest.get(key)

    def entries(self) -> Iterator[Entry]:
        return self._ledger.entries()

    def events_after(self, revision: int) -> Sequence[Event]:
        return self._ledger.events_after(revision)

    def add_waker(self, waker: Callable[[], None]) -> None:
        self._ledger.add_waker(waker)

    async def commit(self, write: Write) -> Event:
        event = self._ledger.append(write)
        self._ledger.publish((event,))
        return event

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[Event]:
        events = self._ledger.append_all(writes)
        self._ledger.publish(events)
        return events

    async def close(self) -> None:
        """Whoever followed hears no more; what was written can be opened again."""
        self._ledger.forget_wakers()
