"""Values against a schema, in upstream's words."""

from typing import Any

import pytest

from doorman.api.machinery.structural_schema import compile_schema
from doorman.validation.apiextensions.list_items import list_errors
from doorman.validation.apiextensions.structural import custom_validator, validate_values, value_errors
from doorman.validation.context import Context
from support.widgets import WIDGET_SCHEMA, widget


def faults(value: Any, **schema: Any) -> list[str]:
    compiled = compile_schema({"type": "object", "properties": {"f": schema}})
    return [str(error) for error in validate_values({"f": value}, compiled)]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(
            {"type": "integer"}, "x", 'Invalid value: "string": f in body must be of type integer: "string"', id="type"
        ),
        pytest.param({"type": "integer"}, 1.0, None, id="whole-number-is-an-integer"),
        pytest.param(
            {"type": "integer"},
            True,
            'Invalid value: "boolean": f in body must be of type integer: "boolean"',
            id="bool-is-none",
        ),
        pytest.param({"type": "string", "nullable": True}, None, None, id="nullable"),
        pytest.param({"x-kubernetes-int-or-string": True}, "10%", None, id="int-or-string"),
        pytest.param(
            {"type": "string", "enum": ["a", "b"]}, "c", 'Unsupported value: "c": supported values: "a", "b"', id="enum"
        ),
        pytest.param(
            {"type": "string", "maxLength": 1}, "ab", "Too long: may not be more than 1 bytes", id="max-length"
        ),
        pytest.param(
            {"type": "string", "minLength": 1},
            "",
            'Invalid value: "": f in body should be at least 1 chars long',
            id="min-length",
        ),
        pytest.param(
            {"type": "string", "pattern": "^a$"},
            "b",
            "Invalid value: \"b\": f in body should match '^a$'",
            id="pattern",
        ),
        pytest.param({"type": "string", "pattern": "b"}, "abc", None, id="pattern-is-searched"),
        pytest.param(
            {"type": "string", "format": "date-time"},
            "x",
            'Invalid value: "x": f in body must be of type date-time: "x"',
            id="format",
        ),
        pytest.param({"type": "string", "format": "unheard-of"}, "x", None, id="unknown-format"),
        pytest.param(
            {"type": "integer", "minimum": 1},
            0,
            "Invalid value: 0: f in body should be greater than or equal to 1",
            id="minimum",
        ),
        pytest.param(
            {"type": "integer", "maximum": 1},
            2,
            "Invalid value: 2: f in body should be less than or equal to 1",
            id="maximum",
        ),
        pytest.param(
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            1,
            "Invalid value: 1: f in body should be greater than 1",
            id="exclusive",
        ),
        pytest.param(
            {"type": "number", "multipleOf": 0.5},
            0.75,
            "Invalid value: 0.75: f in body should be a multiple of 0.5",
            id="multiple",
        ),
        pytest.param(
            {"type": "number", "multipleOf": 0.25},
            1e30,
            "Invalid value: 1e+30: f in body should be a multiple of 0.25",
            id="no-multiple-that-a-double-holds",
        ),
        pytest.param(
            {"type": "number", "maximum": 1},
            1000.0,
            "Invalid value: 1000: f in body should be less than or equal to 1",
            id="number-as-go-prints-it",
        ),
        pytest.param({"type": "integer", "enum": [1]}, 1.0, None, id="enum-by-value"),
        pytest.param(
            {"enum": [1]},
            True,
            'Unsupported value: true: supported values: "1"',
            id="enum-has-no-booleans-for-numbers",
        ),
        pytest.param(
            {"type": "array", "maxItems": 1, "items": {"type": "integer"}},
            [1, 2],
            "Too many: 2: must have at most 1 items",
            id="max-items",
        ),
        pytest.param(
            {"type": "object", "maxProperties": 0},
            {"a": 1},
            "Too many: 1: must have at most 0 items",
            id="max-properties",
        ),
        pytest.param(
            {"type": "object", "not": {"required": ["a"]}},
            {"a": 1},
            'Invalid value: "": "f" must not validate the schema (not)',
            id="not",
        ),
        pytest.param(
            {"type": "object", "anyOf": [{"required": ["a"]}]},
            {},
            'Invalid value: "": "f" must validate at least one schema (anyOf)',
            id="any-of",
        ),
        pytest.param(
            {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 1},
            'Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives',
            id="one-of",
        ),
    ],
)
def test_one_rule(schema: Any, value: Any, expected: str | None) -> None:
    assert faults(value, **schema) == ([f"f: {expected}"] if expected is not None else [])


def test_of_a_text_only_the_first_fault_is_told() -> None:
    assert faults("ABCD", type="string", maxLength=3, pattern="^[a-z]+$") == [
        "f: Too long: may not be more than 3 bytes"
    ]


def list_faults(value: Any, **source: Any) -> list[str]:
    return [str(error) for error in list_errors({"f": value}, compile_schema({"properties": {"f": source}}))]


