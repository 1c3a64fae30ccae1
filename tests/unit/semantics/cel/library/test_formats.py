"""Formats of names."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import evaluate
from support.cel import evaluated


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("format.dns1123Label().validate('good-name').hasValue()", False),
        ("format.dns1123Label().validate('Bad_').value().size()", 1),
        ("format.named('uuid').value().validate('x').hasValue()", True),
        ("format.named('nope').hasValue()", False),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
        ("format.qualifiedName().validate('a/b/c').hasValue()", True),
        ("format.dns1123LabelPrefix().validate('good-').hasValue()", False),
        ("format.byte().validate('aGk=').hasValue() || format.date().validate('2024-02-29').hasValue()", False),
        ("format.date().validate('2024-02-30').hasValue() && format.datetime().validate('noon').hasValue()", True),
        ("format.uri().validate('https://ex.com').hasValue() || format.labelValue().validate('').hasValue()", False),
    ],
    ids=lambda value: value if isinstance(value, str) and "(" in value else "",
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    found = evaluated(expression)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    "expression",
    [
        "format.named('nope').value()",
    ],
)
def test_function_fails(expression: str) -> None:
    with pytest.raises(CelError):
        evaluate(expression, {"s": "("})
