"""The store on a real etcd: the contract, what others write, compaction, leases."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance_store import StoreSuite
from doorman.base.clock import CommonDelay, ManualClock
from doorman.base.errors import ApiError
from doorman.store.etcd.etcd_client import EtcdClient, EtcdError
from doorman.store.etcd.etcd_leases import EtcdLeases
from doorman.store.etcd.etcd_messages import MESSAGES
from doorman.store.etcd.etcd_store import EtcdStore, ObjectCodec
from doorman.store.store_contract import ABSENT, Conflict, Write
from support.etcd import EtcdMember, free_ports

_prefixes = itertools.count()


class PlainCodec:
    """Keys and values as they are; what begins with `unknown` is of no kind."""

    first = "definitions/"

    def to_etcd_key(self, key: str) -> str:
        return key

    def from_etcd_key(self, key: str) -> str | None:
        return None if key.startswith("unknown") else key

    def to_value(self, key: str, kept: bytes) -> bytes:
        return b"value:" + kept

    def to_kept(self, key: str, value: bytes) -> bytes:
        return value.removeprefix(b"value:")

    def seconds_to_live(self, key: str) -> int:
        return 3600 if key.startswith("events/") else 0


async def opened(member: EtcdMember, prefix: str, codec: ObjectCodec | None = None) -> EtcdStore:
    client = EtcdClient([member.url])
    return await EtcdStore.open(client, codec or PlainCodec(), prefix, EtcdLeases(client, ManualClock(0.0)))


@pytest.fixture
def prefix() -> str:
    return f"/test-{next(_prefixes)}"


@pytest.fixture
async def store(member: EtcdMember, prefix: str) -> AsyncIterator[EtcdStore]:
    one = await opened(member, prefix)
    yield one
    await one.close()


@pytest.fixture
async def other(member: EtcdMember, prefix: str) -> AsyncIterator[EtcdStore]:
    one = await opened(member, prefix)
    yield one
    await one.close()


@pytest.fixture
async def client(member: EtcdMember) -> AsyncIterator[EtcdClient]:
    one = EtcdClient([member.url])
    yield one
    await one.close()


class TestEtcdStore(StoreSuite):
    @pytest.fixture
    async def small_history_store(self, store: EtcdStore) -> EtcdStore:
        store._index._history_events_max = 4
        return store


async def test_what_others_write_is_read_when_it_is_asked_for(store: EtcdStore, other: EtcdStore) -> None:
    event = await other.commit(Write("pods/a", b"1", ABSENT))
    await store.catch_up()
    assert store.peek("pods/a") == event.entry
    assert [one.key for one in store.events_after(event.revision - 1)] == ["pods/a"]


async def test_writer_who_was_behind_is_told_what_is_there(store: EtcdStore, other: EtcdStore) -> None:
    first = await other.commit(Write("pods/a", b"1", ABSENT))
    with pytest.raises(Conflict) as lost:
        await store.commit(Write("pods/a", b"2", ABSENT))
    assert lost.value.current == first.entry
    assert store.peek("pods/a") == first.entry, "the next attempt begins there"
    second = await store.commit(Write("pods/a", b"2", first.revision))
    await other.catch_up()
    assert other.peek("pods/a") == second.entry


async def test_two_who_write_one_key_at_once_do_so_one_after_the_other(store: EtcdStore, other: EtcdStore) -> None:
    async def count(one: EtcdStore) -> None:
        for _ in range(25):
            while True:
                entry = one.peek("pods/n")
                number = int(entry.value) if entry is not None else 0
                write = Write("pods/n", str(number + 1).encode(), entry.revision if entry is not None else ABSENT)
                try:
                    await one.commit(write)
                except Conflict:
                    continue
                break

    await asyncio.gather(count(store), count(store), count(other), count(other))
    found = await store.refresh("pods/n")
    assert found is not None
    assert found.value == b"100"


async def test_reopened_store_has_everything(member: EtcdMember, store: EtcdStore, prefix: str) -> None:
    for name in ("pods/b", "pods/a", "definitions/d"):
        await store.commit(Write(name, b"1", ABSENT))
    again = await opened(member, prefix)
    assert [entry.key for entry in again.entries()] == ["definitions/d", "pods/a", "pods/b"]
    assert list(again.entries()) == list(store.entries())
    await again.close()


async def test_revisions_of_others_are_no_reason_to_wait(store: EtcdStore, client: EtcdClient, prefix: str) -> None:
    await client.swap(b"elsewhere" + prefix.encode(), b"x", 0)
    await client.swap(f"{prefix}/unknown/x".encode(), b"x", 0)
    await store.catch_up()
    assert list(store.entries()) == []
    await store.commit(Write("pods/a", b"1", ABSENT))
    await client.swap(b"elsewhere-too" + prefix.encode(), b"x", 0)
    await store.catch_up()
    assert len(list(store.entries())) == 1


async def test_everything_is_read_anew_when_etcd_has_forgotten_what_came_between(
    store: EtcdStore, other: EtcdStore, client: EtcdClient
) -> None:
    kept = await store.commit(Write("pods/kept", b"1", ABSENT))
    gone = await store.commit(Write("pods/gone", b"1", ABSENT))
    epoch = store.epoch
    store._index.revision = kept.revision  # as one that has not heard anything since
    for task in store._tasks:
        task.cancel()
    await other.catch_up()
    await other.commit(Write("pods/gone", None, gone.revision))
    last = await other.commit(Write("pods/new", b"1", ABSENT))
    await client.compact(last.revision)
    store._tasks.append(asyncio.create_task(store._follow()))
    assert await store._seen(last.revision, CommonDelay(5))
    assert store.epoch == epoch + 1
    assert [entry.key for entry in store.entries()] == ["pods/kept", "pods/new"]


async def test_events_told_together_know_what_was_before_each(store: EtcdStore, other: EtcdStore) -> None:
    """One that has not heard for a while hears everything at once."""
    for task in store._tasks:
        task.cancel()
    first = await other.commit(Write("pods/a", b"1", ABSENT))
    second = await other.commit(Write("pods/a", b"2", first.revision))
    third = await other.commit(Write("pods/a", None, second.revision))
    fourth = await other.commit(Write("pods/a", b"4", ABSENT))
    store._tasks.append(asyncio.create_task(store._follow()))
    assert await store._seen(fourth.revision, CommonDelay(5))
    found = [(one.revision, one.entry, one.previous) for one in store.events_after(first.revision - 1)]
    assert found == [
        (first.revision, first.entry, None),
        (second.revision, second.entry, first.entry),
        (third.revision, None, second.entry),
        (fourth.revision, fourth.entry, None),
    ]


async def test_events_go_with_their_lease(store: EtcdStore, client: EtcdClient, prefix: str) -> None:
    await store.commit(Write("events/e", b"1", ABSENT))
    await store.commit(Write("pods/p", b"1", ABSENT))
    answer = await client.range(f"{prefix}/".encode(), f"{prefix}0".encode())
    leases = {kv.key.decode().removeprefix(f"{prefix}/"): kv.lease for kv in answer.kvs}
    assert leases["pods/p"] == 0
    assert leases["events/e"] != 0
    revoke = MESSAGES["LeaseGrantRequest"](
        TTL=leases["events/e"]
    )  # both messages have the number in their first member
    await client._once("Lease/LeaseRevoke", revoke.SerializeToString(), "LeaseGrantResponse", 2.0)
    await store.catch_up()
    assert [entry.key for entry in store.entries()] == ["pods/p"]


@pytest.mark.parametrize("is_ahead", [False, True], ids=["at-an-earlier-revision", "at-a-later-revision"])
async def test_everything_is_read_anew_when_another_cluster_answers(tmp_path: Path, is_ahead: bool) -> None:
    """As after the restoration of a backup: the same address, and what was there is another cluster's."""
    ports = free_ports(2)
    with EtcdMember(tmp_path / "one", "--unsafe-no-fsync", ports=ports) as first:
        store = await opened(first, "/test")
        for number in range(5):
            await store.commit(Write(f"a/{number}", b"of the first", ABSENT))
        epoch, is_anew = store.epoch, asyncio.Event()
        store.add_waker(lambda: is_anew.set() if store.epoch > epoch else None)
    second = EtcdMember(tmp_path / "two", "--unsafe-no-fsync", ports=ports)
    second.start(token="another")
    second.wait()
    try:
        writer = EtcdClient([second.url])
        for number in range(20 if is_ahead else 1):
            await writer.swap(f"/test/b/{number}".encode(), b"value:of the second", 0)
        await writer.close()
        async with asyncio.timeout(30):
            await is_anew.wait()
            while not any(entry.key == "b/0" for entry in store.entries()):
                await store.catch_up()
        assert {entry.value for entry in store.entries()} == {b"of the second"}
        assert store.peek("a/0") is None
        await store.close()
    finally:
        second.stop()


