"""What is taken and free while claims are decided, written and seen."""

from fractions import Fraction
from typing import Any

import msgspec

from doorman.api.views.resource.devices import CLASSES, SLICES, TAINT_RULES, DeviceTaintRule
from doorman.api.views.resource.resource_claims import CLAIMS, AllocatedDevice, ResourceClaim
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.devices.device_state import DeviceGates, DeviceState, pending_uid
from doorman.scheduler.framework import ActionType, EventResource
from support.claims import a_claim, a_class, a_slice
from support.devices import DRIVER, taint
from support.scheduling import make_node

GPU = AllocatedDevice(request="r", driver=DRIVER, pool="node-1", device="a")


def a_state(gates: DeviceGates | None = None) -> DeviceState:
    resources = ResourceIds()
    state = DeviceState(ClusterState(resources), gates)
    state.changed(SLICES, None, a_slice("node-1", "a", "b"))
    return state


def having(claim: ResourceClaim, *results: AllocatedDevice) -> ResourceClaim:
    document = {"allocation": {"devices": {"results": msgspec.to_builtins(results)}}}
    return msgspec.structs.replace(claim, status=msgspec.convert(document, type(claim.status)))


def test_allocation_counts_from_decision_to_release() -> None:
    state, claim = a_state(), a_claim()
    state.changed(CLAIMS, None, claim)
    state.reserve(claim, "default/p", (GPU,))
    assert (state.taken.is_taken(GPU.id), state.is_pending("uid-c")) == (True, True)
    state.changed(CLAIMS, claim, having(claim, GPU))
    assert (state.taken.is_taken(GPU.id), state.is_pending("uid-c")) == (True, False)
    state.changed(CLAIMS, having(claim, GPU), claim)
    assert not state.taken.is_taken(GPU.id)


def test_change_of_the_claim_before_the_write_leaves_the_allocation_pending() -> None:
    state, claim = a_state(), a_claim()
    state.changed(CLAIMS, None, claim)
    state.reserve(claim, "default/p", (GPU,))
    labelled = msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, labels={"a": "b"}))
    state.changed(CLAIMS, claim, labelled)
    assert (state.taken.is_taken(GPU.id), state.is_pending("uid-c")) == (True, True)


def test_pod_that_could_not_be_bound_gives_its_devices_back() -> None:
    state, claim = a_state(), a_claim()
    state.changed(CLAIMS, None, claim)
    state.reserve(claim, "default/p", (GPU,))
    state.unreserve("default/q")
    assert state.taken.is_taken(GPU.id)
    state.unreserve("default/p")
    assert (state.taken.is_taken(GPU.id), state.is_pending("uid-c")) == (False, False)


def test_claim_that_is_freed_before_its_allocation_was_seen_is_free() -> None:
    state, claim = a_state(), a_claim()
    state.changed(CLAIMS, None, claim)
    state.reserve(claim, "default/p", (GPU,))
    state.written("default/p")
    state.changed(CLAIMS, claim, claim)
    assert (state.taken.is_taken(GPU.id), state.is_pending("uid-c")) == (False, False)


def test_deleted_claim_frees_what_it_had_and_what_was_pending() -> None:
    state, claim = a_state(), a_claim()
    state.changed(CLAIMS, None, claim)
    state.reserve(claim, "default/p", (GPU,))
    state.changed(CLAIMS, claim, None)
    assert (state.taken.is_taken(GPU.id), state.claim("default/c")) == (False, None)


def test_namesake_takes_over_nothing() -> None:
    state = a_state()
    old = having(a_claim(), GPU)
    new = msgspec.structs.replace(a_claim(), metadata=msgspec.structs.replace(old.metadata, uid="other"))
    state.changed(CLAIMS, None, old)
    events = state.changed(CLAIMS, old, new)
    assert [event.change for event in events] == [ActionType.DELETE, ActionType.ADD]
    assert not state.taken.is_taken(GPU.id)


