"""Amounts and names of resources."""

from typing import Any

import pytest

from doorman.validation.resources import pod_requirement_errors, quantity_errors, requirement_errors


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("requirements", "expected"),
    [
        pytest.param({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, [], id="good"),
        pytest.param(
            {"requests": {"cpu": "-1"}},
            ['r.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
            id="negative",
        ),
        pytest.param(
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            ['r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
            id="request-over-limit",
        ),
        pytest.param({"requests": {"cpu": "1"}, "limits": {"cpu": "1000m"}}, [], id="equal-values"),
        pytest.param(
            {"requests": {"a.b/c": "1"}},
            ["r.limits: Required value: Limit must be set for non overcommitable resources"],
            id="extended-without-limit",
        ),
        pytest.param(
            {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "2"}},
            ['r.requests: Invalid value: "1": must be equal to a.b/c limit of 2'],
            id="extended-differs",
        ),
        pytest.param(
            {"limits": {"a.b/c": "500m"}},
            ['r.limits[a.b/c]: Invalid value: "500m": must be an integer'],
            id="extended-fraction",
        ),
        pytest.param(
            {"limits": {"gpu": "1"}},
            [
                'r.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
                'r.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
            ],
            id="unknown-name",
        ),
    ],
)
def test_requirement_errors(requirements: dict[str, Any], expected: list[str]) -> None:
    assert texts(requirement_errors(requirements, frozenset(), "r")) == expected


def test_quantity_errors_of_what_is_counted() -> None:
    assert texts(quantity_errors("pods", "1500m", "p")) == ['p: Invalid value: "1500m": must be an integer']
    assert quantity_errors("cpu", "1500m", "p") == []


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "2"}}, [], id="good"),
        pytest.param(
            {"requests": {"cpu": "1"}},
            [
                'r.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of '
                "1500m",
            ],
            id="less-than-the-containers",
        ),
        pytest.param(
            {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "1500m"}},
            ['r.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1500m'],
            id="limit-of-a-container",
        ),
        pytest.param(
            {"claims": [{"name": "c"}]},
            ["r.claims: Forbidden: claims may not be set for Resources at pod-level"],
            id="claims",
        ),
    ],
)
def test_resources_of_a_pod(resources: dict[str, Any], expected: list[str]) -> None:
    containers = [
        {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}},
        {"resources": {"requests": {"cpu": "500m", "ephemeral-storage": "1Gi"}}},
    ]
    found = pod_requirement_errors(
        {"containers": containers, "overhead": {"cpu": "1"}}, resources, frozenset({"c"}), "r"
    )
    assert [str(error) for error in found] == expected