class SilentClient(EtcdClient):
    """Some transactions are not answered: before they were done, or after; or nobody was there to take them."""

    silence = ""
    meanwhile: Callable[[], Awaitable[object]] | None = None
    """What others do before it is tried again."""

    async def swap(self, key: bytes, value: bytes | None, expected: int, lease: int = 0, beside: Any = ()) -> Any:
        silence, self.silence = self.silence, ""
        if silence == "after":
            await super().swap(key, value, expected, lease, beside)
        if silence in ("before", "after"):
            if self.meanwhile is not None:
                await self.meanwhile()
            raise EtcdError("DEADLINE_EXCEEDED", "nobody answered")
        if silence == "unsent":
            raise EtcdError("UNAVAILABLE", "failed to connect: refused", is_unsent=True)
        return await super().swap(key, value, expected, lease, beside)


@pytest.fixture
async def silent(
    member: EtcdMember, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[EtcdStore, SilentClient]]:
    monkeypatch.setattr("doorman.store.etcd.etcd_store.CREATED_SECONDS_MAX", 0.0)
    client = SilentClient([member.url])
    one = await EtcdStore.open(client, PlainCodec(), prefix, EtcdLeases(client, ManualClock(0.0)))
    yield one, client
    await one.close()


@pytest.mark.parametrize("silence", ["after", "unsent"])
async def test_creation_is_acknowledged_when_it_was_done(silent: tuple[EtcdStore, SilentClient], silence: str) -> None:
    store, client = silent
    client.silence = silence
    event = await store.commit(Write("k", b"1", ABSENT))
    found = store.peek("k")
    assert found is not None
    assert (found.value, found.revision) == (b"1", event.revision)


