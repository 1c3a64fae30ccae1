"""The plugin at its extension points, in a scheduler without a server."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.resource.devices import CLASSES, SLICES
from doorman.api.views.resource.resource_claims import CLAIMS, ResourceClaim
from doorman.scheduler.outcomes import Placed, Rejected
from support.claims import a_claim, a_class, a_slice
from support.devices import DRIVER, device, request
from support.scheduling import Desk, make_pod


def schedule(desk: Desk, name: str, claim: str = "c") -> Placed | Rejected:
    """What becomes of a pod with that claim; nothing is bound."""
    entries = [{"name": "d", "resourceClaimName": claim}] if claim else []
    desk.put_pod(make_pod(name, resourceClaims=entries))
    [outcome] = desk.scheduler.schedule(desk.now, pods_max=9)
    assert isinstance(outcome, Placed | Rejected)
    return outcome


def a_desk(*slices: Any, nodes: int = 1) -> Desk:
    desk = Desk(binds=False)
    for number in range(1, nodes + 1):
        desk.node(f"node-{number}")
    desk.scheduler.object_changed(CLASSES, None, a_class(), desk.now)
    for each in slices:
        desk.scheduler.object_changed(SLICES, None, each, desk.now)
    return desk


def told(desk: Desk, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
    desk.scheduler.object_changed(CLAIMS, old, new, desk.now)


def written(claim: ResourceClaim, placed: Placed) -> ResourceClaim:
    """The claim as it is seen after the binding has written it."""
    [binding] = placed.claims
    owner = {"resource": "pods", "name": placed.pod.metadata.name, "uid": placed.pod.metadata.uid}
    status = {"allocation": binding.allocation, "reservedFor": [owner]}
    return msgspec.structs.replace(claim, status=msgspec.convert(status, type(claim.status)))


def test_placement_says_what_is_to_be_written() -> None:
    desk = a_desk(a_slice("node-1", "a"))
    told(desk, None, a_claim())
    placed = schedule(desk, "p")
    assert isinstance(placed, Placed)
    [binding] = placed.claims
    assert binding.allocation is not None
    assert binding.allocation["devices"]["results"][0]["device"] == "a"


def test_device_of_a_pod_that_could_not_be_bound_is_free_again() -> None:
    desk = a_desk(a_slice("node-1", "a"))
    told(desk, None, a_claim())
    told(desk, None, a_claim(name="other"))
    placed = schedule(desk, "p")
    rejected = schedule(desk, "q", "other")
    assert isinstance(rejected, Rejected)
    assert "1 cannot allocate all claims" in rejected.message
    desk.scheduler.bind_failed(placed.pod.metadata.key, "no", desk.now)
    desk.now += 30
    told(desk, a_claim(name="other"), a_claim(name="other"))
    desk.scheduler.object_changed(SLICES, None, a_slice("node-1", "a"), desk.now)
    assert any(isinstance(one, Placed) for one in desk.scheduler.schedule(desk.now, pods_max=9))


def test_claim_that_is_being_allocated_is_waited_for() -> None:
    desk = a_desk(a_slice("node-1", "a"))
    told(desk, None, a_claim())
    placed = schedule(desk, "p")
    rejected = schedule(desk, "q")
    assert isinstance(rejected, Rejected)
    assert "resource claim default/c is in the process of being allocated" in rejected.message
    assert isinstance(placed, Placed)
    told(desk, a_claim(), written(a_claim(), placed))
    desk.now += 30
    [second] = desk.scheduler.schedule(desk.now, pods_max=9)
    assert isinstance(second, Placed)
    [binding] = second.claims
    assert binding.allocation is None, "only the reservation is missing"


def test_earlier_alternative_is_preferred_between_nodes() -> None:
    good = a_slice("node-2", device("good", attributes={"kind": {"string": "good"}}))
    poor = a_slice("node-1", device("poor", attributes={"kind": {"string": "poor"}}))
    desk = a_desk(poor, good, nodes=2)

    def option(kind: str) -> dict[str, Any]:
        expression = f"device.attributes['{DRIVER}'].kind == '{kind}'"
        return {"name": kind, "deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}

    told(desk, None, a_claim({"name": "r", "firstAvailable": [option("good"), option("poor")]}))
    placed = schedule(desk, "p")
    assert isinstance(placed, Placed)
    assert placed.node == "node-2"


def test_claim_that_keeps_its_pod_from_every_node_is_to_be_given_up_unless_others_use_it() -> None:
    desk = a_desk(a_slice("node-1", "a"), nodes=2)
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
    result = {"request": "r", "driver": DRIVER, "pool": "gone", "device": "x"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    claim = a_claim()
    free = msgspec.structs.replace(claim, status=msgspec.convert({"allocation": allocation}, type(claim.status)))
    told(desk, None, free)
    rejected = schedule(desk, "p")
    assert isinstance(rejected, Rejected)
    assert rejected.given_up == free
    assert rejected.message.startswith(
        "0/2 nodes are available: 2 resourceclaim not available on the node. "
        "deallocation of ResourceClaim completed, preemption: "
    )
    users = {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": "x", "uid": "x"}]}
    used = msgspec.structs.replace(claim, status=msgspec.convert(users, type(claim.status)))
    told(desk, free, used)
    desk.now += 30
    [again] = desk.scheduler.schedule(desk.now, pods_max=9)
    assert isinstance(again, Rejected)
    assert again.given_up is None


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (a_claim(request(deviceClassName="x")), "request r: device class x does not exist"),
        (
            a_claim({"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "x"}]}),
            "request r/s: device class x does not exist",
        ),
        (a_claim({"name": "r"}), "resource claim default/c, request r: unknown request type"),
    ],
)
def test_prefilter_messages(claim: ResourceClaim, message: str) -> None:
    desk = a_desk()
    told(desk, None, claim)
    rejected = schedule(desk, "p")
    assert isinstance(rejected, Rejected)
    assert rejected.message.startswith(f"0/1 nodes are available: {message}. preemption:")


def test_pods_without_claims_are_not_looked_at() -> None:
    desk = a_desk(a_slice("node-1", "a"))
    placed = schedule(desk, "p", "")
    assert isinstance(placed, Placed)
    assert placed.claims == ()
    assert ("DynamicResources", "Filter", "default-scheduler") not in desk.scheduler.statistics.evaluated()
