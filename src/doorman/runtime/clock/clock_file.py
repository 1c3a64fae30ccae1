"""What a data directory knows of its clock: whether it is moved, and how far it has come.

A store that was written on a clock that users move has a file `clock` beside it, which holds the time; one that was
written in real time has none. The two do not mix: times of objects would lie in the future, or go back.
"""

import os
from pathlib import Path
from typing import Final

from doorman.base.clock import Instant
from doorman.runtime.clock.movable_clock import MovableClock
from doorman.store.data_directory import DATABASE, PRIVATE_FILE, make_private
from doorman.store.store_contract import Unusable

CLOCK: Final = "clock"
_WIDTH: Final = 24


class WrongClock(Unusable):
    """The store was written on another kind of clock."""


def check_clock(directory: Path | None, *, is_movable: bool) -> None:
    """Raises WrongClock; nothing has been touched then."""
    if directory is None:
        return
    has_clock = (directory / CLOCK).exists()
    if has_clock and not is_movable:
        raise WrongClock(
            f"{directory} was written on a virtual clock",
            "start it with --clock=virtual, or give another --data-dir",
        )
    database = directory / DATABASE
    if is_movable and not has_clock and database.exists() and database.stat().st_size > 0:
        raise WrongClock(
            f"{directory} was written in real time, and a virtual clock would not go on from it",
            "give another --data-dir, or --in-memory",
        )


class ClockFile:
    """Where a movable clock notes how far it has come. Not synced: what the system loses with it is a little time."""

    def __init__(self, directory: Path) -> None:
        """Before the store is opened: one that was written without it counts as written in real time."""
        make_private(directory)
        self._descriptor = os.open(directory / CLOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)

    def noted(self) -> Instant | None:
        """None: it is new."""
        text = os.pread(self._descriptor, _WIDTH, 0).decode(errors="replace").strip()
        try:
            return float(text) if text else None
        except ValueError:
            return None

    def note(self, instant: Instant) -> None:
        os.pwrite(self._descriptor, b"%*.6f\n" % (_WIDTH - 1, instant), 0)

    def close(self) -> None:
        os.close(self._descriptor)


def open_clock(directory: Path | None, rate: float, wall: Instant) -> tuple[MovableClock, ClockFile | None]:
    """It begins at the machine's time, in whole seconds, and goes on from where it was. Raises OSError."""
    if directory is None:
        return MovableClock(float(int(wall)), rate), None
    file = ClockFile(directory)
    start = max(float(int(wall)) if (noted := file.noted()) is None else noted, 0.0)
    clock = MovableClock(start, rate, on_move=file.note)
    file.note(clock.now())
    return clock, file
