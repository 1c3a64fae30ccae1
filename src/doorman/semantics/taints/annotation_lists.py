"""Lists of taints and tolerations written as JSON into an annotation, and the parser's errors in Go's words.

Members are found as Go finds them: by their name, or else by the same letters in another case. Those nobody knows are
passed over; one of the wrong type is told, the first of them.

The fast parser decides whether the text is JSON; only for one that is not does the scanner below look for what Go
would say about it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.base.go_format import quote

_GO_NAMES: Final = {dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool"}
_LITERALS: Final = {"t": "true", "f": "false", "n": "null"}
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER_STEPS: Final = (
    (re.compile(r"-?"), ""),
    (re.compile(r"0|[1-9][0-9]*"), "in numeric literal"),
    (re.compile(r"\.[0-9]+|(?!\.)"), "after decimal point in numeric literal"),
    (re.compile(r"[eE][+-]?[0-9]+|(?![eE])"), "in exponent of numeric literal"),
)
_END: Final = "unexpected end of JSON input"
_VALUE: Final = "looking for beginning of value"


class AnnotationError(ValueError):
    """The text is no list of objects."""


class GoStruct(msgspec.Struct, frozen=True):
    """What Kubernetes reads an element into: how Go names it and its members, and of which types they are."""

    package: str
    name: str
    members: Mapping[str, str]
    """By their name in JSON: the type Go tells, with the package before it where it is not Go's own."""
    has_tags: bool
    """Without them Go knows members by their names in Go, which begin with a capital letter."""

    @property
    def type_name(self) -> str:
        return f"{self.package}.{self.name}"


def _struct(package: str, name: str, members: Mapping[str, str]) -> GoStruct:
    return GoStruct(package, name, members, has_tags=package == "v1")


def _toleration(package: str) -> GoStruct:
    return _struct(
        package,
        "Toleration",
        {
            "key": "string",
            "operator": f"{package}.TolerationOperator",
            "value": "string",
            "effect": f"{package}.TaintEffect",
            "tolerationSeconds": "int64",
        },
    )


TOLERATION: Final = _toleration("v1")
INTERNAL_TOLERATION: Final = _toleration("core")
INTERNAL_TAINT: Final = _struct(
    "core", "Taint", {"key": "string", "value": "string", "effect": "core.TaintEffect", "timeAdded": "v1.Time"}
)


def parse_annotated_list(text: str, go_struct: GoStruct) -> list[dict[str, Any]]:  # JSON objects; nulls left out
    """
    >>> parse_annotated_list('[{"key": "k", "value": null, "Operator": "Exists", "x": 1}]', TOLERATION)
    [{'key': 'k', 'operator': 'Exists'}]
    >>> parse_annotated_list("oops", TOLERATION)
    Traceback (most recent call last):
    ...
    doorman.semantics.taints.annotation_lists.AnnotationError: invalid character 'o' looking for beginning of value
    """
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AnnotationError(syntax_fault(text)) from error
    if found is None:
        return []
    if not isinstance(found, list):
        shown = f"[]{go_struct.type_name}"
        raise AnnotationError(f"json: cannot unmarshal {_GO_NAMES[type(found)]} into Go value of type {shown}")
    objects = []
    for element in found:
        if not isinstance(element, dict | None):
            named = _GO_NAMES[type(element)]
            raise AnnotationError(f"json: cannot unmarshal {named} into Go value of type {go_struct.type_name}")
        objects.append(_read(element or {}, go_struct))
    return objects


def _read(element: Mapping[str, Any], go_struct: GoStruct) -> dict[str, Any]:  # JSON
    folded = {name.lower(): name for name in go_struct.members}
    out: dict[str, Any] = {}
    for key, value in element.items():
        name = key if key in go_struct.members else folded.get(key.lower())
        if name is None or value is None:
            continue
        if fault := _fault_of(value, go_struct.members[name]):
            shown = name if go_struct.has_tags else name[0].upper() + name[1:]
            field = f"{go_struct.name}.{shown} of type {go_struct.members[name]}"
            raise AnnotationError(f"json: cannot unmarshal {fault} into Go struct field {field}")
        out[name] = value
    return out


