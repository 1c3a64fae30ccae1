"""Formats of names."""

import pytest

from support.cel import check_fails, check_value, values


@values(
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
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(
    "expression",
    [
        "format.named('nope').value()",
    ],
)
def test_function_fails(expression: str) -> None:
    check_fails(expression)
