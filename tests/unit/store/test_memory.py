"""The memory store keeps the contract."""

import pytest

from conformance_store import StoreSuite
from doorman.store.ledger import Ledger
from doorman.store.memory import MemoryStore


class TestMemoryStore(StoreSuite):
    @pytest.fixture
    async def store(self) -> MemoryStore:
        return MemoryStore()

    @pytest.fixture
    async def small_history_store(self) -> MemoryStore:
        return MemoryStore(Ledger(history_events_max=4))
