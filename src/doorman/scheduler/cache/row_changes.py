"""What changed, mostly rows, in order, for readers who keep what they made of it.

Each reader keeps a position. When the log gets long its older half is dropped, and who is still there starts afresh:

    note(3), note(5)        entries: 3 5       a reader at position 0 gets 3 5 and goes on from position 2
    ... many more ...       entries: -   7 8   a reader at position 0 gets nothing it could go on from
"""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")

ENTRIES_MAX: Final = 65_536
"""Readers that fall further behind start afresh."""


class ChangeLog(Generic[T]):
    def __init__(self) -> None:
        self._entries: list[T] = []
        self._start = 0

    @property
    def end(self) -> int:
        """The position of the next entry."""
        return self._start + len(self._entries)

    def note(self, entry: T) -> None:
        self._entries.append(entry)
        if len(self._entries) > ENTRIES_MAX:
            dropped = ENTRIES_MAX // 2
            del self._entries[:dropped]
            self._start += dropped

    def since(self, position: int) -> Sequence[T] | None:
        """What was noted from this position on; None when that is no longer known."""
        return self._entries[position - self._start :] if position >= self._start else None


RowChanges = ChangeLog[int]
