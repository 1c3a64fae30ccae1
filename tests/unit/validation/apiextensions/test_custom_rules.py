"""Rules of definitions, held against values."""

import copy
from typing import Any

import pytest

from doorman.api.machinery.structural_schema import compile_schema
from doorman.validation.apiextensions.custom_rules import NOT_CHECKED, field_path, path_steps
from doorman.validation.apiextensions.structural import custom_validator
from doorman.validation.context import Context


def schema(**rules: Any) -> dict[str, Any]:
    """`rules`: by the property they are for; `spec` and `root` too."""
    properties: dict[str, Any] = {
        "replicas": {"type": "integer"},
        "ratio": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "either": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "x-y": {"type": "string"},
        "maybe": {"type": "string", "nullable": True},
        "names": {"type": "array", "items": {"type": "string"}},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}},
        },
    }
    found: dict[str, Any] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    for place, rule in rules.items():
        holder = {"root": found, "spec": found["properties"]["spec"]}.get(place) or properties[place]
        holder["x-kubernetes-validations"] = [rule if isinstance(rule, dict) else {"rule": rule}]
    return found


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "a/v1", "kind": "Thing", "metadata": {"name": "t", "uid": "u"}, "spec": spec}


def faults(source: dict[str, Any], new: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    validator = custom_validator(compile_schema(source))
    found = validator.create(new, Context()) if old is None else validator.update(new, old, Context())
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("source", "new", "expected"),
    [
        pytest.param(schema(replicas="self > 1"), thing(replicas=2), [], id="holds"),
        pytest.param(
            schema(replicas="self > 1"),
            thing(replicas=1),
            ["spec.replicas: Invalid value: 1: failed rule: self > 1"],
            id="rule-5-text",
        ),
        pytest.param(
            schema(spec="self.replicas > 1"),
            thing(replicas=1),
            ["spec: Invalid value: failed rule: self.replicas > 1"],
            id="rule-5-objects-are-not-shown",
        ),
        pytest.param(
            schema(spec={"rule": "self.replicas > 1", "message": "more"}),
            thing(replicas=2.0),
            ['spec: Invalid value: "object": invalid data, expected int, got float64 evaluating rule: more'],
            id="whole-number-in-the-form-of-another-type",
        ),
        pytest.param(schema(spec="self.ratio > 1.0"), thing(replicas=2.0, ratio=2), [], id="of-which-nobody-asks"),
        pytest.param(
            schema(root={"rule": "self.metadata.name == 'x'", "message": "call it x"}),
            thing(),
            ["<nil>: Invalid value: call it x"],
            id="rule-5-root",
        ),
        pytest.param(
            schema(replicas={"rule": "false", "message": "m", "messageExpression": "'got ' + string(self)"}),
            thing(replicas=1),
            ["spec.replicas: Invalid value: 1: got 1"],
            id="rule-5-message-expression",
        ),
        pytest.param(
            schema(replicas={"rule": "false", "message": "m", "messageExpression": "''"}),
            thing(replicas=1),
            ["spec.replicas: Invalid value: 1: m"],
            id="rule-5-empty-message-expression",
        ),
        pytest.param(
            schema(spec={"rule": "false", "reason": "FieldValueForbidden", "fieldPath": ".replicas", "message": "m"}),
            thing(replicas=1),
            ["spec.replicas: Forbidden: m"],
            id="rule-5-reason-and-path",
        ),
        pytest.param(
            schema(
                root={"rule": "false", "reason": "FieldValueRequired", "fieldPath": ".spec.labels['a']", "message": "m"}
            ),
            thing(),
            ["spec.labels.a: Required value: m"],
            id="rule-5-path-with-key",
        ),
        pytest.param(
            schema(replicas={"rule": "false", "reason": "FieldValueDuplicate"}),
            thing(replicas=1),
            ["spec.replicas: Duplicate value: 1"],
            id="rule-5-duplicate",
        ),
        pytest.param(
            schema(spec="self.replicas > 1"),
            thing(),
            ['spec: Invalid value: "object": no such key: replicas evaluating rule: self.replicas > 1'],
            id="rule-5-error",
        ),
        pytest.param(
            schema(either="self + 1 > 1"),
            thing(either="a"),
            [
                "spec.either: Invalid value: \"\": 'no such overload': call arguments did not match a supported "
                "operator, function or macro signature for rule: self + 1 > 1"
            ],
            id="rule-5-overload",
        ),
        pytest.param(schema(maybe="false"), thing(maybe=None), [], id="rule-1-null"),
        pytest.param(schema(ratio="self / 2.0 == 0.5"), thing(ratio=1), [], id="numbers-are-doubles"),
        pytest.param(
            schema(when="self < timestamp('2030-01-01T00:00:00Z')"), thing(when="2024-01-01T00:00:00Z"), [], id="time"
        ),
        pytest.param(schema(spec="self.x__dash__y == 'a'"), thing(**{"x-y": "a"}), [], id="escaped"),
        pytest.param(
            schema(labels="self.all(k, self[k] != '')"),
            thing(labels={"a": ""}),
            ["spec.labels: Invalid value: failed rule: self.all(k, self[k] != '')"],
            id="map",
        ),
        pytest.param(
            schema(replicas="true"),
            thing(replicas="x"),
            [
                'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
                f"<nil>: Invalid value: null: {NOT_CHECKED}",
            ],
            id="not-checked",
        ),
        pytest.param(schema(replicas="self > oldSelf"), thing(replicas=1), [], id="rule-2-nothing-old"),
        pytest.param(
            schema(replicas={"rule": "oldSelf.hasValue()", "optionalOldSelf": True}),
            thing(replicas=1),
            ["spec.replicas: Invalid value: 1: failed rule: oldSelf.hasValue()"],
            id="rule-2-optional",
        ),
    ],
)
def test_new_object(source: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert faults(source, new) == expected


ITEMS = {"rule": "self.port >= oldSelf.port", "message": "ports only grow"}


def keyed(rule: dict[str, Any]) -> dict[str, Any]:
    found = schema()
    found["properties"]["spec"]["properties"]["ports"]["items"]["x-kubernetes-validations"] = [rule]
    return found


@pytest.mark.parametrize(
    ("source", "old", "new", "expected"),
    [
        pytest.param(
            schema(replicas={"rule": "self >= oldSelf", "message": "only grows"}),
            thing(replicas=2),
            thing(replicas=1),
            ["spec.replicas: Invalid value: 1: only grows"],
            id="rule-2-change",
        ),
        pytest.param(schema(replicas="self >= oldSelf"), thing(), thing(replicas=1), [], id="rule-2-appears"),
        pytest.param(
            keyed(ITEMS),
            thing(ports=[{"name": "a", "port": 1}, {"name": "b", "port": 2}]),
            thing(ports=[{"name": "b", "port": 1}, {"name": "a", "port": 1}]),
            ["spec.ports[0]: Invalid value: ports only grow"],
            id="rule-3-keys",
        ),
        pytest.param(
            schema(replicas="self > 5"), thing(replicas=1), thing(replicas=1, ratio=1), [], id="rule-4-untouched"
        ),
        pytest.param(
            schema(replicas="self > 5"),
            thing(replicas=1),
            thing(replicas=2),
            ["spec.replicas: Invalid value: 2: failed rule: self > 5"],
            id="rule-4-touched",
        ),
        pytest.param(
            schema(replicas="self > oldSelf"),
            thing(replicas=1),
            thing(replicas=1),
            ["spec.replicas: Invalid value: 1: failed rule: self > oldSelf"],
            id="rule-4-about-changes",
        ),
    ],
)
def test_changed_object(source: dict[str, Any], old: Any, new: Any, expected: list[str]) -> None:
    assert faults(source, new, copy.deepcopy(old)) == expected


def test_rule_is_held_against_a_value_that_is_equal_in_python_alone() -> None:
    rule = schema(ratio="self > 2.0")
    assert faults(rule, thing(ratio=1), thing(ratio=1)) == []
    assert faults(rule, thing(ratio=1.0), thing(ratio=1)) == ["spec.ratio: Invalid value: 1: failed rule: self > 2.0"]


def test_rule_6_costly_rule_ends_it() -> None:
    rule = "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d != ''))))"
    source = schema(names=rule, replicas="false")
    (error,) = faults(source, thing(names=[str(number) for number in range(100)], replicas=1))
    assert error.startswith("spec.names: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': ")


def test_paths() -> None:
    assert path_steps(".a.b['c.d']") == ["a", "b", "c.d"]
    assert field_path("") == ""
    for text in ("a", ".", ".a.", "['a", ".a]"):
        if text == ".a]":
            assert path_steps(text) == ["a]"]
            continue
        with pytest.raises(ValueError, match=r"expected"):
            path_steps(text)
