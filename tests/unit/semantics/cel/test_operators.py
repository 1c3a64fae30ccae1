"""Operators: what they give, and what they refuse."""

import math
from typing import Any

import pytest

from doorman.semantics.cel.cel_errors import CelError, CostExceeded
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.operators import OPERATORS, size_of
from doorman.semantics.cel.values import (
    INT64_MAX,
    INT64_MIN,
    NONE,
    UINT64_MAX,
    DefaultMap,
    Duration,
    Optional,
    Timestamp,
    Uint,
)


def applied(name: str, *arguments: Any) -> Any:
    return OPERATORS[name](CostBudget(), *arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("_+_", (1, 2), 3),
        ("_+_", (1.5, 2.0), 3.5),
        ("_+_", ("a", "b"), "ab"),
        ("_+_", (b"a", b"b"), b"ab"),
        ("_+_", ([1], [2]), [1, 2]),
        ("_+_", (Timestamp(5), Duration(2)), Timestamp(7)),
        ("_+_", (Duration(2), Duration(3)), Duration(5)),
        ("_-_", (Timestamp(5), Timestamp(2)), Duration(3)),
        ("_-_", (Timestamp(5), Duration(2)), Timestamp(3)),
        ("_*_", (Uint(2), Uint(3)), Uint(6)),
        ("_/_", (-7, 2), -3),
        ("_%_", (-7, 2), -1),
        ("_/_", (1.0, 0.0), math.inf),
        ("_/_", (-1.0, 0.0), -math.inf),
        ("-_", (5,), -5),
        ("-_", (Duration(5),), Duration(-5)),
        ("!_", (True,), False),
        ("_==_", (1, 1.0), True),
        ("_==_", (1, "1"), False),
        ("_!=_", ([1], [2]), True),
        ("_<_", (1, 2), True),
        ("_<=_", ("a", "a"), True),
        ("_>_", (Duration(2), Duration(1)), True),
        ("_>=_", (math.nan, 1.0), False),
        ("@in", ("a", {"a": 1}), True),
        ("@in", (2, [1, 2.0]), True),
        ("_[_]", ([1, 2], 1), 2),
        ("_[_]", ({"a": 1}, "a"), 1),
        ("_[_]", (DefaultMap(), "any"), {}),
        ("_[?_]", ({"a": 1}, "b"), NONE),
        ("_[?_]", ([1], 0), Optional((1,))),
        ("_[_]", (Optional(({"a": 1},)), "a"), Optional((1,))),
        ("_[?_]", (NONE, "a"), NONE),
    ],
)
def test_gives(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert applied(name, *arguments) == expected


def test_zero_by_zero_is_no_number() -> None:
    assert math.isnan(applied("_/_", 0.0, 0.0))


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("_+_", (INT64_MAX, 1), "overflow"),
        ("_-_", (Uint(0), Uint(1)), "overflow"),
        ("_*_", (Uint(UINT64_MAX), Uint(2)), "overflow"),
        ("_/_", (INT64_MIN, -1), "overflow"),
        ("-_", (INT64_MIN,), "overflow"),
        ("_/_", (1, 0), "division by zero"),
        ("_%_", (1, 0), "modulus by zero"),
        ("_%_", (1.0, 2.0), "no such overload"),
        ("_+_", (1, 2.0), "no such overload"),
        ("_+_", (1, Uint(2)), "no such overload"),
        ("_+_", (True, True), "no such overload"),
        ("!_", (1,), "no such overload"),
        ("-_", ("a",), "no such overload"),
        ("@in", (1, "abc"), "no such overload"),
        ("_[_]", ([1], 5), "index out of bounds: 5"),
        ("_[_]", ([1], -1), "index out of bounds: -1"),
        ("_[_]", ([1], 0.5), "unsupported index type"),
        ("_[_]", ({"a": 1}, "b"), "no such key: b"),
        ("_[_]", ("abc", 0), "no such overload"),
    ],
)
def test_refuses(name: str, arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(CelError, match=why):
        applied(name, *arguments)


@pytest.mark.parametrize(
    ("value", "size"),
    [("abc", 3), ([1, 2], 2), ([["a", "b"], "cd"], 8), ({"a": "xyz"}, 4), (7, 1)],
)
def test_size_counts_what_is_inside_too(value: Any, size: int) -> None:
    assert size_of(value) == size


@pytest.mark.parametrize(
    ("name", "one", "other"), [("_+_", "a" * 500, "b" * 500), ("_==_", "a" * 1000, "a" * 1000), ("@in", 1, [0] * 200)]
)
def test_long_values_cost_more(name: str, one: Any, other: Any) -> None:
    with pytest.raises(CostExceeded):
        OPERATORS[name](CostBudget(50), one, other)