async def test_creation_that_may_yet_be_done_is_not_tried_again(silent: tuple[EtcdStore, SilentClient]) -> None:
    """The member that has it may do it after somebody has deleted what a second try made."""
    store, client = silent
    client.silence = "before"
    with pytest.raises(ApiError) as caught:
        await store.commit(Write("k", b"1", ABSENT))
    assert caught.value.code == 504
    assert await store.refresh("k") is None


async def test_creation_that_nobody_answered_is_undecided_also_when_another_s_is_there(
    silent: tuple[EtcdStore, SilentClient], other: EtcdStore
) -> None:
    store, client = silent
    await other.commit(Write("k", b"another's", ABSENT))
    client.silence = "before"
    with pytest.raises(ApiError) as caught:
        await store.commit(Write("k", b"1", ABSENT))
    assert caught.value.code == 504, "it may yet be done, when that is deleted: nobody is to write upon that for it"
    found = store.peek("k")
    assert found is not None
    assert found.value == b"another's"


@pytest.mark.parametrize(("silence", "value"), [("before", b"2"), ("after", b"2"), ("before", None)])
async def test_change_that_nobody_answered_is_tried_again(
    silent: tuple[EtcdStore, SilentClient], silence: str, value: bytes | None
) -> None:
    store, client = silent
    made = await store.commit(Write("k", b"1", ABSENT))
    client.silence = silence
    await store.commit(Write("k", value, made.revision))
    found = await store.refresh("k")
    assert (found.value if found is not None else None) == value


