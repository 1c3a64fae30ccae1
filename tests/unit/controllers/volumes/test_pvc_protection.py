"""persistentvolumeclaim-protection-controller."""

from typing import Any

import pytest

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import ClaimVolumeSource, Pod, PodSpec, Volume
from doorman.api.views.storage.persistent_volumes import PersistentVolumeClaim, PersistentVolumeClaimStatus
from doorman.base.clock import Instant
from doorman.controllers.volumes.pvc_protection import FINALIZER, decide_claim

NOW = Instant(0)
GOING = {"deletion_timestamp": "2024-01-02T03:04:05Z"}


def claim(phase: str = "Pending", **meta: Any) -> PersistentVolumeClaim:
    found = ObjectMeta(name="c", namespace="n", uid="u", finalizers=(FINALIZER,), **meta)
    return PersistentVolumeClaim(metadata=found, status=PersistentVolumeClaimStatus(phase=phase))


def pod(node: str) -> Pod:
    volume = Volume(persistent_volume_claim=ClaimVolumeSource(claim_name="c"))
    return Pod(metadata=ObjectMeta(name="p", namespace="n"), spec=PodSpec(node_name=node, volumes=(volume,)))


@pytest.mark.parametrize(
    ("pods", "is_kept"),
    [
        pytest.param([], False, id="nobody"),
        pytest.param([pod("")], False, id="waiting-pod"),
        pytest.param([pod("node")], True, id="pod-on-a-node"),
    ],
)
def test_claim_that_is_to_go(pods: list[Pod], is_kept: bool) -> None:
    assert (decide_claim(claim(**GOING), pods, NOW) == []) is is_kept


@pytest.mark.parametrize(
    ("pods", "status"), [pytest.param([], "True", id="unused"), pytest.param([pod("")], "False", id="used")]
)
def test_bound_claim_says_whether_it_is_used(pods: list[Pod], status: str) -> None:
    (patch,) = decide_claim(claim("Bound"), pods, NOW)
    (condition,) = patch.body["status"]["conditions"]  # type: ignore[attr-defined]  # a patch
    assert (condition["type"], condition["status"]) == ("Unused", status)
