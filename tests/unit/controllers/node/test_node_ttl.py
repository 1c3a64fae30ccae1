"""Nodes are told for how long kubelets may keep what they have read, by the size of the cluster."""

from collections.abc import Iterator
from typing import Any

import pytest

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node
from doorman.base.clock import VIRTUAL_START, Instant
from doorman.client.actions import Patch
from doorman.client.controller_contract import ObjectChange, Result
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.node_ttl import BURST, TTL_ANNOTATION, NodeTtlController, decide_step
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
        pytest.param(node("n", "0"), node("n", "0"), [], id="told"),
        pytest.param(node("n", "15"), node("n", "15"), ["n"], id="told-otherwise"),
        pytest.param(node("n", "0"), node("n"), ["n"], id="taken-off"),
    ],
)
def test_whom_a_change_concerns(old: Node | None, new: Node | None, expected: list[str]) -> None:
    assert keys_of(NodeTtlController(InformerCache({})), old, new) == expected


def keys_of(controller: NodeTtlController, old: Node | None, new: Node | None) -> list[str]:
    (source,) = controller.sources
    return list(source.keys(ObjectChange("nodes", old, new)))


def patches(result: Result) -> Iterator[Any]:
    return (action.body["metadata"]["annotations"] for action in result.actions if isinstance(action, Patch))


def cluster_of(count: int, told: str | None) -> tuple[InformerCache[Node], NodeTtlController]:
    nodes: InformerCache[Node] = InformerCache({})
    for number in range(count):
        nodes.put(f"n{number:03}", node(f"n{number:03}", told))
    return nodes, NodeTtlController(nodes)


def test_a_larger_cluster_tells_each_node_when_it_changes() -> None:
    nodes, controller = cluster_of(100, "0")
    assert [name for name, _ in controller.start(VIRTUAL_START).wakes][:2] == ["n000", "n001"]
    assert controller.reconcile("n000", VIRTUAL_START) == Result()
    nodes.put("n100", node("n100"))
    added = controller.reconcile("n100", VIRTUAL_START)
    assert list(patches(added)) == [{TTL_ANNOTATION: "15"}]
    assert added.wakes == ()
    assert list(patches(controller.reconcile("n000", VIRTUAL_START))) == [{TTL_ANNOTATION: "15"}]


def told_and_woken(controller: NodeTtlController, names: list[str], now: Instant) -> tuple[list[str], dict[str, float]]:
    results = {name: controller.reconcile(name, now) for name in names}
    told = [name for name, result in results.items() if result.actions]
    return told, {name: due - now for result in results.values() for name, due in result.wakes}


def test_many_new_nodes_are_told_one_after_another() -> None:
    nodes, controller = cluster_of(BURST + 3, None)
    names = [found.metadata.name for found in nodes.list()]
    told, woken = told_and_woken(controller, names, VIRTUAL_START)
    assert told == names[:BURST]
    assert woken == pytest.approx({"n030": 0.05, "n031": 0.1, "n032": 0.15}, abs=0.001)
    # One that changes meanwhile keeps its turn.
    assert keys_of(controller, node("n032"), node("n032")) == []
    told, woken = told_and_woken(controller, ["n032"], VIRTUAL_START + 0.05)
    assert (told, woken) == ([], pytest.approx({"n032": 0.1}, abs=0.001))
    assert told_and_woken(controller, ["n030"], VIRTUAL_START + 0.05) == (["n030"], {})
    assert told_and_woken(controller, ["n031", "n032"], VIRTUAL_START + 0.15) == (["n031", "n032"], {})


def test_who_is_told_by_others_or_gone_has_no_turn() -> None:
    nodes, controller = cluster_of(BURST + 2, None)
    told_and_woken(controller, [found.metadata.name for found in nodes.list()], VIRTUAL_START)
    nodes.put("n030", node("n030", "0"))
    nodes.remove("n031")
    assert told_and_woken(controller, ["n030", "n031"], VIRTUAL_START + 60) == ([], {})
    nodes.put("n031", node("n031"))
    assert told_and_woken(controller, ["n031"], VIRTUAL_START + 60) == (["n031"], {})


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0])
def test_turns_are_kept_when_the_clock_is_set(seconds: float) -> None:
    nodes, controller = cluster_of(BURST + 1, None)
    told_and_woken(controller, [found.metadata.name for found in nodes.list()], VIRTUAL_START)
    controller.clock_was_set(seconds)
    told, woken = told_and_woken(controller, ["n030"], VIRTUAL_START + seconds)
    assert (told, woken) == ([], pytest.approx({"n030": 0.05}, abs=0.001))
    nodes.put("n031", node("n031"))
    assert told_and_woken(controller, ["n031"], VIRTUAL_START + seconds)[1] == pytest.approx({"n031": 0.1}, abs=0.001)


def test_node_is_told() -> None:
    async def story(cluster: Story) -> None:
        await cluster.settle()
        assert cluster.node("node-1").metadata.annotations[TTL_ANNOTATION] == "0"

    run_story(story, nodes=1)
