"""The SQLite store keeps the contract, and keeps what it acknowledged."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import uvloop

from conformance_store import LocalStoreSuite
from doorman.store import sqlite_store as sqlite_module
from doorman.store.key_index import KeyIndex
from doorman.store.sqlite_store import SqliteStore
from doorman.store.store_contract import ABSENT, Failed, Unusable, Write


class TestSqliteStore(LocalStoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        store = await SqliteStore.open(tmp_path)
        yield store
        await store.close()

    @pytest.fixture
    async def small_history_store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
        monkeypatch.setattr(
            sqlite_module,
            "KeyIndex",
            lambda entries, revision: KeyIndex(entries, revision=revision, history_events_max=4),
        )
        store = await SqliteStore.open(tmp_path)
        yield store
        await store.close()


async def test_reopened_store_has_everything_and_goes_on_counting(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    first = await store.commit(Write("a", b"1", ABSENT))
    await store.commit(Write("b", b"2", ABSENT))
    await store.commit(Write("a", b"3", first.revision))
    last = await store.commit(Write("b", None, 2))
    await store.close()

    again = await SqliteStore.open(tmp_path)
    assert again.revision == last.revision
    assert [(e.key, e.value, e.revision, e.created) for e in again.entries()] == [("a", b"3", 3, 1)]
    assert (await again.commit(Write("c", b"", ABSENT))).revision == last.revision + 1
    await again.close()


async def test_group_is_written_as_it_leaves_its_keys(tmp_path: Path) -> None:
    """Six keys that are changed more than once by the same group."""
    store = await SqliteStore.open(tmp_path)
    begun = await store.commit_all([Write(key, b"0", ABSENT) for key in ("changed", "gone", "back")])
    revision = {event.key: event.revision for event in begun}

    async def take(key: str, value: bytes | None) -> None:
        event = await store.take(Write(key, value, revision.get(key, ABSENT)))
        revision[key] = event.revision if value is not None else ABSENT

    for key, values in {
        "changed": (b"1", b"2"),
        "gone": (b"1", None),
        "back": (None, b"1"),
        "new": (b"1", b"2", b"3"),
        "brief": (b"1", None),
        "odd": (b"1", None, b"2"),
    }.items():
        for value in values:
            await take(key, value)
    last = await store.commit(Write("last", b"", ABSENT))
    before = [(entry.key, entry.value, entry.revision, entry.created) for entry in store.entries()]
    await store.close()
    with sqlite3.connect(tmp_path / "store.db") as rows:
        assert rows.execute("SELECT count(*) FROM log").fetchone()[0] == 3 + 6 + 1
    rows.close()

    again = await SqliteStore.open(tmp_path)
    assert again.revision == last.revision
    assert [(entry.key, entry.value, entry.revision, entry.created) for entry in again.entries()] == before
    assert [(key, value) for key, value, *_ in before] == [
        ("back", b"1"), ("changed", b"2"), ("last", b""), ("new", b"3"), ("odd", b"2"),
    ]  # fmt: skip
    await again.close()


async def test_taken_write_is_refused_by_a_store_that_has_failed(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    store._writer._process.kill()
    with pytest.raises(Failed):
        await store.commit(Write("a", b"1", ABSENT))
    with pytest.raises(Failed):
        await store.take(Write("b", b"1", ABSENT))
    await store.close()


async def test_superseded_rows_are_compacted_and_deleted_keys_stay_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "GARBAGE_ROWS_PER_GROUP", 8)
    store = await SqliteStore.open(tmp_path)
    revision = ABSENT
    for i in range(50):
        revision = (await store.commit(Write("a", b"%d" % i, revision))).revision
    await store.commit(Write("gone", b"", ABSENT))
    last = await store.commit(Write("gone", None, store.revision))
    for _ in range(20):
        revision = (await store.commit(Write("a", b"x", revision))).revision
    await store.close()
    with sqlite3.connect(tmp_path / "store.db") as rows:
        assert rows.execute("SELECT count(*) FROM log").fetchone()[0] < 30
    rows.close()
    again = await SqliteStore.open(tmp_path)
    assert [entry.key for entry in again.entries()] == ["a"]
    assert again.revision > last.revision
    await again.close()


async def test_second_opener_is_told_who_holds_the_directory(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    with pytest.raises(Unusable, match=f"in use by process {os.getpid()}"):
        await SqliteStore.open(tmp_path)
    await store.close()


async def test_corrupt_database_is_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(Unusable, match="is damaged") as refused:
        await SqliteStore.open(tmp_path)
    assert "backup" in refused.value.hint


async def test_database_of_another_format_is_refused(tmp_path: Path) -> None:
    rows = sqlite3.connect(tmp_path / "store.db")
    rows.execute("PRAGMA user_version=99")
    rows.close()
    with pytest.raises(Unusable, match="format 99"):
        await SqliteStore.open(tmp_path)


async def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unusable, match="cannot use the data directory"):
        await SqliteStore.open(tmp_path / "file" / "below")


async def test_failed_write_is_not_acknowledged_and_stops_the_store(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.commit(Write("a", b"1", ABSENT))
    with sqlite3.connect(tmp_path / "store.db") as another:
        another.execute("DROP TABLE log")
    another.close()
    with pytest.raises(Failed):
        await store.commit(Write("b", b"1", ABSENT))
    assert [entry.key for entry in store.entries()] == ["a"]
    with pytest.raises(Failed):
        await store.commit(Write("c", b"1", ABSENT))
    await store.close()


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_many_large_groups_back_to_back(tmp_path: Path, factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """More than a socket takes at once, the next as soon as the last is acknowledged."""

    async def write() -> int:
        store = await SqliteStore.open(tmp_path)

        async def client(number: int) -> None:
            for turn in range(40):
                await store.commit(Write(f"{number}/{turn}", b"x" * 20_000, ABSENT))

        await asyncio.gather(*(client(number) for number in range(50)))
        await store.close()
        return store.revision

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(write()) == 2000


class _HoldingTransport:
    """Lets go of nothing it was given to write, as an event loop may for a while after the answer is there."""

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        self._transport = transport
        self._held: list[memoryview] = []

    def write(self, data: bytes | bytearray) -> None:
        self._held.append(memoryview(data))
        self._transport.write(data)

    def close(self) -> None:
        self._transport.close()


async def test_group_does_not_wait_for_the_loop_to_let_go_of_the_last_one(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    transport = store._writer._transport
    assert transport is not None
    store._writer._transport = _HoldingTransport(transport)  # type: ignore[assignment]  # the part that is used
    async with asyncio.timeout(10):
        for size in (10, 1000, 10):
            await store.commit(Write(f"k{size}/{store.revision}", b"x" * size, ABSENT))
    assert store.revision == 3
    await store.close()


async def test_store_whose_writer_dies_acknowledges_nothing_more(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.commit(Write("a", b"1", ABSENT))
    store._writer._process.kill()
    await store._writer._lost.wait()
    with pytest.raises(Failed, match="has ended"):
        await store.commit(Write("b", b"1", ABSENT))
    with pytest.raises(Failed):
        await store.commit(Write("c", b"1", ABSENT))
    acknowledged = [entry.key for entry in store.entries()]
    await store.close()
    again = await SqliteStore.open(tmp_path)
    assert {*acknowledged} <= {entry.key for entry in again.entries()}
    await again.close()


async def test_refreshed_key_is_durable(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    first = await store.take(Write("a", b"1", ABSENT))
    assert store.revision < first.revision
    assert await store.refresh("a") == first.entry
    assert store.revision == first.revision
    await store.close()


async def test_key_that_will_never_be_durable_is_not_refreshed(tmp_path: Path) -> None:
    """Nobody is refused because of a write that was lost."""
    store = await SqliteStore.open(tmp_path)
    store._writer._process.kill()
    await store._writer._lost.wait()
    store._failure = None
    await store.take(Write("a", b"1", ABSENT))
    store._written("the process that writes has ended")
    with pytest.raises(Failed):
        await store.refresh("a")
    assert await store.refresh("b") is None
    await store.close()


async def test_directory_is_held_until_the_last_group_is_written(tmp_path: Path) -> None:
    """By the writer, should the server be gone: nobody reads the file before it is complete."""
    store = await SqliteStore.open(tmp_path)
    os.kill(store._writer._process.pid, signal.SIGSTOP)
    os.close(store._lock_file)
    with pytest.raises(Unusable, match="in use"):
        await SqliteStore.open(tmp_path)
    os.kill(store._writer._process.pid, signal.SIGCONT)
    await store._writer.close()
    await (await SqliteStore.open(tmp_path)).close()


async def test_closing_waits_for_what_is_under_way(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    under_way = [asyncio.ensure_future(store.commit(Write(f"k{i}", b"v", ABSENT))) for i in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert all(task.done() and task.exception() is None for task in under_way)
    again = await SqliteStore.open(tmp_path)
    assert len(list(again.entries())) == 50
    await again.close()


_WRITER = """
import asyncio, sys
from pathlib import Path
from doorman.store.sqlite_store import SqliteStore
from doorman.store.store_contract import ABSENT, Write

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    async def client(n):
        i = 0
        while True:
            event = await store.commit(Write(f"k/{n}/{store.revision}/{i}", b"v" * 500, ABSENT))
            print(event.revision, event.key, flush=True)
            i += 1
    await asyncio.gather(*(client(n) for n in range(16)))

asyncio.run(main())
"""


@pytest.mark.parametrize("acknowledged", [1, 40, 400])
async def test_killed_process_loses_nothing_it_acknowledged(tmp_path: Path, acknowledged: int) -> None:
    """SIGKILL under load, three times over on one directory: every acknowledged write is there, in order."""
    known: list[tuple[int, str]] = []
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=os.environ
        )
        assert process.stdout is not None
        for _ in range(acknowledged):
            revision, key = process.stdout.readline().split()
            known.append((int(revision), key))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        known += [(int(line.split()[0]), line.split()[1]) for line in rest if len(line.split()) == 2]
        store = await SqliteStore.open(tmp_path)
        there = {entry.key: entry.revision for entry in store.entries()}
        assert {key: there.get(key) for _, key in known} == {key: revision for revision, key in known}
        assert store.revision >= max(revision for revision, _ in known)
        await store.close()
    await asyncio.get_running_loop().shutdown_default_executor()
