"""dedicated-nodes-controller."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.doorman_dev import DedicatedNodes
from doorman.api.views.nodes import Node
from doorman.client.actions import Patch
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.dedicated_nodes_controller import DedicatedNodesController, node_keys

OWN = {"key": "doorman.dev/dedicated", "value": "ml", "effect": "NoSchedule"}
OTHER = {"key": "other", "effect": "NoSchedule"}


def node(*taints: Any, **labels: str) -> Node:
    body = {"metadata": {"name": "n", "resourceVersion": "7", "labels": labels}, "spec": {"taints": list(taints)}}
    return msgspec.convert(body, Node)


def patched(found: Node) -> Any:
    nodes: InformerCache[Node] = InformerCache()
    nodes.put("n", found)
    dedicated: InformerCache[DedicatedNodes] = InformerCache()
    body = {"metadata": {"name": "ml"}, "spec": {"nodeSelector": {"matchLabels": {"team": "ml"}}}}
    dedicated.put("ml", msgspec.convert(body, DedicatedNodes))
    actions = DedicatedNodesController(nodes, dedicated).reconcile("n", 0.0).actions
    if not actions:
        return None
    (patch,) = actions
    assert isinstance(patch, Patch)
    return patch.body["spec"]["taints"]


def test_node_with_the_label_is_tainted_and_keeps_its_other_taints() -> None:
    assert patched(node(OTHER, team="ml")) == [OTHER, OWN]


def test_node_without_the_label_loses_the_taint() -> None:
    assert patched(node(OWN, OTHER)) == [OTHER]
    assert patched(node({**OWN, "value": "gone"}, team="ml")) == [OWN]


def test_nothing_to_do() -> None:
    assert patched(node(OWN, team="ml")) is None
    assert patched(node(OTHER)) is None


def test_heartbeats_wake_nobody() -> None:
    assert list(node_keys(ObjectChange("nodes", node(), node()))) == []
    assert list(node_keys(ObjectChange("nodes", node(), node(team="ml")))) == ["n"]
    assert list(node_keys(ObjectChange("nodes", node(), None))) == []


@pytest.mark.parametrize(
    ("found", "is_any_dedicated", "expected"),
    [
        pytest.param(node(OTHER), False, [], id="nothing-of-ours"),
        pytest.param(node(OTHER, OWN), False, ["n"], id="left-behind"),
        pytest.param(node(OTHER), True, ["n"], id="some-are-dedicated"),
    ],
)
def test_whom_a_change_concerns(found: Node, is_any_dedicated: bool, expected: list[str]) -> None:
    dedicated: InformerCache[DedicatedNodes] = InformerCache()
    if is_any_dedicated:
        dedicated.put("ml", msgspec.convert({"metadata": {"name": "ml"}}, DedicatedNodes))
    source = DedicatedNodesController(InformerCache(), dedicated).sources[0]
    assert list(source.keys(ObjectChange("nodes", None, found))) == expected
