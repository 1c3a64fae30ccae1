"""VolumeBinding: where pods go because of their claims, and what brings them back."""

import pytest

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.storage.csi import (
    CSI_DRIVERS,
    CSI_NODES,
    STORAGE_CAPACITIES,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
)
from doorman.scheduler.outcomes import Placed
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings
from support.scheduling import make_node
from support.volume_desk import VolumeDesk
from support.volumes import ZONE, bound_claim_view, claim_view, class_view, csi_node_view, uses, volume_view

CONFLICT = "3 node(s) didn't match PersistentVolume's node affinity"
NONE_TO_BIND = "3 node(s) didn't find available persistent volumes to bind"


def test_pod_follows_its_disk() -> None:
    desk = VolumeDesk()
    desk.volume(volume_view("v", zone="c", phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    assert desk.where("p") == "c-1"


def test_pods_of_one_shape_with_disks_elsewhere_are_told_apart() -> None:
    desk = VolumeDesk()
    for zone in ("a", "d", "b"):
        desk.volume(volume_view(f"v-{zone}", zone=zone, phase="Bound"))
        desk.claim(bound_claim_view(f"data-{zone}", f"v-{zone}"))
        desk.pod(f"p-{zone}", volumes=uses(f"data-{zone}"))
    desk.settle()
    assert [desk.where(f"p-{zone}") for zone in ("a", "b", "d")] == ["a-1", "b-1", ""]
    assert CONFLICT in desk.messages["p-d"]
    assert "Preemption is not helpful for scheduling" in desk.messages["p-d"]


def test_one_volume_is_given_to_one_pod() -> None:
    desk = VolumeDesk(binds=False)
    desk.storage_class(class_view("local", provisioner="kubernetes.io/no-provisioner"))
    desk.volume(volume_view("v", storageClassName="local"))
    for name in ("one", "two"):
        desk.claim(claim_view(name, storageClassName="local"))
        desk.pod(name, volumes=uses(name))
    first, _ = desk.run()
    assert isinstance(first, Placed)
    assert isinstance(first.volumes, PodVolumeBindings)
    assert [binding.volume.metadata.name for binding in first.volumes.static] == ["v"]
    assert NONE_TO_BIND in desk.messages["two"]
    desk.scheduler.bind_failed("default/one", "no", desk.now)
    desk.volume(volume_view("v", storageClassName="local", size="2Gi"))
    desk.advance(20)
    assert desk.attempts.count("two") == 2


@pytest.mark.parametrize(("sizes", "where"), [(("8Gi", "2Gi", "4Gi"), "a-1"), (("2Gi", "2Gi", "4Gi"), "c-1")])
def test_pod_goes_where_it_takes_the_smaller_share_of_the_storage(sizes: tuple[str, ...], where: str) -> None:
    desk = VolumeDesk()
    desk.storage_class(class_view("local", provisioner="kubernetes.io/no-provisioner"))
    for zone, size in zip("abc", sizes, strict=True):
        desk.volume(volume_view(f"v-{zone}", zone=zone, size=size, storageClassName="local"))
    desk.claim(claim_view("data", size="1Gi", storageClassName="local"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    assert desk.where("p") == where


def test_bound_claims_need_no_writes_and_claims_to_be_provisioned_do() -> None:
    desk = VolumeDesk(binds=False)
    desk.storage_class(class_view("slow"))
    desk.volume(volume_view("v", phase="Bound"))
    desk.claim(bound_claim_view("old", "v"))
    desk.claim(claim_view("new", storageClassName="slow"))
    desk.pod("p", volumes=uses("old"))
    desk.pod("q", volumes=uses("old", "new"))
    first, second = desk.run()
    assert isinstance(first, Placed)
    assert first.volumes is None
    assert isinstance(second, Placed)
    assert second.volumes is not None
    assert [claim.metadata.name for claim in second.volumes.provisioned] == ["new"]


def test_claim_comes_and_brings_its_pod_back_but_no_other() -> None:
    desk = VolumeDesk()
    desk.volume(volume_view("v", phase="Bound"))
    desk.pod("p", volumes=uses("data"))
    desk.pod("q", volumes=uses("other"))
    desk.settle()
    assert desk.messages["p"].startswith('0/3 nodes are available: persistentvolumeclaim "data" not found.')
    desk.claim(bound_claim_view("data", "v"))
    assert (desk.tried("p"), desk.tried("q")) == (2, 1)
    assert desk.where("p")


@pytest.mark.parametrize("what", ["volume", "class", "node", "labels", "csi node"])
def test_changes_that_bring_a_pod_back(what: str) -> None:
    desk = VolumeDesk()
    desk.volume(volume_view("v", zone="d", phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    match what:
        case "volume":
            desk.volume(volume_view("v", zone="a", phase="Bound"))
        case "class":
            desk.storage_class(class_view("new"))
        case "node":
            desk.node("d-1", labels={ZONE: "d"})
        case "labels":
            desk.put_node(make_node("a-1", labels={ZONE: "d"}))
        case _:
            desk.csi_node(csi_node_view("a-1"))
    assert desk.tried("p") == 2
    assert bool(desk.where("p")) is (what in ("volume", "node", "labels"))


def test_changes_that_do_not() -> None:
    desk = VolumeDesk()
    desk.storage_class(class_view("slow"))
    desk.csi_node(csi_node_view("a-1"))
    desk.put(STORAGE_CAPACITIES, CsiStorageCapacity(metadata=ObjectMeta(name="k"), capacity="2Gi"))
    desk.put(CSI_DRIVERS, CsiDriver(metadata=ObjectMeta(name="d")))
    desk.volume(volume_view("v", zone="d", phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    desk.storage_class(class_view("slow", reclaimPolicy="Retain"))
    desk.put(CSI_NODES, CsiNode(metadata=ObjectMeta(name="a-1", labels={"x": "y"})))
    desk.put(STORAGE_CAPACITIES, CsiStorageCapacity(metadata=ObjectMeta(name="k"), capacity="1Gi"))
    desk.put(CSI_DRIVERS, CsiDriver(metadata=ObjectMeta(name="d", labels={"x": "y"})))
    assert desk.tried("p") == 1
    desk.put(STORAGE_CAPACITIES, CsiStorageCapacity(metadata=ObjectMeta(name="k"), capacity="3Gi"))
    assert desk.tried("p") == 2


def test_explanation_names_claim_and_volume() -> None:
    desk = VolumeDesk()
    desk.volume(volume_view("v", zone="b", phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"), nodeSelector={ZONE: "a"})
    desk.settle()
    explanation = desk.scheduler.explain(desk.pods["p"], desk.now)
    [objection] = next(one for one in explanation.nodes if one.node == "a-1").objections
    assert (objection.plugin, objection.what) == (
        "VolumeBinding",
        f"claim data is bound to volume v, which is for nodes with {ZONE} In b",
    )
