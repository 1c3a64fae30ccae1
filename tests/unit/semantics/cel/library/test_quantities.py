"""Quantities and semantic versions."""

import pytest

from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import evaluate
from support.cel import evaluated


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
        ("quantity('50k').add(20).sub(quantity('20')).asInteger()", 50000),
        ("quantity('500m').asApproximateFloat()", 0.5),
        ("isQuantity('1.5Gi') && !isQuantity('a')", True),
        ("quantity('1k') == quantity('1000') && quantity('-1').sign() == -1", True),
        ("quantity('1').compareTo(quantity('2'))", -1),
        ("semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-a').isLessThan(semver('1.0.0'))", True),
        ("semver('v1.02', true).minor()", 2),
        ("isSemver('1.0') || !isSemver('1.0', true)", False),
    ],
    ids=lambda value: value if isinstance(value, str) and "(" in value else "",
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    found = evaluated(expression)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    "expression",
    [
        "quantity('x')",
        "quantity('0.5').asInteger()",
        "semver('1.0')",
    ],
)
def test_function_fails(expression: str) -> None:
    with pytest.raises(CelError):
        evaluate(expression, {"s": "("})
