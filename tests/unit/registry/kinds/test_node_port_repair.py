"""The bitmap of node ports is kept in step with the services."""

import asyncio

import pytest

from doorman.api.views.view_types import VIEWS
from doorman.base.clock import ManualClock
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.kinds.node_port_repair import PERIOD_SECONDS, NodePortRepair
from doorman.registry.kinds.service_claims import NODE_PORTS_KEY, NodePortAllocation, bitmap_of
from doorman.runtime.virtual_time import VirtualLoop
from doorman.semantics.node_port_bitmap import PortBitmap
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Entry, StoreEvent, Write

SERVICE = "services/ns/web"


def kept(bitmap: PortBitmap) -> bytes:
    return NodePortAllocation(MemoryStore(), lambda: "other").kept(bitmap)


class Cluster:
    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.ports = NodePortAllocation(self.store, lambda: "uid")
        cache = WatchCache(self.store, VIEWS)
        self.repair = NodePortRepair(self.store, cache.collection("services"), self.ports)

    async def add_service(self, port: int) -> None:
        doc = {"metadata": {"name": "web", "uid": "u"}, "spec": {"type": "NodePort", "ports": [{"nodePort": port}]}}
        await self.store.commit(Write(SERVICE, to_kept_bytes(doc), 0))

    def used(self) -> set[int]:
        entry = self.store.peek(NODE_PORTS_KEY)
        assert entry is not None
        return set(bitmap_of(entry).used)


async def test_missing_bitmap_is_made_from_the_services() -> None:
    cluster = Cluster()
    await cluster.add_service(30005)
    await cluster.repair.run_once()
    assert cluster.used() == {30005}


async def test_nothing_is_written_when_all_is_well() -> None:
    cluster = Cluster()
    await cluster.repair.run_once()
    before = cluster.store.revision
    await cluster.repair.run_once()
    assert cluster.store.revision == before


async def test_port_that_was_leaked_is_freed_at_the_third_time() -> None:
    cluster = Cluster()
    await cluster.store.commit(Write(NODE_PORTS_KEY, kept(PortBitmap(used=frozenset({30007}))), ABSENT))
    await cluster.repair.run_once()
    await cluster.repair.run_once()
    assert cluster.used() == {30007}, "its service may be on its way"
    await cluster.repair.run_once()
    assert cluster.used() == set()


async def test_service_that_cannot_be_read_stops_nobody() -> None:
    cluster = Cluster()
    await cluster.store.commit(Write(SERVICE, b"nonsense", 0))
    await cluster.repair.run_once()
    assert cluster.used() == set()


class OvertakenStore(MemoryStore):
    """Another server claims a port between what the repair reads and what it writes."""

    is_overtaken = False

    async def refresh(self, key: str) -> Entry | None:
        return self.peek(key)

    async def commit(self, write: Write) -> StoreEvent:
        if self.is_overtaken:
            self.is_overtaken = False
            entry = self.peek(NODE_PORTS_KEY)
            assert entry is not None
            others = PortBitmap(used=bitmap_of(entry).used | {30009})
            await super().commit(Write(NODE_PORTS_KEY, kept(others), entry.revision))
        return await super().commit(write)


async def test_claim_of_another_server_meanwhile_is_not_lost() -> None:
    store = OvertakenStore()
    cluster = Cluster(store)
    await cluster.repair.run_once()
    await cluster.add_service(30005)
    store.is_overtaken = True
    await cluster.repair.run_once()
    assert cluster.used() == {30005, 30009}


def test_repair_runs_every_three_minutes() -> None:
    async def story() -> None:
        cluster = Cluster()
        running = asyncio.create_task(cluster.repair.run())
        await asyncio.sleep(PERIOD_SECONDS - 1)
        assert cluster.store.peek(NODE_PORTS_KEY) is None
        await asyncio.sleep(2)
        assert cluster.used() == set()
        await cluster.store.commit(Write(NODE_PORTS_KEY, b"nonsense", cluster.store.revision))
        await asyncio.sleep(PERIOD_SECONDS)
        assert not running.done(), "what cannot be read is told, and the rest goes on"
        running.cancel()

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(ManualClock(0.0))) as runner:
        runner.run(story())


@pytest.mark.parametrize("port", [80, 40000])
async def test_port_out_of_range_is_left_out(port: int) -> None:
    cluster = Cluster()
    await cluster.add_service(port)
    await cluster.repair.run_once()
    assert cluster.used() == set()
