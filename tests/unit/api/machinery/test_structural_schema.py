"""Structural schemas: unknown members go, defaults come, shapes are told to field ownership."""

from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import compile_schema, fill_defaults, prune
from doorman.api.patch.field_paths import FieldWalker
from doorman.base.bounds import SCHEMA_DEPTH_MAX
from support.widgets import WIDGET_SCHEMA

WIDGET = compile_schema(WIDGET_SCHEMA)


@pytest.mark.parametrize(
    ("spec", "expected", "problems"),
    [
        pytest.param({"size": "small"}, {"size": "small"}, [], id="known"),
        pytest.param({"nope": 1}, {}, ["spec.nope"], id="unknown"),
        pytest.param({"ports": [{"name": "a", "x": 1}]}, {"ports": [{"name": "a"}]}, ["spec.ports[0].x"], id="in-list"),
        pytest.param({"extra": {"a": {"b": 1}}}, {"extra": {"a": {"b": 1}}}, [], id="preserved"),
        pytest.param({"labels": {"any": "x"}}, {"labels": {"any": "x"}}, [], id="additional-properties"),
        pytest.param({"ports": "wrong"}, {"ports": "wrong"}, [], id="wrong-type-is-left-to-validation"),
    ],
)
def test_prune(spec: Any, expected: Any, problems: list[str]) -> None:
    found: list[str] = []
    doc = {"kind": "Widget", "metadata": {"name": "a"}, "spec": spec}
    assert prune(doc, WIDGET, found)["spec"] == expected
    assert found == [f'unknown field "{path}"' for path in problems]
    assert prune(doc, WIDGET, [])["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"replicas": 1}, id="absent"),
        pytest.param({"replicas": 0}, {"replicas": 0}, id="zero-is-a-value"),
        pytest.param({"replicas": None}, {"replicas": 1}, id="null-counts-as-absent"),
        pytest.param({"size": None}, {"replicas": 1}, id="null-without-default-goes"),
        pytest.param(
            {"ports": [{"name": "a"}]}, {"replicas": 1, "ports": [{"name": "a", "port": 80}]}, id="in-list-elements"
        ),
    ],
)
def test_defaults(spec: Any, expected: Any) -> None:
    doc = {"spec": spec}
    fill_defaults(doc, WIDGET)
    assert doc["spec"] == expected


def test_defaults_are_nobodys_shared_object() -> None:
    schema = compile_schema({"type": "object", "properties": {"a": {"type": "object", "default": {"b": []}}}})
    one: dict[str, Any] = {}
    fill_defaults(one, schema)
    one["a"]["b"].append(1)
    other: dict[str, Any] = {}
    fill_defaults(other, schema)
    assert other == {"a": {"b": []}}


def test_schema_without_end_is_refused() -> None:
    source: dict[str, Any] = {"type": "object"}
    for _ in range(SCHEMA_DEPTH_MAX + 2):
        source = {"type": "object", "properties": {"a": source}}
    with pytest.raises(ValueError, match="nested"):
        compile_schema(source)


@pytest.fixture
def schema() -> Schema:
    made = Schema(type_table())
    made.add("custom.widget", WIDGET)
    return made


def test_fields_are_owned_as_the_schema_shapes_them(schema: Schema) -> None:
    spec = {"size": "small", "ports": [{"name": "a"}], "extra": {"x": {"y": 1}}, "labels": {"l": "1"}}
    assert FieldWalker(schema).held({"spec": spec}, "custom.widget") == {
        "f:spec": {
            "f:size": {},
            "f:ports": {'k:{"name":"a"}': {".": {}, "f:name": {}}},
            "f:extra": {"f:x": {".": {}, "f:y": {}}},
            "f:labels": {"f:l": {}},
        }
    }


def test_metadata_is_checked_as_everywhere(schema: Schema) -> None:
    cleaned, problems = schema.clean({"metadata": {"name": "a", "nope": 1}, "spec": {}}, "custom.widget")
    assert cleaned == {"metadata": {"name": "a"}, "spec": {}}
    assert problems == ['unknown field "metadata.nope"']
    with pytest.raises(DecodeError, match=r"metadata\.labels"):
        schema.clean({"metadata": {"labels": 1}}, "custom.widget")


def test_types_go_with_all_below_them(schema: Schema) -> None:
    schema.remove("custom.widget")
    assert schema.structural("custom.widget") is None
    schema.add("custom.widget", WIDGET)
