"""Nodes are told for how long kubelets may keep what they have read, by the size of the cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node
from doorman.base.clock import VIRTUAL_START
from doorman.client.actions import Patch
from doorman.client.controller_contract import ObjectChange, Result
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.node_ttl import TTL_ANNOTATION, NodeTtlController, decide_step, node_keys
from support.cluster import Story, run_story


def node(name: str, ttl: str | None = None) -> Node:
    annotations = {} if ttl is None else {TTL_ANNOTATION: ttl}
    return Node(metadata=ObjectMeta(name=name, annotations=annotations))


@pytest.mark.parametrize(
    ("step", "nodes", "expected"),
    [
        pytest.param(0, 0, 0, id="none"),
        pytest.param(0, 100, 0, id="at-the-most"),
        pytest.param(0, 101, 1, id="one-more"),
        pytest.param(1, 90, 1, id="steps-overlap"),
        pytest.param(1, 89, 0, id="back"),
        pytest.param(1, 500, 1, id="second-at-the-most"),
        pytest.param(1, 1001, 3, id="two-steps-at-once"),
        pytest.param(4, 1800, 4, id="last"),
        pytest.param(4, 1799, 3, id="back-from-the-last"),
        pytest.param(4, 3, 0, id="back-to-the-first"),
    ],
)
def test_step(step: int, nodes: int, expected: int) -> None:
    assert decide_step(step, nodes) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node("n"), ["n"], id="new"),
        pytest.param(node("n", "0"), None, ["n"], id="gone"),
        pytest.param(node("n", "0"), node("n", "0"), [], id="something-else"),
        pytest.param(node("n", "0"), node("n"), ["n"], id="taken-off"),
    ],
)
def test_whom_a_change_concerns(old: Node | None, new: Node | None, expected: list[str]) -> None:
    assert list(node_keys(ObjectChange("nodes", old, new))) == expected


def patches(result: Result) -> Iterator[Any]:
    return (action.body["metadata"]["annotations"] for action in result.actions if isinstance(action, Patch))


def test_all_are_told_when_there_are_many_more() -> None:
    nodes: InformerCache[Node] = InformerCache({})
    for number in range(100):
        nodes.put(f"n{number:03}", node(f"n{number:03}", "0"))
    controller = NodeTtlController(nodes)
    assert [name for name, _ in controller.start(VIRTUAL_START).wakes][:2] == ["n000", "n001"]
    assert controller.reconcile("n000", VIRTUAL_START) == Result()
    nodes.put("n100", node("n100"))
    assert len(controller.reconcile("n100", VIRTUAL_START).wakes) == 101
    assert list(patches(controller.reconcile("n000", VIRTUAL_START))) == [{TTL_ANNOTATION: "15"}]
    assert list(patches(controller.reconcile("n100", VIRTUAL_START))) == [{TTL_ANNOTATION: "15"}]


def test_node_is_told() -> None:
    async def story(cluster: Story) -> None:
        await cluster.settle()
        assert cluster.node("node-1").metadata.annotations[TTL_ANNOTATION] == "0"

    run_story(story, nodes=1)
