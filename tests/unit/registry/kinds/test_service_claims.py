"""Claims on addresses and node ports that several servers give out."""

import itertools
from typing import Any

import pytest

from doorman.api.identity import User
from doorman.api.kinds import Kind, builtin_kinds
from doorman.base.errors import ApiError, already_exists, not_found, timeout
from doorman.registry.caller import Caller
from doorman.registry.deletion import DeleteOptions
from doorman.registry.kinds.service_claims import NODE_PORTS_KEY, NodePortAllocation, ServiceClaims, bitmap_of
from doorman.registry.write_target import WriteTarget
from doorman.semantics.node_port_bitmap import PortBitmap
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, StoreEvent, Write

KIND = builtin_kinds().named("ipaddresses.networking.k8s.io")
CALLER = Caller(user=User(name="u"))


class Addresses:
    """IPAddresses as the registry has them."""

    def __init__(self) -> None:
        self.docs: dict[str, dict[str, Any]] = {}
        self.is_away = False

    def newest(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self.docs.get(name)

    async def create(self, kind: Kind, namespace: str, doc: dict[str, Any], caller: Caller) -> None:
        name = doc["metadata"]["name"]
        if name in self.docs:
            raise already_exists(kind.named, name)
        self.docs[name] = {**doc, "metadata": {**doc["metadata"], "uid": f"uid-{name}"}}

    async def delete(self, target: WriteTarget, options: DeleteOptions, caller: Caller) -> None:
        name = target.name
        if self.is_away:
            raise timeout("away")
        if name not in self.docs:
            raise not_found(target.kind.named, name)
        assert options.preconditions.uid == self.docs[name]["metadata"]["uid"]
        del self.docs[name]


def kept(bitmap: PortBitmap) -> bytes:
    return NodePortAllocation(MemoryStore(), lambda: "other").kept(bitmap)


class OvertakenStore(MemoryStore):
    """Somebody else is faster once: another server takes a port before each of our first writes."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[int] = []

    async def commit(self, write: Write) -> StoreEvent:
        if self.others:
            port, entry = self.others.pop(), self.peek(NODE_PORTS_KEY)
            assert entry is not None
            bitmap = PortBitmap(used=bitmap_of(entry).used | {port})
            await super().commit(Write(NODE_PORTS_KEY, kept(bitmap), entry.revision))
        return await super().commit(write)


class Server:
    def __init__(self) -> None:
        self.store = OvertakenStore()
        self.addresses = Addresses()
        numbers = itertools.count()
        self.ports = NodePortAllocation(self.store, lambda: f"uid-{next(numbers)}")
        self.claims = ServiceClaims(self.addresses, KIND, self.ports, CALLER)

    def used(self) -> set[int]:
        entry = self.store.peek(NODE_PORTS_KEY)
        return set(bitmap_of(entry).used) if entry is not None else set()


@pytest.fixture
async def server() -> Server:
    one = Server()
    await one.store.commit(Write(NODE_PORTS_KEY, kept(PortBitmap(used=frozenset({30001}))), ABSENT))
    return one


async def test_all_that_is_free_is_claimed(server: Server) -> None:
    assert await server.claims.claim("ns", "web", ["10.96.0.7", 30002, 30003]) == set()
    assert (set(server.addresses.docs), server.used()) == ({"10.96.0.7"}, {30001, 30002, 30003})
    assert server.addresses.docs["10.96.0.7"]["spec"]["parentRef"]["name"] == "web"
    assert server.claims.is_known("10.96.0.7")


@pytest.mark.parametrize(
    ("numbers", "refused"),
    [
        pytest.param(["10.96.0.9", 30001, 30002], {30001}, id="port-in-use"),
        pytest.param(["10.96.0.9", 80], {80}, id="port-out-of-range"),
        pytest.param(["10.96.0.1", 30002], {"10.96.0.1"}, id="address-in-use"),
    ],
)
async def test_nothing_is_claimed_when_one_is_refused(server: Server, numbers: list[Any], refused: set[Any]) -> None:
    await server.claims.claim("default", "kubernetes", ["10.96.0.1"])
    assert await server.claims.claim("ns", "web", numbers) == refused
    assert (set(server.addresses.docs), server.used()) == ({"10.96.0.1"}, {30001})


async def test_port_that_another_server_takes_meanwhile_is_refused(server: Server) -> None:
    server.store.others = [30005]
    assert await server.claims.claim("ns", "web", [30005]) == {30005}
    server.store.others = [30006]
    assert await server.claims.claim("ns", "web", [30007]) == set()
    assert server.used() == {30001, 30005, 30006, 30007}


async def test_same_bitmap_of_two_servers_differs(server: Server) -> None:
    await server.claims.claim("ns", "web", [30002])
    first = server.store.peek(NODE_PORTS_KEY)
    await server.claims.release("ns", "web", [30002])
    await server.claims.claim("ns", "web", [30002])
    second = server.store.peek(NODE_PORTS_KEY)
    assert first is not None
    assert second is not None
    assert first.value != second.value


async def test_what_is_given_back_is_free(server: Server) -> None:
    await server.claims.claim("ns", "web", ["10.96.0.7", 30002])
    await server.claims.release("ns", "other", ["10.96.0.7"])
    assert set(server.addresses.docs) == {"10.96.0.7"}, "it is not its own"
    await server.claims.release("ns", "web", ["10.96.0.7", 30002, 30009])
    assert (server.addresses.docs, server.used()) == ({}, {30001})


async def test_what_cannot_be_given_back_now_holds_up_nobody(server: Server) -> None:
    await server.claims.claim("ns", "web", ["10.96.0.7", 30002])
    server.addresses.is_away = True
    await server.claims.release("ns", "web", ["10.96.0.7", 30002])
    assert (set(server.addresses.docs), server.used()) == ({"10.96.0.7"}, {30001})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(None, "cannot allocate resources of type servicenodeportallocations at this time", id="absent"),
        pytest.param(b'"name":"n"},"range":"x"}', "cannot be read", id="no-range"),
        pytest.param(b"nonsense", "cannot be read", id="no-document"),
    ],
)
async def test_nobody_claims_a_port_without_a_bitmap(value: bytes | None, words: str) -> None:
    server = Server()
    if value is not None:
        await server.store.commit(Write(NODE_PORTS_KEY, value, 0))
    with pytest.raises(ApiError, match=words):
        await server.claims.claim("ns", "web", [30002])
