"""Resource quantities (`100m`, `1.5Gi`, `2e3`): exact reading, and the canonical form Kubernetes writes."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_FORM: Final = re.compile(r"([+-]?)(\d*\.?\d*)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?", re.ASCII)
"""A number may have no digits, as upstream reads it: `m` and `-` are nothing."""
_SMALLEST: Final = Fraction(1, 10**9)
_NANO: Final = -9
_MILLI: Final = Fraction(1, 1000)
_DIGITS_MAX: Final = 18
INT64_MAX: Final = 2**63 - 1

LENGTH_MAX: Final = 1000
EXPONENT_MAX: Final = 1000
"""Of what is written as `1e3`, either way: more than anybody has of anything, and few enough digits to reckon with."""

SYNTAX_ERROR: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

SUFFIX_ERROR: Final = "unable to parse quantity's suffix"
_ANY_SUFFIX: Final = re.compile(r"[+-]?\d*(?:\.\d*)?[eEinumkKMGTP]*[-+]?\d*", re.ASCII)
"""What looks like a quantity, were there such a unit."""


class QuantityError(ValueError):
    """The text is no quantity."""


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Fraction:
    """The exact value, rounded away from zero to a billionth.

    >>> parse_quantity("100m"), parse_quantity("1Ki"), parse_quantity("1e3")
    (Fraction(1, 10), Fraction(1024, 1), Fraction(1000, 1))
    """
    sign, number, suffix = _parts(text)
    value = Fraction(number) * _scale(suffix)
    if value % _SMALLEST:
        value = (value // _SMALLEST + 1) * _SMALLEST
    return -value if sign == "-" else value


@lru_cache(maxsize=65536)
def milli_value(text: str) -> int:
    """Thousandths, rounded up: how processor time is counted.

    >>> milli_value("1.5"), milli_value("100m"), milli_value("100u")
    (1500, 100, 1)
    """
    return _ceiling(parse_quantity(text) * 1000)


@lru_cache(maxsize=65536)
def whole_value(text: str) -> int:
    """Units, rounded up: how everything else is counted.

    >>> whole_value("1.5Gi"), whole_value("100m")
    (1610612736, 1)
    """
    return _ceiling(parse_quantity(text))


@lru_cache(maxsize=65536)
def canonical_quantity(text: str) -> str:
    """The form in which Kubernetes stores and prints it: the largest suffix without a fraction.

    >>> [canonical_quantity(q) for q in ("1024Mi", "0.5", "1500m", "1000", "1e3", "0.5Gi", "+1", "1.5Ki")]
    ['1Gi', '500m', '1500m', '1k', '1e3', '512Mi', '+1', '1536']
    """
    _, number, suffix = _parts(text)
    value = parse_quantity(text)
    if value == 0:
        return "0"
    if _is_kept(number, suffix):
        return text
    if suffix in _BINARY:
        return _binary_form(min(value, Fraction(INT64_MAX)))
    exponent_form = suffix[:1] in ("e", "E") and len(suffix) > 1
    mantissa, exponent = _decimal_parts(value)
    if exponent_form:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_SUFFIX[exponent]}"


@lru_cache(maxsize=65536)
def in_thousandths(text: str) -> str:
    """A canonical quantity, rounded away from zero to a thousandth: how lists of resources are kept.

    >>> [in_thousandths(q) for q in ("100u", "1500m", "1.0001Gi", "-5n")]
    ['1m', '1500m', '1.0001Gi', '-1m']
    """
    if not text.endswith(("u", "n")) and "e-" not in text.lower():
        return text
    value = parse_quantity(text)
    rounded = Fraction(-((-abs(value)) // _MILLI)) * _MILLI
    if rounded == abs(value):
        return text
    mantissa, exponent = _decimal_parts(rounded if value > 0 else -rounded)
    return f"{mantissa}{_SUFFIX[exponent]}"


@lru_cache(maxsize=4096)
def int64_value(text: str, exponent: int = 0) -> int:
    """In units of a power of ten, as Go's 64 bits hold it: what is too much for them is some other number.

    >>> int64_value("5"), int64_value("1.5", -3), int64_value("10E"), int64_value("1Ei", -3)
    (5, 1500, -8446744073709551616, -9223372036854775808)
    """
    value = _ceiling(parse_quantity(text) / Fraction(10) ** exponent)
    return (value + 2**63) % 2**64 - 2**63


def quantity_text(value: Fraction, *, is_binary: bool = False) -> str:
    """The canonical form of an amount that was computed, such as a sum.

    >>> quantity_text(Fraction(3, 2)), quantity_text(Fraction(2**30)), quantity_text(Fraction(2**30), is_binary=True)
    ('1500m', '1073741824', '1Gi')
    """
    if value == 0:
        return "0"
    if is_binary:
        return _binary_form(value)
    mantissa, exponent = _decimal_parts(value)
    return f"{mantissa}{_SUFFIX[exponent]}"


def _is_kept(number: str, suffix: str) -> bool:
    """Whether Kubernetes takes the text for canonical at first sight, and so keeps it: also `+1`, `01` and `1.500`."""
    if not _fits_in_int64(number, suffix):
        return False
    digits, exponent = _digits(number, suffix)
    if suffix in _BINARY:
        return bool(int(digits) & 7)
    return exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _fits_in_int64(number: str, suffix: str) -> bool:
    """Whether Kubernetes reckons in 64 bits with it; otherwise digits are not limited."""
    digits, exponent = _digits(number, suffix)
    if suffix in _BINARY:
        bits = _BINARY[suffix].bit_length() - 1
        return "." not in number.rstrip(".") and 14 - len(digits) - int(bits * 0.3) >= 0
    return len(digits) <= _DIGITS_MAX and exponent >= _NANO


def _digits(number: str, suffix: str) -> tuple[str, int]:
    """Digits without leading zeros, and the power of ten of the last one."""
    whole, _, fraction = number.partition(".")
    exponent = 0 if suffix in _BINARY else _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return (whole.lstrip("0") or "0") + fraction, exponent - len(fraction)


def _parts(text: str) -> tuple[str, str, str]:
    found = _FORM.fullmatch(text) if text else None
    if found is None and text and _ANY_SUFFIX.fullmatch(text):
        raise QuantityError(SUFFIX_ERROR)
    if found is None or len(text) > LENGTH_MAX:
        raise QuantityError(SYNTAX_ERROR)
    suffix = found[3] or ""
    if len(suffix) > 2 and abs(int(suffix[1:])) > EXPONENT_MAX:
        raise QuantityError(SYNTAX_ERROR)
    return found[1], found[2] if found[2] not in ("", ".") else "0", suffix


def _scale(suffix: str) -> Fraction:
    if suffix in _BINARY:
        return Fraction(_BINARY[suffix])
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    return Fraction(10) ** exponent


def _binary_form(value: Fraction) -> str:
    if abs(value) < 1024 or value.denominator != 1:
        mantissa, exponent = _decimal_parts(value)
        return f"{mantissa}{_SUFFIX[exponent]}" if exponent < 0 else str(mantissa * 10**exponent)
    best = ("", 1)
    for suffix, size in _BINARY.items():
        if value % size == 0:
            best = (suffix, size)
    return f"{value // best[1]}{best[0]}"


def _decimal_parts(value: Fraction) -> tuple[int, int]:
    """Mantissa and an exponent that is a multiple of three, the exponent as large as it goes."""
    for exponent in range(18, -10, -3):
        scaled = value / Fraction(10) ** exponent
        if scaled.denominator == 1:
            return int(scaled), exponent
    raise AssertionError("a quantity is a multiple of a billionth")


def _ceiling(value: Fraction) -> int:
    return -((-value.numerator) // value.denominator)
