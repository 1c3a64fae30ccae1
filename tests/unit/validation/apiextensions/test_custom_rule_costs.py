"""What the rules of a definition may cost."""

from typing import Any

import pytest

from doorman.api.machinery.structural_schema import compile_schema
from doorman.validation.apiextensions.custom_rule_costs import rule_cost_errors, rule_costs, total_cost_errors

HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
NESTED = "self.all(x, self.all(y, x == y))"


def texts(rule: str, **bounds: int) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "string", "maxLength": 10},
        "x-kubernetes-validations": [{"rule": rule}],
        **bounds,
    }


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties}
    return {"type": "object", "properties": {"spec": spec}}


def found(source: dict[str, Any], *, is_unchanged: bool = False) -> list[str]:
    costs = rule_costs(compile_schema(source), "s")
    alone = [] if is_unchanged else list(rule_cost_errors(costs).values())
    return [str(error) for error in (*alone, *total_cost_errors(costs, "s"))]


AT = "s.properties[spec].properties[a].x-kubernetes-validations[0].rule"


def test_bounded_rule_is_taken() -> None:
    assert found(schema(a=texts(NESTED, maxItems=100))) == []


def test_rule_that_could_loop_without_bound_is_refused() -> None:
    assert found(schema(a=texts(NESTED))) == [
        f"{AT}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {HINT}",
        f"{AT}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        "s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget "
        f"by factor of more than 100x {HINT}",
    ]


@pytest.mark.parametrize(
    ("items", "factor"),
    [pytest.param(1200, "1.296600x", id="little"), pytest.param(2000, "3.6x", id="much")],
)
def test_factor_is_told(items: int, factor: str) -> None:
    (text,) = found(schema(a=texts(NESTED, maxItems=items)))
    assert f"exceeds budget by factor of {factor}" in text


def test_schema_that_was_accepted_before_is_not_judged_rule_by_rule() -> None:
    assert found(schema(a=texts(NESTED, maxItems=2000)), is_unchanged=True) == []


def test_rule_inside_a_list_counts_as_often_as_it_can_occur() -> None:
    inner = {"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self.contains('x')"}]}
    bounded = {"type": "array", "maxItems": 10, "items": inner}
    assert found(schema(a=bounded)) == []
    deep = {"type": "array", "maxItems": 3000, "items": {"type": "array", "maxItems": 3000, "items": inner}}
    (text,) = found(schema(a=deep))
    assert "items.items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget" in text


def test_many_rules_together_cost_too_much() -> None:
    rules = {f"p{i}": texts(NESTED, maxItems=1000) for i in range(12)}
    errors = found(schema(**rules))
    assert [text.partition(": ")[2].startswith("Forbidden: contributed to") for text in errors] == [True] * 4 + [False]
    assert errors[-1].startswith("s: Forbidden: x-kubernetes-validations estimated rule cost total")


def test_what_a_filter_keeps_is_as_bounded_as_its_source() -> None:
    rule = "self.filter(x, x.size() > 1).map(y, y + 'z').exists_one(w, w == 'q')"
    assert found(schema(a=texts(rule, maxItems=50))) == []
