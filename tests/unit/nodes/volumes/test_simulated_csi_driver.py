"""The CSI driver of simulated nodes."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.nodes import Node
from doorman.api.views.storage.csi import CsiNode
from doorman.client.actions import Create, Patch
from doorman.nodes.profile import NodeProfile, simulated_node
from doorman.nodes.volumes.simulated_csi_driver import decide_attachment, decide_csi_node
from support.attaching import attachment_view

OWN = "simulated.doorman.dev"


def node(**profile: Any) -> Node:
    view: Node = to_view(simulated_node("n", NodeProfile(**profile)), Node)
    return view


def csi_node(*drivers: dict[str, Any]) -> CsiNode:
    view: CsiNode = to_view({"metadata": {"name": "n"}, "spec": {"drivers": list(drivers)}}, CsiNode)
    return view


def test_node_is_registered_with_its_limit_and_its_zone() -> None:
    created = decide_csi_node(node(attach_limit=2, zone="a"), None)
    assert isinstance(created, Create)
    [driver] = created.body["spec"]["drivers"]
    assert driver == {
        "name": OWN, "nodeID": "n", "topologyKeys": ["topology.kubernetes.io/zone"], "allocatable": {"count": 2},
    }  # fmt: skip
    assert created.body["metadata"]["ownerReferences"][0]["kind"] == "Node"


@pytest.mark.parametrize(
    ("limit", "before", "expected"),
    [
        pytest.param(None, csi_node({"name": "other"}), None, id="somebody else's"),
        pytest.param(None, csi_node({"name": OWN, "allocatable": {"count": 3}}), None, id="made by hand"),
        pytest.param(2, csi_node({"name": OWN, "allocatable": {"count": 2}}), None, id="as it should be"),
        pytest.param(2, csi_node({"name": OWN, "allocatable": {"count": 3}}), {"count": 2}, id="another limit"),
        pytest.param(2, csi_node({"name": "other"}), {"count": 2}, id="another driver's"),
    ],
)
def test_what_is_there_is_completed_where_a_limit_is_said(limit: int | None, before: CsiNode, expected: Any) -> None:
    action = decide_csi_node(node(attach_limit=limit), before)
    patched = action.body["spec"]["drivers"][0]["allocatable"] if isinstance(action, Patch) else None
    assert patched == expected


@pytest.mark.parametrize(
    ("annotations", "now", "status", "again"),
    [
        pytest.param({}, 0.0, {"attached": True, "attachError": None}, None, id="at once"),
        pytest.param({"doorman.dev/attach-delay": "20s"}, 19.0, None, 20.0, id="delayed"),
        pytest.param(
            {"doorman.dev/attach-delay": "20s"}, 20.0, {"attached": True, "attachError": None}, None, id="in time"
        ),
        pytest.param(
            {"doorman.dev/attach-failure": "broken"},
            0.0,
            {"attached": False, "attachError": {"message": "broken", "time": "1970-01-01T00:00:00Z"}},
            None,
            id="failed",
        ),
    ],
)
def test_attaching(annotations: dict[str, str], now: float, status: Any, again: float | None) -> None:
    actions, due = decide_attachment(attachment_view(attached=False), annotations, began=0.0, now=now)
    written = [action.body["status"] for action in actions if isinstance(action, Patch)]
    assert (written, due) == ([status] if status is not None else [], again)


def test_failure_is_written_once_and_what_is_attached_is_left_alone() -> None:
    failed = attachment_view(attached=False, error="broken")
    assert decide_attachment(failed, {"doorman.dev/attach-failure": "broken"}, began=0.0, now=0.0) == ([], None)
    assert decide_attachment(attachment_view(), {}, began=0.0, now=0.0) == ([], None)


def test_attachers_finalizer_goes_with_the_attachment_and_others_stay() -> None:
    leaving = attachment_view(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["external-attacher/d", "mine/x"])
    [patch], _ = decide_attachment(leaving, {}, began=0.0, now=0.0)
    assert isinstance(patch, Patch)
    assert patch.body["metadata"]["finalizers"] == ["mine/x"]
