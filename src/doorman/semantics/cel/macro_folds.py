"""What macros make of the elements they go over: `all`, `exists`, `map`, `filter` …"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from doorman.semantics.cel.cel_errors import CelError, CostExceeded, no_overload
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.values import Value, look_up


class Frame:
    """The names an expression may use, and what it may still cost."""

    __slots__ = ("meter", "names")

    def __init__(self, names: dict[str, Value], meter: CostBudget) -> None:
        self.names = names
        self.meter = meter


Interpretable = Callable[[Frame], Value]


def boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise no_overload()
    return value


def _quantified(decisive: bool) -> Callable[..., Value]:
    def fold(rounds: Iterator[tuple[Value, ...]], frame: Frame, parts: Sequence[Interpretable]) -> bool:
        failed: CelError | None = None
        for _ in rounds:
            try:
                if boolean(parts[0](frame)) is decisive:
                    return decisive
            except CostExceeded:
                raise
            except CelError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not decisive

    return fold


def _exists_one(rounds: Iterator[tuple[Value, ...]], frame: Frame, parts: Sequence[Interpretable]) -> bool:
    return sum(boolean(parts[0](frame)) for _ in rounds) == 1


def _filter(rounds: Iterator[tuple[Value, ...]], frame: Frame, parts: Sequence[Interpretable]) -> list[Value]:
    return [row[0] for row in rounds if boolean(parts[0](frame))]


def _mapped(rounds: Iterator[tuple[Value, ...]], frame: Frame, parts: Sequence[Interpretable]) -> list[Value]:
    *conditions, last = parts
    return [last(frame) for _ in rounds if all(boolean(one(frame)) for one in conditions)]


def _mapped_values(
    rounds: Iterator[tuple[Value, ...]], frame: Frame, parts: Sequence[Interpretable]
) -> dict[Value, Value]:
    *conditions, last = parts
    return {row[0]: last(frame) for row in rounds if all(boolean(one(frame)) for one in conditions)}


def _mapped_entries(
    rounds: Iterator[tuple[Value, ...]], frame: Frame, parts: Sequence[Interpretable]
) -> dict[Value, Value]:
    *conditions, last = parts
    found: dict[Value, Value] = {}
    for _ in rounds:
        if not all(boolean(one(frame)) for one in conditions):
            continue
        entry = last(frame)
        if not isinstance(entry, dict):
            raise no_overload()
        for key, value in entry.items():
            if look_up(found, key):
                raise CelError(f"insert failed: key {key} already exists")
            found[key] = value
    return found


FOLDS: Final[Mapping[str, Callable[..., Value]]] = {
    "all": _quantified(False),
    "exists": _quantified(True),
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _mapped,
    "filter": _filter,
    "transformList": _mapped,
    "transformMap": _mapped_values,
    "transformMapEntry": _mapped_entries,
}
