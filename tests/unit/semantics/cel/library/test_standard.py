"""Conversions and times."""

import pytest

from support.cel import check_fails, check_value, values


@values(
    ("int('12') + int(3.9) + int(4u)", 19),
    ("double('1.5')", 1.5),
    ("string(1.0) + string(0.5) + string(true)", "10.5true"),
    ("string(b'ab')", "ab"),
    ("bool('true')", True),
    ("type(1) == int && type('') == string && type(null) == null_type", True),
    ("string(duration('90m'))", "5400s"),
    ("duration('1h30m').getMinutes()", 90),
    ("timestamp('2024-01-01T10:00:00Z') + duration('1h') == timestamp('2024-01-01T11:00:00Z')", True),
    ("string(timestamp('2024-01-01T10:00:00.5+02:00'))", "2024-01-01T08:00:00.5Z"),
    ("timestamp('2024-01-07T10:00:00Z').getDayOfWeek()", 0),
    ("timestamp('2024-01-01T10:00:00Z').getHours('America/New_York')", 5),
    ("timestamp('2024-01-01T10:00:00Z').getHours('+02:00')", 12),
    ("timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')", True),
    ("timestamp('2024-01-02T00:00:00Z') > timestamp('2024-01-01T00:00:00Z')", True),
)  # fmt: skip
def test_function(expression: str, expected: object) -> None:
    check_value(expression, expected)


@pytest.mark.parametrize(
    "expression",
    [
        "int('a')",
        "int('1' + '0' + '99999999999999999999')",
        "int(1e300)",
        "double('x')",
        "bool('maybe')",
        "timestamp('yesterday')",
        "timestamp('2024-13-01T00:00:00Z')",
        "duration('1')",
        "duration('1x')",
        "timestamp('2024-01-01T00:00:00Z').getHours('Nowhere/City')",
        "string(b'\\xff')",
    ],
)
def test_function_fails(expression: str) -> None:
    check_fails(expression)
