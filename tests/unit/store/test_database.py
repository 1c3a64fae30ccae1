"""The SQLite file: all or nothing, in order, and what was not written is not believed."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorman.store.database import (
    FORMAT,
    ROWS_PER_STATEMENT_MAX,
    OtherFormat,
    Outline,
    Row,
    checksum_of,
    connect,
    is_new,
    last_revision,
    look,
    make,
    outline,
    outline_of,
    read,
    write,
)

LOG_HEADER_BYTES, FRAME_BYTES = 32, 24 + 16384


@pytest.fixture
def file(tmp_path: Path) -> str:
    file = str(tmp_path / "store.db")
    make(file)
    return file


@pytest.fixture
def connection(file: str) -> Iterator[sqlite3.Connection]:
    connection = connect(file)
    yield connection
    connection.close()


def row(revision: int, value: bytes | None = b"{}", key: str = "pods/default/a") -> Row:
    return revision, key, 1, value


def found(file: str) -> tuple[list[tuple[int, object]], int]:
    looking = look(file)
    try:
        rows, revision = read(looking)
        return [(each[0], each[3]) for each in rows], revision
    finally:
        looking.close()


def test_file_without_tables_is_new(tmp_path: Path) -> None:
    connection = connect(str(tmp_path / "empty.db"))
    assert is_new(connection)
    assert (read(connection), last_revision(connection)) == (([], 0), 0)
    connection.close()


def test_rows_are_read_in_the_order_of_revisions(file: str, connection: sqlite3.Connection) -> None:
    write(connection, [row(2, b"two"), row(3, None)], [])
    write(connection, [row(4, b"four")], [])
    assert found(file) == ([(2, b"two"), (3, None), (4, b"four")], 4)


def test_superseded_rows_go_and_the_last_revision_is_kept(file: str, connection: sqlite3.Connection) -> None:
    write(connection, [row(1), row(2, None)], [])
    write(connection, [row(3, None, "pods/default/b")], [1, 2])
    write(connection, [row(4, b"x")], [3])
    write(connection, [row(5, None)], [4, 5])
    assert found(file) == ([], 5)


def test_more_rows_than_one_statement_takes(file: str, connection: sqlite3.Connection) -> None:
    count = 2 * ROWS_PER_STATEMENT_MAX + 1
    write(connection, [row(number + 1, b"%d" % number) for number in range(count)], [])
    rows, revision = found(file)
    assert (len(rows), revision) == (count, count)


def test_group_that_cannot_be_written_leaves_nothing(file: str, connection: sqlite3.Connection) -> None:
    write(connection, [row(1)], [])
    with pytest.raises(sqlite3.IntegrityError):
        write(connection, [row(2), row(1)], [1])
    assert found(file) == ([(1, b"{}")], 1)
    write(connection, [row(2)], [])
    assert found(file)[1] == 2


@pytest.mark.parametrize("change", ["value = x'7b7b'", "key = 'pods/default/b'", "created = 9", "value = NULL"])
def test_row_that_is_not_what_was_written_is_unreadable(file: str, connection: sqlite3.Connection, change: str) -> None:
    write(connection, [row(1)], [])
    connection.execute(f"UPDATE log SET {change}")
    ((_, value),), _ = found(file)
    assert isinstance(value, bytes)
    assert value.startswith(b"not what was written")


def test_checksum_is_of_everything_in_a_row() -> None:
    sums = {
        checksum_of(*each)
        for each in [(1, b"a", 1, b"x"), (2, b"a", 1, b"x"), (1, b"b", 1, b"x"), (1, b"a", 2, b"x"), (1, b"a", 1, None)]
    }
    assert len(sums) == 5


def test_file_of_another_format_is_refused(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA user_version={FORMAT + 1}")
    with pytest.raises(OtherFormat) as refused:
        read(connection)
    assert refused.value.found == FORMAT + 1


def test_log_that_is_wrong_in_its_middle_shows_in_the_outline(file: str, connection: sqlite3.Connection) -> None:
    """It has been copied into the file already: of pages that it has before the wrong place the old ones are read, of
    others the new ones, up to the last.
    """
    large = b"x" * 3000
    write(connection, [row(revision, large) for revision in range(1, 52)], [])
    write(connection, [row(52, large)], range(1, 40))  # there are pages now that nothing is on
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for revision in range(53, 60):
        write(connection, [row(revision, large)], [])
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    whole = outline(connection)
    copy, log = Path(f"{file}-copy"), bytearray(Path(f"{file}-wal").read_bytes())
    log[LOG_HEADER_BYTES + FRAME_BYTES + 100] ^= 1
    copy.write_bytes(Path(file).read_bytes())
    Path(f"{copy}-wal").write_bytes(log)
    with contextlib.closing(look(str(copy))) as looking:
        rows, revision = read(looking)
    assert revision == whole.revision == 59
    assert outline_of(rows, revision) != whole


def test_outline_of_what_was_read_is_that_of_the_file(file: str, connection: sqlite3.Connection) -> None:
    assert outline(connection) == Outline(0)
    write(connection, [row(1), row(2), row(3)], [])
    write(connection, [row(4)], [2])
    with contextlib.closing(look(file)) as looking:
        assert outline_of(*read(looking)) == outline(looking) == Outline(4, 3, 8)
