"""Values as Go prints them, because clients match on Kubernetes' messages, and numbers as its encoder writes them."""

from decimal import Decimal
from typing import Final

import msgspec

from doorman.base.json_types import Json

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

_PLAIN_FLOATS: Final = (1e-6, 1e21)
"""Smaller ones, and from the second on, Go writes with an exponent."""
_INT_MAX: Final = 2**63
_PRINTED_PLAIN: Final = range(-4, 6)
"""Exponents of floats that messages show without one, or none that is shorter."""


def quote(text: str) -> str:
    """A Go string literal (`%q`).

    >>> print(quote('a"b\\n\\x01é'))
    "a\\"b\\n\\x01é"
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_quoted(c) for c in text) + '"'


def go_json(value: object) -> str:
    """Compact JSON as Go writes it: `<`, `>` and `&` escaped.

    >>> go_json({"a": "<b>"})
    '{"a":"\\\\u003cb\\\\u003e"}'
    """
    return in_html(msgspec.json.encode(value).decode())


def in_html(text: str) -> str:
    """JSON that may stand in a page, as Go writes all of it."""
    return text.translate(_HTML)


def go_value(value: object) -> str:
    """A decoded JSON value as `%v` prints it.

    >>> go_value({"name": "c", "ports": [1, True, None]})
    'map[name:c ports:[1 true <nil>]]'
    """
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_value(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_value(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, float):
        return printed(value)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# Numbers


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


def printed(number: float) -> str:
    """A number of floating point as messages show it (`%v`).

    >>> [printed(each) for each in (1000.0, 0.5, 3.1e7, 1e6, 1e-5, -0.25, 0.0)]
    ['1000', '0.5', '3.1e+07', '1e+06', '1e-05', '-0.25', '0']
    """
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int), "JSON has neither infinity nor NaN"
    power = len(digits) + exponent - 1
    if power in _PRINTED_PLAIN:
        return format(Decimal((sign, digits, exponent)), "f")
    rest = "".join(map(str, digits[1:]))
    return f"{'-' * sign}{digits[0]}{'.' * bool(rest)}{rest}e{power:+03d}"


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
