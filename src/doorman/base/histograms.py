"""A histogram that costs little to feed: for measures that are taken thousands of times a second.

And what those who show histograms and other metrics read them from.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # what measures need not load what shows
    from prometheus_client.core import Metric

MetricsSource: TypeAlias = "Callable[[], Iterable[Metric]]"
"""Metrics as they are now."""


class Histogram:
    """How many values fell at or below each bound, how many there were, and their sum.

    >>> histogram = Histogram((1.0, 2.0))
    >>> for value in (0.5, 1.0, 1.5, 9.0):
    ...     histogram.observe(value)
    >>> histogram.cumulated(), histogram.total
    ([('1.0', 2), ('2.0', 3), ('+Inf', 4)], 12.0)
    """

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def cumulated(self) -> list[tuple[str, float]]:
        """Pairs of upper bound and count, as Prometheus writes them."""
        return list(zip((*map(str, self._bounds), "+Inf"), accumulate(self._counts), strict=True))


class LabelledHistograms:
    """Histograms with the same bounds, by the values of their labels. Made when first fed."""

    __slots__ = ("_bounds", "_by_labels")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._by_labels: dict[tuple[str, ...], Histogram] = {}

    def observe(self, labels: tuple[str, ...], value: float) -> None:
        histogram = self._by_labels.get(labels)
        if histogram is None:
            histogram = self._by_labels[labels] = Histogram(self._bounds)
        histogram.observe(value)

    def items(self) -> Iterable[tuple[tuple[str, ...], Histogram]]:
        return self._by_labels.items()


def growing(first: float, factor: float, count: int) -> tuple[float, ...]:
    """So many bounds, each `factor` times the one before.

    >>> growing(1.0, 3.0, 3)
    (1.0, 3.0, 9.0)
    """
    return tuple(first * factor**power for power in range(count))


def doubling(first: float, count: int) -> tuple[float, ...]:
    """So many bounds, each twice the one before.

    >>> doubling(1.0, 4)
    (1.0, 2.0, 4.0, 8.0)
    """
    return growing(first, 2, count)
