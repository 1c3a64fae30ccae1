"""What calling a function can cost, and how large its result can be, without what its arguments cost.

The figures decide which rules may be written into a definition, so they are Kubernetes' own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.semantics.cel.cost.cost_ranges import MOST, NOTHING, ONE, UNKNOWN, Range, exactly
from doorman.semantics.cel.typing.static_types import Type

TRAVERSAL: Final = 0.1
"""Of one character."""
REGEX: Final = 0.25
"""Of one character of a pattern."""
LIST: Final = exactly(10)
MAP: Final = exactly(30)
MESSAGE: Final = exactly(40)
CHECK: Final = exactly(350_000)
_FORMAT_PATTERN_CHARS: Final = 128
_FORMAT_CHARS: Final = 64
_ADDRESS_BYTES: Final = Range(4, 16)


class Operand(msgspec.Struct, frozen=True, kw_only=True):
    """A target or an argument as far as it is known."""

    type: Type
    size: Range | None = None
    item_size: Range | None = None
    """Of its elements, when it is a list."""
    literal: object = None

    @property
    def bound(self) -> Range:
        return self.size if self.size is not None else UNKNOWN


class Estimate(msgspec.Struct, frozen=True):
    cost: Range
    result: Range | None = None


Estimator = Callable[[Operand | None, Sequence[Operand]], Estimate | None]
"""From the target, if there is one, and the arguments; None: it is as any other call."""


def call_estimate(name: str, target: Operand | None, arguments: Sequence[Operand]) -> Estimate:
    known = _FUNCTIONS.get(name)
    found = known(target, arguments) if known is not None else None
    return found if found is not None else Estimate(ONE)


def comparison(one: Operand, other: Operand) -> Estimate:
    """As much as the shorter one has."""
    shorter = min(one.bound.max, other.bound.max)
    return Estimate(Range(1 if shorter > 0 else 0, shorter).scaled(TRAVERSAL))


def joined(one: Operand, other: Operand) -> Estimate:
    """Two texts, one after the other."""
    size = one.bound.plus(other.bound)
    return Estimate(size.scaled(TRAVERSAL), size)


def _nominal(_target: Operand | None, _arguments: Sequence[Operand]) -> Estimate:
    return Estimate(ONE)


def _check(_target: Operand | None, _arguments: Sequence[Operand]) -> Estimate:
    return Estimate(CHECK)


def _over_elements(target: Operand | None, _arguments: Sequence[Operand]) -> Estimate | None:
    """One for each element; elements that are texts are gone through. Texts are searched by the same names."""
    if target is None:
        return None
    if target.type.name != "list":
        return Estimate(target.bound.scaled(TRAVERSAL))
    item = target.type.of.name if target.type.of is not None else "dyn"
    each = ONE
    if item in ("string", "bytes"):
        each = each.plus((target.item_size or UNKNOWN).scaled(TRAVERSAL))
    return Estimate(target.bound.times(each))


def _includes(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is not None and target.type.name == "dyn":
        return Estimate(target.bound)
    return _over_elements(target, arguments)


def _read(factor: float, *, keeps_size: bool = False) -> Estimator:
    """The first argument is gone through."""

    def estimate(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
        if not arguments:
            return None
        size = arguments[0].bound
        return Estimate(size.scaled(factor), size if keeps_size else None)

    return estimate


def _transformed(target: Operand | None, _arguments: Sequence[Operand]) -> Estimate | None:
    return Estimate(target.bound.scaled(TRAVERSAL), target.bound) if target is not None else None


def _replaced(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is None or len(arguments) < 2:
        return None
    size, old, new = target.bound, arguments[0].bound, arguments[1].bound
    most_times, most_kept = _replacements(size.max, old.min, is_kept=new.max <= old.min)
    least_times, least_kept = _replacements(size.min, old.max, is_kept=old.max <= new.min)
    result = Range(least_times, most_times).times(new).plus(Range(least_kept, most_kept))
    return Estimate(size.scaled(2 * TRAVERSAL), result)


def _replacements(length: int, replaced: int, *, is_kept: bool) -> tuple[int, int]:
    """How often something of that length can be replaced in a text, and how much of the text is left.

    `is_kept`: replacing makes no difference to the bound.
    """
    if replaced == 0:
        return min(length + 1, MOST), length
    return (0, length) if is_kept else (math.ceil(length / replaced), 0)


def _split(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is None:
        return None
    most = target.bound.max
    if len(arguments) > 1 and isinstance(arguments[1].literal, int):
        most = arguments[1].literal % (MOST + 1)
    return Estimate(target.bound.scaled(2 * TRAVERSAL), Range(0, most))


def _join(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is None:
        return None
    size = target.bound.times(target.item_size or UNKNOWN) if target.type.name == "list" else NOTHING
    if arguments:
        between = Range(max(target.bound.min - 1, 0), max(target.bound.max - 1, 0))
        size = size.plus(arguments[0].bound.times(between))
    return Estimate(size.scaled(TRAVERSAL), size)


def _found(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is None or not arguments:
        return None
    return Estimate(_pattern_cost(target, arguments[0]), Range(0, target.bound.max))


def _matched(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    operands = [*([target] if target is not None else []), *arguments]
    return Estimate(_pattern_cost(*operands)) if len(operands) == 2 else None


def _pattern_cost(text: Operand, pattern: Operand) -> Range:
    """An empty text counts as well: the pattern may be expensive all the same."""
    return text.bound.plus(ONE).scaled(TRAVERSAL).times(pattern.bound.scaled(REGEX))


def _contains(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is None or len(arguments) != 1:
        return None
    return Estimate(target.bound.scaled(TRAVERSAL).times(arguments[0].bound.scaled(TRAVERSAL)))


def _ip(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    return Estimate(ONE) if target is not None else _read(TRAVERSAL)(target, arguments)


def _contains_address(*, is_network: bool) -> Estimator:
    def estimate(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
        if not arguments:
            return None
        cost = _ADDRESS_BYTES.plus(_ADDRESS_BYTES).scaled(TRAVERSAL)
        if is_network:
            cost = cost.plus(_ADDRESS_BYTES.scaled(TRAVERSAL)).plus(ONE)
        if arguments[0].type.name == "string":
            cost = cost.plus(arguments[0].bound.scaled(TRAVERSAL))
        return Estimate(cost)

    return estimate


def _validated(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if not arguments:
        return None
    return Estimate(arguments[0].bound.scaled(TRAVERSAL).scaled(_FORMAT_PATTERN_CHARS * REGEX))


def _formatted(target: Operand | None, _arguments: Sequence[Operand]) -> Estimate | None:
    return Estimate(target.bound.scaled(TRAVERSAL)) if target is not None else None


def _quoted(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if len(arguments) != 1:
        return None
    size = arguments[0].bound
    return Estimate(size.scaled(TRAVERSAL), size.times(Range(1, 2)).plus(exactly(2)))


def _to_bytes(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if not arguments or arguments[0].type.name not in ("string", "dyn"):
        return None
    size = arguments[0].bound
    return Estimate(size.scaled(TRAVERSAL), size.times(Range(1, 4)))


def _to_string(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if not arguments or arguments[0].type.name not in ("bytes", "dyn"):
        return None
    size = arguments[0].bound
    cost = size.scaled(TRAVERSAL)
    cost = cost.either(ONE) if arguments[0].type.name == "dyn" else cost
    return Estimate(cost, Range(size.min // 4, size.max))


def _sets(factor: int) -> Estimator:
    def estimate(_target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
        if len(arguments) != 2:
            return None
        return Estimate(arguments[0].bound.times(arguments[1].bound).scaled(factor).plus(ONE))

    return estimate


def _made_list(factor: float, size: Range) -> Estimate:
    return Estimate(size.scaled(factor).plus(ONE).plus(LIST), size)


def _slice(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    if target is None or len(arguments) != 2:
        return None
    start, end = _number(arguments[0], 0), _number(arguments[1], target.bound.max)
    return _made_list(1, exactly((end - start) % (MOST + 1)))


def _range(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    return _made_list(1, exactly(_number(arguments[0], MOST))) if target is None and len(arguments) == 1 else None


def _reverse(target: Operand | None, _arguments: Sequence[Operand]) -> Estimate | None:
    return _made_list(1, target.bound) if target is not None and target.type.name != "string" else None


def _flatten(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
    depth = _number(arguments[0], MOST) if arguments else 1
    return _made_list(depth, target.bound) if target is not None else None


def _squared(factor: float) -> Estimator:
    """Each element is compared with each other one."""

    def estimate(target: Operand | None, arguments: Sequence[Operand]) -> Estimate | None:
        by = arguments[0] if arguments else target
        if target is None or by is None:
            return None
        item = by.type.of.name if by.type.of is not None else ""
        more = TRAVERSAL if item in ("string", "bytes") and factor == _SORT else 0
        return _made_list(factor + more, by.bound.times(by.bound))

    return estimate


_SORT: Final = 2.0


def _distinct(target: Operand | None, _arguments: Sequence[Operand]) -> Estimate | None:
    return _made_list(_SORT, target.bound.times(target.bound)) if target is not None else None


def _number(operand: Operand, otherwise: int) -> int:
    literal = operand.literal
    return literal if isinstance(literal, int) and not isinstance(literal, bool) and literal >= 0 else otherwise


def _table(*rows: tuple[Estimator, str]) -> Mapping[str, Estimator]:
    return {name: estimator for estimator, names in rows for name in names.split()}


_FUNCTIONS: Final = _table(
    (_check, "check"),
    (_nominal, "serviceAccount path group resource subresource namespace name allowed reason error errored"),
    (_read(TRAVERSAL), "fieldSelector labelSelector cidr isIP isCIDR quantity isQuantity semver isSemver"),
    (_over_elements, "isSorted sum max min indexOf lastIndexOf"),
    (_includes, "includes"),
    (_read(TRAVERSAL, keeps_size=True), "url jsonpatch.escapeKey"),
    (_transformed, "lowerAscii upperAscii substring trim"),
    (_replaced, "replace"),
    (_split, "split"),
    (_join, "join"),
    (_found, "find findAll"),
    (_matched, "matches"),
    (_contains, "contains"),
    (_read(TRAVERSAL), "startsWith endsWith"),
    (_ip, "ip"),
    (_read(2 * TRAVERSAL), "ip.isCanonical"),
    (_nominal, "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast"),
    (_nominal, "isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan"),
    (_nominal, "compareTo add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery"),
    (_contains_address(is_network=False), "containsIP"),
    (_contains_address(is_network=True), "containsCIDR"),
    (_validated, "validate"),
    (_formatted, "format"),
    (_quoted, "strings.quote"),
    (_to_bytes, "bytes"),
    (_to_string, "string"),
    (_sets(1), "sets.contains sets.intersects"),
    (_sets(2), "sets.equivalent"),
    (_slice, "slice"),
    (_range, "lists.range"),
    (_reverse, "reverse"),
    (_flatten, "flatten"),
    (_distinct, "distinct"),
    (_squared(_SORT), "sort sortBy"),
)
