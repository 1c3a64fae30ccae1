"""What a kubelet posts of its node, and when."""

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.base.instants import to_time
from doorman.nodes.status.node_status import change_events, good_conditions, next_report, status_body, wanted_statuses
from support.objects import node


def healthy(at: float = 0.0) -> Node:
    return msgspec.convert({"metadata": {"name": "n1"}, "status": {"conditions": good_conditions(to_time(at))}}, Node)


@pytest.mark.parametrize(
    ("conditions", "now", "due"),
    [
        pytest.param({}, 10.0, 300.0, id="unchanged-waits-for-the-period"),
        pytest.param({}, 400.0, 400.0, id="overdue"),
        pytest.param({"Ready": "False"}, 10.0, 10.0, id="changed-is-due-now"),
        pytest.param({"NetworkUnavailable": "True"}, 10.0, 10.0, id="new-condition-is-due-now"),
    ],
)
def test_status_is_due(conditions: dict[str, str], now: float, due: float) -> None:
    assert next_report(healthy(), wanted_statuses(conditions, healthy()), now, 300.0) == due


def test_ready_comes_last_and_keeps_its_transition_time_if_nothing_changed() -> None:
    wanted = wanted_statuses({"MemoryPressure": "True"}, healthy())
    body = status_body(healthy(), wanted, 60.0, {})
    times = {one["type"]: one["lastTransitionTime"] for one in body["status"]["conditions"]}
    assert list(times) == ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    assert times["Ready"] == "1970-01-01T00:00:00Z"
    assert times["MemoryPressure"] == "1970-01-01T00:01:00Z"
    assert {one["lastHeartbeatTime"] for one in body["status"]["conditions"]} == {"1970-01-01T00:01:00Z"}


def test_network_condition_is_taken_back_once_it_was_said() -> None:
    view = msgspec.convert(node("n1", NetworkUnavailable="True"), Node)
    assert wanted_statuses({}, view)["NetworkUnavailable"] == "False"
    assert "NetworkUnavailable" not in wanted_statuses({}, healthy())


def test_changes_are_told_with_the_nodes_name_as_uid() -> None:
    events = change_events(healthy(), {"Ready": "False", "DiskPressure": "True", "PIDPressure": "False"})
    assert [event.reason for event in events] == ["NodeNotReady", "NodeHasDiskPressure"]
    assert events[0].message == "Node n1 status is now: NodeNotReady"
    assert events[0].regarding.uid == "n1"
    assert events[0].component == "kubelet"
