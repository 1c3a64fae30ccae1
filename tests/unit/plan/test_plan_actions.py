"""Which nodes are meant."""

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.plan.plan_actions import NodeChoice, PlanError, chosen_nodes

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


def node(name: str, **labels: str) -> Node:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Node)


NODES = [
    node("node-10", **{ZONE: "a", "disk": "ssd"}),
    node("node-2", **{ZONE: "b", REGION: "r"}),
    node("node-1", **{ZONE: "a"}),
]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        pytest.param(NodeChoice(names=("node-2", "node-1", "node-2")), ["node-2", "node-1"], id="named-once-each"),
        pytest.param(NodeChoice(zone="a"), ["node-1", "node-10"], id="zone-in-order-of-names"),
        pytest.param(NodeChoice(zone="r/b"), ["node-2"], id="zone-with-its-region"),
        pytest.param(NodeChoice(selector="disk in (ssd,nvme)"), ["node-10"], id="selector"),
        pytest.param(NodeChoice(everything=True), ["node-1", "node-2", "node-10"], id="all"),
    ],
)
def test_chosen(choice: NodeChoice, names: list[str]) -> None:
    assert [found.metadata.name for found in chosen_nodes(choice, NODES)] == names


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        pytest.param(NodeChoice(names=("node-3",)), 'no node "node-3"', 'did you mean "node-', id="near"),
        pytest.param(NodeChoice(names=("x",)), 'no node "x"', "nodes: node-1, node-2, node-10", id="far"),
        pytest.param(NodeChoice(zone="z"), 'no node is in zone "z"', "zones: a, r/b", id="zone"),
        pytest.param(NodeChoice(selector="a=b"), "no node has the labels a=b", "--show-labels", id="selector"),
        pytest.param(NodeChoice(selector="a in"), "-l a in", "selectors look like", id="selector-syntax"),
        pytest.param(NodeChoice(), "no node is named", "--all", id="nothing"),
    ],
)
def test_refused(choice: NodeChoice, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        chosen_nodes(choice, NODES)
    assert message in str(caught.value)
    assert hint in caught.value.hint
