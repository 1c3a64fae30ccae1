"""Which changes wake the node-lifecycle-controller."""

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.node.node_lifecycle_sources import node_keys, pod_keys


def node(ready: str) -> Node:
    return msgspec.convert(
        {"metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}, Node
    )


def pod(node_name: str) -> Pod:
    return msgspec.convert({"metadata": {"name": "p", "namespace": "x"}, "spec": {"nodeName": node_name}}, Pod)


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param(None, node("True"), ["node/n1"], id="comes"),
        pytest.param(node("True"), node("True"), ["node/n1"], id="changes"),
        pytest.param(node("True"), node("Unknown"), ["node/n1", "flipped/n1"], id="is-not-ready-any-more"),
        pytest.param(node("False"), node("Unknown"), ["node/n1"], id="was-not-ready"),
        pytest.param(node("True"), None, [], id="goes"),
    ],
)
def test_nodes(old: Node | None, new: Node | None, keys: list[str]) -> None:
    assert list(node_keys(ObjectChange("nodes", old, new))) == keys


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        pytest.param(None, pod("n1"), ["pod/x/p"], id="comes-with-a-node"),
        pytest.param(pod(""), pod("n1"), ["pod/x/p"], id="gets-a-node"),
        pytest.param(pod("n1"), pod("n1"), [], id="has-it-already"),
        pytest.param(None, pod(""), [], id="has-none"),
        pytest.param(pod("n1"), None, [], id="goes"),
    ],
)
def test_pods(old: Pod | None, new: Pod | None, keys: list[str]) -> None:
    assert list(pod_keys(ObjectChange("pods", old, new))) == keys
