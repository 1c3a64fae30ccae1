"""Quantities and semantic versions."""

import pytest

from support.cel import check_fails, check_value, values


@values(
    ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
    ("quantity('50k').add(20).sub(quantity('20')).asInteger()", 50000),
    ("quantity('500m').asApproximateFloat()", 0.5),
    ("isQuantity('1.5Gi') && !isQuantity('a')", True),
    ("quantity('1k') == quantity('1000') && quantity('-1').sign() == -1", True),
    ("quantity('1').compareTo(quantity('2'))", -1),
    ("semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-a').isLessThan(semver('1.0.0'))", True),
    ("semver('v1.02', true).minor()", 2),
    ("isSemver('1.0') || !isSemver('1.0', true)", False),
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(
    "expression",
    [
        "quantity('x')",
        "quantity('0.5').asInteger()",
        "semver('1.0')",
    ],
)
def test_function_fails(expression: str) -> None:
    check_fails(expression)
