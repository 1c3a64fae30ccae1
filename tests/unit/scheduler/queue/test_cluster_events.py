"""Which events a change means: one row a rule."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.scheduler.framework import ActionType, EventResource
from doorman.scheduler.queue.cluster_events import node_events, pod_update_events
from support.scheduling import make_node, make_pod


def with_status(node: Node, **status: Any) -> Node:
    document = msgspec.to_builtins(node)
    document["status"] |= status
    return msgspec.convert(document, Node)


TAINTED = make_node("n", taints="a:NoSchedule b:NoSchedule")
READY = with_status(make_node("n"), conditions=[{"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}])


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        pytest.param(None, make_node("n"), [ActionType.ADD], id="rule-1-add"),
        pytest.param(make_node("n"), None, [ActionType.DELETE], id="rule-1-delete"),
        pytest.param(TAINTED, make_node("n", taints="b:NoSchedule a:NoSchedule"), [ActionType.UPDATE_NODE_TAINT],
                     id="rule-2-order-of-taints"),
        pytest.param(make_node("n", unschedulable=True), make_node("n"), [ActionType.UPDATE_NODE_TAINT],
                     id="rule-2-uncordoned"),
        pytest.param(make_node("n"), make_node("n", unschedulable=True), [], id="rule-2-cordoned-is-no-event"),
        pytest.param(make_node("n"), make_node("n", cpu="9", labels={"a": "b"}),
                     [ActionType.UPDATE_NODE_ALLOCATABLE, ActionType.UPDATE_NODE_LABEL], id="rule-3-several"),
        pytest.param(READY, with_status(READY, conditions=[{"type": "Ready", "status": "False"}]),
                     [ActionType.UPDATE_NODE_CONDITION], id="rule-3-condition"),
        pytest.param(
            READY, with_status(READY, conditions=[{"type": "Ready", "status": "True", "lastHeartbeatTime": "2"}]), [],
            id="rule-3-heartbeat",
        ),
    ],
)  # fmt: skip
def test_node_events(old: Node | None, new: Node | None, changes: list[ActionType]) -> None:
    assert [event.change for event in node_events(old, new)] == changes


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        pytest.param(make_pod("p"), make_pod("p", labels={"a": "b"}), [ActionType.UPDATE_POD_LABEL],
                     id="rule-4-labels"),
        pytest.param(make_pod("p", requests={"cpu": "2"}), make_pod("p", requests={"cpu": "1"}),
                     [ActionType.UPDATE_POD_SCALE_DOWN], id="rule-4-lowered"),
        pytest.param(make_pod("p", requests={"cpu": "1"}), make_pod("p", requests={"cpu": "2"}),
                     [ActionType.UPDATE_POD_SCALE_UP], id="rule-4-raised"),
        pytest.param(make_pod("p", schedulingGates=[{"name": "a"}]), make_pod("p"),
                     [ActionType.UPDATE_POD_GATES_ELIMINATED], id="rule-4-last-gate"),
        pytest.param(make_pod("p", schedulingGates=[{"name": "a"}, {"name": "b"}]),
                     make_pod("p", schedulingGates=[{"name": "a"}]), [ActionType.UPDATE_OTHER],
                     id="rule-4-not-the-last"),
        pytest.param(make_pod("p"), make_pod("p", tolerations="a"), [ActionType.UPDATE_POD_TOLERATION],
                     id="rule-4-toleration"),
        pytest.param(make_pod("p", tolerations="a:NoExecute@1"), make_pod("p", tolerations="a:NoExecute@2"),
                     [ActionType.UPDATE_OTHER], id="rule-5-seconds-alone"),
    ],
)  # fmt: skip
def test_pod_update_events(old: Pod, new: Pod, changes: list[ActionType]) -> None:
    assert [event.change for event in pod_update_events(EventResource.TARGET_POD, old, new)] == changes
