"""Schemas that are not structural."""

from typing import Any

import pytest

from doorman.validation.apiextensions.schema_structure import structure_errors

TEXT: Any = {"type": "string"}
EITHER: Any = [{"type": "integer"}, {"type": "string"}]
EMBEDDED, UNKNOWN = "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"


def faults(**field: Any) -> list[str]:
    root = {"type": "object", "properties": {"f": field}}
    return [str(error).removeprefix("s.properties[f]") for error in structure_errors(root, "s")]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        pytest.param({"x-kubernetes-int-or-string": True, "anyOf": EITHER}, [], id="int-or-string"),
        pytest.param({"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}]}, [], id="int-or-string-in-all"),
        pytest.param(
            {"x-kubernetes-int-or-string": True, UNKNOWN: True},
            [f".{UNKNOWN}: Invalid value: true: must be false if x-kubernetes-int-or-string is true"],
            id="int-or-string-or-anything",
        ),
        pytest.param({"type": "array"}, [".items: Required value: must be specified"], id="no-items"),
        pytest.param(
            {"type": "array", "items": {}},
            [".items.type: Required value: must not be empty for specified array items"],
            id="items-without-type",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": TEXT}, "not": {"properties": {"a": {"default": "", "title": "t"}}}},
            [
                ".not.properties[a].default: Forbidden: must be undefined to be structural",
                ".not.properties[a].title: Forbidden: must be empty to be structural",
            ],
            id="said-in-a-combination",
        ),
        pytest.param(
            {"type": "string", EMBEDDED: True, UNKNOWN: True},
            [f'.type: Invalid value: "string": must be object if {EMBEDDED} is true'],
            id="embedded-text",
        ),
        pytest.param(
            {"type": "object", EMBEDDED: True},
            [f".properties: Required value: must not be empty if {EMBEDDED} is true without {UNKNOWN}"],
            id="embedded-nothing",
        ),
        pytest.param(
            {"type": "object", EMBEDDED: True, "properties": {"kind": {"type": "integer"}, "metadata": TEXT}},
            [
                '.properties[kind].type: Invalid value: "integer": must be string',
                '.properties[metadata].type: Invalid value: "string": must be object',
            ],
            id="embedded-head",
        ),
    ],
)
def test_fields(field: Any, expected: list[str]) -> None:
    assert faults(**field) == expected


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        pytest.param({}, ["s.type: Required value: must not be empty at the root"], id="no-type"),
        pytest.param(
            {"type": "object", "additionalProperties": TEXT},
            ["s.additionalProperties: Forbidden: must not be used at the root"],
            id="map",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": TEXT}, "anyOf": [{"properties": {"b": {"minLength": 1}}}]},
            ["s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]"],
            id="only-in-a-combination",
        ),
        pytest.param({"type": "object", "properties": {"metadata": {"type": "object"}}}, [], id="metadata"),
        pytest.param(
            {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": TEXT}}}},
            [],
            id="name",
        ),
        pytest.param(
            {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": TEXT}}}},
            [
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
                "metadata is implicitly specified"
            ],
            id="labels",
        ),
    ],
)
def test_roots(root: Any, expected: list[str]) -> None:
    assert [str(error) for error in structure_errors(root, "s")] == expected
