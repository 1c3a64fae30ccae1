"""What macros make of elements; those that quantify absorb errors when one element decides."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import evaluate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2].all(x, x > 0)", True),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[0, 1].all(x, 1 / x == 2)", False),
        ("[1, 1].exists_one(x, x == 1)", False),
        ("[1, 2].map(x, x * 2)", [2, 4]),
        ("[1, 2].map(x, x > 1, x * 2)", [4]),
        ("[1, 2, 3].filter(x, x != 2)", [1, 3]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("{'a': 'b'}.transformMapEntry(k, v, {v: k})", {"b": "a"}),
        ("[1, 2].transformList(i, v, i + v)", [1, 3]),
        ("cel.bind(x, 2, x * x)", 4),
        ("cel.bind(x, 1, cel.bind(y, x + 1, x + y))", 3),
    ],
)
def test_macro(expression: str, value: object) -> None:
    assert evaluate(expression, {}) == value


def test_error_that_nothing_outweighs_is_told() -> None:
    with pytest.raises(CelError):
        evaluate("[0, 1].all(x, 1 / x == 1)", {})
