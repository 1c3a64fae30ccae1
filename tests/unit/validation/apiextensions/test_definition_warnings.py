"""Formats of a definition's schema that nobody checks."""

from typing import Any

import pytest

from doorman.validation.apiextensions.definition_warnings import definition_warnings


def definition(**schema: Any) -> dict[str, Any]:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"a": schema}}}}]}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "string", "format": "date-time"}, [], id="known"),
        pytest.param({"type": "string", "format": "a/b"}, ['unrecognized format "a/b"'], id="unknown"),
        pytest.param({"type": "integer", "format": "uint8"}, ['unrecognized format "uint8"'], id="integer"),
        pytest.param({"type": "array", "items": {"format": "x"}}, ['unrecognized format "x"'], id="items"),
    ],
)
def test_formats(schema: dict[str, Any], expected: list[str]) -> None:
    assert definition_warnings(definition(**schema), None) == expected


def test_what_was_there_before_is_not_told_again() -> None:
    before = definition(type="string", format="a/b")
    assert definition_warnings(definition(type="string", format="a/b"), before) == []
