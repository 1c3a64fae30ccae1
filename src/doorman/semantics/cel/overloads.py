"""What a function of the language or of a library is: overloads by the types of their arguments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.semantics.cel.cel_errors import no_overload
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.values import Value, type_of

DYN: Final = "dyn"
"""Any type."""


class Overload(msgspec.Struct, frozen=True):
    """`apply` is given the meter, for a method the target, and the arguments."""

    parameters: tuple[str, ...]
    result: str
    apply: Callable[..., Value]

    def takes(self, types: Sequence[str]) -> bool:
        """Whether arguments of these types may be given to it; an argument whose type is not known may."""
        return len(types) == len(self.parameters) and all(
            wanted in (DYN, found) or found == DYN for wanted, found in zip(self.parameters, types, strict=True)
        )


Table = Mapping[str, tuple[Overload, ...]]


def table(*rows: tuple[str, tuple[str, ...], str, Callable[..., Value]]) -> Table:
    """Rows of (name, parameters, result, apply), by name."""
    found: dict[str, tuple[Overload, ...]] = {}
    for name, parameters, result, apply in rows:
        found[name] = (*found.get(name, ()), Overload(parameters, result, apply))
    return found


def merged(tables: Iterable[Table]) -> Table:
    found: dict[str, tuple[Overload, ...]] = {}
    for one in tables:
        for name, overloads in one.items():
            found[name] = (*found.get(name, ()), *overloads)
    return found


def call(overloads: Sequence[Overload], meter: CostBudget, arguments: Sequence[Value]) -> Value:
    types = [type_of(argument) for argument in arguments]
    for overload in overloads:
        if overload.takes(types):
            return overload.apply(meter, *arguments)
    raise no_overload()
