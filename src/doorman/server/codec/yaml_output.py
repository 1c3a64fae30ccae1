"""YAML as Kubernetes' servers write it: members in order, and quotes around what would be read as something else.

The order is that of Go's library: symbols, then numbers by their value, then letters.
"""

import re
from functools import lru_cache
from typing import Any, Final

import yaml

_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_TOKEN: Final = re.compile(r"([0-9]+)|(.)", re.DOTALL)
_SYMBOL, _NUMBER, _LETTER = range(3)

_WORDS: Final = frozenset(
    {
        "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE",
        "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE",
    }
)  # fmt: skip
_OTHER: Final = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*)"  # whole numbers
    r"|[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"  # numbers to the base of 60, as old readers have them
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?",
    re.ASCII,
)
"""What numbers and times look like."""


def to_yaml(value: Any) -> bytes:  # any JSON value
    return bytes(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, encoding="utf-8"))


@lru_cache(maxsize=4096)
def member_order(name: str) -> tuple[tuple[int, int, int], ...]:
    """
    >>> sorted(["ab", "a10", "a9", "a", "f:a", ".", "A"], key=member_order)
    ['.', 'A', 'a', 'a9', 'a10', 'ab', 'f:a']
    """
    return tuple(
        (_NUMBER, int(digits), len(digits)) if digits else (_LETTER if other.isalpha() else _SYMBOL, ord(other), 0)
        for digits, other in _TOKEN.findall(name)
    )


def quoting(text: str) -> str | None:
    """The style of a text. None: as it is, unless what it is made of needs quotes.

    >>> quoting("a b"), quoting("7"), quoting("2026-01-01T00:00:00Z"), quoting("no"), quoting("a\\nb")
    (None, '"', '"', '"', '|')
    """
    if "\n" in text:
        return "|"
    return '"' if text in _WORDS or _OTHER.fullmatch(text) else None


class _Dumper(_DUMPER):  # type: ignore[misc,valid-type]  # the library is told of styles in a class of its own
    def ignore_aliases(self, _data: Any) -> bool:  # any JSON value
        return True


def _text(dumper: Any, text: str) -> Any:  # the library has no types for its nodes
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=quoting(text))


def _members(dumper: Any, members: dict[str, Any]) -> Any:
    ordered = sorted(members.items(), key=lambda member: member_order(member[0]))
    return dumper.represent_mapping("tag:yaml.org,2002:map", ordered)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _members)