def test_duplicates_in_keyed_lists_and_sets() -> None:
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["n"],
        "items": {"type": "object"},
    }
    assert list_faults([{"n": 1}, {"n": 2}, {"n": 1, "m": 3}], **keyed) == ['f[2]: Duplicate value: {"n":1}']
    assert list_faults([1, {}, 2], **keyed) == [
        "f[0]: Invalid value: 1: must be an object for an array of list-type map"
    ]
    words = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    assert list_faults(["a", "a"], **words) == ['f[1]: Duplicate value: "a"']
    assert list_faults(["a", "a", "a"], **words) == ['f[1]: Duplicate value: "a"'], "a third time is not told"


def changed(old: Any, new: Any, **source: Any) -> list[str]:
    schema = compile_schema({"properties": {"f": source}})
    return [str(error) for error in validate_values({"f": new}, schema, {"f": old})]


def test_what_was_wrong_before_is_let_be_where_it_is_known_to_be_the_same() -> None:
    small = {"type": "integer", "maximum": 1}
    too_large = "should be less than or equal to 1"
    assert changed(5, 5, **small) == []
    assert changed(5, 6, **small) == [f"f: Invalid value: 6: f in body {too_large}"]
    members = {"type": "object", "properties": {"a": small, "b": small}}
    assert changed({"a": 5}, {"a": 5, "b": 5}, **members) == [f"f.b: Invalid value: 5: f.b in body {too_large}"]
    plain = {"type": "array", "items": small}
    assert changed([5], [5], **plain) == []
    assert changed([5], [5, 1], **plain) == [f"f[0]: Invalid value: 5: f[0] in body {too_large}"]
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}
    keyed = {"type": "array", **keys, "items": {"type": "object", "properties": {"v": small}}}
    assert changed([{"n": 1, "v": 5}], [{"n": 2, "v": 1}, {"n": 1, "v": 5}], **keyed) == []
    assert len(changed([{"n": 1, "v": 5}], [{"n": 2, "v": 5}], **keyed)) == 1
    few = {"type": "object", "maxProperties": 1, "additionalProperties": small}
    assert changed({"a": 5, "b": 5}, {"a": 5, "b": 1}, **few) == ["f: Too many: 2: must have at most 1 items"]


VALIDATOR = custom_validator(compile_schema(WIDGET_SCHEMA))


def named(**spec: Any) -> Any:
    doc = widget("w", **spec)
    return {name: value for name, value in doc.items() if name not in ("apiVersion", "kind")}


def test_missing_members_and_places_in_lists_are_named() -> None:
    doc = named(ports=[{"port": "x"}])
    del doc["spec"]["size"]
    assert [str(error) for error in VALIDATOR.create(doc, Context())] == [
        'spec.ports[0].port: Invalid value: "string": spec.ports[0].port in body must be of type integer: "string"',
        "spec.ports[0].name: Required value",
        "spec.size: Required value",
    ]


def test_what_was_wrong_before_and_is_not_touched_is_let_be() -> None:
    old, new = named(replicas=99), named(replicas=99, size="large")
    assert VALIDATOR.update(new, old, Context()) == []
    assert [str(e) for e in VALIDATOR.update(named(replicas=98), old, Context())] == [
        "spec.replicas: Invalid value: 98: spec.replicas in body should be less than or equal to 9"
    ]


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        pytest.param(
            1.5,
            {"type": "integer"},
            [
                'a: Invalid value: "number": a in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
            ],
            id="fraction",
        ),
        pytest.param(
            2**63,
            {"type": "integer"},
            [
                'a: Invalid value: "number": a in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in a',
            ],
            id="more-than-64-bits",
        ),
        pytest.param(
            1.5,
            {"type": "integer", "format": "int32"},
            [
                'a: Invalid value: "float64": a in body must be of type int32: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a',
            ],
            id="fraction-with-a-format",
        ),
        pytest.param(
            2**31,
            {"type": "integer", "format": "int32"},
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'],
            id="more-than-the-format-holds",
        ),
        pytest.param(
            5,
            {"type": "string", "format": "date-time"},
            ['a: Invalid value: "int64": a in body must be of type date-time: "int64"'],
            id="number-with-a-format-of-text",
        ),
        pytest.param([], {"type": "string", "format": "date-time"}, [], id="list-with-a-format-of-text"),
        pytest.param(
            {},
            {"type": "string", "format": "password"},
            ['a: Invalid value: "": a in body must be of type password: ""'],
            id="object-with-a-format-of-text",
        ),
        pytest.param(
            True,
            {"type": "integer", "format": "int64"},
            [
                'a: Invalid value: "": a in body must be of type int64: ""',
            ],
            id="truth-with-a-format-of-numbers",
        ),
        pytest.param(
            [],
            {"type": "number", "format": "double"},
            ['a: Invalid value: "array": a in body must be of type number: "array"'],
            id="list-with-a-format-of-numbers",
        ),
        pytest.param(
            "",
            {"type": "string", "format": "byte"},
            ['a: Invalid value: "": a in body must be of type byte: ""'],
            id="no-bytes",
        ),
    ],
)
def test_values(value: Any, source: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in value_errors(value, source, "a")] == expected
