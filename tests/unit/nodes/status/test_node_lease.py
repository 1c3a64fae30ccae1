"""Leases: created once, renewed in a slot of the node's own."""

import pytest

from doorman.api.views.coordination import Lease, LeaseSpec
from doorman.api.views.meta import ObjectMeta, OwnerReference
from doorman.base.instants import to_micro_time
from doorman.client.actions import Create, Patch
from doorman.nodes.status.node_lease import SLOTS, decide_renewal, is_fresh, is_in_order, next_instant, slot_of

NODE = ObjectMeta(name="n1", uid="u1")


def lease(holder: str = "n1", owner: str = "u1") -> Lease:
    owners = (OwnerReference(uid=owner),) if owner else ()
    return Lease(
        metadata=ObjectMeta(name="n1", owner_references=owners),
        spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=40),
    )


def test_missing_lease_is_created_with_its_owner() -> None:
    action = decide_renewal(NODE, None, 0.5, 40)
    assert isinstance(action, Create)
    assert action.body["spec"] == {
        "holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "1970-01-01T00:00:00.500000Z",
    }  # fmt: skip
    assert action.body["metadata"]["ownerReferences"][0]["uid"] == "u1"


def test_renewal_sends_only_the_time() -> None:
    action = decide_renewal(NODE, lease(), 10.0, 40)
    assert isinstance(action, Patch)
    assert action.body == {"spec": {"renewTime": "1970-01-01T00:00:10.000000Z"}}


@pytest.mark.parametrize(
    ("found", "part"),
    [
        pytest.param(lease(owner=""), "metadata", id="no-owner"),
        pytest.param(lease(owner="u0"), "metadata", id="owner-was-a-namesake"),
    ],
)
def test_missing_owner_is_added_on_renewal(found: Lease, part: str) -> None:
    action = decide_renewal(NODE, found, 10.0, 40)
    assert isinstance(action, Patch)
    assert part in action.body


@pytest.mark.parametrize(
    ("found", "duration", "expected"),
    [
        pytest.param(lease(), 40, True, id="own"),
        pytest.param(lease(holder="n2"), 40, False, id="another-holder"),
        pytest.param(lease(), 50, False, id="another-duration"),
        pytest.param(lease(owner=""), 40, False, id="no-owner"),
        pytest.param(lease(owner="u0"), 40, False, id="owner-was-a-namesake"),
    ],
)
def test_lease_is_in_order_when_only_its_time_changes(found: Lease, duration: int, expected: bool) -> None:
    assert is_in_order(NODE, found, duration) is expected


def test_renewals_are_spread_evenly_over_the_period() -> None:
    counts = [0] * SLOTS
    for number in range(10_000):
        counts[slot_of(f"node-{number}")] += 1
    assert min(counts) > 400
    assert max(counts) < 600


def test_next_instant_of_a_slot_is_after_now_and_within_a_period() -> None:
    for number in range(200):
        now = 1_767_225_600.0 + number * 0.37
        instant = next_instant(7, 10.0, now)
        assert now < instant <= now + 10.0
        assert next_instant(7, 10.0, instant) == instant + 10.0


def test_lease_is_fresh_until_its_slot_comes_again() -> None:
    renewed = Lease(spec=LeaseSpec(renew_time=to_micro_time(100.0)))
    assert is_fresh(renewed, 110.0, 10.0)
    assert not is_fresh(renewed, 110.5, 10.0)
    assert not is_fresh(Lease(spec=LeaseSpec(renew_time="soon")), 110.5, 10.0)
