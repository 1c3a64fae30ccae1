"""Backups of a data directory: whole, taken while it is written, and never half restored."""

import asyncio
import io
import stat
import tarfile
from pathlib import Path

import pytest

from doorman.store.backup import back_up, restore
from doorman.store.sqlite_store import SqliteStore
from doorman.store.store_contract import ABSENT, Unusable, Write


async def given_store(directory: Path, count: int = 3) -> SqliteStore:
    store = await SqliteStore.open(directory)
    for number in range(count):
        await store.commit(Write(f"pods/{number}", b"1", ABSENT))
    (directory / "pki").mkdir()
    (directory / "pki" / "ca.crt").write_text("certificate")
    return store


async def test_backup_of_a_store_that_is_written_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    store = await given_store(tmp_path / "data")
    writing = [asyncio.ensure_future(store.commit(Write(f"pods/more{n}", b"2", ABSENT))) for n in range(50)]
    acknowledged = await writing[0]
    revision = back_up(tmp_path / "data", tmp_path / "backup")
    assert revision >= acknowledged.revision
    await asyncio.gather(*writing)
    await store.close()
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    assert restore(tmp_path / "backup", tmp_path / "again") == revision
    again = await SqliteStore.open(tmp_path / "again")
    assert {entry.key for entry in again.entries()} >= {"pods/0", "pods/1", "pods/2", "pods/more0"}
    assert again.revision == revision
    assert (tmp_path / "again" / "pki" / "ca.crt").read_text() == "certificate"
    await again.close()


async def test_directory_that_holds_something_is_replaced_only_when_told(tmp_path: Path) -> None:
    store = await given_store(tmp_path / "data", 1)
    back_up(tmp_path / "data", tmp_path / "backup")
    await store.commit(Write("pods/later", b"1", ABSENT))
    await store.close()
    with pytest.raises(Unusable, match="already"):
        restore(tmp_path / "backup", tmp_path / "data")
    restore(tmp_path / "backup", tmp_path / "data", replaces=True)
    again = await SqliteStore.open(tmp_path / "data")
    assert [entry.key for entry in again.entries()] == ["pods/0"]
    await again.close()


@pytest.mark.parametrize("name", ["../outside", "pki/../../outside", "/etc/outside", "pki/.hidden", "other"])
def test_archive_with_other_names_is_no_backup(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "backup", "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(Unusable, match="no backup"):
        restore(tmp_path / "backup", tmp_path / "data")
    assert not (tmp_path / "outside").exists()


async def test_backup_that_is_damaged_changes_nothing(tmp_path: Path) -> None:
    store = await given_store(tmp_path / "data")
    await store.close()
    back_up(tmp_path / "data", tmp_path / "backup")
    with tarfile.open(tmp_path / "backup") as archive:
        content = archive.extractfile("store.db")
        assert content is not None
        database = bytearray(content.read())
    database[100:4096] = bytes(3996)
    with tarfile.open(tmp_path / "broken", "w:gz") as archive:
        member = tarfile.TarInfo("store.db")
        member.size = len(database)
        archive.addfile(member, io.BytesIO(bytes(database)))
    before = (tmp_path / "data" / "store.db").read_bytes()
    with pytest.raises(Unusable, match="damaged"):
        restore(tmp_path / "broken", tmp_path / "data", replaces=True)
    assert (tmp_path / "data" / "store.db").read_bytes() == before
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(Unusable, match="cannot be read"):
        restore(tmp_path / "text", tmp_path / "data", replaces=True)


def test_directory_without_a_store_has_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="holds no"):
        back_up(tmp_path, tmp_path / "backup")
