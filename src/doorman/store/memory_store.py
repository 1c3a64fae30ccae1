"""A store that forgets when the process ends: for tests, simulation and planning."""

from collections.abc import Sequence

from doorman.store.key_index import KeyIndex, KeyIndexReader
from doorman.store.store_contract import StoreEvent, Write


class MemoryStore(KeyIndexReader):
    def __init__(self, index: KeyIndex | None = None) -> None:
        super().__init__(index or KeyIndex())

    async def commit(self, write: Write) -> StoreEvent:
        event = self._index.append(write)
        self._index.publish((event,))
        return event

    async def take(self, write: Write) -> StoreEvent:
        return await self.commit(write)

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        events = self._index.append_all(writes)
        self._index.publish(events)
        return events

    async def commit_with(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
        return (await self.commit_all((write, *beside)))[0]

    async def close(self) -> None:
        """Whoever followed hears no more; what was written can be opened again."""
        self._index.forget_wakers()