@pytest.mark.parametrize("is_made_again", [False, True])
async def test_deletion_that_nobody_answered_may_be_another_s(
    silent: tuple[EtcdStore, SilentClient], other: EtcdStore, is_made_again: bool
) -> None:
    """Two who delete one version are not both told that they did; and what was made since is not deleted."""
    store, client = silent
    made = await store.commit(Write("k", b"1", ABSENT))

    async def make_again() -> None:
        await other.refresh("k")
        await other.commit(Write("k", b"another's", ABSENT))

    client.silence, client.meanwhile = "after", make_again if is_made_again else None
    with pytest.raises(ApiError) as caught:
        await store.commit(Write("k", None, made.revision))
    assert caught.value.code == 504
    found = await store.refresh("k")
    assert (found is not None) == is_made_again


async def test_deletion_of_what_another_has_changed_is_a_conflict(
    silent: tuple[EtcdStore, SilentClient], other: EtcdStore
) -> None:
    store, client = silent
    made = await store.commit(Write("k", b"1", ABSENT))
    await other.refresh("k")
    await other.commit(Write("k", b"another's", made.revision))
    client.silence = "before"
    with pytest.raises(Conflict):
        await store.commit(Write("k", None, made.revision))


@pytest.mark.parametrize("is_forgotten", [False, True])
async def test_change_that_another_has_written_upon_is_not_done_twice(
    silent: tuple[EtcdStore, SilentClient], other: EtcdStore, is_forgotten: bool
) -> None:
    """It was done, and is no longer what is there: only the watch can tell. Where it cannot, nobody knows."""
    store, client = silent
    made = await store.commit(Write("k", b"1", ABSENT))
    written: list[int] = []

    async def write_upon_it() -> None:
        found = await other.refresh("k")
        event = await other.commit(Write("k", b"another's", found.revision if found is not None else ABSENT))
        written.append(event.revision)
        if is_forgotten:
            await store._seen(event.revision, CommonDelay(1.0))
            store._under_way["k"].outcome = None
            store._index.replace(list(store.entries()), event.revision)

    client.silence, client.meanwhile = "after", write_upon_it
    if is_forgotten:
        with pytest.raises(ApiError) as caught:
            await store.commit(Write("k", b"2", made.revision))
        assert caught.value.code == 504
    else:
        event = await store.commit(Write("k", b"2", made.revision))
        assert made.revision < event.revision < written[0]
    found = await store.refresh("k")
    assert found is not None
    assert found.value == b"another's"


async def test_change_that_another_was_faster_with_is_a_conflict(
    silent: tuple[EtcdStore, SilentClient], other: EtcdStore
) -> None:
    """The first try, which nobody answered, was not done: that is known as soon as the watch has come so far."""
    store, client = silent
    made = await store.commit(Write("k", b"1", ABSENT))
    await other.refresh("k")
    await other.commit(Write("k", b"another's", made.revision))
    client.silence = "before"
    with pytest.raises(Conflict):
        await store.commit(Write("k", b"2", made.revision))


async def test_creation_that_another_has_replaced_is_acknowledged_where_it_was_done(
    silent: tuple[EtcdStore, SilentClient], other: EtcdStore
) -> None:
    store, client = silent

    async def replace() -> None:
        found = await other.refresh("k")
        assert found is not None
        await other.commit(Write("k", None, found.revision))
        await other.commit(Write("k", b"another's", ABSENT))

    client.silence, client.meanwhile = "after", replace
    event = await store.commit(Write("k", b"1", ABSENT))
    found = await store.refresh("k")
    assert found is not None
    assert event.revision < found.revision


class CountingClient(EtcdClient):
    asked = 0

    async def range(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        return await super().range(*args, **kwargs)


async def test_health_that_is_asked_for_often_is_the_last_outcome(member: EtcdMember, prefix: str) -> None:
    client = CountingClient([member.url])
    store = await EtcdStore.open(client, PlainCodec(), prefix, EtcdLeases(client, ManualClock(0.0)))
    loaded = client.asked
    assert [await store.answers(60.0) for _ in range(3)] == [True, True, True]
    assert client.asked == loaded + 1
    await store.close()
