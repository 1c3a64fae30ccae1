"""Numbers of which the least and the most are known: how large a value can be, what evaluating it can cost."""

import math
from typing import Final

import msgspec

MOST: Final = 2**64 - 1
"""More than this is not told apart."""


class Range(msgspec.Struct, frozen=True):
    """
    >>> Range(1, 5).plus(Range(0, 2)), Range(0, MOST).times(Range(2, 2)).max == MOST
    (Range(min=1, max=7), True)
    """

    min: int
    max: int

    def plus(self, other: "Range") -> "Range":
        return Range(_capped(self.min + other.min), _capped(self.max + other.max))

    def times(self, other: "Range") -> "Range":
        return Range(_capped(self.min * other.min), _capped(self.max * other.max))

    def scaled(self, factor: float) -> "Range":
        """Rounded up."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def either(self, other: "Range") -> "Range":
        """What is one or the other."""
        return Range(min(self.min, other.min), max(self.max, other.max))


def exactly(number: int) -> Range:
    return Range(number, number)


def total(ranges: "list[Range]") -> Range:
    found = Range(0, 0)
    for one in ranges:
        found = found.plus(one)
    return found


UNKNOWN: Final = Range(0, MOST)
NOTHING: Final = Range(0, 0)
ONE: Final = Range(1, 1)


def _capped(number: int) -> int:
    return min(number, MOST)


def _scaled(number: int, factor: float) -> int:
    product = number * factor
    return MOST if product >= float(MOST) else math.ceil(product)
