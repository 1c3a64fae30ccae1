"""persistentvolume-binder-controller: what is decided of claims and volumes."""

from collections.abc import Sequence
from typing import Any

import pytest

from doorman.api.volume_annotations import BOUND_BY_CONTROLLER, NO_PROVISIONER, PROVISIONED_BY, SELECTED_NODE
from doorman.client.actions import Action, Patch, RecordEvent
from doorman.controllers.volumes.persistent_volume_binder import (
    KnownVolumes,
    best_match,
    decide_claim,
    decide_volume,
    default_class,
)
from support.volumes import bound_claim_view, claim_view, class_view, volume_view

DEFAULT = {"name": "d", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def around(*volumes: Any, classes: Sequence[Any] = (), waiting: Sequence[str] = ()) -> KnownVolumes:
    return KnownVolumes(
        volumes=volumes, classes={one.metadata.name: one for one in classes}, waiting_pods=tuple(waiting)
    )


def told(actions: Sequence[Action]) -> list[tuple[str, str]]:
    return [(one.reason, one.message) for one in actions if isinstance(one, RecordEvent)]


def written(actions: Sequence[Action]) -> list[tuple[str, str, Any]]:
    """Resource, subresource and body of patches, without uids."""
    found = []
    for one in actions:
        if isinstance(one, Patch):
            metadata = {key: value for key, value in one.body["metadata"].items() if key != "uid"}
            rest = {key: value for key, value in one.body.items() if key != "metadata"}
            found.append((one.resource, one.subresource, {**rest, **({"metadata": metadata} if metadata else {})}))
    return found


def test_both_sides_of_a_binding_are_written_in_order() -> None:
    actions = decide_claim(claim_view(storageClassName=""), around(volume_view()))
    assert [(resource, subresource) for resource, subresource, _ in written(actions)] == [
        ("persistentvolumes", ""),
        ("persistentvolumes", "status"),
        ("persistentvolumeclaims", ""),
        ("persistentvolumeclaims", "status"),
    ]
    volume, phase, claim, status = (body for _, _, body in written(actions))
    assert volume["spec"]["claimRef"]["uid"] == "uid-c"
    assert volume["metadata"]["annotations"] == {BOUND_BY_CONTROLLER: "yes"}
    assert phase["status"]["phase"] == "Bound"
    assert claim["spec"] == {"volumeName": "v"}
    assert set(claim["metadata"]["annotations"]) == {BOUND_BY_CONTROLLER, "pv.kubernetes.io/bind-completed"}
    assert status["status"] == {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}


@pytest.mark.parametrize(
    ("claim", "surroundings", "events"),
    [
        pytest.param(
            claim_view(storageClassName=""),
            around(),
            [("FailedBinding", "no persistent volumes available for this claim and no storage class is set")],
            id="no class, no volume",
        ),
        pytest.param(
            claim_view(storageClassName="slow"),
            around(classes=[class_view("slow")]),
            [("WaitForFirstConsumer", "waiting for first consumer to be created before binding")],
            id="first consumer",
        ),
        pytest.param(
            claim_view(storageClassName="slow"),
            around(classes=[class_view("slow")], waiting=["p"]),
            [("WaitForPodScheduled", "waiting for pod p to be scheduled")],
            id="a pod that waits",
        ),
        pytest.param(
            claim_view(storageClassName="slow"),
            around(),
            [("ProvisioningFailed", 'storageclass.storage.k8s.io "slow" not found')],
            id="no such class",
        ),
        pytest.param(
            claim_view(storageClassName="slow"),
            around(classes=[class_view("slow", mode="Immediate", provisioner=NO_PROVISIONER)]),
            [],
            id="made by hand",
        ),
        pytest.param(
            claim_view(storageClassName="", volumeName="v", size="2Gi"),
            around(volume_view()),
            [("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small')],
            id="named volume too small",
        ),
        pytest.param(
            claim_view(storageClassName="", volumeName="v"),
            around(volume_view(claimRef={"namespace": "default", "name": "other"})),
            [("FailedBinding", 'volume "v" already bound to a different claim.')],
            id="named volume is another's",
        ),
        pytest.param(
            bound_claim_view("c", "v"),
            around(),
            [("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")],
            id="volume gone",
        ),
        pytest.param(
            bound_claim_view("c", "v"),
            around(volume_view(claimRef={"namespace": "default", "name": "x", "uid": "y"})),
            [("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")],
            id="two claims",
        ),
    ],
)
def test_what_claims_are_told(claim: Any, surroundings: KnownVolumes, events: list[tuple[str, str]]) -> None:
    assert told(decide_claim(claim, surroundings)) == events


def test_provisioner_is_told_by_annotations_when_it_is_its_turn() -> None:
    selected = claim_view(storageClassName="slow", metadata={"annotations": {SELECTED_NODE: "n"}})
    at_once = claim_view(storageClassName="slow")
    for claim, mode in ((selected, "WaitForFirstConsumer"), (at_once, "Immediate")):
        actions = decide_claim(claim, around(classes=[class_view("slow", mode=mode)]))
        [(_, _, body)] = written(actions)
        assert set(body["metadata"]["annotations"].values()) == {"example.com/p"}
        [(reason, text)] = told(actions)
        assert reason == "ExternalProvisioning"
        assert text.startswith(
            "Waiting for a volume to be created either by the external provisioner 'example.com/p' or manually by the "
            "system administrator."
        )


def test_claim_without_class_gets_the_default_one_later() -> None:
    default = class_view("d", metadata=DEFAULT)
    [(_, _, body)] = written(decide_claim(claim_view(), around(classes=[default, class_view("other")])))
    assert body["spec"] == {"storageClassName": "d"}
    assert default_class([class_view("other")]) is None


def test_fewer_access_modes_come_first() -> None:
    many = volume_view("a", size="1Gi", modes=["ReadWriteOnce", "ReadWriteMany"])
    one = volume_view("b", size="2Gi")
    assert best_match(claim_view(), [many, one], delayed=False) is one


def reference(**more: str) -> dict[str, str]:
    return {"namespace": "default", "name": "c", **more}


@pytest.mark.parametrize(
    ("volume", "claim", "phase"),
    [
        pytest.param(volume_view(phase="Pending"), None, "Available", id="free"),
        pytest.param(volume_view(phase="Pending", claimRef=reference()), None, "Available", id="kept for a name"),
        pytest.param(
            volume_view(claimRef=reference(uid="uid-c")), bound_claim_view("c", "v"), "Bound", id="its claim has it"
        ),
        pytest.param(
            volume_view(phase="Bound", claimRef=reference(uid="uid-c"), persistentVolumeReclaimPolicy="Retain"),
            None,
            "Released",
            id="its claim is gone",
        ),
    ],
)
def test_phases_of_volumes(volume: Any, claim: Any, phase: str) -> None:
    [(_, subresource, body)] = written(decide_volume(volume, claim))
    assert (subresource, body["status"]["phase"]) == ("status", phase)


def test_volume_whose_claim_has_another_is_free_again_or_deleted() -> None:
    claim = bound_claim_view("c", "other")
    by_controller = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    [(_, _, body), _] = written(
        decide_volume(volume_view(metadata=by_controller, claimRef=reference(uid="uid-c"), phase="Bound"), claim)
    )
    assert body["spec"] == {"claimRef": None}
    [(_, _, body), _] = written(decide_volume(volume_view(claimRef=reference(uid="uid-c"), phase="Bound"), claim))
    assert body["spec"] == {"claimRef": {"uid": None, "resourceVersion": None}}
    made = volume_view(
        metadata={"annotations": {PROVISIONED_BY: "x"}},
        claimRef=reference(uid="uid-c"),
        phase="Bound",
        persistentVolumeReclaimPolicy="Delete",
    )
    [(_, _, body)] = written(decide_volume(made, claim))
    assert body["status"]["phase"] == "Released"


def test_nothing_is_written_when_all_is_said() -> None:
    volume = volume_view(phase="Bound", claimRef=reference(uid="uid-c"))
    claim = bound_claim_view("c", "v")
    status = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    done = claim_view("c", metadata={"annotations": claim.metadata.annotations}, status=status, volumeName="v")
    assert decide_claim(done, around(volume)) == []
    assert decide_volume(volume, done) == []
