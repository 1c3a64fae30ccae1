"""What the rules of a definition may cost: each one, and all of a schema together.

A rule of something that occurs several times in an object counts as often as that can occur: by the bounds of the lists
and maps around it, or, where one of these has no bound, by what fits into a request.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from doorman.api.machinery.structural_schema import Structural
from doorman.base.errors import FieldError, forbidden
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.typing.static_types import DYN, Type
from doorman.validation.apiextensions.custom_rules import OLD

RULE_COST_MAX: Final = 10_000_000
SCHEMA_COST_MAX: Final = 100_000_000
_NAMED_MAX: Final = 4
"""How many of the most expensive rules are named when all together cost too much."""
_NAMED_COST_MIN: Final = SCHEMA_COST_MAX // 100
_MOST: Final = 2**64 - 1
_HINT: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


class RuleCost(msgspec.Struct, frozen=True):
    path: str
    cost: int
    what: str
    """`rule` or `messageExpression`."""


def rule_costs(schema: Structural, path: str) -> list[RuleCost]:
    return list(_costs(schema, path, 1)) if schema.has_rules else []


def rule_cost_errors(costs: Iterable[RuleCost]) -> dict[str, FieldError]:
    """The rules that cost too much on their own, by path."""
    return {
        one.path: forbidden(one.path, _exceeds(f"estimated {one.what} cost", one.cost, RULE_COST_MAX))
        for one in costs
        if one.cost > RULE_COST_MAX
    }


def total_cost_errors(costs: Sequence[RuleCost], path: str) -> list[FieldError]:
    everything = min(sum(one.cost for one in costs), _MOST)
    if everything <= SCHEMA_COST_MAX:
        return []
    expensive = sorted((one for one in costs if one.cost >= _NAMED_COST_MIN), key=lambda one: -one.cost)
    named = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    return [
        *(forbidden(one.path, named) for one in expensive[:_NAMED_MAX]),
        forbidden(path, _exceeds(whole, everything, SCHEMA_COST_MAX)),
    ]


def _exceeds(what: str, cost: int, cost_max: int) -> str:
    """
    >>> print(_exceeds("estimated rule cost", 25_000_000, 10_000_000)[:52])
    estimated rule cost exceeds budget by factor of 2.5x
    """
    times = cost / cost_max
    factor = "more than 100x" if times > 100 else f"{times:.6f}x" if times < 1.5 else f"{times:.1f}x"
    return f"{what} exceeds budget by factor of {factor} {_HINT}"


def _costs(schema: Structural, path: str, occurrences: int | None) -> Iterator[RuleCost]:
    """`occurrences`: how often it can be in an object; None: nothing says."""
    if not schema.has_rules:
        return
    inner = _times(occurrences, _elements_max(schema))
    for name, member in schema.properties.items():
        yield from _costs(member, f"{path}.properties[{name}]", inner)
    if isinstance(schema.additional, Structural):
        yield from _costs(schema.additional, f"{path}.additionalProperties", inner)
    if schema.items is not None:
        yield from _costs(schema.items, f"{path}.items", inner)
    if schema.source.get("x-kubernetes-validations"):
        yield from _own_costs(schema, f"{path}.x-kubernetes-validations", occurrences)


def _own_costs(schema: Structural, path: str, occurrences: int | None) -> Iterator[RuleCost]:
    from doorman.semantics.cel.cost.declared_sizes import declared_size, occurrences_max

    declared = declared_size(schema)
    if declared is None:
        return
    times = occurrences if occurrences is not None else occurrences_max(declared)
    for index, rule in enumerate(schema.source["x-kubernetes-validations"]):
        text, told = rule.get("rule", ""), rule.get("messageExpression", "")
        is_optional = bool(rule.get("optionalOldSelf"))
        cost = min(_cost(text, schema, is_optional=is_optional) * times, _MOST)
        yield RuleCost(f"{path}[{index}].rule", cost, "rule")
        if told.strip():
            found = _cost(told, schema, is_optional=is_optional)
            yield RuleCost(f"{path}[{index}].messageExpression", found, "messageExpression")


def _cost(text: str, schema: Structural, *, is_optional: bool) -> int:
    """Nothing for what does not compile: that is told elsewhere."""
    from doorman.semantics.cel.cost.cost_estimate import estimated_cost
    from doorman.semantics.cel.cost.declared_sizes import declared_size
    from doorman.semantics.cel.typing.schema_types import SchemaTypes

    declared = declared_size(schema)
    if declared is None or not text.strip():
        return 0
    known = SchemaTypes()
    own = known.of(schema)
    names: dict[str, Type] = {"self": own, OLD: DYN if is_optional else own}
    try:
        return estimated_cost(text, names, known.fields, {"self": declared, OLD: declared, "": declared}).max
    except (CelError, RecursionError):
        return 0


def _elements_max(schema: Structural) -> int | None:
    """How many of what is inside there can be in one of it."""
    bound = {"array": "maxItems", "object": "maxProperties"}.get(schema.type)
    if bound is None or (schema.type == "object" and schema.additional is None):
        return 1
    most = schema.source.get(bound)
    return None if most is None else max(most, 0)


def _times(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else min(one * other, _MOST)
