"""The SQLite file, in WAL mode with full synchronisation.

Its table is a log, one row a write:

    revision | key            | created | value | checksum     (value NULL: the key was deleted)
    ---------+----------------+---------+-------+---------
           7 | pods/default/a |       7 | {...} | 2158094751
           8 | pods/default/a |       7 | {...} | 3735928559   supersedes 7
           9 | pods/default/a |       7 | NULL  | 1164713442   a deletion

Reading it in order, the newest row of a key wins. Rows that are superseded are deleted later, a batch at a time. The
checksum is of all the rest: SQLite does not notice when a disk gives back a page that is not what was written. Files of
format 1 have none; they get the column when they are opened to be written.

Whoever closes the last connection folds the write-ahead log into the file and removes it. So what a disk once gave back
wrongly would be lost for good: it is looked at by connections that only read (`look`), which leave everything as it is,
before one that writes is opened.

Beside the file lies a mark, `store.db-revision`: the revision of the last group that was made durable. The writer notes
it after each group, so it is never ahead of the disk; a file that ends before it has lost something, such as its
write-ahead log.
"""

import contextlib
import os
import sqlite3
import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from doorman.store.data_directory import DATABASE, PRIVATE_FILE
from doorman.store.store_contract import Unusable

FORMAT: Final = 2
WITHOUT_CHECKSUMS: Final = 1
ROWS_PER_STATEMENT_MAX: Final = 1024
MARK: Final = "store.db-revision"
MARK_BYTES: Final = 20
"""As many digits as a revision can have."""
_NUMBERS: Final = struct.Struct("<QQ")

Row: TypeAlias = tuple[int, str, int, bytes | None]
FoundRow: TypeAlias = tuple[int, bytes, int, object]
"""As it was found: of a key nothing is known but its bytes, and of a value not even that it is bytes."""


class Outline(NamedTuple):
    """What two who have read the same file agree upon. That it ends at the same revision is not enough: of a log that
    is given back wrongly in its middle SQLite takes the beginning, and where the rest was copied into the file before,
    old pages are read beside new ones.
    """

    revision: int
    """The last that is known of."""
    rows: int = 0
    revisions_sum: int = 0


_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS log
  (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, value BLOB, checksum INTEGER);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""

_SELECT: Final = "SELECT revision, key, created, value, checksum FROM log ORDER BY revision"
_SELECT_WITHOUT_CHECKSUMS: Final = "SELECT revision, key, created, value, NULL FROM log ORDER BY revision"


class OtherFormat(Exception):
    """The file was written by another version."""

    def __init__(self, found: int) -> None:
        super().__init__(found)
        self.found = found


