"""NodeVolumeLimits: how many volumes a node can attach."""

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import ATTACHMENTS, VolumeAttachment
from support.volume_desk import VolumeDesk
from support.volumes import bound_claim_view, csi_node_view, uses, volume_view

FULL = "node(s) exceed max volume count"


def desk_with(claims: int, **limits: int) -> VolumeDesk:
    """Volumes of driver `d.x`, and the limits of nodes a-1, …"""
    desk = VolumeDesk()
    for name in ("b", "c"):
        desk.remove_node(f"{name}-1")
    for node, limit in limits.items():
        desk.csi_node(csi_node_view(f"{node}-1", d__x=limit))
    for at in range(claims):
        desk.volume(volume_view(f"v{at}", phase="Bound", csi={"driver": "d.x", "volumeHandle": f"h{at}"}))
        desk.claim(bound_claim_view(f"c{at}", f"v{at}"))
    return desk


def test_node_takes_as_many_volumes_as_it_can_attach() -> None:
    desk = desk_with(3, a=2)
    for at in range(3):
        desk.pod(f"p{at}", volumes=uses(f"c{at}"))
    desk.settle()
    assert [desk.where(f"p{at}") for at in range(3)] == ["a-1", "a-1", ""]
    assert desk.messages["p2"].startswith(f"0/1 nodes are available: 1 {FULL}.")
    desk.remove_pod("p0")
    desk.advance(20)
    assert desk.where("p2") == "a-1"


def test_volume_that_is_there_already_needs_no_more_room() -> None:
    desk = desk_with(1, a=1)
    desk.pod("p", volumes=uses("c0"))
    desk.pod("q", volumes=uses("c0"))
    desk.settle()
    assert (desk.where("p"), desk.where("q")) == ("a-1", "a-1")


def test_attached_volume_of_nobody_takes_room_until_it_is_detached() -> None:
    desk = desk_with(2, a=1)
    spec = {"attacher": "d.x", "nodeName": "a-1", "source": {"persistentVolumeName": "v0"}}
    desk.put(ATTACHMENTS, to_view({"metadata": {"name": "x"}, "spec": spec}, VolumeAttachment))
    desk.pod("p", volumes=uses("c1"))
    desk.settle()
    assert FULL in desk.messages["p"]
    desk.take(ATTACHMENTS, "x")
    desk.advance(20)
    assert desk.where("p") == "a-1"


def test_limit_that_rises_brings_the_pod_back_and_one_that_falls_does_not() -> None:
    desk = desk_with(2, a=1)
    desk.pod("p", volumes=uses("c0", "c1"))
    desk.settle()
    assert FULL in desk.messages["p"]
    desk.csi_node(csi_node_view("a-1", d__x=0))
    assert desk.tried("p") == 1
    desk.csi_node(csi_node_view("a-1", d__x=2))
    desk.advance(20)
    assert desk.where("p") == "a-1"


def test_drivers_without_a_limit_and_nodes_without_csinode_take_all() -> None:
    desk = desk_with(2)
    desk.csi_node(csi_node_view("a-1", other__x=0))
    desk.pod("p", volumes=uses("c0", "c1"))
    desk.settle()
    assert desk.where("p") == "a-1"


def test_pod_of_higher_priority_makes_room() -> None:
    desk = desk_with(2, a=1)
    desk.pod("low", volumes=uses("c0"))
    desk.settle()
    desk.pod("high", volumes=uses("c1"), priority=10)
    desk.settle()
    desk.advance(20)
    assert desk.where("high") == "a-1"


def test_explanation_counts() -> None:
    desk = desk_with(2, a=1)
    desk.pod("p", volumes=uses("c0"))
    desk.settle()
    desk.pod("q", volumes=uses("c1"))
    [verdict] = desk.scheduler.explain(desk.pods["q"], desk.now).nodes
    assert verdict.objections[0].what == "driver d.x: 1 of 1 volumes are in use, the pod needs 1 more"
