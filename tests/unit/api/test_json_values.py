"""1, 1.0 and true are three things."""

import pytest

from doorman.api.json_values import is_equal, is_same
from doorman.base.json_types import Json


@pytest.mark.parametrize(
    ("one", "other", "same", "equal"),
    [
        pytest.param({"a": [1, {"b": "c"}]}, {"a": [1, {"b": "c"}]}, True, True, id="the same"),
        pytest.param({"a": 1}, {"a": 1.0}, False, True, id="another form of a number"),
        pytest.param({"a": 1}, {"a": True}, False, False, id="a boolean for a number"),
        pytest.param({"a": False}, {"a": 0}, False, False, id="a number for a boolean"),
        pytest.param([{"a": 0.0}], [{"a": False}], False, False, id="in a list"),
        pytest.param({"a": None}, {}, False, False, id="null for nothing"),
    ],
)
def test_values(one: Json, other: Json, same: bool, equal: bool) -> None:
    assert (is_same(one, other), is_equal(one, other)) == (same, equal)
    assert (is_same(other, one), is_equal(other, one)) == (same, equal)
