"""Who gets a NoExecute taint, and when."""

from typing import Any

import msgspec
import pytest
from prometheus_client import Counter

from doorman.api.views.nodes import Node
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.no_execute_taints import TAINT_PASS_SECONDS, NoExecuteTaints
from doorman.controllers.node.node_taints import NEITHER, Intent
from doorman.controllers.node.node_zones import Rates, ZoneCount, Zones
from doorman.semantics.taints.condition_taints import NOT_READY_NO_EXECUTE, UNREACHABLE_NO_EXECUTE

START = 1000.0


def node(name: str, ready: str, *taints: str) -> Node:
    document: dict[str, Any] = {
        "metadata": {"name": name, "uid": name},
        "spec": {"taints": [{"key": key, "effect": "NoExecute"} for key in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    return msgspec.convert(document, Node)


class Desk:
    def __init__(self, *nodes: Node) -> None:
        self.nodes: InformerCache[Node] = InformerCache({})
        for one in nodes:
            self.nodes.put(one.metadata.name, one)
        self.zones = Zones(Rates(primary=0.1, secondary=0.01, large_zone_size_min=50, unhealthy_share_min=0.55))
        self.zones.ensure("a", START)
        self.zones.evaluate({"a": ZoneCount(ready=9, not_ready=1)}, START)
        self.taints = NoExecuteTaints(self.nodes, self.zones, Counter("x", "X.", ["zone"], registry=None))
        self.taints.started = START
        self.wakes: list[tuple[str, float]] = []

    def decide(self, found: Node, current: str) -> None:
        self.taints.decide(found, "a", current, START, self.wakes)


def test_sick_node_waits_for_its_turn_and_gets_its_taint() -> None:
    sick = node("n", "Unknown")
    desk = Desk(sick)
    desk.decide(sick, "Unknown")
    assert desk.taints.intents == {}
    result = desk.taints.taint_pass(START)
    assert desk.taints.intents == {"n": Intent(UNREACHABLE_NO_EXECUTE)}
    assert ("node/n", START) in result.wakes


def test_node_that_does_not_show_its_mark_yet_keeps_its_turn() -> None:
    sick = node("n", "True")
    desk = Desk(sick)
    desk.taints.unseen.add("n")
    desk.decide(sick, "Unknown")
    desk.taints.taint_pass(START)
    assert desk.taints.intents == {}


def test_taint_that_is_the_wrong_one_now_is_exchanged_at_once() -> None:
    sick = node("n", "False", "node.kubernetes.io/unreachable")
    desk = Desk(sick)
    desk.decide(sick, "False")
    assert desk.taints.intents == {"n": Intent(NOT_READY_NO_EXECUTE)}


@pytest.mark.parametrize(
    ("found", "intents"),
    [
        pytest.param(node("n", "True", "node.kubernetes.io/unreachable"), {"n": NEITHER}, id="tainted"),
        pytest.param(node("n", "True"), {}, id="not-tainted"),
    ],
)
def test_well_node_loses_it(found: Node, intents: dict[str, Intent]) -> None:
    desk = Desk(found)
    desk.decide(found, "True")
    assert desk.taints.intents == intents


def test_next_pass_is_on_the_grid() -> None:
    first, second = node("n", "Unknown"), node("m", "Unknown")
    desk = Desk(first, second)
    desk.decide(first, "Unknown")
    desk.decide(second, "Unknown")
    desk.taints.taint_pass(START)
    ((key, instant),) = desk.taints.next_pass(START)
    passes = (instant - START) / TAINT_PASS_SECONDS
    assert (key, round(passes, 6)) == ("taint", round(passes))
    assert instant >= START + 9
