"""Lists: order, sums, extremes, positions, slices."""

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Final

from doorman.semantics.cel.cel_errors import CelError, no_overload
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.operators import add
from doorman.semantics.cel.overloads import DYN, Table, table
from doorman.semantics.cel.values import Duration, Optional, Value, compare, equals, is_number

_FLATTEN_DEPTH_MAX: Final = 50


def _is_sorted(meter: CostBudget, items: list[Value]) -> bool:
    meter.charge(len(items))
    return all(compare(one, other) <= 0 for one, other in pairwise(items))


def _sum(meter: CostBudget, items: list[Value]) -> Value:
    meter.charge(len(items))
    if not items:
        return 0
    total, *rest = items
    if not is_number(total) and not isinstance(total, Duration):
        raise no_overload()
    for item in rest:
        total = add(meter, total, item)
    return total


def _extreme(sign: int, word: str) -> Callable[..., Value]:
    def apply(meter: CostBudget, items: list[Value]) -> Value:
        meter.charge(len(items))
        if not items:
            raise CelError(f"{word} called on empty list")
        found = items[0]
        for item in items[1:]:
            if compare(item, found) * sign > 0:
                found = item
        return found

    return apply


def _index_of(meter: CostBudget, items: list[Value], wanted: Value) -> int:
    meter.charge(len(items))
    return next((index for index, item in enumerate(items) if equals(item, wanted)), -1)


def _last_index_of(meter: CostBudget, items: list[Value], wanted: Value) -> int:
    meter.charge(len(items))
    return next((index for index in reversed(range(len(items))) if equals(items[index], wanted)), -1)


def _slice(meter: CostBudget, items: list[Value], start: int, end: int) -> list[Value]:
    if not 0 <= start <= end <= len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    meter.charge(end - start)
    return items[start:end]


def _flatten(meter: CostBudget, items: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise CelError("level must be non-negative")
    found: list[Value] = []
    for item in items:
        meter.charge(1)
        if isinstance(item, list) and depth:
            found.extend(_flatten(meter, item, min(depth, _FLATTEN_DEPTH_MAX) - 1))
        else:
            found.append(item)
    return found


def _sorted(meter: CostBudget, items: list[Value]) -> list[Value]:
    meter.charge(len(items) * max(1, len(items).bit_length()))
    return sorted(items, key=cmp_to_key(compare))


def _distinct(meter: CostBudget, items: list[Value]) -> list[Value]:
    found: list[Value] = []
    for item in items:
        meter.charge(1 + len(found))
        if not any(equals(item, one) for one in found):
            found.append(item)
    return found


def _reversed(meter: CostBudget, items: list[Value]) -> list[Value]:
    meter.charge(len(items))
    return items[::-1]


def _range(meter: CostBudget, count: int) -> list[Value]:
    meter.charge(max(count, 0))
    return list(range(count))


def _first(_meter: CostBudget, items: list[Value]) -> Value:
    return Optional(tuple(items[:1]))


def _last(_meter: CostBudget, items: list[Value]) -> Value:
    return Optional(tuple(items[-1:]))


FUNCTIONS: Final[Table] = table(("lists.range", ("int",), "list", _range))

METHODS: Final[Table] = table(
    ("isSorted", ("list",), "bool", _is_sorted),
    ("sum", ("list",), DYN, _sum),
    ("min", ("list",), DYN, _extreme(-1, "min")),
    ("max", ("list",), DYN, _extreme(1, "max")),
    ("indexOf", ("list", DYN), "int", _index_of),
    ("lastIndexOf", ("list", DYN), "int", _last_index_of),
    ("slice", ("list", "int", "int"), "list", _slice),
    ("flatten", ("list",), "list", _flatten),
    ("flatten", ("list", "int"), "list", _flatten),
    ("sort", ("list",), "list", _sorted),
    ("distinct", ("list",), "list", _distinct),
    ("reverse", ("list",), "list", _reversed),
    ("first", ("list",), "optional_type", _first),
    ("last", ("list",), "optional_type", _last),
)
