"""Rows that changed, in order, for readers who keep what they made of them.

Each reader keeps a position. When the log gets long its older half is dropped, and who is still there starts afresh:

    note(3), note(5)        entries: 3 5       a reader at position 0 gets 3 5 and goes on from position 2
    ... many more ...       entries: -   7 8   a reader at position 0 gets nothing it could go on from
"""

from collections.abc import Sequence
from typing import Final

ENTRIES_MAX: Final = 65_536
"""Readers that fall further behind start afresh."""


class RowChanges:
    def __init__(self) -> None:
        self._entries: list[int] = []
        self._start = 0

    @property
    def end(self) -> int:
        """The position of the next entry."""
        return self._start + len(self._entries)

    def note(self, row: int) -> None:
        self._entries.append(row)
        if len(self._entries) > ENTRIES_MAX:
            dropped = ENTRIES_MAX // 2
            del self._entries[:dropped]
            self._start += dropped

    def since(self, position: int) -> Sequence[int] | None:
        """What was noted from this position on; None when that is no longer known."""
        return self._entries[position - self._start :] if position >= self._start else None
