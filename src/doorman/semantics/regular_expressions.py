"""Regular expressions of users, in Go's syntax. Matching takes time linear in the text, whatever the pattern.

The library is loaded with the first pattern: most clusters have none.
"""

from functools import lru_cache
from typing import Any, Final

PATTERN_CHARS_MAX: Final = 10_000
_REMEMBERED_MAX: Final = 1024
_GO_WORDS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
}
"""Both libraries find the same faults, and name some of them differently."""


class PatternError(ValueError):
    """The text is no regular expression; says why."""


@lru_cache(maxsize=_REMEMBERED_MAX)
def compile_pattern(pattern: str) -> Any:  # re2 has no types
    """Has `search` and `finditer`. Raises PatternError.

    >>> compile_pattern("^(a+)+$").search("a" * 1000 + "b") is None
    True
    """
    import re2

    if len(pattern) > PATTERN_CHARS_MAX:
        raise PatternError("regular expression is too long")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if error.args else "unknown"
        raise PatternError(f"error parsing regexp: {_as_go_says(why)}") from error


def _as_go_says(fault: str) -> str:
    """
    >>> _as_go_says("missing ): (a")
    'missing closing ): `(a`'
    """
    code, _, part = fault.partition(": ")
    return f"{_GO_WORDS.get(code, code)}: `{part}`"
