"""Sums over topology domains: all rows that share a label's value."""

from typing import Any

import numpy as np

from doorman.scheduler.cache.node_columns import Column, Mask, ValueColumn


def sums_by_domain(column: ValueColumn[Any], counts: Column, counted: Mask | None = None) -> Column:
    """By number of the label's value: the sum of `counts` over its rows (those `counted`). Rows without the label are
    nobody's neighbours: their sum is 0.

    >>> zones = ValueColumn[str | None](None, capacity=4)
    >>> zones.set(0, "a"), zones.set(1, "b"), zones.set(2, "a")
    (None, None, None)
    >>> sums_by_domain(zones, np.array([1, 2, 3, 4])).tolist()
    [0, 4, 2]
    """
    numbers = column.numbers
    if counted is not None:
        numbers, counts = numbers[: len(counted)][counted], counts[: len(counted)][counted]
    # Sums of pods are far below 2**53, so passing through floats loses nothing.
    sums: Column = np.bincount(numbers, weights=counts, minlength=len(column.values)).astype(np.int64)
    sums[0] = 0
    return sums
