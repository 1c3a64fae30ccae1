"""Label selectors: the string grammar of `?labelSelector=`, LabelSelector objects, and matching.

`parse_selector` reads text, `selector_of` compiles an object; both give a `Selector`, whose `matches` is the one
door for "do these labels match". A selector that was written as nil is `NOTHING`, an empty one `EVERYTHING`.

Rules
-----
1. `=`, `==` and `in` need the label and one of the values; an empty value is a value.
2. `!=` and `notin` are also true of an absent label.
3. `exists` needs the label, `!` its absence.
4. `>` and `<` compare label and value as signed 64-bit integers; what is no number never matches.
5. All requirements must hold; no requirement at all matches everything.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from doorman.api.machinery.label_syntax import label_key_faults, label_value_faults
from doorman.api.views.meta import LabelSelector
from doorman.base.go_format import go_json, quote


class SelectorOperator(StrEnum):
    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER = "gt"
    LESS = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


Labels = Mapping[str, str]
Test = Callable[[Labels], bool]


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label. `values` are sorted and without doubles."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case SelectorOperator.EXISTS:
                return self.key
            case SelectorOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case SelectorOperator.IN | SelectorOperator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                sign = _SIGNS.get(self.operator, self.operator)
                return f"{self.key}{sign}{self.values[0]}"


class Selector:
    """Requirements that must all hold, compiled. Equal texts are equal selectors.

    >>> web = parse_selector("tier in (web, api),env!=test")
    >>> web.matches({"tier": "web"}), web.matches({"tier": "db"}), str(web)
    (True, False, 'env!=test,tier in (api,web)')
    """

    __slots__ = ("_tests", "_text", "nothing", "requirements")

    def __init__(self, requirements: tuple[Requirement, ...], *, nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.nothing = nothing
        self._tests: tuple[Test, ...] = tuple(map(_test_of, self.requirements)) if not nothing else (_never,)
        self._text = ",".join(map(str, self.requirements))

    def matches(self, labels: Labels) -> bool:
        for test in self._tests:  # noqa: SIM110 - a generator would double the cost of this hot loop
            if not test(labels):
                return False
        return True

    @property
    def is_everything(self) -> bool:
        return not self._tests

    def pinned_label_or_none(self) -> tuple[str, str] | None:
        """A label that everything selected carries, if one is certain: what indexes file the selector under."""
        for requirement in self.requirements:
            if requirement.operator in _ONE_OF and len(requirement.values) == 1:
                return requirement.key, requirement.values[0]
        return None

    def with_requirement(self, requirement: Requirement) -> "Selector":
        return Selector((*self.requirements, requirement), nothing=self.nothing)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Selector({'nothing' if self.nothing else self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and (self.nothing, self._text) == (other.nothing, other._text)

    def __hash__(self) -> int:
        return hash((self.nothing, self._text))


def parse_selector(text: str) -> Selector:
    """The selector of a `labelSelector` parameter. Raises ValueError with the API's words.

    >>> parse_selector("a b")
    Traceback (most recent call last):
    ...
    ValueError: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
    """
    return _Parser(text).parse() if text else EVERYTHING


def selector_of(selector: LabelSelector | None) -> Selector:
    """A LabelSelector object, compiled. Raises ValueError when an operator is unknown or values do not suit it."""
    if selector is None:
        return NOTHING
    requirements = [Requirement(key, SelectorOperator.EQUALS, (value,)) for key, value in selector.match_labels.items()]
    for expression in selector.match_expressions:
        operator = _OBJECT_OPERATORS.get(expression.operator)
        if operator is None:
            raise ValueError(f"{quote(expression.operator)} is not a valid label selector operator")
        requirements.append(_checked(expression.key, operator, set(expression.values)))
    return Selector(tuple(requirements)) if requirements else EVERYTHING


def selector_or_nothing(selector: LabelSelector | None) -> Selector:
    """The same for whoever reads what is stored: an invalid selector selects nothing."""
    try:
        return selector_of(selector)
    except ValueError:
        return NOTHING


def matches(selector: LabelSelector | None, labels: Labels) -> bool:
    """Whether an object's selector selects these labels; an invalid selector selects nothing."""
    return selector_or_nothing(selector).matches(labels)


