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
    return msgspec.json.encode(value).decode().translate(_HTML)


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
