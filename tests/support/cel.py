"""Expressions that are checked and then evaluated, and tables of them."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression, declared, evaluate


def evaluated(expression: str, **names: object) -> object:
    compile_expression(expression, declared(names))
    return evaluate(expression, names)


def values(*rows: tuple[str, object]) -> pytest.MarkDecorator:
    """A table of expressions and what they come to."""
    return pytest.mark.parametrize(("expression", "expected"), rows, ids=[expression for expression, _ in rows])


def check_value(expression: str, expected: object) -> None:
    found = evaluated(expression)
    assert (found, type(found)) == (expected, type(expected))


def check_fails(expression: str) -> None:
    """`s` is a text that is no pattern."""
    with pytest.raises(CelError):
        evaluate(expression, {"s": "("})