def format_selector(selector: LabelSelector | None) -> str:
    """As kubectl and status fields show it: `app=web,tier in (a,b)`, `<none>`, or `<error>` for an invalid one."""
    try:
        return str(selector_of(selector)) or "<none>"
    except ValueError:
        return "<error>"


def _never(_labels: Labels) -> bool:
    return False


_SIGNS: Final = {SelectorOperator.GREATER: ">", SelectorOperator.LESS: "<"}
_ONE_OF: Final = frozenset({SelectorOperator.EQUALS, SelectorOperator.DOUBLE_EQUALS, SelectorOperator.IN})
_OBJECT_OPERATORS: Final = {
    "In": SelectorOperator.IN,
    "NotIn": SelectorOperator.NOT_IN,
    "Exists": SelectorOperator.EXISTS,
    "DoesNotExist": SelectorOperator.DOES_NOT_EXIST,
}
_BINARY_OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


def integer_or_none(text: str) -> int | None:
    """The text as Go's ParseInt reads it in base ten and 64 bits."""
    if _INTEGER.fullmatch(text) is None:
        stripped = text.lstrip("+-").lstrip("0")
        if len(stripped) > 19 or re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is None:
            return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def _test_of(requirement: Requirement) -> Test:
    key, values = requirement.key, requirement.values
    match requirement.operator:
        case SelectorOperator.EQUALS | SelectorOperator.DOUBLE_EQUALS:
            value = values[0]
            return lambda labels: labels.get(key) == value
        case SelectorOperator.NOT_EQUALS:
            value = values[0]
            return lambda labels: labels.get(key) != value
        case SelectorOperator.IN:
            wanted = frozenset(values)
            return lambda labels: labels.get(key) in wanted
        case SelectorOperator.NOT_IN:
            unwanted = frozenset(values)
            return lambda labels: labels.get(key) not in unwanted
        case SelectorOperator.EXISTS:
            return lambda labels: key in labels
        case SelectorOperator.DOES_NOT_EXIST:
            return lambda labels: key not in labels
        case SelectorOperator.GREATER | SelectorOperator.LESS:
            return _comparison(key, values[0], greater=requirement.operator is SelectorOperator.GREATER)


def _comparison(key: str, value: str, *, greater: bool) -> Test:
    bound = integer_or_none(value)

    def test(labels: Labels) -> bool:
        found = integer_or_none(labels.get(key, ""))
        if found is None or bound is None:
            return False
        return found > bound if greater else found < bound

    return test


def _checked(key: str, operator: SelectorOperator, values: set[str]) -> Requirement:
    """The requirement, or ValueError with every error in it."""
    ordered = tuple(sorted(values))
    errors = [f"key: Invalid value: {quote(key)}: {'; '.join(faults)}" for faults in [label_key_faults(key)] if faults]
    if operator in (SelectorOperator.IN, SelectorOperator.NOT_IN) and not ordered:
        errors.append("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if operator in (SelectorOperator.EXISTS, SelectorOperator.DOES_NOT_EXIST) and ordered:
        errors.append(
            f"values: Invalid value: {go_json(ordered)}: values set must be empty for exists and does not exist"
        )
    if operator in _SIGNS:
        errors.extend(
            f"values[{at}]: Invalid value: {quote(value)}: for 'Gt', 'Lt' operators, the value must be an integer"
            for at, value in enumerate(ordered)
            if integer_or_none(value) is None
        )
    for at, value in enumerate(ordered):
        if faults := label_value_faults(value):
            errors.append(f"values[{at}][{key}]: Invalid value: {quote(value)}: {'; '.join(faults)}")
    if errors:
        raise ValueError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return Requirement(key, operator, ordered)


_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))")
_KEYWORDS: Final = frozenset({"in", "notin"})
_END: Final = ("", "end")


