"""Backups of a data directory: one file with the database, as it was at one instant, and the keys beside it.

store.db         a copy that SQLite makes while the server writes: all that was acknowledged before is in it
pki/ca.crt …     without them, clients' kubeconfigs and service accounts' tokens would be worth nothing afterwards
"""

import os
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, Final

from doorman.store.data_directory import DATABASE, PRIVATE_FILE, PRIVATE_FOLDER
from doorman.store.database import FORMAT, MARK, WITHOUT_CHECKSUMS, look
from doorman.store.store_contract import Unusable

KEYS: Final = "pki"


def back_up(directory: Path, file: Path) -> int:
    """Write the backup; the newest revision in it. Raises `Unusable`."""
    database = directory / DATABASE
    if not database.exists():
        raise Unusable(f"{directory} holds no {DATABASE}", "give the server's directory with --data-dir")
    with tempfile.TemporaryDirectory(dir=file.absolute().parent) as scratch:
        copy = Path(scratch) / DATABASE
        try:
            with closing(look(str(database))) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
            revision = _check(copy)
        except sqlite3.Error as error:
            raise Unusable(f"{database} cannot be read: {error}", "is it damaged?") from error
        partial = Path(scratch) / "backup"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as out:
            _pack(out, directory, copy)
            out.flush()
            os.fsync(out.fileno())
        os.replace(partial, file)
    return revision


def _pack(out: IO[bytes], directory: Path, copy: Path) -> None:
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.add(copy, DATABASE)
        for key in sorted((directory / KEYS).glob("*")):
            if key.is_file() and not key.name.startswith("."):
                archive.add(key, f"{KEYS}/{key.name}")


def restore(file: Path, directory: Path, *, replaces: bool = False) -> int:
    """Make a data directory of a backup; the newest revision in it. Raises `Unusable`, and then changes nothing."""
    database = directory / DATABASE
    if database.exists() and database.stat().st_size and not replaces:
        raise Unusable(f"{directory} holds a {DATABASE} already", "give another --data-dir, or --force to replace it")
    found = _read(file)
    directory.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        copy = Path(scratch) / DATABASE
        copy.write_bytes(found.pop(DATABASE))
        try:
            revision = _check(copy)
        except sqlite3.Error as error:
            raise Unusable(f"{file} is damaged: {error}", "take another backup") from error
        (directory / KEYS).mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
        for name, content in found.items():
            _write(directory / name, content)
        for stale in (f"{DATABASE}-wal", f"{DATABASE}-shm", MARK):
            (directory / stale).unlink(missing_ok=True)
        copy.chmod(PRIVATE_FILE)
        os.replace(copy, database)
    return revision


def _read(file: Path) -> dict[str, bytes]:
    """By name, what a backup may hold and nothing else: names in an archive are somebody's choice."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, "r:gz") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                is_key = path.parent == PurePosixPath(KEYS) and not path.name.startswith(".")
                content = archive.extractfile(member) if member.isfile() else None
                if content is None or not (member.name == DATABASE or is_key):
                    raise Unusable(f"{file} is no backup: it holds {member.name}", "`doorman backup FILE` makes one")
                found[member.name] = content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise Unusable(f"{file} cannot be read: {error}", "`doorman backup FILE` makes one") from error
    if DATABASE not in found:
        raise Unusable(f"{file} is no backup: it holds no {DATABASE}", "`doorman backup FILE` makes one")
    return found


def _check(database: Path) -> int:
    """The newest revision of a whole database. Raises sqlite3.Error."""
    with closing(sqlite3.connect(database)) as connection:
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if state != "ok" or version not in (WITHOUT_CHECKSUMS, FORMAT):
            raise sqlite3.DatabaseError(state if state != "ok" else f"format {version}, and not {FORMAT}")
        (newest,) = connection.execute("SELECT max(revision) FROM log").fetchone()
        counter = connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
    return max(newest or 0, counter[0] if counter else 0)


def _write(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)
