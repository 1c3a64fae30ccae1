"""Numbers as Go's encoder writes them."""

from decimal import Decimal
from typing import Final

import msgspec

from doorman.base.json_types import Json

_PLAIN_FLOATS: Final = (1e-6, 1e21)
"""Smaller ones, and from the second on, Go writes with an exponent."""
_INT_MAX: Final = 2**63


def with_go_numbers(value: Json) -> Json:
    """Numbers as Go has them in a map: integers of 64 bits, or floating point. For an encoder, and nobody else."""
    if isinstance(value, dict):
        return {name: with_go_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [with_go_numbers(item) for item in value]
    is_float = isinstance(value, float) or (isinstance(value, int) and not -_INT_MAX <= value < _INT_MAX)
    return msgspec.Raw(_go_float(float(value)).encode()) if is_float else value


def whole(number: float) -> float:
    """A number of floating point as it is read again when Go has written it.

    >>> whole(1.0), whole(0.5), whole(1e30)
    (1, 0.5, 1e+30)
    """
    return int(number) if number.is_integer() and abs(number) < _PLAIN_FLOATS[1] else number


def _go_float(number: float) -> str:
    """
    >>> [_go_float(each) for each in (1.0, 0.1, 2.0**64, 1e21, 1.5e-7, 0.0)]
    ['1', '0.1', '18446744073709552000', '1e+21', '1.5e-7', '0']
    """
    low, high = _PLAIN_FLOATS
    if number and not low <= abs(number) < high:
        return repr(number).replace("e-0", "e-")
    text = format(Decimal(repr(number)), "f")
    return text.removesuffix(".0")
