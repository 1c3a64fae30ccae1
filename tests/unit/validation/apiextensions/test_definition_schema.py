"""Schemas of definitions."""

from typing import Any

import pytest

from doorman.validation.apiextensions.definition_schema import definition_schema_errors


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "object"}, [], id="good"),
        pytest.param({}, ["s.type"], id="no-type"),
        pytest.param({"type": "x"}, ["s.type"] * 2, id="unknown-type"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "default": "y"}}},
            ["s.properties[a].default"],
            id="default-that-is-not-valid",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-list-type": "set"}}},
            ["s.properties[a].type"],
            id="list-type-of-no-list",
        ),
    ],
)
def test_schema(schema: Any, expected: list[str]) -> None:
    assert [error.field for error in definition_schema_errors(schema, "s")] == expected
