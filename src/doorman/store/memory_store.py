"""A store that forgets when the process ends: for tests, simulation and planning."""

from collections.abc import Sequence

from doorman.store.key_index import KeyIndex, KeyIndexReader
from doorman.store.store_contract import StoreEvent, Write


class MemoryStore(KeyIndexReader):
    def __init__(self, ledger: KeyIndex | None = None) -> None:
        super().__init__(ledger or KeyIndex())

    async def commit(self, write: Write) -> StoreEvent:
        return self.take(write)

    def take(self, write: Write) -> StoreEvent:
        event = self._ledger.append(write)
        self._ledger.publish((event,))
        return event

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        events = self._ledger.append_all(writes)
        self._ledger.publish(events)
        return events

    async def close(self) -> None:
        """Whoever followed hears no more; what was written can be opened again."""
        self._ledger.forget_wakers()
