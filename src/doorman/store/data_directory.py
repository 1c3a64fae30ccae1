"""The data directory and its files: whose they are, who may read them, and who uses them now.

Files are the owner's alone whatever they were before, and so is the directory, unless it is somebody else's or shared
(`/tmp`).
"""

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from doorman.store.store_contract import Unusable

DATABASE: Final = "store.db"
PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
FAREWELL_STEPS: Final = 50
FAREWELL_STEP_SECONDS: Final = 0.01
"""How long the directory may still be held: the writer of a server that was killed is at its last group."""


def make_private(directory: Path) -> None:
    """Before anything is written there. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    found = directory.stat()
    if found.st_uid == os.geteuid() and not found.st_mode & stat.S_ISVTX:
        _chmod(directory, PRIVATE_FOLDER)
    # SQLite gives the files it makes beside a database the database's mode.
    os.close(os.open(directory / DATABASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE))
    for file in directory.glob(f"{DATABASE}*"):
        _chmod(file, PRIVATE_FILE)


def _chmod(path: Path, mode: int) -> None:
    if stat.S_IMODE(path.stat().st_mode) != mode:
        with contextlib.suppress(PermissionError):  # of another owner, who may have his reasons
            path.chmod(mode)


def sync_files(directory: Path) -> None:
    """Have on the disk what is in the files: a writer that was killed may have written what it did not come to sync.
    Read and told to clients, it could be gone after the next power cut. Raises `Unusable`.
    """
    for name in (DATABASE, f"{DATABASE}-wal"):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(directory / name, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise Unusable(
                    f"{directory / name} cannot be made durable: {error.strerror}", "look after the disk"
                ) from error
            finally:
                os.close(descriptor)


def hold(directory: Path) -> int:
    """Lock the directory for this process and its writer; the lock goes when they do, however they end."""
    try:
        make_private(directory)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, PRIVATE_FILE)
    except OSError as error:
        raise Unusable(
            f"cannot use the data directory {directory}: {error.strerror}",
            "give a directory you may write to with --data-dir, or use --in-memory",
        ) from error
    for attempt in range(FAREWELL_STEPS + 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if attempt < FAREWELL_STEPS:
                time.sleep(FAREWELL_STEP_SECONDS)
                continue
            holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise Unusable(
                f"the data directory {directory} is in use by process {holder}",
                "stop that process, or give another directory with --data-dir",
            ) from error
        else:
            break
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


@contextlib.contextmanager
def held(directory: Path) -> Iterator[None]:
    """The same for as long as the block takes."""
    descriptor = hold(directory)
    try:
        yield
    finally:
        os.close(descriptor)


def write_private(file: Path, content: bytes) -> None:
    """Readable by its owner only, and whole or not at all."""
    partial = file.with_name(f".{file.name}.part")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)  # should there be one of another mode, left by a server that was killed
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    os.replace(partial, file)