def connect(file: str) -> sqlite3.Connection:
    """Raises `sqlite3.Error`, and so do the others."""
    # A statement for hundreds of rows is large: only those of the sizes that are usual now are kept.
    connection = sqlite3.connect(file, isolation_level=None, cached_statements=32)
    try:
        # Objects of two or three kilobytes: small pages would hold one each and waste the rest.
        connection.execute("PRAGMA page_size=16384")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=1000")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def look(file: str) -> sqlite3.Connection:
    """Only to read: nothing of the file or its log is changed, not even by closing it."""
    connection = sqlite3.connect(f"{Path(file).absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    connection.text_factory = bytes  # one text that is no text would make the others unreadable
    return connection


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever written: there are no tables yet."""
    return not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()


def make(file: str) -> None:
    """The tables."""
    connection = connect(file)
    try:
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version={FORMAT}")
    finally:
        connection.close()


def read(connection: sqlite3.Connection) -> tuple[list[FoundRow], int]:
    """All rows in order, and the last revision that is known of."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, WITHOUT_CHECKSUMS, FORMAT):
        raise OtherFormat(found)
    if is_new(connection):
        return [], 0
    rows = connection.execute(_SELECT if _has_checksums(connection) else _SELECT_WITHOUT_CHECKSUMS).fetchall()
    return [_checked(*row) for row in rows], last_revision(connection)


def add_checksums(connection: sqlite3.Connection) -> None:
    """To a file of the format before: rows that are there stay without."""
    if not _has_checksums(connection):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ALTER TABLE log ADD COLUMN checksum INTEGER")
        connection.execute(f"PRAGMA user_version={FORMAT}")
        connection.execute("COMMIT")


def _has_checksums(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM pragma_table_info('log') WHERE name = 'checksum'").fetchone())


def _checked(revision: int, key: bytes, created: int, value: object, checksum: int | None) -> FoundRow:
    """A value that is not what was written is made one that nobody can read."""
    if checksum is not None and (value is None or isinstance(value, bytes)):
        found = checksum_of(revision, key, created, value)
        if found != checksum:
            value = b"not what was written: the checksum is %d, and was %d" % (found, checksum)
    return revision, key, created, value


def checksum_of(revision: int, key: bytes, created: int, value: bytes | None) -> int:
    return crc32(value or b"", crc32(key, crc32(_NUMBERS.pack(revision, created))))


def last_revision(connection: sqlite3.Connection) -> int:
    if is_new(connection):
        return 0
    (newest,) = connection.execute("SELECT max(revision) FROM log").fetchone()
    counter = connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
    return max(int(counter[0]) if counter else 0, newest or 0)


def outline(connection: sqlite3.Connection) -> Outline:
    """Reads the whole file."""
    if is_new(connection):
        return Outline(0)
    (rows, revisions_sum) = connection.execute("SELECT count(*), coalesce(sum(revision), 0) FROM log").fetchone()
    return Outline(last_revision(connection), rows, revisions_sum)


def outline_of(rows: Sequence[FoundRow], revision: int) -> Outline:
    """Of what `read` has found."""
    return Outline(revision, len(rows), sum(row[0] for row in rows))


def write(connection: sqlite3.Connection, rows: Sequence[Row], garbage: Sequence[int]) -> None:
    """Rows to add and revisions to delete, all or nothing, and durable."""
    execute = connection.execute
    if not garbage and len(rows) <= ROWS_PER_STATEMENT_MAX:
        execute(_insert(len(rows)), _flat(rows))  # one statement is a transaction of its own
        return
    execute("BEGIN IMMEDIATE")
    try:
        for start in range(0, len(rows), ROWS_PER_STATEMENT_MAX):
            some = rows[start : start + ROWS_PER_STATEMENT_MAX]
            execute(_insert(len(some)), _flat(some))
        if garbage:
            execute(_delete(len(garbage)), garbage)
            # A deletion's own row may go too, so the counter is kept apart from the rows.
            execute("INSERT OR REPLACE INTO meta VALUES ('revision', ?)", (rows[-1][0],))
        execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            execute("ROLLBACK")
        raise


def _flat(rows: Sequence[Row]) -> list[object]:
    flat: list[object] = []
    for revision, key, created, value in rows:
        flat += (revision, key, created, value, checksum_of(revision, key.encode(), created, value))
    return flat


@lru_cache(maxsize=ROWS_PER_STATEMENT_MAX)
def _insert(rows: int) -> str:
    return "INSERT INTO log VALUES " + ",".join(["(?,?,?,?,?)"] * rows)


def _delete(rows: int) -> str:
    return "DELETE FROM log WHERE revision IN (" + ",".join(["?"] * rows) + ")"


class RevisionMark:
    """Where the writer notes how far it has come. It is not synced: what the system loses with it is only its age."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)

    def note(self, revision: int) -> None:
        os.pwrite(self._descriptor, b"%0*d\n" % (MARK_BYTES, revision), 0)

    def close(self) -> None:
        os.close(self._descriptor)


def check_mark(directory: Path, revision: int) -> None:
    """Raise `Unusable` when the database ends before the last write that was acknowledged."""
    file = directory / MARK
    try:
        text = file.read_text(errors="replace").strip()
    except FileNotFoundError:
        return
    if text and not (text.isascii() and text.isdecimal()):
        raise Unusable(
            f"{file} is damaged: it does not hold a revision",
            f"remove it to start with what {DATABASE} holds, up to revision {revision}",
        )
    acknowledged = int(text or 0)
    if acknowledged > revision:
        log = directory / f"{DATABASE}-wal"
        # Whoever looks makes an empty one.
        lost = "" if log.exists() and log.stat().st_size else f" ({DATABASE}-wal is missing)"
        raise Unusable(
            f"{directory / DATABASE} has lost writes: it ends at revision {revision}, "
            f"but revision {acknowledged} was acknowledged{lost}",
            f"restore {DATABASE} and {DATABASE}-wal from a backup, or remove {MARK} to start without what is lost",
        )
