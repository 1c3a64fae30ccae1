"""The embedded store: an SQLite file (`database.py`), written in groups by a process of its own (`writer_process.py`).

The event loop hands a group of events to the writer and is told when they are durable. While one group is being written
the next one gathers, so the harder it is driven the larger the groups are. The file is read once, on opening;
after that everything that is read is read from memory.
"""

import asyncio
import contextlib
import logging
import os
import socket
import sqlite3
import subprocess  # nosec B404
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from doorman.base.errors import internal
from doorman.store import database
from doorman.store.data_directory import DATABASE, hold, sync_files
from doorman.store.database import OtherFormat, Outline, Row
from doorman.store.key_index import KeyIndex, KeyIndexReader
from doorman.store.store_contract import ANSWER_SECONDS, Entry, Failed, StoreEvent, Unusable, Write
from doorman.store.writer_process import LENGTH, encode_file, encode_group

GARBAGE_ROWS_PER_GROUP = 2048
BUSY_GROUP_MIN: Final = 4
GATHER_SECONDS: Final = 0.0007
"""Under load the next group is waited for so long, or until it is as large as the last one: then everybody who writes
is probably back. Larger groups are fewer syncs, and fewer words between processes: it is quicker than writing at once.
"""
CLOSE_SECONDS_MAX: Final = 5.0
END_STEPS: Final = 100
END_STEP_SECONDS: Final = 0.01


_log: Final = logging.getLogger("doorman.store")


class _Group:
    """What goes to the writer at once: events to write, superseded revisions to delete, and who waits for it."""

    __slots__ = ("events", "garbage", "waiting")

    def __init__(self) -> None:
        self.events: list[StoreEvent] = []
        self.garbage: list[int] = []
        self.waiting: list[asyncio.Future[None]] = []

    def encode(self) -> bytearray:
        """Of each key what it is after the group: what came in between nobody will read."""
        rows: dict[str, Row] = {}
        for event in self.events:
            entry = event.entry
            rows.pop(event.key, None)
            if entry is not None:
                rows[event.key] = (event.revision, event.key, entry.created, entry.value)
            else:
                rows[event.key] = (event.revision, event.key, 0, None)
        return encode_group(list(rows.values()), self.garbage)


