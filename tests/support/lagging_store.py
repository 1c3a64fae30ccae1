"""A store to which others write, and of which a server reads what they wrote no earlier than it must."""

from collections.abc import Sequence

from doorman.store.key_index import KeyIndex, KeyIndexReader
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import Entry, StoreEvent, Write


class LaggingStore(KeyIndexReader):
    def __init__(self, shared: MemoryStore) -> None:
        super().__init__(KeyIndex())
        self._shared = shared
        self._follow()

    @property
    def is_shared(self) -> bool:
        return True

    async def commit(self, write: Write) -> StoreEvent:
        try:
            return await self._shared.commit(write)
        finally:
            self._follow()  # whoever is told of a conflict is told what is there

    async def take(self, write: Write) -> StoreEvent:
        return await self.commit(write)

    async def commit_with(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
        event = await self._shared.commit_with(write, beside)
        self._follow()
        return event

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        return [await self.commit(write) for write in writes]

    async def catch_up(self) -> None:
        self._follow()

    async def refresh(self, key: str) -> Entry | None:
        self._follow()
        return self.peek(key)

    def _follow(self) -> None:
        self._index.follow(self._shared.events_after(self._index.revision), self._shared.revision)

    async def close(self) -> None:
        self._index.forget_wakers()
