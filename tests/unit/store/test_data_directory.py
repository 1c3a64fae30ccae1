"""The data directory: private whatever it was, and never silently short of what was acknowledged."""

import errno
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from doorman.store.data_directory import make_private
from doorman.store.database import FORMAT, MARK, Outline, RevisionMark, check_mark
from doorman.store.sqlite_store import SqliteStore
from doorman.store.store_contract import ABSENT, Unusable, Write
from doorman.store.writer_process import open_to_write


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def filled(directory: Path, count: int = 3) -> None:
    store = await SqliteStore.open(directory)
    for number in range(count):
        await store.commit(Write(f"configmaps/default/{number}", b'"name":"%d"}}' % number, ABSENT))
    await store.close()


async def killed(directory: Path) -> None:
    """A store that was written to and whose writer had no time to tidy up: the newest rows are in the log alone."""
    store = await SqliteStore.open(directory)
    await store.commit(Write("configmaps/default/newest", b'"name":"newest"}}', ABSENT))
    store._writer._process.kill()
    await store.close()


async def test_directory_and_files_are_the_owners_alone_whatever_they_were(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    for name in ("store.db", "store.db-wal", "store.db-shm", "store.db-revision", "lock"):
        (directory / name).touch(mode=0o644)
        (directory / name).chmod(0o644)
    store = await SqliteStore.open(directory)
    await store.commit(Write("secrets/default/a", b"x", ABSENT))
    found = {path.name: mode(path) for path in directory.iterdir()}
    await store.close()
    assert mode(directory) == 0o700
    assert {"store.db", "store.db-wal", "store.db-shm", MARK, "lock"} <= set(found)
    assert set(found.values()) == {0o600}


def test_shared_directory_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    make_private(tmp_path)
    assert mode(tmp_path) == 0o1777
    assert mode(tmp_path / "store.db") == 0o600


async def test_lost_log_is_noticed(tmp_path: Path) -> None:
    await filled(tmp_path)
    await killed(tmp_path)
    (tmp_path / "store.db-wal").unlink()
    with pytest.raises(Unusable, match="ends at revision 3, but revision 4 was acknowledged") as refused:
        await SqliteStore.open(tmp_path)
    assert "store.db-wal is missing" in str(refused.value)
    (tmp_path / MARK).unlink()
    store = await SqliteStore.open(tmp_path)
    assert store.revision == 3, "as the hint says"
    await store.close()


async def test_log_that_was_cut_short_is_noticed(tmp_path: Path) -> None:
    await filled(tmp_path)
    await killed(tmp_path)
    os.truncate(tmp_path / "store.db-wal", 100)
    with pytest.raises(Unusable, match="has lost writes"):
        await SqliteStore.open(tmp_path)


async def test_log_that_is_there_is_read(tmp_path: Path) -> None:
    await filled(tmp_path)
    await killed(tmp_path)
    store = await SqliteStore.open(tmp_path)
    assert store.revision == 4
    await store.close()


async def test_directory_without_a_mark_is_taken(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / MARK).unlink()
    store = await SqliteStore.open(tmp_path)
    assert store.revision == 3
    await store.close()


async def test_mark_that_is_damaged_is_told(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / MARK).write_bytes(b"\xffx")
    with pytest.raises(Unusable, match="does not hold a revision"):
        await SqliteStore.open(tmp_path)


@pytest.mark.parametrize("left", [0, 100, 16384, 20000])
async def test_database_that_was_cut_short_is_told(tmp_path: Path, left: int) -> None:
    await filled(tmp_path, 500)
    assert (tmp_path / "store.db").stat().st_size > left
    os.truncate(tmp_path / "store.db", left)
    with pytest.raises(Unusable, match=r"is damaged|has lost writes") as refused:
        await SqliteStore.open(tmp_path)
    assert "backup" in refused.value.hint


async def test_damaged_row_is_left_and_the_others_are_taken(tmp_path: Path) -> None:
    await filled(tmp_path)
    rows = sqlite3.connect(tmp_path / "store.db")
    rows.execute("UPDATE log SET key = CAST(x'ff80' AS TEXT) WHERE revision = 2")
    rows.execute("UPDATE log SET value = 7 WHERE revision = 1")
    rows.commit()
    rows.close()
    store = await SqliteStore.open(tmp_path)
    assert [entry.key for entry in store.entries()] == ["configmaps/default/0", "configmaps/default/2"]
    assert all(isinstance(entry.value, bytes) for entry in store.entries())
    assert [(one.key, one.revision) for one in store.faults.set_aside] == [("store.db row 2", 2)]
    await store.close()


async def test_value_that_is_not_what_was_written_is_unreadable(tmp_path: Path) -> None:
    await filled(tmp_path)
    rows = sqlite3.connect(tmp_path / "store.db")
    (value,) = rows.execute("SELECT value FROM log WHERE revision = 2").fetchone()
    rows.execute("UPDATE log SET value = ? WHERE revision = 2", (value.replace(b'"', b"'", 1),))
    rows.commit()
    rows.close()
    store = await SqliteStore.open(tmp_path)
    found = [entry.value.startswith(b"not what was written") for entry in store.entries()]
    assert found == [False, True, False]
    await store.close()


async def test_file_without_checksums_is_read_and_gets_them(tmp_path: Path) -> None:
    await filled(tmp_path)
    rows = sqlite3.connect(tmp_path / "store.db")
    rows.execute("ALTER TABLE log DROP COLUMN checksum")
    rows.execute("PRAGMA user_version=1")
    rows.commit()
    rows.close()
    store = await SqliteStore.open(tmp_path)
    assert len(list(store.entries())) == 3
    await store.commit(Write("configmaps/default/new", b"{}", ABSENT))
    await store.close()
    rows = sqlite3.connect(tmp_path / "store.db")
    has_checksum = [each for (each,) in rows.execute("SELECT checksum IS NOT NULL FROM log ORDER BY revision")]
    assert has_checksum == [0, 0, 0, 1]
    assert rows.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    rows.close()
    store = await SqliteStore.open(tmp_path)
    assert len(list(store.entries())) == 4
    await store.close()


def test_mark_is_what_was_noted_last(tmp_path: Path) -> None:
    mark = RevisionMark(tmp_path / MARK)
    mark.note(9)
    mark.note(10)
    mark.close()
    check_mark(tmp_path, 10)
    with pytest.raises(Unusable):
        check_mark(tmp_path, 9)


async def test_log_that_is_once_given_back_wrongly_is_not_lost_for_it(tmp_path: Path) -> None:
    """Opening does not fold a log into the database that it could not read to its end."""
    await filled(tmp_path)
    await killed(tmp_path)
    log = tmp_path / "store.db-wal"
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Unusable, match="has lost writes"):
        await SqliteStore.open(tmp_path)
    log.write_bytes(whole)
    store = await SqliteStore.open(tmp_path)
    assert store.revision == 4
    await store.close()


async def test_file_that_ends_elsewhere_than_the_server_read_is_not_written(tmp_path: Path) -> None:
    await filled(tmp_path)
    await killed(tmp_path)
    log = (tmp_path / "store.db-wal").read_bytes()
    with pytest.raises(Unusable, match="up to revision 4, and had 3 up to 3 when it was read"):
        open_to_write(tmp_path / "store.db", Outline(3, 3, 6))
    assert (tmp_path / "store.db-wal").read_bytes() == log


async def test_what_cannot_be_made_durable_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path)

    def fails(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(Unusable, match="cannot be made durable: Input/output error"):
        await SqliteStore.open(tmp_path)