class SqliteStore(KeyIndexReader):
    """Use `await SqliteStore.open(directory)`."""

    def __init__(self, writer: "_Writer", lock_file: int, index: KeyIndex, garbage: list[int]) -> None:
        super().__init__(index)
        self._writer = writer
        self._lock_file = lock_file
        self._loop = asyncio.get_running_loop()
        self._gathering = _Group()
        self._writing: _Group | None = None
        self._is_flush_due = False
        self._patience: asyncio.TimerHandle | None = None
        self._hoped_for = 0
        self._failure: str | None = None
        self._garbage = garbage

    @classmethod
    async def open(cls, directory: Path) -> "SqliteStore":
        """Raises `Unusable` when the directory is held, not writable or corrupt."""
        lock_file = hold(directory)
        try:
            writer = _Writer(lock_file)
            try:
                sync_files(directory)
                found = _read(directory / DATABASE)
                database.check_mark(directory, found.revision)
                if found.is_new:
                    database.make(str(directory / DATABASE))
                store = cls(writer, lock_file, KeyIndex(found.entries, revision=found.revision), found.garbage)
                await writer.attach(directory / DATABASE, found.outline, store._written)
            except BaseException:
                writer.end()
                raise
        except BaseException:
            os.close(lock_file)
            raise
        for row in found.damaged:
            error = internal(f"the key of row {row} of {directory / DATABASE} is damaged")
            store.faults.caught("store", error, key=f"{DATABASE} row {row}", revision=row)
        return store

    @property
    def is_well(self) -> bool:
        return self._failure is None

    async def commit(self, write: Write) -> StoreEvent:
        event = self._taken(write)
        await self._until_durable(self._gathering)
        return event

    async def take(self, write: Write) -> StoreEvent:
        return self._taken(write)

    def _taken(self, write: Write) -> StoreEvent:
        if self._failure is not None:
            raise Failed(f"the store has failed: {self._failure}")
        event = self._index.append(write)
        self._join((event,))
        return event

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        if self._failure is not None:
            raise Failed(f"the store has failed: {self._failure}")
        events = self._index.append_all(writes)
        if events:
            self._join(events)
            await self._until_durable(self._gathering)
        return events

    async def commit_with(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
        return (await self.commit_all((write, *beside)))[0]

    def _join(self, events: Sequence[StoreEvent]) -> None:
        """Add to the group that gathers; it is written when its turn comes."""
        group = self._gathering
        group.events.extend(events)
        first = group.events[0].revision
        for event in events:
            if event.previous is not None and event.previous.revision < first:
                self._garbage.append(event.previous.revision)
            if event.entry is None:
                self._garbage.append(event.revision)
        if self._writing is None:
            if not self._is_flush_due:
                # At the end of this turn of the loop, so that writes of the same turn share a group.
                self._is_flush_due = True
                self._loop.call_soon(self._flush)
            elif self._patience is not None and len(group.events) >= self._hoped_for:
                self._patience.cancel()
                self._patience = None
                self._loop.call_soon(self._flush)

    def _until_durable(self, group: _Group) -> "asyncio.Future[None]":
        """One for each caller: a caller that is cancelled must not cancel the others of its group."""
        durable = self._loop.create_future()
        group.waiting.append(durable)
        return durable

    async def refresh(self, key: str) -> Entry | None:
        """When what the key holds is durable. Raises `Failed` when it will never be."""
        if any(event.key == key for event in self._index.unpublished):
            if self._failure is not None:
                raise Failed(f"the store has failed: {self._failure}")
            is_gathering = any(event.key == key for event in self._gathering.events)
            group = self._gathering if is_gathering or self._writing is None else self._writing
            await self._until_durable(group)
        return self.peek(key)

    async def answers(self, seconds: float = ANSWER_SECONDS) -> bool:
        """Whether the writer is through with what it has, or with nothing, before long."""
        if self._failure is None and self._writing is None:
            self._writing = _Group()
            self._writer.send(self._writing.encode())
        if self._failure is not None or self._writing is None:
            return False
        try:
            async with asyncio.timeout(seconds):
                await self._until_durable(self._writing)
        except (TimeoutError, Failed):
            return False
        return True

    async def close(self) -> None:
        """When everything is durable; or when that takes too long, and then nothing of the rest was acknowledged."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                while self._failure is None and (self._writing is not None or self._gathering.events):
                    with contextlib.suppress(Failed):
                        await self._until_durable(self._writing or self._gathering)
                await self._writer.close()
        except TimeoutError:
            _log.error(
                "the process that writes does not answer: ending it; what it has not written was not acknowledged"
            )
            self._failure = "the store is closed"
            await self._writer.abandon()
        os.close(self._lock_file)

    def _flush(self) -> None:
        self._is_flush_due = False
        self._patience = None
        if self._failure is not None or self._writing is not None or not self._gathering.events:
            return
        group = self._writing = self._gathering
        if len(self._garbage) >= GARBAGE_ROWS_PER_GROUP:
            # Oldest first, so a deletion's row never goes before the rows it hides.
            group.garbage = self._garbage[:GARBAGE_ROWS_PER_GROUP]
            self._garbage = self._garbage[GARBAGE_ROWS_PER_GROUP:]
        self._gathering = _Group()
        self._writer.send(group.encode())

    def _written(self, fault: str) -> None:
        """The group that was sent is durable, or something went wrong."""
        group, self._writing = self._writing, None
        if fault:
            # Nothing of the group is acknowledged, and nothing later may be: it was decided upon it.
            self._failure = fault
            _log.error("the store has failed, nothing more is written: %s", fault)
            for durable in (*(group.waiting if group is not None else ()), *self._gathering.waiting):
                if not durable.done():
                    durable.set_exception(Failed(f"could not write: {fault}"))
            return
        assert group is not None, "an answer belongs to a group"
        # Who waits is woken first, and so goes on before those who hear of it: an answer on its way is work for others.
        for durable in group.waiting:
            if not durable.done():
                durable.set_result(None)
        self._index.publish(group.events)
        if len(group.events) < BUSY_GROUP_MIN:
            self._flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._hoped_for = len(group.events)
            self._patience = self._loop.call_later(GATHER_SECONDS, self._flush)


class _Writer(asyncio.Protocol):
    """The writer's process and the way to it."""

    def __init__(self, lock_file: int) -> None:
        self._on_answer: Callable[[str], None] = lambda _: None
        self._answer = b""
        self._is_closing = False
        self._lost = asyncio.Event()
        self._transport: asyncio.WriteTransport | None = None
        self._link, theirs = socket.socketpair()
        inherited = (theirs.fileno(), lock_file)
        command = [sys.executable, "-m", "doorman.store.writer_process", str(theirs.fileno())]
        # In a group of its own: Ctrl-C is for the server, which ends this process when it is done.
        self._process = subprocess.Popen(  # nosec B603
            command, pass_fds=inherited, stdin=subprocess.DEVNULL, process_group=0
        )
        theirs.close()

    async def attach(self, file: Path, read: Outline, on_answer: Callable[[str], None]) -> None:
        """It opens the file for its first group: by then nobody else has it open."""
        self._on_answer = on_answer
        await asyncio.get_running_loop().create_connection(lambda: self, sock=self._link)
        self.send(encode_file(file, read))

    def send(self, data: bytes | bytearray) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def close(self) -> None:
        """When it has written everything: it ends when it hears nothing more."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.close()
            await self._lost.wait()
        while self._process.poll() is None:  # no thread: one that waits for ever would keep this process
            await asyncio.sleep(END_STEP_SECONDS)

    async def abandon(self) -> None:
        """At once, and without waiting long: a process in the middle of a disk's work cannot be ended."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()
        self._process.kill()
        for _ in range(END_STEPS):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(END_STEP_SECONDS)

    def end(self) -> None:
        """At once."""
        self._is_closing = True
        self._link.close()
        self._process.kill()
        self._process.wait()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a stream
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        answer = self._answer + data
        if len(answer) < LENGTH.size or len(answer) < LENGTH.size + LENGTH.unpack_from(answer)[0]:
            self._answer = answer
            return
        self._answer = b""
        self._on_answer(answer[LENGTH.size :].decode(errors="replace"))

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._lost.set()
        if not self._is_closing:
            self._on_answer("the process that writes has ended")


class _Found(msgspec.Struct, frozen=True):
    entries: list[Entry]
    outline: Outline
    garbage: list[int]
    damaged: list[int]
    """Rows of which the key cannot be read."""
    is_new: bool

    @property
    def revision(self) -> int:
        return self.outline.revision


def _read(file: Path) -> _Found:
    try:
        connection = database.look(str(file))
        try:
            rows, revision = database.read(connection)
            is_new = database.is_new(connection)
        finally:
            connection.close()
    except OtherFormat as other:
        raise Unusable(
            f"{file} was written by another version (format {other.found}, this one reads {database.FORMAT})",
            "use the version that wrote it, or another --data-dir",
        ) from other
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise Unusable(
            f"the database {file} is damaged: {error}",
            f"restore it from a backup, or move {file}* away to start afresh",
        ) from error
    newest: dict[str, Entry] = {}
    garbage: list[int] = []
    damaged: list[int] = []
    for row_revision, raw_key, created, value in rows:
        try:
            key = raw_key.decode()
        except UnicodeDecodeError:
            damaged.append(row_revision)
            continue
        if not (value is None or isinstance(value, bytes)):
            value = repr(value).encode()  # a damage that whoever decodes it will find
        superseded = newest.pop(key, None)
        if superseded is not None:
            garbage.append(superseded.revision)
        if value is None:
            garbage.append(row_revision)
        else:
            newest[key] = Entry(key, value, row_revision, created)
    outline = database.outline_of(rows, revision)
    return _Found(list(newest.values()), outline, sorted(garbage), damaged, is_new)
