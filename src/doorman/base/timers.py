"""Timers: keys that fall due at an instant, up to millions of them.

A binary heap in order of instant and, for equal instants, of insertion. Cancelling only forgets the key: the
entry stays in the heap until it comes up or until forgotten entries outnumber the living, when the heap is
rebuilt. So add and cancel stay cheap, and a heap never holds more than twice what is pending (and a few).
"""

import heapq
from typing import Final, Generic, TypeVar

from doorman.base.clock import Instant

K = TypeVar("K")

FORGOTTEN_ENTRIES_MIN: Final = 64
"""Below so many forgotten entries rebuilding the heap is not worth its while."""


BULK_ENTRIES_MIN: Final = 1024
BULK_SHARE: Final = 64
"""When more than this many and this share of all entries were taken one by one, the rest is taken at once: by then the
ones that were taken have cost about as much as going through all.
"""


class TimerHeap(Generic[K]):
    """One instant a key.

    >>> timers = TimerHeap[str]()
    >>> timers.add("late", 20.0), timers.add("soon", 10.0), timers.add("never", 15.0)
    (None, None, None)
    >>> timers.cancel("never"), timers.cancel("unknown")
    (True, False)
    >>> timers.next_due(), timers.last_due(), timers.pop_due(9.0), timers.pop_due(20.0), len(timers)
    (10.0, 20.0, [], ['soon', 'late'], 0)
    """

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, K]] = []
        self._numbers: dict[K, int] = {}
        """The number of each key's living entry; an entry with another number is forgotten."""
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, key: K) -> bool:
        return key in self._numbers

    def add(self, key: K, due: Instant) -> None:
        """Let `key` fall due at `due`, and no longer when it was due before."""
        self._last_number += 1
        self._numbers[key] = self._last_number
        heapq.heappush(self._heap, (due, self._last_number, key))
        self._compact_if_worthwhile()

    def cancel(self, key: K) -> bool:
        """Whether there was anything to cancel."""
        if self._numbers.pop(key, None) is None:
            return False
        self._compact_if_worthwhile()
        return True

    def shift(self, seconds: float) -> None:
        """Let everything fall due so much later. Their order stays, so the heap is one still."""
        self._heap = [(due + seconds, number, key) for due, number, key in self._heap]

    def next_due(self) -> Instant | None:
        """When the next key falls due; None when none is pending."""
        heap, numbers = self._heap, self._numbers
        while heap:
            due, number, key = heap[0]
            if numbers.get(key) == number:
                return due
            heapq.heappop(heap)
        return None

    def last_due(self) -> Instant | None:
        """When the last of all keys falls due. Goes through all of them."""
        numbers = self._numbers
        return max((due for due, number, key in self._heap if numbers.get(key) == number), default=None)

    def pop_due(self, now: Instant, limit: int | None = None) -> list[K]:
        """Take out what is due at `now`, in order; `limit` bounds how many at once."""
        heap, numbers = self._heap, self._numbers
        due_keys: list[K] = []
        taken = 0
        while heap and heap[0][0] <= now and (limit is None or len(due_keys) < limit):
            if limit is None and taken > BULK_ENTRIES_MIN and taken > len(heap) // BULK_SHARE:
                due_keys.extend(self._take_all_due(now))
                break
            _, number, key = heapq.heappop(heap)
            taken += 1
            if numbers.get(key) == number:
                del numbers[key]
                due_keys.append(key)
        return due_keys

    def _take_all_due(self, now: Instant) -> list[K]:
        """So much is due that going through everything once is cheaper than taking one after another."""
        numbers = self._numbers
        due = [entry for entry in self._heap if entry[0] <= now and numbers.get(entry[2]) == entry[1]]
        self._heap = [entry for entry in self._heap if entry[0] > now]
        heapq.heapify(self._heap)
        due.sort()
        keys = [key for _, _, key in due]
        for key in keys:
            del numbers[key]
        return keys

    def _compact_if_worthwhile(self) -> None:
        living = len(self._numbers)
        if len(self._heap) <= 2 * living + FORGOTTEN_ENTRIES_MIN:
            return
        numbers = self._numbers
        self._heap = [entry for entry in self._heap if numbers.get(entry[2]) == entry[1]]
        heapq.heapify(self._heap)
