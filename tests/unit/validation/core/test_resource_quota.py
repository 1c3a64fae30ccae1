"""ResourceQuotas."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.core.resource_quota import RESOURCE_QUOTA


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"hard": {"pods": "1", "count/deployments.apps": "2"}}, [], id="good"),
        pytest.param({"hard": {"pods": "-1"}}, ["spec.hard[pods]"], id="negative"),
        pytest.param({"hard": {"pods": "1500m"}}, ["spec.hard[pods]"], id="fraction"),
        pytest.param(
            {"hard": {"count/deployments.apps": "1Ei"}}, ["spec.hard[count/deployments.apps]"], id="beyond-64-bits"
        ),
        pytest.param({"hard": {"storage": "1"}}, ["spec.hard[storage]"], id="not-for-quota"),
        pytest.param({"scopes": ["BestEffort", "NotBestEffort", "x"]}, ["spec.scopes"] * 2, id="scopes"),
        pytest.param(
            {"hard": {"requests.cpu": "1"}, "scopes": ["BestEffort"]}, ["spec.scopes"], id="scope-without-resource"
        ),
        pytest.param(
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            ["spec.scopeSelector.matchExpressions.values"],
            id="in-needs-values",
        ),
        pytest.param(
            {"scopeSelector": {"matchExpressions": [{"scopeName": "Terminating", "operator": "In", "values": ["a"]}]}},
            ["spec.scopeSelector.matchExpressions.operator"],
            id="must-exist",
        ),
        pytest.param(
            {"scopeSelector": {"matchExpressions": [{}]}},
            ["spec.scopeSelector.matchExpressions.scopeName", "spec.scopeSelector.matchExpressions.operator"],
            id="empty",
        ),
    ],
)
def test_resource_quota(given: Any, expected: list[str]) -> None:
    assert [
        error.field for error in RESOURCE_QUOTA.create({"metadata": {"name": "x"}, "spec": given}, Context())
    ] == expected


def test_scopes_stay() -> None:
    old, new = ({"metadata": {"name": "x"}, "spec": {"scopes": scopes}} for scopes in (["BestEffort"], []))
    (error,) = RESOURCE_QUOTA.update(new, old, Context())
    assert str(error) == "spec.scopes: Invalid value: []: field is immutable"
