"""A disk in memory for SQLite, by a VFS of its own: what is not synced may be lost, whole or torn at any byte.

A process that dies leaves what it wrote. A power cut leaves of each write since the last sync all, nothing or a part.
Faults are armed by the simulator: a sync that fails, a disk that is full, a write that fails, a read that gives back
garbage, and a process that dies at any operation.
"""

import ctypes
import ctypes.util
import random
from collections.abc import Callable, Iterable
from typing import Any

OK, IOERR, FULL, NOTFOUND, CANTOPEN = 0, 10, 13, 12, 14
SHORT_READ, FSYNC, WRITE_FAULT, READ_FAULT = IOERR | 2 << 8, IOERR | 4 << 8, IOERR | 3 << 8, IOERR | 1 << 8
LOCK_FAULT, BUSY, OPEN_READ_ONLY = IOERR | 15 << 8, 5, 1
LOCK_SHARED, LOCK_PENDING, LOCK_EXCLUSIVE = 1, 3, 4
PAGE_BYTES = 16384

int_p, int64_p, void_p = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p


def _call(*arguments: Any, result: Any = ctypes.c_int) -> Any:  # types of ctypes
    return ctypes.CFUNCTYPE(result, *arguments)


class _Handle(ctypes.Structure):
    """What SQLite holds of an open file."""

    _fields_ = [("methods", void_p), ("number", ctypes.c_int64)]


_file = ctypes.POINTER(_Handle)
_METHODS: list[tuple[str, Any]] = [
    ("xClose", _call(_file)),
    ("xRead", _call(_file, void_p, ctypes.c_int, ctypes.c_int64)),
    ("xWrite", _call(_file, void_p, ctypes.c_int, ctypes.c_int64)),
    ("xTruncate", _call(_file, ctypes.c_int64)),
    ("xSync", _call(_file, ctypes.c_int)),
    ("xFileSize", _call(_file, int64_p)),
    ("xLock", _call(_file, ctypes.c_int)),
    ("xUnlock", _call(_file, ctypes.c_int)),
    ("xCheckReservedLock", _call(_file, int_p)),
    ("xFileControl", _call(_file, ctypes.c_int, void_p)),
    ("xSectorSize", _call(_file)),
    ("xDeviceCharacteristics", _call(_file)),
    ("xShmMap", _call(_file, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(void_p))),
    ("xShmLock", _call(_file, ctypes.c_int, ctypes.c_int, ctypes.c_int)),
    ("xShmBarrier", _call(_file, result=None)),
    ("xShmUnmap", _call(_file, ctypes.c_int)),
]


class _IoMethods(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), *_METHODS]


_OPEN = _call(void_p, ctypes.c_char_p, _file, ctypes.c_int, int_p)
_DELETE = _call(void_p, ctypes.c_char_p, ctypes.c_int)
_ACCESS = _call(void_p, ctypes.c_char_p, ctypes.c_int, int_p)
_FULL_PATH = _call(void_p, ctypes.c_char_p, ctypes.c_int, void_p)
_RANDOMNESS = _call(void_p, ctypes.c_int, void_p)
_SLEEP = _call(void_p, ctypes.c_int)
_TIME = _call(void_p, ctypes.POINTER(ctypes.c_double))


class _Vfs(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int), ("file_size", ctypes.c_int), ("path_max", ctypes.c_int), ("next", void_p),
        ("name", ctypes.c_char_p), ("app_data", void_p), ("xOpen", _OPEN), ("xDelete", _DELETE), ("xAccess", _ACCESS),
        ("xFullPathname", _FULL_PATH), ("xDlOpen", void_p), ("xDlError", void_p), ("xDlSym", void_p),
        ("xDlClose", void_p), ("xRandomness", _RANDOMNESS), ("xSleep", _SLEEP), ("xCurrentTime", _TIME),
        ("xGetLastError", void_p),
    ]  # fmt: skip


_USED: list[object] = []
"""SQLite may look at them as long as there is anything that it opened with them."""


class SimFile:
    def __init__(self) -> None:
        self.current = bytearray()
        """As processes see it."""
        self.durable = bytearray()
        """As it is after a power cut, but for what is pending."""
        self.pending: list[tuple[int, bytes | None]] = []
        """Writes since the last sync: where, and what; None: cut off there."""

    def write(self, at: int, data: bytes | None) -> None:
        _apply(self.current, at, data)
        self.pending.append((at, data))

    def sync(self) -> None:
        for at, data in self.pending:
            _apply(self.durable, at, data)
        self.pending.clear()

    def lose_power(self, rng: random.Random) -> None:
        """Of each write that was not synced there is all, nothing, or a part."""
        for at, data in self.pending:
            pick = rng.random()
            if data is None or pick < 0.4:
                kept: bytes | None = data
                if pick >= 0.4:
                    continue
            elif pick < 0.7:
                continue
            else:
                begin, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
                at, kept = at + begin, data[begin:end]
            _apply(self.durable, at, kept)
        self.pending.clear()
        self.current = bytearray(self.durable)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        return
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


