"""VolumeRestrictions: claims for one pod, and disks that cannot be shared."""

from support.volume_desk import VolumeDesk
from support.volumes import bound_claim_view, uses, volume_view

IN_USE = (
    "0/3 nodes are available: 3 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod."
)
DISK = [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}]


def desk_with_claim() -> VolumeDesk:
    desk = VolumeDesk()
    desk.volume(volume_view("v", phase="Bound", modes=["ReadWriteOncePod"]))
    desk.claim(bound_claim_view("data", "v", modes=["ReadWriteOncePod"]))
    return desk


def test_second_pod_waits_until_the_first_is_gone() -> None:
    desk = desk_with_claim()
    desk.pod("first", volumes=uses("data"))
    desk.pod("second", volumes=uses("data"))
    desk.pod("bystander")
    desk.settle()
    assert desk.messages["second"].startswith(IN_USE)
    desk.remove_pod("bystander")
    assert desk.tried("second") == 1
    desk.remove_pod("first")
    assert desk.tried("second") == 2
    assert desk.where("second")


def test_pod_of_higher_priority_takes_the_claim() -> None:
    desk = desk_with_claim()
    desk.pod("first", volumes=uses("data"))
    desk.settle()
    desk.pod("second", volumes=uses("data"), priority=10)
    desk.settle()
    desk.advance(20)
    assert "first" not in desk.pods
    assert desk.where("second")


def test_disk_is_used_once_on_a_node() -> None:
    desk = VolumeDesk()
    for at in range(4):
        desk.pod(f"p{at}", volumes=DISK)
    desk.settle()
    assert sorted(desk.where(f"p{at}") for at in range(3)) == ["a-1", "b-1", "c-1"]
    assert desk.messages["p3"].startswith("0/3 nodes are available: 3 node(s) had no available disk.")
    desk.remove_pod("p0")
    desk.advance(20)
    assert desk.where("p3")


def test_explanation_names_who_uses_the_claim() -> None:
    desk = desk_with_claim()
    desk.pod("first", volumes=uses("data"))
    desk.pod("second", volumes=uses("data"))
    desk.settle()
    explanation = desk.scheduler.explain(desk.pods["second"], desk.now)
    assert {one.objections[0].what for one in explanation.nodes} == {"claim default/data is used by pod default/first"}
