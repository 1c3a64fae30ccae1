"""Aggregated roles have the rules of those their selectors choose."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.access.rbac import Role
from doorman.client.actions import Patch
from doorman.client.informer_cache import InformerCache
from doorman.controllers.cluster.clusterrole_aggregation import KEY, ClusterRoleAggregationController


def role(name: str, *resources: str, label: str = "", selects: str = "") -> Role:
    doc: dict[str, Any] = {
        "metadata": {"name": name, "labels": {label: "true"} if label else {}},
        "rules": [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]} for resource in resources],
    }
    if selects:
        doc["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {selects: "true"}}]}
    return msgspec.convert(doc, Role)


def decided(*roles: Role) -> dict[str, list[str]]:
    cache: InformerCache[Role] = InformerCache()
    for one in roles:
        cache.put(one.metadata.name, one)
    actions = ClusterRoleAggregationController(cache).reconcile(KEY, 0.0).actions
    assert all(isinstance(action, Patch) for action in actions)
    return {action.name: [rule["resources"][0] for rule in action.body["rules"]] for action in actions}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        pytest.param([role("a", selects="x"), role("b", "pods", label="x")], {"a": ["pods"]}, id="chosen"),
        pytest.param([role("a", selects="x"), role("b", "pods", label="y")], {}, id="not-chosen"),
        pytest.param([role("a", "pods", selects="x"), role("b", "pods", label="x")], {}, id="there-already"),
        pytest.param([role("a", "pods", selects="x")], {"a": []}, id="none-left"),
        pytest.param(
            [role("a", selects="x"), role("c", "pods", "nodes", label="x"), role("b", "nodes", "secrets", label="x")],
            {"a": ["nodes", "secrets", "pods"]},
            id="each-once-by-name",
        ),
        pytest.param([role("a", "pods", label="x", selects="x")], {"a": []}, id="not-itself"),
        pytest.param([role("b", "pods", label="x")], {}, id="not-aggregated"),
    ],
)
def test_aggregated_roles_are_filled(roles: list[Role], expected: dict[str, list[str]]) -> None:
    assert decided(*roles) == expected
