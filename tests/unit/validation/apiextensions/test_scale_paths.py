"""What a custom object has where its scale subresource looks."""

from typing import Any

import pytest

from doorman.api.kinds import ScalePaths
from doorman.validation.apiextensions.scale_paths import scale_errors

PATHS = ScalePaths(replicas=("spec", "size"), status_replicas=("status", "size"), selector=("status", "selector"))


@pytest.mark.parametrize(
    ("doc", "is_status", "expected"),
    [
        pytest.param({"spec": {"size": 3}, "status": {"size": 1, "selector": "a=b"}}, False, [], id="fine"),
        pytest.param({}, False, [], id="nothing-there"),
        pytest.param(
            {"spec": {"size": -1}},
            False,
            [".spec.size: Invalid value: -1: should be a non-negative integer"],
            id="less",
        ),
        pytest.param(
            {"spec": {"size": 2**31}},
            False,
            [".spec.size: Invalid value: 2147483648: should be less than or equal to 2147483647"],
            id="more",
        ),
        pytest.param(
            {"spec": 1},
            False,
            [
                ".spec.size: Invalid value: 0: .spec.size accessor error: "
                "1 is of the type int64, expected map[string]interface{}"
            ],
            id="no-map",
        ),
        pytest.param({"spec": 1}, True, [], id="spec-is-not-looked-at-in-the-status"),
        pytest.param(
            {"status": {"selector": 5}},
            True,
            [
                '.status.selector: Invalid value: "": .status.selector accessor error: '
                "5 is of the type int64, expected string"
            ],
            id="selector",
        ),
    ],
)
def test_scale(doc: dict[str, Any], is_status: bool, expected: list[str]) -> None:
    assert [str(error) for error in scale_errors(doc, PATHS, is_status=is_status)] == expected


def test_kind_without_scale() -> None:
    assert scale_errors({"spec": 1}, None, is_status=False) == []
