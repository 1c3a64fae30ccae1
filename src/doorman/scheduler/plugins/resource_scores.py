"""How full a node is, as a score: the arithmetic of LeastAllocated, MostAllocated, RequestedToCapacityRatio and
balance.

All of it works on whole columns and on single numbers alike; that is why there is `cap + (cap == 0)` where one would
expect a condition. Divisions truncate as Kubernetes' do.

Rules
-----
1. LeastAllocated: the free share in percent, 0 when more is used than there is.
2. MostAllocated: the used share in percent, at most 100.
3. RequestedToCapacityRatio: a broken line through given points, from the used share in percent to 0..100.
4. A node's score is the weighted average over resources it has; without any it is 0. RequestedToCapacityRatio rounds
   to nearest and leaves resources with score 0 out.
5. Balance b = int((1 - deviation) * 100) of the used shares, each at most 1; for two shares the deviation is half
   their difference, for more the standard deviation, for fewer 0.
6. The balance score is 50 + (50 + b(with the pod) - b(without)) / 2.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.config.scheduler_config import ShapePoint
from doorman.scheduler.framework import SCORE_MAX

C = TypeVar("C", int, Column)


class Share(msgspec.Struct, frozen=True):
    """Of one resource: how much would be used, how much there is, how much the resource weighs."""

    used: Any  # a Column or an int: msgspec checks nothing here and the functions below are generic
    cap: Any
    weight: int = 1


def least_allocated(used: C, cap: C) -> C:
    """Rule 1.

    >>> least_allocated(1500, 4000), least_allocated(5, 4)
    (62, 0)
    """
    score: C = (cap - used) * SCORE_MAX // (cap + (cap == 0)) * (used <= cap)
    return score


def most_allocated(used: C, cap: C) -> C:
    """Rule 2.

    >>> most_allocated(1500, 4000), most_allocated(5, 4)
    (37, 100)
    """
    score: C = (used - (used > cap) * (used - cap)) * SCORE_MAX // (cap + (cap == 0))
    return score


def ratio_table(points: Sequence[ShapePoint]) -> Column:
    """Rule 3, for every whole percentage.

    >>> ratio_table([ShapePoint(0, 10), ShapePoint(100, 0)])[[0, 33, 100]].tolist()
    [100, 67, 0]
    """
    scale = SCORE_MAX // 10
    return np.array([_broken_line(points, percent, scale) for percent in range(101)], dtype=np.int64)


def ratio(used: C, cap: C, table: Column) -> C:
    over = (used > cap) | (cap == 0)
    percent = used * 100 // (cap + (cap == 0))
    scores: C = table[percent - over * (percent - 100)]
    return scores


def average(shares: Sequence[Share], scores: Sequence[C]) -> C:
    """Rule 4, for LeastAllocated and MostAllocated."""
    total: C = scores[0] * 0
    weights: C = scores[0] * 0
    for share, score in zip(shares, scores, strict=True):
        there = share.cap > 0
        total = total + score * share.weight * there
        weights = weights + share.weight * there
    mean: C = total // (weights + (weights == 0))
    return mean


def average_of_positive(shares: Sequence[Share], scores: Sequence[C]) -> C:
    """Rule 4, for RequestedToCapacityRatio."""
    total: C = scores[0] * 0
    weights: C = scores[0] * 0
    for share, score in zip(shares, scores, strict=True):
        counts = (share.cap > 0) & (score > 0)
        total = total + score * share.weight * counts
        weights = weights + share.weight * counts
    divisor = weights + (weights == 0)
    mean: C = (2 * total + divisor) // (2 * divisor)
    return mean


def balance(shares: Sequence[Share]) -> Any:  # a Column or an int, as the shares are
    """Rule 5.

    >>> balance([Share(500, 1000), Share(0, 1000)]), balance([Share(500, 1000), Share(0, 0)])
    (75, 100)
    """
    fractions, present = [], []
    for share in shares:
        fraction = share.used / (share.cap + (share.cap == 0))
        fractions.append(fraction * (fraction <= 1) + (fraction > 1))
        present.append(share.cap > 0)
    if len(shares) < 2:
        deviation: Any = 0.0 * sum(fractions)
    elif len(shares) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2) * (present[0] & present[1])
    else:
        deviation = _deviation_of_many(fractions, present)
    even = (1 - deviation) * SCORE_MAX
    return int(even) if isinstance(even, float) else even.astype(np.int64)


def balance_score(with_pod: Any, without: Any) -> Any:  # as `balance` gives them
    """Rule 6. No deviation exceeds a half, so what is halved (by shifting, which is faster) is never negative.

    >>> balance_score(75, 100), balance_score(100, 75), balance_score(100, 100)
    (62, 87, 75)
    """
    return 50 + (50 + with_pod - without >> 1)


def _deviation_of_many(fractions: Sequence[Any], present: Sequence[Any]) -> Any:
    """A node may lack some of the resources, so even of three shares only two may count."""
    count = sum(there * 1 for there in present)
    pair = _half_difference(fractions, present) * (count == 2)
    return pair + _standard_deviation(fractions, present, count) * (count > 2)


def _half_difference(fractions: Sequence[Any], present: Sequence[Any]) -> Any:
    """Half the difference of the two shares that are there; meaningless when there are more."""
    total: Any = 0.0
    for at, one in enumerate(fractions):
        for other_at in range(at + 1, len(fractions)):
            total = total + abs((one - fractions[other_at]) / 2) * present[at] * present[other_at]
    return total


def _standard_deviation(fractions: Sequence[Any], present: Sequence[Any], count: Any) -> Any:
    divisor = count + (count == 0)
    mean = sum(fraction * there for fraction, there in zip(fractions, present, strict=True)) / divisor
    squares: Any = 0.0
    for fraction, there in zip(fractions, present, strict=True):
        squares = squares + (fraction - mean) * (fraction - mean) * there
    return np.sqrt(squares / divisor)


def _broken_line(points: Sequence[ShapePoint], percent: int, scale: int) -> int:
    for at, point in enumerate(points):
        if percent <= point.utilization:
            if at == 0:
                return point.score * scale
            before = points[at - 1]
            rise = (point.score - before.score) * scale * (percent - before.utilization)
            # Truncate towards zero, on falling lines too.
            return before.score * scale + int(rise / (point.utilization - before.utilization))
    return points[-1].score * scale
