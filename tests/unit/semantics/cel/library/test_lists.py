"""Functions of lists and sets."""

import pytest

from support.cel import check_fails, check_value, values


@values(
    ("[1, 2, 2].isSorted() && !['b', 'a'].isSorted()", True),
    ("[1, 2, 3].sum() + [4, 5].max() + [4, 5].min()", 15),
    ("[].sum()", 0),
    ("[duration('1m'), duration('1s')].sum() == duration('61s')", True),
    ("['a', 'b', 'a'].indexOf('a') + ['a', 'b', 'a'].lastIndexOf('a')", 2),
    ("[1, 2, 3].slice(1, 3)", [2, 3]),
    ("[1, [2, [3]]].flatten()", [1, 2, [3]]),
    ("[3, 1, 2].sort()", [1, 2, 3]),
    ("[1, 1.0, 2].distinct()", [1, 2]),
    ("[1, 2].reverse()", [2, 1]),
    ("[1, 2].first().value() + [1, 2].last().value()", 3),
    ("sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])", True),
    ("[[1, [2]], [3]].flatten(2) == [1, 2, 3]", True),
    ("lists.range(3)", [0, 1, 2]),
    ("[].first().hasValue()", False),
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(
    "expression",
    [
        "[].max()",
        "[1, 'a'].min()",
        "[1].slice(1, 0)",
        "[1, [1]].sort()",
        "dyn([1]) < [2]",
    ],
)
def test_function_fails(expression: str) -> None:
    check_fails(expression)
