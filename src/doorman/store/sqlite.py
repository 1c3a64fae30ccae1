"""The embedded store: SQLite in WAL mode with full synchronisation, written by one thread in groups.

The table is a log, one row a write:

    revision | key            | created | value          (value NULL: the key was deleted)
    ---------+----------------+---------+-------
           7 | pods/default/a |       7 | {...}
           8 | pods/default/a |       7 | {...}          supersedes 7
           9 | pods/default/a |       7 | NULL           a deletion

Opening reads the log in order, so the newest row of a key wins. Rows that are superseded are deleted later, a
batch at a time, by the writer. The event loop never touches the database file: it hands a group of events to the writer
thread and is told when they are durable. While one group is being written the next one gathers, so the
harder it is driven the larger the groups are.

Each group goes to SQLite as few large statements: the interpreter's lock is released once a statement, and a
writer that asks for it back after every row would wait for the busy event loop every time.
"""

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from doorman.store.contract import Entry, Event, Failed, Unusable, Write
from doorman.store.ledger import Ledger, LedgerReader

FORMAT = 1
ROWS_PER_STATEMENT_MAX = 1024
GARBAGE_ROWS_PER_GROUP = 2048
BUSY_GROUP_MIN = 4
GATHER_SECONDS = 0.002
"""Under load the next group is waited for so long, or until it is as large as the last one: then everybody who writes
is probably back. Larger groups are fewer syncs, and fewer hand-overs between threads.
"""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, value BLOB);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""


class _Group:
    """What goes to the writer at once: events to write, superseded revisions to delete, and who waits for it."""

    __slots__ = ("events", "garbage", "waiting")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.garbage: list[int] = []
        self.waiting: list[asyncio.Future[None]] = []


class SqliteStore(LedgerReader):
    """Use `await SqliteStore.open(directory)`."""

    def __init__(self, connection: sqlite3.Connection, lock_file: int, ledger: Ledger, garbage: list[int]) -> None:
        self._connection = connection
        self._lock_file = lock_file
        super().__init__(ledger)
        self._loop = asyncio.get_running_loop()
        self._gathering = _Group()
        self._writing: _Group | None = None
        self._is_flush_due = False
        self._patience: asyncio.TimerHandle | None = None
        self._hoped_for = 0
        self._failure: Exception | None = None
        self._garbage = garbage
        self._groups: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_groups, name="store-writer", daemon=True)
        self._thread.start()

    @classmethod
    async def open(cls, directory: Path) -> "SqliteStore":
        """Raises `Unusable` when the directory is held, not writable or corrupt."""
        lock_file = _hold(directory)
        try:
            connection, entries, revision, garbage = _read(directory / "store.db")
        except BaseException:
            os.close(lock_file)
            raise
        return cls(connection, lock_file, Ledger(entries, revision=revision), garbage)

    async def commit(self, write: Write) -> Event:
        if self._failure is not None:
            raise Failed(f"the store has failed: {self._failure}")
        event = self._ledger.append(write)
        await self._join((event,))
        return event

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[Event]:
        if self._failure is not None:
            raise Failed(f"the store has failed: {self._failure}")
        events = self._ledger.append_all(writes)
        if events:
            await self._join(events)
        return events

    def _join(self, events: Sequence[Event]) -> "asyncio.Future[None]":
        """Add to the group that gathers; it is written when its turn comes."""
        group = self._gathering
        group.events.extend(events)
        for event in events:
            if event.previous is not None:
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
        return self._until_durable(group)

    def _until_durable(self, group: _Group) -> "asyncio.Future[None]":
        """One for each caller: a caller that is cancelled must not cancel the others of its group."""
        durable = self._loop.create_future()
        group.waiting.append(durable)
        return durable

    async def close(self) -> None:
        while self._failure is None and (self._writing is not None or self._gathering.events):
            with contextlib.suppress(Failed):
                await self._until_durable(self._writing or self._gathering)
        self._groups.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()
        os.close(self._lock_file)

    def _flush(self) -> None:
        self._is_flush_due = False
        self._patience = None
        if self._writing is not None or not self._gathering.events:
            return
        group = self._writing = self._gathering
        if len(self._garbage) >= GARBAGE_ROWS_PER_GROUP:
            # Oldest first, so a deletion's row never goes before the rows it hides.
            group.garbage = self._garbage[:GARBAGE_ROWS_PER_GROUP]
            self._garbage = self._garbage[GARBAGE_ROWS_PER_GROUP:]
        self._gathering = _Group()
        self._groups.put(group)

    def _written(self, group: _Group, failure: Exception | None) -> None:
        self._writing = None
        if failure is not None:
            # Nothing of the group is acknowledged, and nothing later may be: it was decided upon it.
            self._failure = failure
            for durable in (*group.waiting, *self._gathering.waiting):
                if not durable.done():
                    durable.set_exception(Failed(f"could not write: {failure}"))
            return
        self._ledger.publish(group.events)
        for durable in group.waiting:
            if not durable.done():
                durable.set_result(None)
        if len(group.events) < BUSY_GROUP_MIN:
            self._flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._hoped_for = len(group.events)
            self._patience = self._loop.call_later(GATHER_SECONDS, self._flush)

    def _write_groups(self) -> None:
        """The writer thread: one transaction a group."""
        while (group := self._groups.get()) is not None:
            failure: Exception | None = None
            try:
                self._write(group.events, group.garbage)
            except Exception as error:  # noqa: BLE001  whatever it is, the callers must hear of it
                failure = error
            with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
                self._loop.call_soon_threadsafe(self._written, group, failure)

    def _write(self, events: list[Event], garbage: list[int]) -> None:
        execute = self._connection.execute
        if not garbage and len(events) <= ROWS_PER_STATEMENT_MAX:
            # One statement is a transaction of its own, and a single hand-over of the interpreter's lock.
            execute(_insert_statement(len(events)), _parameters(events))
            return
        execute("BEGIN IMMEDIATE")
        try:
            for start in range(0, len(events), ROWS_PER_STATEMENT_MAX):
                rows = events[start : start + ROWS_PER_STATEMENT_MAX]
                execute(_insert_statement(len(rows)), _parameters(rows))
            if garbage:
                execute(_delete_statement(len(garbage)), garbage)
                # A deletion's own row may go too, so the counter is kept apart from the rows.
                execute("INSERT OR REPLACE INTO meta VALUES ('revision', ?)", (events[-1].revision,))
            execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                execute("ROLLBACK")
            raise


