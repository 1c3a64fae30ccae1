"""CEL's operators: arithmetic that overflows into an error, comparisons, membership, indexing."""

import math
from collections.abc import Callable, Mapping
from typing import Final

from doorman.semantics.cel.cel_errors import CelError, no_overload
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.values import (
    INT64_MIN,
    NONE,
    DefaultMap,
    Duration,
    Optional,
    Timestamp,
    Uint,
    Value,
    checked_int,
    checked_uint,
    compare,
    equals,
    is_number,
    look_up,
    map_key,
)


def add(meter: CostBudget, one: Value, other: Value) -> Value:
    match one, other:
        case (str(), str()) | (bytes(), bytes()):
            meter.charge_size(len(one) + len(other))
            return one + other
        case (list(), list()):
            meter.charge_size(len(one) + len(other))
            return [*one, *other]
        case (Timestamp(), Duration()) | (Duration(), Timestamp()):
            return Timestamp(checked_int(one.nanoseconds + other.nanoseconds))
        case (Duration(), Duration()):
            return Duration(checked_int(one.nanoseconds + other.nanoseconds))
    return _number(one, other, lambda: one + other)


def subtract(_meter: CostBudget, one: Value, other: Value) -> Value:
    match one, other:
        case (Timestamp(), Timestamp()) | (Duration(), Duration()):
            return Duration(checked_int(one.nanoseconds - other.nanoseconds))
        case (Timestamp(), Duration()):
            return Timestamp(checked_int(one.nanoseconds - other.nanoseconds))
    return _number(one, other, lambda: one - other)


def multiply(_meter: CostBudget, one: Value, other: Value) -> Value:
    return _number(one, other, lambda: one * other)


def divide(_meter: CostBudget, one: Value, other: Value) -> Value:
    if isinstance(one, float) and isinstance(other, float):
        if other == 0:
            return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
        return one / other
    return _number(one, other, lambda: _quotient(one, other, "division by zero"))


def remainder(_meter: CostBudget, one: Value, other: Value) -> Value:
    if isinstance(one, float):
        raise no_overload()
    return _number(one, other, lambda: one - other * _quotient(one, other, "modulus by zero"))


def _quotient(one: int, other: int, fault: str) -> int:
    """Towards zero, as Go divides."""
    if other == 0:
        raise CelError(fault)
    found = abs(one) // abs(other)
    return found if (one < 0) is (other < 0) else -found


def _number(one: Value, other: Value, apply: Callable[[], Value]) -> Value:
    """Arithmetic of two numbers of one type."""
    if type(one) is not type(other) or not is_number(one):
        raise no_overload()
    if isinstance(one, float):
        return float(apply())
    return checked_uint(apply()) if isinstance(one, Uint) else checked_int(apply())


def negate(_meter: CostBudget, value: Value) -> Value:
    if isinstance(value, float):
        return -value
    if type(value) is int:
        if value == INT64_MIN:
            raise CelError("integer overflow")
        return -value
    if isinstance(value, Duration):
        return Duration(-value.nanoseconds)
    raise no_overload()


def invert(_meter: CostBudget, value: Value) -> Value:
    if not isinstance(value, bool):
        raise no_overload()
    return not value


def is_equal(meter: CostBudget, one: Value, other: Value) -> bool:
    _charge_both(meter, one, other)
    return equals(one, other)


def is_unequal(meter: CostBudget, one: Value, other: Value) -> bool:
    return not is_equal(meter, one, other)


def is_member(meter: CostBudget, item: Value, container: Value) -> bool:
    if isinstance(container, dict):
        return bool(look_up(container, item))
    if not isinstance(container, list):
        raise no_overload()
    meter.charge(len(container))
    return any(equals(item, found) for found in container)


def index(_meter: CostBudget, operand: Value, key: Value) -> Value:
    if isinstance(operand, Optional):
        return optional_index(_meter, operand, key)
    found = _indexed(operand, key)
    if found:
        return found[0]
    if isinstance(operand, list):
        raise CelError(f"index out of bounds: {int(key)}")
    raise CelError(f"no such key: {key}")


def optional_index(_meter: CostBudget, operand: Value, key: Value) -> Optional:
    if isinstance(operand, Optional):
        if not operand.values:
            return NONE
        operand = operand.values[0]
    return Optional(_indexed(operand, key))


def _indexed(operand: Value, key: Value) -> tuple[Value, ...]:
    if isinstance(operand, dict):
        map_key(key)
        found = look_up(operand, key)
        return found if found or not isinstance(operand, DefaultMap) else ({},)
    if not isinstance(operand, list):
        raise no_overload()
    if not is_number(key) or int(key) != key:
        raise CelError(f"unsupported index type '{type(key).__name__}' in list")
    at = int(key)
    return (operand[at],) if 0 <= at < len(operand) else ()


def _charge_both(meter: CostBudget, one: Value, other: Value) -> None:
    if isinstance(one, str | list | dict | bytes) and isinstance(other, str | list | dict | bytes):
        meter.charge_size(min(size_of(one), size_of(other)))


def size_of(value: Value) -> int:
    """Characters or elements, those inside elements too."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list):
        return len(value) + sum(size_of(item) for item in value if isinstance(item, list | dict | str))
    if isinstance(value, dict):
        return len(value) + sum(size_of(item) for item in value.values() if isinstance(item, list | dict | str))
    return 1


def _ordered(decide: Callable[[int], bool]) -> Callable[[CostBudget, Value, Value], bool]:
    def operator(meter: CostBudget, one: Value, other: Value) -> bool:
        _charge_both(meter, one, other)
        if any(isinstance(side, float) and math.isnan(side) for side in (one, other)):
            return False
        return decide(compare(one, other))

    return operator


OPERATORS: Final[Mapping[str, Callable[..., Value]]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": remainder,
    "-_": negate,
    "!_": invert,
    "_==_": is_equal,
    "_!=_": is_unequal,
    "_<_": _ordered(lambda sign: sign < 0),
    "_<=_": _ordered(lambda sign: sign <= 0),
    "_>_": _ordered(lambda sign: sign > 0),
    "_>=_": _ordered(lambda sign: sign >= 0),
    "@in": is_member,
    "_[_]": index,
    "_[?_]": optional_index,
}
