"""What the scheduler knows of volumes, and what it assumes of them."""

from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.volume_annotations import SELECTED_NODE
from doorman.scheduler.framework import ActionType, EventResource
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings, StaticBinding
from doorman.scheduler.volumes.volume_state import VolumeState
from support.volumes import claim_view, class_view, volume_view


def test_events_say_what_happened_and_to_which_pods_it_matters() -> None:
    state = VolumeState()
    state.users.pod_waits("default/p", ("default/c",))
    [event] = state.changed(CLAIMS, None, claim_view("c"))
    assert (event.resource, event.change) == (EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
    assert event.only == frozenset({"default/p"})
    [event] = state.changed(CLAIMS, None, claim_view("other"))
    assert event.only == frozenset()
    [event] = state.changed(STORAGE_CLASSES, None, class_view("slow"))
    assert (event.resource, event.only) == (EventResource.STORAGE_CLASS, None)
    state.users.pod_ends_waiting("default/p")
    [event] = state.changed(CLAIMS, claim_view("c"), None)
    assert (event.change, event.only) == (ActionType.DELETE, frozenset())


def test_assumed_binding_counts_until_it_is_seen_or_given_up() -> None:
    state = VolumeState()
    volume, claim = volume_view("v"), claim_view("c")
    state.changed(VOLUMES, None, volume)
    state.changed(CLAIMS, None, claim)
    bindings = PodVolumeBindings(static=(StaticBinding(volume=volume, claim=claim),))
    state.reserve("default/p", bindings, "node-1")
    assumed = state.volume("v")
    assert assumed is not None
    assert assumed.spec.claim_ref is not None
    assert assumed.spec.claim_ref.uid == "uid-c"
    assert state.seen_volume("v") is volume
    state.unreserve("default/p")
    assert state.volume("v") is volume
    state.reserve("default/p", bindings, "node-1")
    seen = volume_view("v", claimRef={"namespace": "default", "name": "c", "uid": "uid-c"})
    state.changed(VOLUMES, volume, seen)
    assert state.volume("v") is seen


def test_assumed_node_of_a_claim_counts_until_it_is_seen() -> None:
    state = VolumeState()
    claim = claim_view("c")
    state.changed(CLAIMS, None, claim)
    state.reserve("default/p", PodVolumeBindings(provisioned=(claim,)), "node-1")
    assumed = state.claim("default/c")
    assert assumed is not None
    assert assumed.metadata.annotations[SELECTED_NODE] == "node-1"
    seen = claim_view("c", metadata={"annotations": {SELECTED_NODE: "node-1"}})
    state.changed(CLAIMS, claim, seen)
    assert state.claim("default/c") is seen


def test_volumes_are_filed_by_class() -> None:
    state = VolumeState()
    slow = volume_view("b", storageClassName="slow")
    state.changed(VOLUMES, None, slow)
    state.changed(VOLUMES, None, volume_view("a", storageClassName="slow"))
    assert [volume.metadata.name for volume in state.volumes_of_class("slow")] == ["a", "b"]
    state.changed(VOLUMES, slow, volume_view("b", storageClassName="fast"))
    assert [volume.metadata.name for volume in state.volumes_of_class("slow")] == ["a"]
    assert state.has_volumes_of_class("fast")
    assert not state.has_volumes_of_class("none")
