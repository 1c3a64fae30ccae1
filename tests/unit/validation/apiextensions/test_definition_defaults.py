"""Defaults that are no valid values."""

from typing import Any

import pytest

from doorman.validation.apiextensions.definition_defaults import default_errors

NUMBER: Any = {"type": "integer", "maximum": 3}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        pytest.param({**NUMBER, "default": 3}, [], id="good"),
        pytest.param(
            {**NUMBER, "default": 5},
            [".default: Invalid value: 5:  in body should be less than or equal to 3"],
            id="too-large",
        ),
        pytest.param(
            {"type": "array", "items": NUMBER, "default": [1, 5]},
            [".default.[1]: Invalid value: 5: [1] in body should be less than or equal to 3"],
            id="item",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "default": ["a", "a"]},
            [],
            id="sets-are-not-looked-at",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": NUMBER}, "default": {"b": 1}},
            ['.default: Invalid value: {"b":1}: must not have unknown fields'],
            id="unknown",
        ),
        pytest.param(
            {"type": "string", "default": "a", "x-kubernetes-validations": [{"rule": "self == 'b'"}]},
            [""".default: Invalid value: "a": failed rule: self == 'b'"""],
            id="rule",
        ),
    ],
)
def test_default(field: Any, expected: list[str]) -> None:
    found = default_errors({"type": "object", "properties": {"f": field}}, "s")
    assert [str(error).removeprefix("s.properties[f]") for error in found] == expected