class DiskFaults:
    """What goes wrong next: each is armed for so many operations from now, and goes off once."""

    def __init__(self) -> None:
        self.armed: dict[str, int] = {}
        self.gone_off: dict[str, int] = {}
        self.told: Callable[[str], None] = lambda _: None

    def arm(self, kind: str, after: int) -> None:
        self.armed[kind] = after

    def goes_off(self, kind: str) -> bool:
        left = self.armed.get(kind)
        if left is None:
            return False
        if left > 0:
            self.armed[kind] = left - 1
            return False
        del self.armed[kind]
        self.gone_off[kind] = self.gone_off.get(kind, 0) + 1
        self.told(kind)
        return True


class SimDisk:
    """The files of one machine. `install` makes it what SQLite works on in this process."""

    def __init__(self, rng: random.Random) -> None:
        self.files: dict[str, SimFile] = {}
        self.faults = DiskFaults()
        self.on_death: Callable[[], None] = lambda: None
        """Told when whoever works on the disk is to die in the middle of it."""
        self.operations = 0
        self.syncs = 0
        self._rng = rng
        self._open: dict[int, tuple[str, SimFile, int]] = {}
        self._numbers = 0
        self._last_closed = 0
        self._locks: dict[int, int] = {}
        self._dead_below = 0
        """Handles of processes that have died: nothing that they do has any effect."""
        self._shared: dict[str, list[Any]] = {}
        """Memory that connections to one file share."""
        self._past_shared: list[Any] = []
        """Of the dead: SQLite still looks at it when it closes what they had open."""

    def install(self) -> None:
        library = ctypes.CDLL(ctypes.util.find_library("sqlite3") or "libsqlite3.so.0")
        bound = {name: kind(self._guarded(getattr(self, f"_{name[1:].lower()}"))) for name, kind in _METHODS}
        self._methods = _IoMethods(2, *(bound[name] for name, _ in _METHODS))
        self._vfs = _Vfs(
            1, ctypes.sizeof(_Handle), 512, None, b"simulated", None, _OPEN(self._guarded(self._open_file)),
            _DELETE(self._guarded(self._delete)), _ACCESS(self._guarded(self._access)),
            _FULL_PATH(self._guarded(self._full_path)), None, None, None, None,
            _RANDOMNESS(self._guarded(self._randomness)), _SLEEP(lambda *_: 0), _TIME(self._guarded(self._time)), None,
        )  # fmt: skip
        self._library = library
        assert library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1) == OK
        # SQLite draws its numbers from one source a process: begun anew, so that the second run of a seed is the first.
        library.sqlite3_randomness(0, None)

    def uninstall(self) -> None:
        self._library.sqlite3_vfs_unregister(ctypes.byref(self._vfs))
        self.let_die()
        self.files.clear()
        _USED.append((self._methods, self._vfs))

    def let_die(self) -> None:
        """Whoever has files open is dead from now on."""
        self._dead_below = self._numbers + 1
        self._past_shared.extend(self._shared.values())
        self._shared.clear()

    def sync_all(self) -> bool:
        """As `fsync` of every file; False: it failed."""
        for name in sorted(self.files):
            if self.faults.goes_off("sync"):
                return False
            self.files[name].sync()
        return True

    def lose_power(self) -> None:
        self.let_die()
        self.faults.armed.pop("garbage", None)  # the mark may be an old one now: nothing would tell
        for name in sorted(self.files):
            self.files[name].lose_power(self._rng)

    # The calls of SQLite.

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except Exception:  # noqa: BLE001  nothing may be raised through SQLite
                import traceback

                traceback.print_exc()
                return IOERR

        return call

    def _of(self, handle: Any) -> tuple[str, SimFile] | None:
        """None: of a process that is dead."""
        number = handle.contents.number
        if number < self._dead_below:
            return None
        name, file, _ = self._open[number]
        self.operations += 1
        return name, file

    def _dies(self) -> bool:
        if self.faults.goes_off("death"):
            self.let_die()
            self.on_death()
            return True
        return False

    def _open_file(self, _vfs: Any, name: bytes | None, handle: Any, flags: int, out: Any) -> int:
        handle.contents.methods = None
        self._numbers += 1
        path = name.decode() if name else f"temporary-{self._numbers}"
        file = self.files.get(path)
        if file is None:
            file = self.files[path] = SimFile()
        self._open[self._numbers] = (path, file, flags)
        handle.contents.number = self._numbers
        handle.contents.methods = ctypes.addressof(self._methods)
        if out:
            out[0] = flags
        return OK

    def _delete(self, _vfs: Any, name: bytes, _sync: int) -> int:
        if self._last_closed < self._dead_below:
            return IOERR  # SQLite closes a log before it deletes it: this is one of the dead
        self.files.pop(name.decode(), None)
        return OK

    def _access(self, _vfs: Any, name: bytes, _flags: int, out: Any) -> int:
        file = self.files.get(name.decode())
        out[0] = int(file is not None and (len(file.current) > 0 or not name.endswith((b"-wal", b"-journal"))))
        return OK

    def _full_path(self, _vfs: Any, name: bytes, size: int, out: int) -> int:
        ctypes.memmove(out, name + b"\0", min(len(name) + 1, size))
        return OK

    def _randomness(self, _vfs: Any, size: int, out: int) -> int:
        ctypes.memmove(out, self._rng.randbytes(size), size)
        return size

    def _time(self, _vfs: Any, out: Any) -> int:
        out[0] = 2460676.5
        return OK

    def _close(self, handle: Any) -> int:
        self._last_closed = handle.contents.number
        self._locks.pop(handle.contents.number, None)
        self._open.pop(handle.contents.number, None)
        return OK

    def _read(self, handle: Any, out: int, size: int, at: int) -> int:
        found = self._of(handle)
        if found is None:
            return READ_FAULT
        name, file = found
        data = bytes(file.current[at : at + size])
        # Where SQLite looks at checksums: when it reads a log anew, frame by frame. A page of which one byte is another
        # is noticed by nobody.
        if name.endswith("-wal") and len(data) > 8 and size != PAGE_BYTES and self.faults.goes_off("garbage"):
            place = self._rng.randrange(len(data))
            data = data[:place] + self._rng.randbytes(1) + data[place + 1 :]
        ctypes.memmove(out, data + bytes(size - len(data)), size)
        return OK if len(data) == size else SHORT_READ

    def _write(self, handle: Any, source: int, size: int, at: int) -> int:
        found = self._of(handle)
        if found is None:
            return WRITE_FAULT
        _, file = found
        if self._open[handle.contents.number][2] & OPEN_READ_ONLY:
            return WRITE_FAULT
        data = ctypes.string_at(source, size)
        if self._dies():
            file.write(at, data[: self._rng.randrange(size + 1)])
            return WRITE_FAULT
        if self.faults.goes_off("full"):
            file.write(at, data[: self._rng.randrange(size + 1)])
            return FULL
        if self.faults.goes_off("write"):
            return WRITE_FAULT
        file.write(at, data)
        return OK

    def _truncate(self, handle: Any, size: int) -> int:
        found = self._of(handle)
        if found is None or self._dies():
            return IOERR
        found[1].write(size, None)
        return OK

    def _sync(self, handle: Any, _flags: int) -> int:
        found = self._of(handle)
        if found is None or self._dies():
            return FSYNC
        if self.faults.goes_off("sync"):
            return FSYNC
        self.syncs += 1
        found[1].sync()
        return OK

    def _filesize(self, handle: Any, out: Any) -> int:
        found = self._of(handle)
        if found is None:
            return IOERR
        out[0] = len(found[1].current)
        return OK

    def _lock(self, handle: Any, level: int) -> int:
        """As on a real disk: one who wants it alone waits for the others, and who only reads never has it alone."""
        number = handle.contents.number
        if number < self._dead_below:
            return LOCK_FAULT
        name, _, flags = self._open[number]
        others = [held for other, held in self._held_locks() if other != number and self._is_of(other, name)]
        if level >= LOCK_EXCLUSIVE and flags & OPEN_READ_ONLY:
            return LOCK_FAULT
        if others and (max(others) >= LOCK_PENDING or (level > LOCK_SHARED and max(others) > LOCK_SHARED)):
            return BUSY
        if level >= LOCK_EXCLUSIVE and any(others):
            return BUSY
        self._locks[number] = level
        return OK

    def _unlock(self, handle: Any, level: int) -> int:
        self._locks[handle.contents.number] = level
        return OK

    def _checkreservedlock(self, handle: Any, out: Any) -> int:
        name = self._open[handle.contents.number][0]
        out[0] = int(any(held > LOCK_SHARED for other, held in self._held_locks() if self._is_of(other, name)))
        return OK

    def _held_locks(self) -> Iterable[tuple[int, int]]:
        """Copied first, and at once: whatever is collected meanwhile may close a file, also while a list is made."""
        return self._locks.copy().items()

    def _is_of(self, number: int, name: str) -> bool:
        return number >= self._dead_below and number in self._open and self._open[number][0] == name

    def _filecontrol(self, _handle: Any, _operation: int, _argument: Any) -> int:
        return NOTFOUND

    def _sectorsize(self, _handle: Any) -> int:
        return 512

    def _devicecharacteristics(self, _handle: Any) -> int:
        return 0

    def _shmmap(self, handle: Any, region: int, size: int, extends: int, out: Any) -> int:
        found = self._of(handle)
        if found is None:
            return IOERR
        regions = self._shared.setdefault(found[0], [])
        while extends and len(regions) <= region:
            regions.append(ctypes.create_string_buffer(size))
        out[0] = ctypes.addressof(regions[region]) if region < len(regions) else None
        return OK

    def _shmbarrier(self, _handle: Any) -> None:
        """Nothing happens beside anything else here."""

    def _shmlock(self, _handle: Any, _offset: int, _count: int, _flags: int) -> int:
        return OK

    def _shmunmap(self, handle: Any, _deletes: int) -> int:
        found = self._of(handle)
        name = found[0] if found is not None else ""
        if not any(self._is_of(other, name) for other in self._open if other != handle.contents.number):
            self._past_shared.append(self._shared.pop(name, None))
        return OK
