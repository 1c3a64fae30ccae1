"""Arrays with one entry a node, and the vocabulary to speak of them.

`Rows` says which entries are meant: one (an int), all (a slice) or some (an array). Rules are written once as
arithmetic that works on whole arrays and on single numbers alike, so the same code evaluates 5,000 nodes at once and
the one node that a placement has just changed.

A `ValueColumn` holds values that many nodes share (taint sets, the values of one label) as small numbers. A `Lookup`
asks a question once for each distinct value and answers for rows by indexing.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.int64]
"""Whole numbers by row. Where `Rows` was an int this is a single number; it behaves the same in arithmetic."""

Mask: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int32]
RowArray: TypeAlias = npt.NDArray[np.intp]
Rows: TypeAlias = int | slice | RowArray

T = TypeVar("T", bound=Hashable)

STALE_VALUES_MIN: Final = 256
"""A value column is renumbered when it knows this many values and four times as many as rows."""


def at(column: Column, rows: Rows) -> Any:  # a Column, or an int where `rows` is one
    """The entries meant. One of them comes as a plain int: arithmetic on those is several times faster."""
    return column.item(rows) if type(rows) is int else column[rows]


def grown(array: npt.NDArray[np.generic], size: int, fill: int = 0) -> npt.NDArray[np.generic]:
    """A copy with room for `size` entries."""
    larger = np.full(size, fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class ValueColumn(Generic[T]):
    """A shared value for each row; number 0 is the absent one.

    >>> zones = ValueColumn[str | None](None, capacity=4)
    >>> zones.set(0, "a"), zones.set(1, "b"), zones.set(2, "a")
    (None, None, None)
    >>> zones.numbers.tolist(), zones.values
    ([1, 2, 1, 0], [None, 'a', 'b'])
    """

    def __init__(self, absent: T, capacity: int) -> None:
        self.numbers: Numbers = np.zeros(capacity, dtype=np.int32)
        self.values: list[T] = [absent]
        self.version = 0
        """Changes when numbers get other meanings; new values alone do not change it."""
        self._index: dict[T, int] = {absent: 0}

    def set(self, row: int, value: T) -> None:
        number = self._index.get(value)
        if number is None:
            if len(self.values) > max(STALE_VALUES_MIN, 4 * len(self.numbers)):
                self._renumber()
            number = self._index[value] = len(self.values)
            self.values.append(value)
        self.numbers[row] = number

    def grow(self, capacity: int) -> None:
        self.numbers = np.concatenate([self.numbers, np.zeros(capacity - len(self.numbers), dtype=np.int32)])

    def value(self, row: int) -> T:
        return self.values[int(self.numbers[row])]

    def _renumber(self) -> None:
        """Forget values that no row has any more (host names of nodes long gone)."""
        used = np.unique(np.append(self.numbers, 0))
        renumbered = np.zeros(len(self.values), dtype=np.int32)
        renumbered[used] = np.arange(len(used), dtype=np.int32)
        self.numbers = renumbered[self.numbers]
        self.values = [self.values[number] for number in used]
        self._index = {value: number for number, value in enumerate(self.values)}
        self.version += 1


class Lookup(Generic[T]):
    """A whole-number answer to a question about a value, worked out once a value.

    >>> zones = ValueColumn[str | None](None, capacity=3)
    >>> zones.set(1, "a")
    >>> in_a = Lookup(zones, lambda zone: int(zone == "a"))
    >>> in_a.at(slice(None)).tolist(), int(in_a.at(1))
    ([0, 1, 0], 1)
    """

    def __init__(self, column: ValueColumn[T], question: Callable[[T], int]) -> None:
        self._column = column
        self._question = question
        self._version = column.version
        self._answers: Column = np.zeros(0, dtype=np.int64)

    def at(self, rows: Rows) -> Column:
        column = self._column
        if self._version != column.version:
            self._version = column.version
            self._answers = np.zeros(0, dtype=np.int64)
        known = len(self._answers)
        if known < len(column.values):
            fresh = [self._question(value) for value in column.values[known:]]
            self._answers = np.concatenate([self._answers, np.array(fresh, dtype=np.int64)])
        # The type of an array indexed by a union of index types is beyond the stubs: it is a Column, or one entry.
        answers: Column = self._answers[column.numbers[rows]]
        return answers
