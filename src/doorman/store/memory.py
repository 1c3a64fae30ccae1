"""A store that forgets when the process ends: for tests, simulation and planning."""

from collections.abc import Sequence

from doorman.store.contract import Event, Write
from doorman.store.ledger import Ledger, LedgerReader


class MemoryStore(LedgerReader):
    def __init__(self, ledger: Ledger | None = None) -> None:
        super().__init__(ledger or Ledger())

    async def commit(self, write: Write) -> Event:
        return self.take(write)

    def take(self, write: Write) -> Event:
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
