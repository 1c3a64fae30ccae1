"""Room in quotas that others give out as well: counted upon the newest, and written with the quota."""

import asyncio
from typing import Any

import msgspec
import pytest

from doorman.api.views.view_types import VIEWS
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.kinds.quota_claims import QuotaClaims, QuotaUsed
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Entry, Write

KEY = "resourcequotas/ns/q"


def quota(**status: Any) -> bytes:
    doc = {"metadata": {"namespace": "ns", "name": "q", "uid": "u"}, "spec": {"hard": {"pods": "5", "services": "2"}}}
    return to_kept_bytes({**doc, "status": status} if status else doc)


class BehindStore(MemoryStore):
    """Somebody else has written what is not published here until it catches up."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, Entry | None] = {}
        self.caught_up = 0

    def peek(self, key: str) -> Entry | None:
        return self.told[key] if key in self.told else super().peek(key)

    async def catch_up(self) -> None:
        self.caught_up += 1
        told, self.told = self.told, {}
        for key, entry in told.items():
            before = super().peek(key)
            assert before is not None
            await self.commit(Write(key, entry.value if entry is not None else None, before.revision))


def claims_of(store: MemoryStore) -> QuotaClaims:
    return QuotaClaims(store, WatchCache(store, VIEWS))


def decoded(write: Write) -> Any:
    assert write.value is not None
    return msgspec.json.decode(b'{"metadata":{' + write.value)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(
            {"hard": {"pods": "5"}, "used": {"pods": "3", "services": "1"}},
            {"hard": {"pods": "5"}, "used": {"pods": "4", "services": "1"}},
            id="reported-on",
        ),
        pytest.param({"used": {"services": "1"}}, {"used": {"services": "1"}}, id="not-of-this"),
        pytest.param({}, None, id="never"),
    ],
)
async def test_quota_is_written_with_what_is_used(status: Any, expected: Any) -> None:
    store = MemoryStore()
    event = await store.commit(Write(KEY, quota(**status), ABSENT))
    async with claims_of(store).claim("ns", lambda: {"q": {"pods": "4"}}) as beside:
        (write,) = beside
    assert (write.key, write.expected) == (KEY, event.revision)
    assert decoded(write).get("status") == expected
    assert decoded(write)["metadata"] == {"namespace": "ns", "name": "q", "uid": "u"}


async def test_only_namespaces_with_quotas_have_any() -> None:
    store = MemoryStore()
    await store.commit(Write(KEY, quota(), ABSENT))
    claims = claims_of(store)
    assert [claims.has_quotas(namespace) for namespace in ("ns", "n", "nsx", "")] == [True, False, False, False]


@pytest.mark.parametrize("is_gone", [False, True])
async def test_nothing_is_counted_before_what_others_took_is_known(is_gone: bool) -> None:
    store = BehindStore()
    first = await store.commit(Write(KEY, quota(), ABSENT))
    claims = claims_of(store)
    store.told[KEY] = None if is_gone else Entry(KEY, quota(used={"pods": "3"}), first.revision + 1, first.revision)
    seen: list[int] = []

    def limit() -> QuotaUsed:
        seen.append(store.revision)
        return {} if is_gone else {"q": {"pods": "4"}}

    async with claims.claim("ns", limit) as beside:
        assert [decoded(write)["status"] for write in beside] == ([] if is_gone else [{"used": {"pods": "4"}}])
    assert (seen, store.caught_up) == ([first.revision + 1], 1)


async def test_who_takes_room_in_one_namespace_does_so_one_after_the_other() -> None:
    store = MemoryStore()
    await store.commit(Write(KEY, quota(), ABSENT))
    await store.commit(Write("resourcequotas/other/q", quota(), ABSENT))
    claims, steps = claims_of(store), list[str]()
    first_may_end = asyncio.Event()

    async def take(name: str, namespace: str, may_end: asyncio.Event | None = None) -> None:
        async with claims.claim(namespace, dict):
            steps.append(f"{name} begins")
            if may_end is not None:
                await may_end.wait()
            steps.append(f"{name} ends")

    first = asyncio.create_task(take("first", "ns", first_may_end))
    second = asyncio.create_task(take("second", "ns"))
    await asyncio.create_task(take("elsewhere", "other"))
    first_may_end.set()
    await asyncio.gather(first, second)
    assert steps == ["first begins", "elsewhere begins", "elsewhere ends", "first ends", "second begins", "second ends"]


async def test_refusal_gives_the_turn_back() -> None:
    store = MemoryStore()
    await store.commit(Write(KEY, quota(), ABSENT))
    claims = claims_of(store)

    def refuse() -> QuotaUsed:
        raise ValueError("no room")

    for _ in range(2):
        with pytest.raises(ValueError, match="no room"):
            async with claims.claim("ns", refuse):
                pass
