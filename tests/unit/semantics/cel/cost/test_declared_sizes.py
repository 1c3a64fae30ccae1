"""How large values can be, from the bounds of their schema."""

from typing import Any

import pytest

from doorman.api.machinery.structural_schema import compile_schema
from doorman.semantics.cel.cost.declared_sizes import declared_size, occurrences_max

REQUEST = 3 * 1024 * 1024


@pytest.mark.parametrize(
    ("schema", "most", "bytes_min"),
    [
        pytest.param({"type": "string"}, REQUEST - 2, 2, id="text"),
        pytest.param({"type": "string", "maxLength": 5}, 20, 2, id="bounded-text"),
        pytest.param({"type": "string", "format": "byte", "maxLength": 5}, 5, 2, id="bytes"),
        pytest.param({"type": "string", "format": "date-time"}, 32, 21, id="time"),
        pytest.param({"type": "string", "enum": ["ab", "abc"]}, 3, 2, id="enumeration"),
        pytest.param({"type": "integer"}, 0, 1, id="number"),
        pytest.param({"type": "boolean"}, 0, 4, id="boolean"),
        pytest.param({"x-kubernetes-int-or-string": True}, REQUEST - 2, 1, id="int-or-string"),
        pytest.param({"type": "array", "items": {"type": "integer"}}, (REQUEST - 2) // 2, 2, id="list"),
        pytest.param({"type": "array", "maxItems": 7, "items": {"type": "integer"}}, 7, 2, id="bounded-list"),
        pytest.param({"type": "object", "additionalProperties": {"type": "integer"}}, (REQUEST - 2) // 7, 2, id="map"),
        pytest.param(
            {"type": "object", "required": ["ab"], "properties": {"ab": {"type": "integer"}, "c": {"type": "string"}}},
            0,
            9,
            id="object",
        ),
    ],
)
def test_size(schema: dict[str, Any], most: int, bytes_min: int) -> None:
    found = declared_size(compile_schema(schema, is_root=False))
    assert found is not None
    assert (found.most, found.bytes_min) == (most, bytes_min)


def test_what_nothing_is_known_of_has_no_size() -> None:
    assert declared_size(compile_schema({"x-kubernetes-preserve-unknown-fields": True}, is_root=False)) is None


def test_path_leads_into_it() -> None:
    inner = {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 2}}
    schema = {"type": "object", "properties": {"x-y": {"type": "object", "additionalProperties": inner}}}
    found = declared_size(compile_schema(schema))
    assert found is not None
    for path, most in (
        (("x__dash__y", "@values"), 3),
        (("x__dash__y", "@values", "@items"), 8),
        (("x__dash__y", "@keys"), 0),
        (("metadata", "name"), REQUEST - 2),
    ):
        size = found.size(path)
        assert size is not None
        assert size.max == most
    assert found.size(("none",)) is None


def test_larger_values_occur_less_often() -> None:
    number, time = ({"type": "integer"}, {"type": "string", "format": "date-time"})
    small, large = (declared_size(compile_schema(schema, is_root=False)) for schema in (number, time))
    assert small is not None
    assert large is not None
    assert (occurrences_max(small), occurrences_max(large)) == (REQUEST // 2, REQUEST // 22)
