"""Names of properties that are no identifiers, as Kubernetes escapes them in CEL: `__dash__`, `__namespace__`."""

import re
from functools import lru_cache
from typing import Final

_PARTS: Final = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}
_KEYWORDS: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_ESCAPED: Final = re.compile("|".join(_PARTS))
_KEYWORD: Final = re.compile(r"__([a-z]+)__")


@lru_cache(maxsize=1024)
def unescaped_or_none(name: str) -> str | None:
    """The property's own name, None when it is not written in any other way.

    >>> unescaped_or_none("x__dash__y"), unescaped_or_none("__namespace__"), unescaped_or_none("plain")
    ('x-y', 'namespace', None)
    """
    if "__" not in name:
        return None
    match = _KEYWORD.fullmatch(name)
    if match is not None and match[1] in _KEYWORDS:
        return match[1]
    found = _ESCAPED.sub(lambda part: _PARTS[part.group()], name)
    return found if found != name else None
