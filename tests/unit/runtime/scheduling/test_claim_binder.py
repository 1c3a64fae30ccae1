"""What is written for claims around a binding, and what is not."""

import asyncio
from typing import Any

import msgspec
import pytest

from doorman.api.views.resource.resource_claims import FINALIZER, ResourceClaim
from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch
from doorman.runtime.scheduling.claim_binder import ClaimBinder
from doorman.runtime.virtual_time import run_virtual
from doorman.scheduler.devices.claim_binding import ClaimBinding
from doorman.scheduler.outcomes import Placed
from support.claims import a_claim
from support.scheduling import make_pod

ALLOCATION = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}


class Stored(msgspec.Struct):
    view: ResourceClaim


class Server:
    """Notes what it is asked, and answers with the claim as it is by now."""

    def __init__(self, claim: ResourceClaim, *, refuses: str = "") -> None:
        self.claim = claim
        self.refuses = refuses
        self.asked: list[Any] = []

    async def create(self, action: Create) -> Stored:
        self.asked.append(action)
        return Stored(self.claim)

    async def patch(self, action: Patch) -> Stored:
        self.asked.append(action)
        if self.refuses and action.subresource == self.refuses:
            raise ApiError(409, "Conflict", "no")
        return Stored(self.claim)

    async def delete(self, action: Delete) -> None:
        self.asked.append(action)


def placed(*bindings: ClaimBinding) -> Placed:
    return Placed(pod=make_pod("p"), profile="default-scheduler", node="n", claims=bindings)


def bound(server: Server, *bindings: ClaimBinding) -> str:
    binder = ClaimBinder(server, ManualClock())  # type: ignore[arg-type]  # it has what is needed
    return asyncio.run(binder.bind(placed(*bindings)))


def test_finalizer_first_then_allocation_and_reservation_together() -> None:
    server = Server(a_claim())
    assert bound(server, ClaimBinding(claim=a_claim(), allocation=ALLOCATION)) == ""
    protect, allocate = server.asked
    assert protect.body["metadata"] == {"finalizers": [FINALIZER], "uid": "uid-c"}
    assert allocate.subresource == "status"
    assert allocate.body["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]
    assert allocate.body["status"]["allocation"]["devices"] == ALLOCATION["devices"]
    assert allocate.body["status"]["allocation"]["allocationTimestamp"]


def test_claim_that_has_devices_is_only_reserved() -> None:
    server = Server(a_claim())
    assert bound(server, ClaimBinding(claim=a_claim())) == ""
    [reserve] = server.asked
    assert "allocation" not in reserve.body["status"]


def changed(**parts: Any) -> ResourceClaim:
    return msgspec.structs.replace(a_claim(), **parts)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            changed(metadata=msgspec.structs.replace(a_claim().metadata, deletion_timestamp="x")),
            "claim default/c got deleted in the meantime",
        ),
        (
            changed(status=msgspec.convert({"allocation": ALLOCATION}, type(a_claim().status))),
            "claim default/c got allocated elsewhere in the meantime",
        ),
    ],
)
def test_claim_that_changed_meanwhile_is_left_alone(claim: ResourceClaim, message: str) -> None:
    server = Server(claim)
    said = bound(server, ClaimBinding(claim=a_claim(), allocation=ALLOCATION))
    assert said == f'running PreBind plugin "DynamicResources": {message}'
    assert [one.subresource for one in server.asked] == [""]


def test_claim_for_extended_resources_is_made_told_and_taken_away_again_when_that_fails() -> None:
    server = Server(a_claim(name="made"), refuses="status")
    binder = ClaimBinder(server, ManualClock())  # type: ignore[arg-type]
    one = placed(
        ClaimBinding(claim=a_claim(), allocation=ALLOCATION, manifest={"metadata": {}}, mappings=({"a": "b"},))
    )
    assert asyncio.run(binder.bind(one)) == 'running PreBind plugin "DynamicResources": no'
    asyncio.run(binder.give_back(one))
    assert isinstance(server.asked[0], Create)
    assert isinstance(server.asked[-1], Delete)
    assert server.asked[-1].name == "made"


def test_reservation_of_a_pod_that_could_not_be_bound_is_taken_back() -> None:
    server = Server(a_claim())
    binder = ClaimBinder(server, ManualClock())  # type: ignore[arg-type]
    asyncio.run(binder.give_back(placed(ClaimBinding(claim=a_claim()))))
    [patch] = server.asked
    assert patch.body["status"] == {"reservedFor": [{"$patch": "delete", "uid": "uid-p"}]}


def test_nothing_that_comes_before_the_binding_is_waited_for() -> None:
    server = Server(a_claim())
    manifest = {"metadata": {"namespace": "default"}}
    assert (
        bound(server, ClaimBinding(claim=a_claim(), allocation=ALLOCATION, manifest=manifest, mappings=({"a": "b"},)))
        == ""
    )
    assert [(type(one).__name__, one.is_waited_for) for one in server.asked] == [
        ("Create", False), ("Patch", False), ("Patch", False), ("Patch", False),
    ]  # fmt: skip


@pytest.mark.parametrize("seconds", [pytest.param(30.0, id="short"), pytest.param(1200.0, id="long")])
def test_pod_waits_for_its_devices_as_long_as_its_profile_says(seconds: float) -> None:
    clock = ManualClock()
    began = clock.now()
    binder = ClaimBinder(Server(a_claim()), clock)  # type: ignore[arg-type]
    one = placed(ClaimBinding(claim=a_claim(), allocation=ALLOCATION, timeout_seconds=seconds))
    said = run_virtual(binder.wait_for_devices(one, lambda _key: a_claim()), clock=clock)
    assert said == 'running PreBind plugin "DynamicResources": device binding timeout: claim=c'
    assert clock.now() - began == seconds
