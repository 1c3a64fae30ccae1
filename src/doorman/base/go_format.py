"""Values as Go prints them, because clients match on Kubernetes' messages."""

import msgspec

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