def test_events_name_the_pods_they_are_about_unless_devices_were_freed() -> None:
    state, claim = a_state(), a_claim()
    state.users.pod_waits("default/p", ("default/c",))
    [added] = state.changed(CLAIMS, None, claim)
    assert (added.resource, added.change, added.only) == (
        EventResource.RESOURCE_CLAIM, ActionType.ADD, frozenset({"default/p"}),
    )  # fmt: skip
    [allocated] = state.changed(CLAIMS, claim, having(claim, GPU))
    assert allocated.only == frozenset({"default/p"})
    [freed] = state.changed(CLAIMS, having(claim, GPU), claim)
    assert freed.only is None
    state.users.pod_ends_waiting("default/p")
    [updated] = state.changed(CLAIMS, claim, having(claim, GPU))
    assert updated.only == frozenset()


def test_rules_wake_pods_only_when_they_change_something() -> None:
    state = a_state()

    def rule(pool: str) -> DeviceTaintRule:
        spec = {"deviceSelector": {"pool": pool}, "taint": taint()}
        return msgspec.convert({"metadata": {"name": "r"}, "spec": spec}, DeviceTaintRule)

    assert state.changed(TAINT_RULES, None, rule("elsewhere")) == []
    assert [event.resource for event in state.changed(TAINT_RULES, None, rule("node-1"))] == [
        EventResource.RESOURCE_SLICE
    ]
    assert state.changed(TAINT_RULES, rule("node-1"), rule("node-1")) == []


def test_gates_turn_taints_and_rules_off() -> None:
    rule = msgspec.convert(
        {"metadata": {"name": "r"}, "spec": {"deviceSelector": {}, "taint": taint()}}, DeviceTaintRule
    )
    without_rules = a_state(DeviceGates(rules=False))
    assert without_rules.changed(TAINT_RULES, None, rule) == []
    without = a_state(DeviceGates(taints=False))
    without.changed(SLICES, None, a_slice("node-1", {"name": "a", "taints": [taint()]}))
    assert [published.taints for published in without.pools.all_devices()] == [()]


def test_class_events() -> None:
    state = a_state()
    [added] = state.changed(CLASSES, None, a_class())
    assert (added.resource, added.change) == (EventResource.DEVICE_CLASS, ActionType.ADD)
    assert state.changed(CLASSES, a_class(), None) == []


def test_claim_that_is_seen_as_was_decided_changes_nothing_that_was_worked_out() -> None:
    state, claim = a_state(), a_claim()
    state._cluster.set_node(make_node("node-1"))
    state.changed(CLAIMS, None, claim)
    state.reserve(claim, "default/p", (GPU,))
    position = state.rows.end
    state.changed(CLAIMS, claim, having(claim, GPU))
    assert (state.rows.since(position), state.taken.holders(GPU.id)) == ([], ("default/c",))
    state.changed(CLAIMS, having(claim, GPU), having(claim, msgspec.structs.replace(GPU, device="b")))
    assert state.rows.since(position) == [0]
    assert not state.taken.is_taken(GPU.id)


def extended(**status: Any) -> ResourceClaim:
    metadata = {
        "namespace": "default", "name": "made", "uid": "uid-made",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}],
    }  # fmt: skip
    return msgspec.convert({"metadata": metadata, "status": status}, ResourceClaim)


def test_share_for_extended_resources_counts_once_when_its_claim_is_seen() -> None:
    state = a_state()
    share = msgspec.structs.replace(GPU, share_id="s", consumed_capacity={"memory": "10Gi"})
    pending = a_claim()
    decided = msgspec.structs.replace(
        pending, metadata=msgspec.structs.replace(pending.metadata, uid=pending_uid("uid-p"))
    )
    state.reserve(decided, "default/p", (share,))
    state.changed(CLAIMS, None, extended())
    assert state.is_pending(pending_uid("uid-p"))
    seen = having(extended(), share)
    state.changed(CLAIMS, extended(), seen)
    assert not state.is_pending(pending_uid("uid-p"))
    assert state.taken.holders(GPU.id) == ("default/made",)
    assert state.taken.consumed(GPU.id) == {"memory": Fraction(10 * 2**30)}
    state.changed(CLAIMS, seen, None)
    assert state.taken.consumed(GPU.id) == {}