def _insert_statement(rows: int) -> str:
    return "INSERT INTO log VALUES " + ",".join(["(?,?,?,?)"] * rows)


def _delete_statement(rows: int) -> str:
    return "DELETE FROM log WHERE revision IN (" + ",".join(["?"] * rows) + ")"


def _parameters(events: list[Event]) -> list[object]:
    flat: list[object] = []
    for event in events:
        entry = event.entry
        if entry is not None:
            flat += (event.revision, event.key, entry.created, entry.value)
        else:
            flat += (event.revision, event.key, 0, None)
    return flat


def _hold(directory: Path) -> int:
    """Lock the directory for this process; the lock goes when the process does, however it ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unusable(
            f"cannot use the data directory {directory}: {error.strerror}",
            "give a directory you may write to with --data-dir, or use --in-memory",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(descriptor, 64).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise Unusable(
            f"the data directory {directory} is in use by process {holder}",
            "stop that process, or give another directory with --data-dir",
        ) from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _read(file: Path) -> tuple[sqlite3.Connection, list[Entry], int, list[int]]:
    try:
        connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, cached_statements=256)
        # Objects of two or three kilobytes: small pages would hold one each and waste the rest.
        connection.execute("PRAGMA page_size=16384")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=1000")
        format_found = connection.execute("PRAGMA user_version").fetchone()[0]
        if format_found not in (0, FORMAT):
            raise Unusable(
                f"{file} was written by another version (format {format_found}, this one reads {FORMAT})",
                "use the version that wrote it, or another --data-dir",
            )
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version={FORMAT}")
        rows = connection.execute("SELECT revision, key, created, value FROM log ORDER BY revision").fetchall()
        counter = connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
    except sqlite3.Error as error:
        raise Unusable(
            f"the database {file} cannot be read: {error}",
            "restore it from a backup, or move it away to start afresh",
        ) from error
    newest: dict[str, Entry] = {}
    garbage: list[int] = []
    revision = int(counter[0]) if counter else 0
    for row_revision, key, created, value in rows:
        superseded = newest.pop(key, None)
        if superseded is not None:
            garbage.append(superseded.revision)
        if value is None:
            garbage.append(row_revision)
        else:
            newest[key] = Entry(key, value, row_revision, created)
        revision = max(revision, row_revision)
    return connection, list(newest.values()), revision, sorted(garbage)
