"""Canonical decimal integers."""

import pytest

from doorman.semantics.taints.canonical_integers import (
    EMPTY,
    NOT_CANONICAL,
    canonical_integer_faults,
    canonical_integer_or_none,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", 0, id="rule-1-zero"),
        pytest.param("-5", -5, id="rule-1-negative"),
        pytest.param("100", 100, id="rule-1-digits"),
        *[
            pytest.param(text, None, id=f"rule-1-not-{text!r}")
            for text in ("", "-0", "00", "05", "-01", "+5", "-", "+", "--1", "5-", " 5", "5 ", "5\n", "\t5", "1_000",
                         "1,000", "1.0", "1e5", "0x10", "１２", "١٢", "−5")
        ],
        pytest.param("9223372036854775807", 2**63 - 1, id="rule-2-largest"),
        pytest.param("-9223372036854775808", -(2**63), id="rule-2-smallest"),
        pytest.param("9223372036854775808", None, id="rule-2-too-large"),
        pytest.param("-9223372036854775809", None, id="rule-2-too-small"),
        pytest.param("9" * 5000, None, id="rule-2-absurdly-long"),
    ],
)  # fmt: skip
def test_canonical_integer_or_none(text: str, expected: int | None) -> None:
    assert canonical_integer_or_none(text) == expected


def out_of_range(text: str) -> str:
    return f'strconv.ParseInt: parsing "{text}": value out of range'


def no_syntax(text: str) -> str:
    return f'strconv.ParseInt: parsing "{text}": invalid syntax'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("950", [], id="good"),
        pytest.param("-100", [], id="negative"),
        pytest.param("0950", [NOT_CANONICAL], id="leading-zero"),
        pytest.param("+100", [NOT_CANONICAL], id="plus"),
        pytest.param("-0", [NOT_CANONICAL], id="minus-zero"),
        pytest.param("high", [NOT_CANONICAL, no_syntax("high")], id="word"),
        pytest.param("-", [NOT_CANONICAL, no_syntax("-")], id="sign-alone"),
        pytest.param("", [EMPTY, no_syntax("")], id="empty"),
        pytest.param("9223372036854775808", [out_of_range("9223372036854775808")], id="too-large"),
        pytest.param("0" * 30, [NOT_CANONICAL], id="many-zeros"),
        pytest.param("7" * 5000, [out_of_range("7" * 5000)], id="absurdly-long"),
    ],
)
def test_canonical_integer_faults(text: str, expected: list[str]) -> None:
    assert canonical_integer_faults(text) == expected
