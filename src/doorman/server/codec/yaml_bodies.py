"""YAML bodies as Kubernetes takes them: one document, JSON's types, no aliases (they can blow up).

Values are built from the parser's events as they come, with a stack of its own: no node tree, no recursion, and the
time is linear in the text, whatever it holds. The parser is libyaml where PyYAML has it. What a plain word means is
decided as Go's yaml.v2 does, which Kubernetes reads YAML with.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml
from yaml import events

from doorman.base.bounds import INTEGER_DIGITS_MAX, NESTING_MAX
from doorman.base.go_format import quote
from doorman.base.json_types import Json

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>[0-9]+))",
    re.ASCII,
)
_BASES: Final = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_NUMERIC_START: Final = frozenset("+-.0123456789")
_MERGE: Final = "<<"
_NO_KEY: Final = object()


class YamlError(ValueError):
    """The text is no YAML, or YAML that JSON has nothing for."""


class _Open:
    """A sequence or mapping whose end has not come."""

    __slots__ = ("is_key", "key", "mapping", "merged", "sequence")

    def __init__(self, *, is_mapping: bool) -> None:
        self.mapping: dict[str, Json] | None = {} if is_mapping else None
        self.sequence: list[Json] | None = None if is_mapping else []
        self.key: Any = _NO_KEY
        """Of a mapping: read, its value not yet."""
        self.merged: list[Json] = []
        """What stands at `<<`."""


def load_yaml(body: bytes) -> tuple[Json, list[str]]:
    """The value, and in words which keys occur twice in a mapping."""
    repeated: list[str] = []
    try:
        found = list(_documents(yaml.parse(body, Loader=_LOADER), repeated))
    except yaml.MarkedYAMLError as error:
        raise YamlError(_told(error)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(" ".join(str(error).split())) from error
    if len(found) > 1:
        raise YamlError("expected a single document in the stream")
    return (found[0] if found else None), repeated


def _told(error: yaml.MarkedYAMLError) -> str:
    """As Go's parser tells it: the scanner counts lines from one, the parser from none, and the first has no number."""
    at, before = error.problem_mark, error.context_mark
    line = 0
    if at is not None and at.line:
        line = at.line + isinstance(error, yaml.scanner.ScannerError)
    elif before is not None:
        line = before.line
    return (f"line {line}: " if line else "") + (error.problem or "unknown problem parsing YAML content")


def _documents(parsed: Iterator[events.Event], repeated: list[str]) -> Iterator[Json]:
    stack: list[_Open] = []
    for event in parsed:
        if isinstance(event, events.ScalarEvent):
            value, is_merge = _scalar(event)
        elif isinstance(event, events.CollectionStartEvent):
            if len(stack) >= NESTING_MAX:
                raise YamlError(f"exceeded max depth of {NESTING_MAX}")
            _check_tag(event)
            stack.append(_Open(is_mapping=isinstance(event, events.MappingStartEvent)))
            continue
        elif isinstance(event, events.CollectionEndEvent):
            value, is_merge = _closed(stack.pop()), False
        elif isinstance(event, events.AliasEvent):
            raise YamlError("aliases are not supported")
        else:
            continue  # the beginnings and ends of the stream and its documents
        if stack:
            _take(stack[-1], value, is_merge, _line(event), repeated)
        else:
            yield value


def _line(event: events.Event) -> int:
    """Counted from one."""
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _take(into: _Open, value: Json, is_merge: bool, line: int, repeated: list[str]) -> None:
    if into.sequence is not None:
        into.sequence.append(value)
    elif into.key is _NO_KEY:
        into.key = _MERGE if is_merge else (_key(value), line)
    elif into.key is _MERGE:
        into.merged += _mergeable(value)
        into.key = _NO_KEY
    else:
        assert into.mapping is not None, "what is no sequence is a mapping"
        key, at = into.key
        if key in into.mapping:
            repeated.append(f"line {at}: key {quote(key)} already set in map")
        into.mapping[key] = value
        into.key = _NO_KEY


def _closed(whole: _Open) -> Json:
    if whole.mapping is None:
        return whole.sequence
    for more in whole.merged:
        for key, value in more.items():
            whole.mapping.setdefault(key, value)
    return whole.mapping


def _mergeable(value: Json) -> list[Json]:
    given = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in given):
        raise YamlError("map merge requires map or sequence of maps as the value")
    return given


def _key(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        raise YamlError("unsupported map key of type: nil")
    kind = "[]interface {}" if isinstance(value, list) else "map[interface {}]interface {}"
    raise YamlError(f"invalid map key: {kind}")


def _scalar(event: events.ScalarEvent) -> tuple[Json, bool]:
    """What it stands for, and whether it is the mark of a merge."""
    text: str = event.value
    if event.tag is None or event.tag == "!":
        if event.style or event.tag == "!" or not event.implicit[0]:
            return text, False
        return plain_scalar(text), text == _MERGE
    tag = event.tag.removeprefix(_CORE)
    if tag in ("str", "timestamp"):
        return text, False
    if tag == "binary":
        return _binary(text), False
    if tag == "merge" and text == _MERGE:
        return text, True
    value = plain_scalar(text)
    is_fit = {
        "null": value is None,
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, int | float) and not isinstance(value, bool),
    }
    if not is_fit.get(tag, False):
        raise YamlError(f"cannot decode `{text[:60]}` as a {event.tag}")
    return (float(value) if tag == "float" else value), False


def plain_scalar(text: str) -> Json:
    """What a word without quotes means.

    >>> [plain_scalar(text) for text in ("yes", "=", "0950", "1e3", "2026-01-01", "~")]
    [True, '=', 950, 1000.0, '2026-01-01', None]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise YamlError(f"json: unsupported value: {text}")
    return _number(text.replace("_", ""), text)


def _number(plain: str, text: str) -> int | float | str:
    """As Go has it: an integer of 64 bits; else a float, if it can be one; else the text."""
    if len(plain) > INTEGER_DIGITS_MAX:
        return text
    found = _INTEGER.fullmatch(plain)
    if found is not None and found.lastgroup is not None:
        base = _BASES[found.lastgroup]
        value = int(found.group("sign") + found.group(found.lastgroup), base)
        if -(2**63) <= value < 2**64:
            return value
    if _FLOAT.fullmatch(plain) and math.isfinite(approximate := float(plain)):
        return approximate
    return text


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise YamlError("!!binary value contains invalid base64 data") from error


def _check_tag(event: events.CollectionStartEvent) -> None:
    wanted = "map" if isinstance(event, events.MappingStartEvent) else "seq"
    if event.tag not in (None, "!", _CORE + wanted):
        raise YamlError(f"cannot decode a {wanted} as a {event.tag}")
