"""The memory store keeps the contract."""

import pytest

from conformance_store import LocalStoreSuite
from doorman.store.key_index import KeyIndex
from doorman.store.memory_store import MemoryStore


class TestMemoryStore(LocalStoreSuite):
    @pytest.fixture
    async def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    async def small_history_store(self) -> MemoryStore:
        return MemoryStore(KeyIndex(history_events_max=4))
