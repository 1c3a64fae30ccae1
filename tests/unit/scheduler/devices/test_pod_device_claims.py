"""Which claims of a pod are ready, and what its extended resources come to."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.meta import OwnerReference
from doorman.api.views.resource.devices import CLASSES, SLICES
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.devices.device_fits import STALE_CLAIM
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.devices.pod_device_claims import (
    ClaimsNotReady,
    PodDeviceClaims,
    claims_of,
    extended_claim_or_none,
)
from support.claims import a_claim, a_class, a_slice
from support.scheduling import make_node, make_pod

NAMED = {"resourceClaims": [{"name": "d", "resourceClaimName": "c"}]}
GENERATED = {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}]}


def a_state() -> tuple[DeviceState, ClusterState]:
    resources = ResourceIds()
    cluster = ClusterState(resources)
    cluster.set_node(make_node("node-1"))
    cluster.set_node(make_node("node-2", example_com__gpu="0", **{"example.com__gpu": "4"}))
    state = DeviceState(cluster)
    state.changed(CLASSES, None, a_class(extendedResourceName="example.com/gpu"))
    state.changed(SLICES, None, a_slice("node-1", "a"))
    return state, cluster


def told(**metadata: Any) -> Any:
    claim = a_claim()
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, **metadata))


STATUS = {"resourceClaimStatuses": [{"name": "d", "resourceClaimName": "c"}]}


@pytest.mark.parametrize(
    ("claim", "spec", "status", "message"),
    [
        pytest.param(None, NAMED, {}, 'resourceclaim.resource.k8s.io "c" not found', id="not there"),
        pytest.param(told(deletion_timestamp="x"), NAMED, {}, 'resourceclaim "c" is being deleted', id="going"),
        pytest.param(None, GENERATED, {}, 'pod "default/p": ResourceClaim not created yet', id="not made yet"),
        pytest.param(
            told(), GENERATED, STATUS,
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)", id="somebody else's",
        ),
    ],
)  # fmt: skip
def test_claims_that_are_not_ready(claim: Any, spec: Any, status: Any, message: str) -> None:
    state, _ = a_state()
    if claim is not None:
        state.changed(CLAIMS, None, claim)
    with pytest.raises(ClaimsNotReady) as found:
        claims_of(make_pod("p", status=status, **spec), state)
    assert str(found.value) == message


def test_entry_that_needs_no_claim_is_passed_over() -> None:
    state, _ = a_state()
    status = {"resourceClaimStatuses": [{"name": "d"}]}
    assert claims_of(make_pod("p", status=status, **GENERATED), state) == []


def test_extended_resources_come_to_devices_only_where_the_node_has_none_itself() -> None:
    state, cluster = a_state()
    pod = make_pod("p", requests={"example.com/gpu": "2"})
    cluster.resources.index("example.com/gpu")
    cluster.ensure_resources()
    extended = extended_claim_or_none(pod, state)
    assert extended is not None
    assert extended.amounts == (("example.com/gpu", 2),)
    claims = PodDeviceClaims(pod, (), (), extended)
    made = claims.on_node(state, cluster, 0)
    assert not isinstance(made, int)
    [claim] = made
    assert [(one.name, one.exactly.count) for one in claim.spec.devices.requests if one.exactly is not None] == [
        ("container-0-request-0", 2)
    ]
    assert claims.on_node(state, cluster, 1) == ()
    assert extended_claim_or_none(make_pod("q"), state) is None


def test_claim_that_an_earlier_attempt_has_left_stands_in_the_way() -> None:
    state, cluster = a_state()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    references = msgspec.convert([owner], tuple[OwnerReference, ...])
    state.changed(CLAIMS, None, told(annotations=annotations, owner_references=references))
    pod = make_pod("p", requests={"example.com/gpu": "2"})
    extended = extended_claim_or_none(pod, state)
    assert PodDeviceClaims(pod, (), (), extended).on_node(state, cluster, 0) == STALE_CLAIM
