"""A pod's claims, by how far they are."""

from typing import Any

import pytest

from doorman.api.views.storage.persistent_volumes import CLAIMS
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.scheduler.framework import PreFilterReject
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims, pod_volume_claims
from doorman.scheduler.volumes.volume_state import VolumeState
from support.scheduling import make_pod
from support.volumes import bound_claim_view, claim_view, class_view, uses

IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


def known(*claims: Any) -> VolumeState:
    state = VolumeState()
    state.changed(STORAGE_CLASSES, None, class_view("slow"))
    state.changed(STORAGE_CLASSES, None, class_view("fast", mode="Immediate"))
    for claim in claims:
        state.changed(CLAIMS, None, claim)
    return state


def test_bound_and_delayed_ones_are_told_apart() -> None:
    bound, delayed = bound_claim_view("a", "v"), claim_view("b", storageClassName="slow")
    found = pod_volume_claims(make_pod("p", volumes=uses("a", "b")), known(bound, delayed))
    assert found == PodVolumeClaims(bound=(bound,), delayed=(delayed,))
    assert pod_volume_claims(make_pod("q"), known()) is None


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        pytest.param(None, 'persistentvolumeclaim "c" not found', id="missing"),
        pytest.param(claim_view("c", storageClassName="fast"), IMMEDIATE, id="binds at once"),
        pytest.param(claim_view("c", storageClassName="none"), IMMEDIATE, id="of no class that exists"),
        pytest.param(claim_view("c", storageClassName="slow", volumeName="v"), IMMEDIATE, id="names its volume"),
        pytest.param(
            claim_view("c", status={"phase": "Lost"}, volumeName="v"),
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="lost",
        ),
        pytest.param(
            claim_view("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            'persistentvolumeclaim "c" is being deleted',
            id="being deleted",
        ),
    ],
)
def test_claims_for_which_the_pod_waits(claim: Any, message: str) -> None:
    found = pod_volume_claims(make_pod("p", volumes=uses("c")), known(*([claim] if claim is not None else [])))
    assert isinstance(found, PreFilterReject)
    assert (found.message, found.final) == (message, True)


def test_claim_of_an_ephemeral_volume_is_waited_for() -> None:
    pod = make_pod("p", volumes=[{"name": "x", "ephemeral": {}}])
    found = pod_volume_claims(pod, known())
    assert isinstance(found, PreFilterReject)
    assert found.message == 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-x"'
    found = pod_volume_claims(pod, known(claim_view("p-x")))
    assert isinstance(found, PreFilterReject)
    assert found.message == "PVC default/p-x was not created for pod default/p (pod is not owner)"
