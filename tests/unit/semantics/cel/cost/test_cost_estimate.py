"""What expressions can cost at most, by the figures that Kubernetes v1.37 has for the same."""

from typing import Any

import pytest

from doorman.api.machinery.structural_schema import compile_schema
from doorman.semantics.cel.cost.cost_estimate import estimated_cost
from doorman.semantics.cel.cost.declared_sizes import declared_size
from doorman.semantics.cel.typing import device_types
from doorman.semantics.cel.typing.schema_types import SchemaTypes

Schema = dict[str, Any]


def _of(kind: str) -> Schema:
    if kind in ("duration", "date", "date-time"):
        return {"type": "string", "format": kind}
    return {"x-kubernetes-int-or-string": True} if kind == "int-or-string" else {"type": kind}


def _array(kind: str, most: int | None = None) -> Schema:
    return {"type": "array", "items": _of(kind), **({"maxItems": most} if most is not None else {})}


def _map(kind: str, most: int | None = None) -> Schema:
    bound = {"maxProperties": most} if most is not None else {}
    return {"type": "object", "additionalProperties": _of(kind), **bound}


def _text(most: int | None = None) -> Schema:
    return {"type": "string", **({"maxLength": most} if most is not None else {})}


def _texts_by_name(most: int | None = None) -> Schema:
    bound = {"maxProperties": most} if most is not None else {}
    return {"type": "object", "additionalProperties": _text(most), **bound}


def _cost(schema: Schema, rule: str) -> int:
    structural = compile_schema(schema, is_root=False)
    declared = declared_size(structural)
    assert declared is not None
    known = SchemaTypes()
    own = known.of(structural)
    names = {"self": own, "oldSelf": own}
    return estimated_cost(rule, names, known.fields, {"self": declared, "oldSelf": declared}).max


@pytest.mark.parametrize(
    ("schema", "rule", "cost"),
    [
        pytest.param(_array("number"), "self.all(x, true)", 4718591, id="numbers"),
        pytest.param(_array("number", 10), "self.all(x, true)", 32, id="ten-numbers"),
        pytest.param(_array("string"), "self.all(x, true)", 3145727, id="texts"),
        pytest.param(_array("boolean"), "self.all(x, true)", 1887437, id="booleans"),
        pytest.param(_map("number"), "self.all(x, true)", 1348169, id="map-of-numbers"),
        pytest.param(_map("string", 3), "self.all(x, true)", 11, id="map-of-three"),
        pytest.param(_text(), "self.contains('test')", 314574, id="contains"),
        pytest.param(_text(10), "self.contains('test')", 5, id="contains-bounded"),
        pytest.param(_text(), "self.startsWith('test')", 2, id="starts-with"),
        pytest.param(_text(), 'size(self + "hello") > size("hello")', 314578, id="joined"),
        pytest.param(_text(4), 'size(self + "hello") > size("hello")', 7, id="joined-bounded"),
        pytest.param(_array("number"), "self[1] == 0.0", 2, id="index"),
        pytest.param(_array("string", 8), "self[1] == self[1]", 314577, id="index-of-texts"),
        pytest.param(_array("number", 10), "self.all(x, self.all(y, true))", 352, id="loop-in-a-loop"),
        pytest.param(_array("number", 10), "self.all(x, self.all(y, self.all(z, true)))", 3552, id="three-loops"),
        pytest.param(_text(), 'self.matches("x")', 314574, id="matches"),
        pytest.param(_text(50), 'self.matches("x")', 22, id="matches-bounded"),
        pytest.param(_text(), '"".matches("(((((((((())))))))))[0-9]")', 7, id="matches-nothing"),
        pytest.param(_texts_by_name(), "self.all(x, x.contains(self[x]))", 2752507, id="map-of-texts"),
        pytest.param(_texts_by_name(10), "self.all(x, x.contains(self[x]))", 72, id="map-of-texts-bounded"),
        pytest.param(_text(0), 'self == "x"', 1, id="no-text"),
        pytest.param(_array("number"), "self.all(x, x == 0.0)", 6291454, id="compared"),
        pytest.param(_array("int-or-string"), "self[0] == 5", 3, id="int-or-string"),
        pytest.param(_array("duration"), "self.all(x, true)", 2359295, id="durations"),
        pytest.param(_array("date"), "self.all(x, true)", 725936, id="dates"),
        pytest.param(_array("date-time"), "self.all(x, true)", 428963, id="times"),
        pytest.param(_array("duration"), "self[0].getHours() == 2", 4, id="duration"),
        pytest.param(_map("date-time"), 'self["a"] == self["b"]', 8, id="times-compared"),
        pytest.param(_text(), "self.find('[0-9]+') == ''", 629147, id="find"),
        pytest.param(_text(10), "self.find('[0-9]+') == ''", 11, id="find-bounded"),
        pytest.param(_map("integer"), "oldSelf.size() == self.size()", 5, id="sizes"),
        pytest.param({"type": "string", "enum": ["A", "B", "LongValue"]}, "self.contains('A')", 2, id="enumeration"),
    ],
)
def test_rule_costs_at_most(schema: Schema, rule: str, cost: int) -> None:
    assert _cost(schema, rule) == cost


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("true", 0),
        ('device.attributes["no-such-domain"].noSuchAttr.isGreaterThan(quantity("0"))', 6),
        ('"no-such-domain" in device.attributes', 3),
        ('device.driver == ""', 2),
        ('device.driver == "dra.example.com"', 4),
        ('device.attributes["dra.example.com"].name', 4),
        ('device.attributes["dra.example.com"]["name"]', 4),
        ('cel.bind(dra, device.attributes["dra.example.com"], dra.name)', 15),
        ('device.attributes["dra.example.com"].name > 0', 5),
        ('device.attributes["dra.example.com"].name == "fish"', 5),
        ('device.attributes["dra.example.com"].names.size() == 2', 6),
    ],
)
def test_selector_costs_at_most(expression: str, cost: int) -> None:
    found = estimated_cost(expression, device_types.NAMES, device_types.fields, device_types.SIZES)
    assert found.max == cost