def _fault_of(value: Any, wanted: str) -> str:  # JSON
    """As what Go tells a value of the wrong type; empty when it is of the right one."""
    if wanted == "int64":
        if isinstance(value, float) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            return f"number {value}"
        return "" if isinstance(value, int) and not isinstance(value, bool) else _GO_NAMES[type(value)]
    return "" if isinstance(value, str) else _GO_NAMES[type(value)]


def syntax_fault(text: str | bytes) -> str:
    """What Go's JSON scanner, which sees bytes, says of a text that is not JSON.

    >>> syntax_fault("{")
    'unexpected end of JSON input'
    >>> syntax_fault("[1 2]")
    "invalid character '2' after array element"
    >>> syntax_fault("tru3")
    "invalid character '3' in literal true (expecting 'e')"
    """
    try:
        _Scanner((text.encode() if isinstance(text, str) else text).decode("latin-1")).scan()
    except _Fault as fault:
        return str(fault)
    return _END


class _Fault(Exception):
    """The first thing that is wrong."""


class _Scanner:
    """Walks the text with a stack of its own, so that deep nesting is no recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def scan(self) -> None:
        stack: list[str] = []
        self._begin_value(stack)
        while stack:
            closing, where = ("]", "after array element") if stack[-1] == "[" else ("}", "after object key:value pair")
            char = self._next_char()
            if char == closing:
                stack.pop()
                self._at += 1
            elif char == ",":
                self._at += 1
                if closing == "}":
                    self._key()
                self._begin_value(stack)
            else:
                raise self._fault(where)
        self._skip()
        if self._at < len(self._text):
            raise self._fault("after top-level value")

    def _begin_value(self, stack: list[str]) -> None:
        """One scalar, or the opening of arrays and objects down to their first scalar."""
        while True:
            char = self._next_char()
            if char == '"':
                return self._string()
            if char in _LITERALS:
                return self._literal(_LITERALS[char])
            if char == "-" or "0" <= char <= "9":
                return self._number()
            if char not in "[{":
                raise self._fault(_VALUE)
            self._at += 1
            if self._next_char() == {"[": "]", "{": "}"}[char]:
                self._at += 1
                return None
            stack.append(char)
            if char == "{":
                self._key()

    def _key(self) -> None:
        if self._next_char() != '"':
            raise self._fault("looking for beginning of object key string")
        self._string()
        if self._next_char() != ":":
            raise self._fault("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while (char := self._char()) != '"':
            if char < " ":
                raise self._fault("in string literal")
            self._at += 1
            if char == "\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        char = self._char()
        if char == "u":
            for _ in range(4):
                self._at += 1
                if self._char() not in "0123456789abcdefABCDEF":
                    raise self._fault("in \\u hexadecimal character escape")
        elif char not in '"\\/bfnrt':
            raise self._fault("in string escape code")
        self._at += 1

    def _literal(self, word: str) -> None:
        for expected in word:
            if self._char() != expected:
                raise self._fault(f"in literal {word} (expecting '{expected}')")
            self._at += 1

    def _number(self) -> None:
        for form, where in _NUMBER_STEPS:
            found = form.match(self._text, self._at)
            if found is None:
                self._at += where != "in numeric literal"
                self._char()
                raise self._fault(where)
            self._at = found.end()

    def _next_char(self) -> str:
        self._skip()
        return self._char()

    def _char(self) -> str:
        if self._at >= len(self._text):
            raise _Fault(_END)
        return self._text[self._at]

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None, "the pattern matches the empty text"
        self._at = found.end()

    def _fault(self, where: str) -> _Fault:
        char = self._text[self._at]
        shown = {"'": "\\'", '"': '"'}.get(char) or quote(char)[1:-1]
        return _Fault(f"invalid character '{shown}' {where}")
