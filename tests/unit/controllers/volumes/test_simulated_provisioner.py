"""The provisioner of simulated volumes."""

from typing import Any

import pytest

from doorman.client.actions import Patch, RecordEvent
from doorman.controllers.volumes.simulated_provisioner import decide_resize, decide_zone, delay_of, volume_manifest
from support.scheduling import make_node
from support.volumes import ZONE, claim_view, class_view, volume_view

NODES = [make_node(f"{zone}-1", labels={ZONE: zone}) for zone in ("c", "a", "b")]


def test_volume_is_the_claims_and_of_the_zone() -> None:
    claim = claim_view(storageClassName="s", size="3Gi", volumeMode="Block")
    spec = volume_manifest(claim, class_view("s", reclaimPolicy="Retain", mountOptions=["ro"]), "a")["spec"]
    assert spec["capacity"] == {"storage": "3Gi"}
    assert (spec["claimRef"]["uid"], spec["volumeMode"], spec["mountOptions"]) == ("uid-c", "Block", ["ro"])
    assert (spec["persistentVolumeReclaimPolicy"], spec["storageClassName"]) == ("Retain", "s")
    [term] = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": ZONE, "operator": "In", "values": ["a"]}]
    assert "nodeAffinity" not in volume_manifest(claim, class_view("s"), "")["spec"]


def test_zone_for_a_claim_nobody_uses_yet_is_one_that_the_class_allows() -> None:
    claim = claim_view()
    assert decide_zone(claim, class_view("s"), []) == ""
    assert decide_zone(claim, class_view("s"), NODES) in ("a", "b", "c")
    only_b = class_view("s", allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}])
    assert decide_zone(claim, only_b, NODES) == "b"


@pytest.mark.parametrize(
    ("size", "volume_size", "capacity", "allowed", "written"),
    [
        pytest.param("2Gi", "1Gi", "1Gi", True, ["persistentvolumes", "persistentvolumeclaims"], id="grows"),
        pytest.param("2Gi", "2Gi", "1Gi", True, ["persistentvolumeclaims"], id="the claim is to be told"),
        pytest.param("2Gi", "2Gi", "2Gi", True, [], id="all done"),
        pytest.param("2Gi", "1Gi", "1Gi", False, [], id="the class does not allow it"),
        pytest.param("1Gi", "5Gi", "5Gi", True, [], id="the volume is larger anyway"),
    ],
)
def test_resizing(size: str, volume_size: str, capacity: str, allowed: bool, written: list[str]) -> None:
    claim = claim_view(size=size, status={"phase": "Bound", "capacity": {"storage": capacity}})
    actions = decide_resize(claim, volume_view(size=volume_size), allowed=allowed)
    assert [one.resource for one in actions if isinstance(one, Patch)] == written
    events = [one.reason for one in actions if isinstance(one, RecordEvent)]
    assert events[-1:] == (["VolumeResizeSuccessful"] if written else [])


@pytest.mark.parametrize(("text", "seconds"), [("5s", 5.0), ("", 0.0), ("-1s", 0.0), ("soon", 0.0)])
def test_delay(text: str, seconds: float) -> None:
    annotations: dict[str, Any] = {"doorman.dev/provision-delay": text} if text else {}
    assert delay_of(annotations) == seconds
