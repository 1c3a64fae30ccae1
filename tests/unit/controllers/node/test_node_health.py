"""Signs of life, by the controller's own clock."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.coordination import Lease, LeaseSpec
from doorman.api.views.meta import Condition
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.base.instants import to_micro_time, to_time
from doorman.client.actions import Patch, RecordEvent
from doorman.controllers.node.node_health import (
    decide_mark,
    decide_pod_not_ready,
    grace_seconds,
    observe,
    remember,
    resume,
    unknown_conditions,
)
from support.objects import pod


def node(ready: str = "", heartbeat: float = 0.0, created: float = 10.0, **others: str) -> Node:
    statuses = {**({"Ready": ready} if ready else {}), **others}
    conditions = [{"type": t, "status": s, "lastHeartbeatTime": to_time(heartbeat)} for t, s in statuses.items()]
    meta = {"name": "n1", "uid": "u", "resourceVersion": "3", "creationTimestamp": to_time(created)}
    return msgspec.convert({"metadata": meta, "status": {"conditions": conditions}}, Node)


def lease(renewed: float, version: str = "9") -> Lease:
    document: dict[str, Any] = {
        "metadata": {"resourceVersion": version},
        "spec": {"renewTime": to_micro_time(renewed)},
    }
    return msgspec.convert(document, Lease)


@pytest.mark.parametrize(
    ("first", "second", "lease_before", "lease_after", "probed"),
    [
        pytest.param(node("True", 0), node("True", 0), None, None, 100.0, id="1-same-heartbeat"),
        pytest.param(node("True", 0), node("True", 50), None, None, 200.0, id="1-new-heartbeat"),
        pytest.param(node("True", 50), node("True", 0), None, None, 200.0, id="1-older-heartbeat-is-a-change-too"),
        pytest.param(node("True", 0), node("False", 0), None, None, 100.0, id="1-other-status-same-heartbeat"),
        pytest.param(node("True", 0), node("True", 0), lease(1), lease(2), 200.0, id="1-lease-renewed"),
        pytest.param(node("True", 0), node("True", 0), lease(2), lease(1), 100.0, id="1-older-lease"),
        pytest.param(node("True", 0), node("True", 0), None, lease(1), 200.0, id="1-first-lease"),
        pytest.param(node("True", 0), node("True", 0), lease(1), None, 100.0, id="1-lease-gone"),
        pytest.param(node(), node("True", 0), None, None, 200.0, id="2-ready-appears"),
        pytest.param(node("True", 0), node(), None, None, 200.0, id="2-ready-disappears"),
        pytest.param(node(), node(), None, None, 10.0, id="2-never-ready-counts-from-creation"),
    ],
)
def test_signs_of_life(
    first: Node, second: Node, lease_before: Lease | None, lease_after: Lease | None, probed: float
) -> None:
    memory = remember(first, "", 100.0)
    observe(memory, first, lease_before, 100.0)
    observe(memory, second, lease_after, 200.0)
    assert memory.probed == probed


def test_grace_depends_on_a_ready_condition() -> None:
    assert grace_seconds(node(), monitor_seconds=50, startup_seconds=60) == 60
    assert grace_seconds(node("False"), monitor_seconds=50, startup_seconds=60) == 50


def test_silent_node_becomes_unknown_in_all_watched_conditions() -> None:
    changed = unknown_conditions(node("True", 5, MemoryPressure="False", NetworkUnavailable="False"), 100.0)
    assert [(c["type"], c["status"], c["reason"]) for c in changed] == [
        ("Ready", "Unknown", "NodeStatusUnknown"),
        ("MemoryPressure", "Unknown", "NodeStatusUnknown"),
        ("DiskPressure", "Unknown", "NodeStatusNeverUpdated"),
        ("PIDPressure", "Unknown", "NodeStatusNeverUpdated"),
    ]
    assert "lastHeartbeatTime" not in changed[0]
    assert changed[2]["lastHeartbeatTime"] == to_time(10.0)
    assert {c["lastTransitionTime"] for c in changed} == {to_time(100.0)}
    assert changed[0]["message"] == "Kubelet stopped posting node status."
    assert changed[2]["message"] == "Kubelet never posted node status."


def test_nothing_is_written_if_ready_is_unknown_already() -> None:
    assert unknown_conditions(node("Unknown", 5, MemoryPressure="False"), 100.0) == []


def test_mark_carries_the_version_and_tells_only_of_ready_nodes() -> None:
    patch, event = decide_mark(node("True"), 100.0)
    assert isinstance(patch, Patch)
    assert isinstance(event, RecordEvent)
    assert (patch.subresource, patch.body["metadata"]) == ("status", {"resourceVersion": "3"})
    assert event.message == "Node n1 status is now: NodeNotReady"
    assert [type(action) for action in decide_mark(node("False"), 100.0)] == [Patch]
    assert decide_mark(node("Unknown"), 100.0) == []


@pytest.mark.parametrize(
    ("conditions", "marked"),
    [
        pytest.param([], False, id="no-condition"),
        pytest.param([{"type": "Ready", "status": "True", "reason": "r"}], True, id="ready"),
        pytest.param([{"type": "Ready", "status": "False"}], False, id="not-ready-already"),
        pytest.param([{"type": "Ready", "status": "Unknown"}], True, id="unknown"),
    ],
)
def test_pod_of_a_silent_node_is_not_ready(conditions: list[dict[str, Any]], marked: bool) -> None:
    view = msgspec.convert(pod("p", "n1", status={"conditions": conditions}), Pod)
    actions = decide_pod_not_ready(view, 100.0)
    assert bool(actions) is marked
    if marked:
        patch, event = actions
        assert isinstance(patch, Patch)
        assert isinstance(event, RecordEvent)
        assert patch.body["status"] == {
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": to_time(100.0)}]
        }
        assert (event.type, event.reason, event.message) == ("Warning", "NodeNotReady", "Node is not ready")


@pytest.mark.parametrize(
    ("renewed", "probed"),
    [
        pytest.param(999.0, 1000.0, id="seen-by-the-pass-of-now"),
        pytest.param(993.0, 995.0, id="seen-by-the-pass-after-it"),
        pytest.param(960.0, 965.0, id="silent-for-a-while"),
        pytest.param(1000.0, 1005.0, id="given-just-now-is-seen-by-the-next"),
        pytest.param(1003.0, 1005.0, id="a-clock-that-is-ahead"),
    ],
)
def test_node_of_a_cluster_that_goes_on_was_seen_when_its_lease_says(renewed: float, probed: float) -> None:
    memory = remember(node("True"), "", 1000.0)
    found = lease(renewed)
    resume(memory, found, 1000.0, 5.0)
    assert memory.probed == pytest.approx(probed)
    observe(memory, memory.node, found, 1002.0)
    assert memory.probed == pytest.approx(probed), "the same lease is no new sign of life"


def test_node_whose_times_cannot_be_read_counts_as_seen_now() -> None:
    memory = remember(node("True"), "", 1000.0)
    memory.ready = Condition(type="Ready", status="True", last_heartbeat_time="?")
    resume(memory, Lease(spec=LeaseSpec(renew_time="?")), 1000.0, 5.0)
    assert memory.probed == 1000.0
