"""Which claims and disks are a pod's."""

from typing import Any

import pytest

from doorman.semantics.volumes.pod_volumes import are_in_conflict, asks_for_volumes, claim_keys, ownership_fault
from support.scheduling import make_pod
from support.volumes import claim_view, uses


def test_claims_are_named_or_made_for_ephemeral_volumes() -> None:
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    pod = make_pod("p", volumes=[*uses("data", "data"), scratch, {"name": "x", "emptyDir": {}}])
    assert claim_keys(pod) == ("default/data", "default/p-scratch")


@pytest.mark.parametrize(
    ("volume", "asks"),
    [
        pytest.param({"emptyDir": {}}, False, id="emptyDir"),
        pytest.param({"projected": {"sources": []}}, False, id="the token of a service account"),
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, True, id="a claim"),
        pytest.param({"ephemeral": {}}, True, id="ephemeral"),
        pytest.param({"gcePersistentDisk": {"pdName": "d"}}, True, id="a disk"),
    ],
)
def test_who_asks_for_volumes(volume: dict[str, Any], asks: bool) -> None:
    assert asks_for_volumes(make_pod("p", volumes=[{"name": "v", **volume}]).spec) is asks


GCE = {"gcePersistentDisk": {"pdName": "d"}}
GCE_READ_ONLY = {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}
AWS = {"awsElasticBlockStore": {"volumeID": "d"}}
ISCSI = {"iscsi": {"iqn": "d"}}
RBD = {"rbd": {"monitors": ["m1", "m2"], "pool": "p", "image": "i"}}


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        pytest.param(GCE, GCE, True, id="gce: the same disk"),
        pytest.param(GCE, GCE_READ_ONLY, True, id="gce: one writes"),
        pytest.param(GCE_READ_ONLY, GCE_READ_ONLY, False, id="gce: both read"),
        pytest.param(AWS, AWS, True, id="aws"),
        pytest.param(AWS, {"awsElasticBlockStore": {"volumeID": "e"}}, False, id="aws: another disk"),
        pytest.param(ISCSI, ISCSI, True, id="iscsi"),
        pytest.param(RBD, {"rbd": {"monitors": ["m2"], "pool": "p", "image": "i"}}, True, id="rbd: a common monitor"),
        pytest.param(RBD, {"rbd": {"monitors": ["m3"], "pool": "p", "image": "i"}}, False, id="rbd: another cluster"),
        pytest.param(GCE, AWS, False, id="of different kinds"),
    ],
)
def test_disks_that_cannot_be_shared(one: dict[str, Any], other: dict[str, Any], conflict: bool) -> None:
    [first] = make_pod("p", volumes=[{"name": "v", **one}]).spec.volumes
    [second] = make_pod("q", volumes=[{"name": "v", **other}]).spec.volumes
    assert are_in_conflict(first, second) is conflict


def test_claim_of_an_ephemeral_volume_must_be_the_pods_own() -> None:
    pod = make_pod("p")
    owner = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    assert ownership_fault(pod, claim_view("p-x", metadata={"ownerReferences": [owner]})) == ""
    assert ownership_fault(pod, claim_view("p-x")) == (
        "PVC default/p-x was not created for pod default/p (pod is not owner)"
    )
