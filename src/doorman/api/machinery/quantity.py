"""Resource quantities (`100m`, `1.5Gi`, `2e3`): exact reading, and the canonical form Kubernetes writes."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_FORM: Final = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?", re.ASCII)
_SMALLEST: Final = Fraction(1, 10**9)

LENGTH_MAX: Final = 1000
EXPONENT_MAX: Final = 1000
"""Of what is written as `1e3`, either way: more than anybody has of anything, and few enough digits to reckon with."""

SYNTAX_ERROR: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


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
    ['1Gi', '500m', '1500m', '1k', '1e3', '512Mi', '1', '1536']
    """
    _, _, suffix = _parts(text)
    value = parse_quantity(text)
    if value == 0:
        return "0"
    if suffix in _BINARY:
        return _binary_form(value)
    exponent_form = suffix[:1] in ("e", "E") and len(suffix) > 1
    mantissa, exponent = _decimal_parts(value)
    if exponent_form:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_SUFFIX[exponent]}"


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


def _parts(text: str) -> tuple[str, str, str]:
    found = _FORM.fullmatch(text)
    if found is None or len(text) > LENGTH_MAX:
        raise QuantityError(SYNTAX_ERROR)
    suffix = found[3] or ""
    if len(suffix) > 2 and abs(int(suffix[1:])) > EXPONENT_MAX:
        raise QuantityError(SYNTAX_ERROR)
    return found[1], found[2], suffix


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
