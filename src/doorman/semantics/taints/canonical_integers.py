"""Canonical decimal integers: the only numbers that `Gt` and `Lt` compare.

Rules
-----
1. The text is `0`, or an optional `-` and ASCII digits of which the first is not zero.
2. The value fits into 64 bits, signed.
"""

import re
from typing import Final

from doorman.base.go_format import quote

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

NOT_CANONICAL: Final = "must be a valid decimal integer in canonical form"
EMPTY: Final = "must be non-empty"

_CANONICAL: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_GO_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)

_DIGITS_MAX: Final = 20
"""Longer texts cannot fit; they are not even converted, since that costs the square of their length."""


def canonical_integer_or_none(text: str) -> int | None:
    """The number, or None where `Gt` and `Lt` see none.

    >>> [canonical_integer_or_none(text) for text in ("-5", "05", "9223372036854775808")]
    [-5, None, None]
    """
    if len(text) > _DIGITS_MAX or _CANONICAL.fullmatch(text) is None:
        return None
    value = int(text)
    return value if INT64_MIN <= value <= INT64_MAX else None


def canonical_integer_faults(text: str) -> list[str]:
    """What is wrong with the text as the value of a `Gt` or `Lt` toleration, in the API's words.

    Form and range are checked apart: leading zeros and `+` fail the first only, too many digits the second only.

    >>> canonical_integer_faults("0950")
    ['must be a valid decimal integer in canonical form']
    >>> canonical_integer_faults("9223372036854775808")
    ['strconv.ParseInt: parsing "9223372036854775808": value out of range']
    """
    faults = []
    if not text:
        faults.append(EMPTY)
    elif _CANONICAL.fullmatch(text) is None:
        faults.append(NOT_CANONICAL)
    if why := _parse_int_fault(text):
        faults.append(why)
    return faults


def _parse_int_fault(text: str) -> str:
    """Go's error about the text as a 64-bit integer, empty when there is none."""
    if _GO_INTEGER.fullmatch(text) is None:
        return f"strconv.ParseInt: parsing {quote(text)}: invalid syntax"
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) <= _DIGITS_MAX and INT64_MIN <= int(text) <= INT64_MAX:
        return ""
    return f"strconv.ParseInt: parsing {quote(text)}: value out of range"
