"""TaintNodesByCondition."""

from typing import Any

import pytest

from doorman.admission.plugins.nodes.taint_nodes_by_condition import TaintNodesByCondition

KEY = "node.kubernetes.io/not-ready"
NOT_READY = {"key": KEY, "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        pytest.param(None, [NOT_READY], id="none"),
        pytest.param(
            [{"key": "a", "effect": "NoSchedule"}], [{"key": "a", "effect": "NoSchedule"}, NOT_READY], id="appended"
        ),
        pytest.param([{**NOT_READY, "value": "x"}], [{**NOT_READY, "value": "x"}], id="there-with-a-value"),
        pytest.param(
            [{"key": KEY, "effect": "NoExecute"}], [{"key": KEY, "effect": "NoExecute"}, NOT_READY], id="other-effect"
        ),
    ],
)
def test_new_node_begins_as_not_ready(taints: Any, expected: Any, world: Any, asked: Any) -> None:
    node: dict[str, Any] = {"metadata": {"name": "n"}}
    if taints is not None:
        node["spec"] = {"taints": taints}
    TaintNodesByCondition().admit(asked(node, "nodes"), world(), 0.0)
    assert node["spec"]["taints"] == expected
