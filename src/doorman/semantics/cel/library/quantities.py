"""Quantities (`500m`, `1Gi`) and semantic versions."""

import re
from fractions import Fraction
from typing import ClassVar, Final

import msgspec

from doorman.api.machinery.quantity import QuantityError, parse_quantity
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.overloads import Table, table
from doorman.semantics.cel.values import INT64_MAX, INT64_MIN

_CHARS_MAX: Final = 256


class Quantity(msgspec.Struct, frozen=True):
    value: Fraction
    cel_type: ClassVar[str] = "kubernetes.Quantity"


class Semver(msgspec.Struct, frozen=True):
    """Two versions are equal when they differ in their build at most."""

    major: int
    minor: int
    patch: int
    before: tuple[str, ...] = ()
    cel_type: ClassVar[str] = "kubernetes.Semver"


_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


def _quantity(_meter: CostBudget, text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text[:_CHARS_MAX]))
    except QuantityError as error:
        raise CelError(str(error)) from error


def _is_quantity(meter: CostBudget, text: str) -> bool:
    try:
        _quantity(meter, text)
    except CelError:
        return False
    return True


def _is_integer(_meter: CostBudget, quantity: Quantity) -> bool:
    return quantity.value.denominator == 1 and INT64_MIN <= quantity.value <= INT64_MAX


def _as_integer(meter: CostBudget, quantity: Quantity) -> int:
    if not _is_integer(meter, quantity):
        raise CelError("cannot convert value to integer")
    return int(quantity.value)


def _added(_meter: CostBudget, one: Quantity, other: Quantity | int) -> Quantity:
    return Quantity(one.value + (other.value if isinstance(other, Quantity) else other))


def _less(_meter: CostBudget, one: Quantity, other: Quantity | int) -> Quantity:
    return Quantity(one.value - (other.value if isinstance(other, Quantity) else other))


def _semver(_meter: CostBudget, text: str, normalize: bool = False) -> Semver:
    wanted = _normal(text[:_CHARS_MAX]) if normalize else text[:_CHARS_MAX]
    match = _SEMVER.fullmatch(wanted)
    if match is None:
        raise CelError(f"semver parse error: {text[:_CHARS_MAX]} is no semantic version")
    return Semver(int(match[1]), int(match[2]), int(match[3]), tuple(match[4].split(".")) if match[4] else ())


def parse_semver(text: str) -> Semver:
    """A version that was published, not written in an expression. Raises CelError."""
    return _semver(CostBudget(), text)


def _normal(text: str) -> str:
    """`v1.02` is `1.2.0`."""
    numbers, mark, rest = text.removeprefix("v"), "", ""
    for sign in ("+", "-"):
        head, found, tail = numbers.partition(sign)
        if found:
            numbers, mark, rest = head, found, tail + mark + rest
    parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in numbers.split(".")]
    return ".".join([*parts, "0", "0"][: max(3, len(parts))]) + mark + rest


def _is_semver(meter: CostBudget, text: str, normalize: bool = False) -> bool:
    try:
        _semver(meter, text, normalize)
    except CelError:
        return False
    return True


def _precedence(version: Semver) -> tuple[object, ...]:
    """A version without a suffix comes after those with one; numbers in a suffix come before words."""
    suffix = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in version.before)
    return (version.major, version.minor, version.patch, not version.before, suffix)


def _compared(_meter: CostBudget, one: Quantity | Semver, other: Quantity | Semver) -> int:
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return (one.value > other.value) - (one.value < other.value)
    assert isinstance(one, Semver), "the overload says so"
    assert isinstance(other, Semver), "the overload says so"
    first, second = _precedence(one), _precedence(other)
    return (first > second) - (first < second)


_Q: Final = Quantity.cel_type
_V: Final = Semver.cel_type

FUNCTIONS: Final[Table] = table(
    ("quantity", ("string",), _Q, _quantity),
    ("isQuantity", ("string",), "bool", _is_quantity),
    ("semver", ("string",), _V, _semver),
    ("semver", ("string", "bool"), _V, _semver),
    ("isSemver", ("string",), "bool", _is_semver),
    ("isSemver", ("string", "bool"), "bool", _is_semver),
)

METHODS: Final[Table] = table(
    ("sign", (_Q,), "int", lambda _m, one: (one.value > 0) - (one.value < 0)),
    ("isInteger", (_Q,), "bool", _is_integer),
    ("asInteger", (_Q,), "int", _as_integer),
    ("asApproximateFloat", (_Q,), "double", lambda _m, one: float(one.value)),
    *((("add"), (_Q, kind), _Q, _added) for kind in (_Q, "int")),
    *((("sub"), (_Q, kind), _Q, _less) for kind in (_Q, "int")),
    *(("compareTo", (kind, kind), "int", _compared) for kind in (_Q, _V)),
    *(("isLessThan", (kind, kind), "bool", lambda m, a, b: _compared(m, a, b) < 0) for kind in (_Q, _V)),
    *(("isGreaterThan", (kind, kind), "bool", lambda m, a, b: _compared(m, a, b) > 0) for kind in (_Q, _V)),
    ("major", (_V,), "int", lambda _m, one: one.major),
    ("minor", (_V,), "int", lambda _m, one: one.minor),
    ("patch", (_V,), "int", lambda _m, one: one.patch),
)