class _Parser:
    """Recursive descent over tokens: a text each, and whether it is a sign, a keyword, an identifier or the end."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        for found in _TOKEN.finditer(text.rstrip(" \t\r\n")):
            sign, word = found.groups()
            self._tokens.append((sign, sign) if sign else (word, word if word in _KEYWORDS else "identifier"))
        self._tokens.append(_END)
        self._at = 0

    def parse(self) -> Selector:
        requirements: list[Requirement] = []
        while True:
            literal, kind = self._peek()
            if kind == "end":
                return Selector(tuple(requirements))
            if kind not in ("identifier", "!"):
                raise ValueError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            literal, kind = self._take()
            if kind == "end":
                return Selector(tuple(requirements))
            if kind != ",":
                raise ValueError(f"found '{literal}', expected: ',' or 'end of string'")
            literal, kind = self._peek()
            if kind not in ("identifier", "!"):
                raise ValueError(f"found '{literal}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        literal, kind = self._take()
        negated = kind == "!"
        if negated:
            literal, kind = self._take()
        if kind != "identifier":
            raise ValueError(f"found '{literal}', expected: identifier")
        key = literal
        if faults := label_key_faults(key):
            raise ValueError(f"<nil>: Invalid value: {quote(key)}: {'; '.join(faults)}")
        if negated:
            return _checked(key, SelectorOperator.DOES_NOT_EXIST, set())
        if self._peek()[1] in ("end", ","):
            return _checked(key, SelectorOperator.EXISTS, set())
        operator = self._operator()
        values = self._values() if operator in (SelectorOperator.IN, SelectorOperator.NOT_IN) else self._exact_value()
        return _checked(key, operator, values)

    def _operator(self) -> SelectorOperator:
        literal, kind = self._take(words_are_values=False)
        operator = {">": SelectorOperator.GREATER, "<": SelectorOperator.LESS}.get(kind)
        if operator is None and kind in ("in", "notin", "=", "==", "!="):
            operator = SelectorOperator(kind)
        if operator is None:
            raise ValueError(f"found '{literal}', expected: {_BINARY_OPERATORS}")
        return operator

    def _exact_value(self) -> set[str]:
        if self._peek()[1] in ("end", ","):
            return {""}
        literal, kind = self._take()
        if kind != "identifier":
            raise ValueError(f"found '{literal}', expected: identifier")
        return {literal}

    def _values(self) -> set[str]:
        literal, kind = self._take()
        if kind != "(":
            raise ValueError(f"found '{literal}' expected: '('")
        literal, kind = self._peek()
        if kind == ")":
            self._take()
            return {""}
        if kind not in ("identifier", ","):
            raise ValueError(f"found '{literal}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            literal, kind = self._take()
            if kind == "identifier":
                values.add(literal)
                literal, kind = self._peek()
                if kind not in (",", ")"):
                    raise ValueError(f"found '{literal}', expected: ',' or ')'")
            elif kind == ",":
                # A comma with nothing on one side stands beside an empty value.
                if not values or self._peek()[1] in (",", ")"):
                    values.add("")
            else:
                raise ValueError(f"found '{literal}', expected: ',', or identifier")
            if self._peek()[1] == ")":
                self._take()
                return values

    def _peek(self) -> tuple[str, str]:
        literal, kind = self._tokens[self._at]
        return literal, "identifier" if kind in _KEYWORDS else kind

    def _take(self, *, words_are_values: bool = True) -> tuple[str, str]:
        token = self._tokens[self._at]
        if self._at < len(self._tokens) - 1:
            self._at += 1
        if words_are_values and token[1] in _KEYWORDS:
            return token[0], "identifier"
        return token


EVERYTHING: Final = Selector(())
NOTHING: Final = Selector((), nothing=True)
