"""persistentvolume-attach-detach-controller: one node at a time."""

from collections.abc import Sequence
from typing import Any

import pytest

from doorman.api.taints import OUT_OF_SERVICE
from doorman.api.views.storage.csi import ATTACHMENTS, CSI_DRIVERS
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.client.actions import Action, Create, Delete, Patch, RecordEvent
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.volumes.attach_detach import AttachDetachController
from doorman.controllers.volumes.attach_detach_settings import AttachDetachSettings
from support.attaching import UNIQUE, AttachingCaches, attachment_view, node_view, user


def controller(caches: AttachingCaches, **settings: Any) -> AttachDetachController:
    return AttachDetachController(
        caches["pods"], caches["nodes"], caches[CLAIMS], caches[VOLUMES], caches[CSI_DRIVERS], caches[ATTACHMENTS],
        AttachDetachSettings(**settings),
    )  # fmt: skip


def shown(actions: Sequence[Action]) -> list[str]:
    found = []
    for action in actions:
        match action:
            case Create():
                found.append(f"attach to {action.body['spec']['nodeName']}")
            case Delete():
                found.append(f"detach {action.uid}")
            case Patch():
                found.append(f"report {[one['name'] for one in action.body['status']['volumesAttached'] or ()]}")
            case RecordEvent():
                found.append(f"{action.reason} {action.regarding.name}")
    return found


def test_volume_of_a_pod_is_attached_reported_and_told_of() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view())
    caches.put("pods", user())
    attaching = controller(caches)
    assert shown(attaching.reconcile("node-1", 0.0).actions) == ["attach to node-1"]
    caches.put(ATTACHMENTS, attachment_view(attached=False))
    assert shown(attaching.reconcile("node-1", 0.0).actions) == []
    caches.put(ATTACHMENTS, attachment_view())
    assert shown(attaching.reconcile("node-1", 0.0).actions) == [f"report ['{UNIQUE}']", "SuccessfulAttachVolume p"]
    caches.put("nodes", node_view(attached=True))
    assert shown(attaching.reconcile("node-1", 0.0).actions) == []


def test_node_that_attaches_by_itself_is_left_alone() -> None:
    caches = AttachingCaches()
    own: Any = node_view()
    own.metadata.annotations.clear()
    caches.put("nodes", own)
    caches.put("pods", user())
    assert shown(controller(caches).reconcile("node-1", 0.0).actions) == []


def test_volume_is_taken_from_the_status_before_it_is_detached() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view(attached=True))
    caches.put(ATTACHMENTS, attachment_view())
    assert shown(controller(caches).reconcile("node-1", 0.0).actions) == ["report []", "detach uid-node-1"]


def test_mounted_volume_of_a_lost_node_goes_after_six_minutes_not_before() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view(ready=False, in_use=True, attached=True))
    caches.put(ATTACHMENTS, attachment_view())
    attaching = controller(caches)
    first = attaching.reconcile("node-1", 100.0)
    assert (shown(first.actions), list(first.wakes)) == ([], [("node-1", 460.0)])
    assert shown(attaching.reconcile("node-1", 459.0).actions) == []
    assert shown(attaching.reconcile("node-1", 460.0).actions) == ["report []", "detach uid-node-1"]


def test_six_minutes_begin_anew_when_the_volume_was_used_meanwhile() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view(ready=False, in_use=True, attached=True))
    caches.put(ATTACHMENTS, attachment_view())
    attaching = controller(caches)
    attaching.reconcile("node-1", 0.0)
    caches.put("pods", user())
    attaching.reconcile("node-1", 200.0)
    caches.remove("pods", user())
    assert list(attaching.reconcile("node-1", 300.0).wakes) == [("node-1", 660.0)]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(node_view(in_use=True, attached=True), [], id="in use on a node that is well"),
        pytest.param(
            node_view(ready=False, in_use=True, attached=True, taint=OUT_OF_SERVICE),
            ["report []", "detach uid-node-1"],
            id="out of service",
        ),
    ],
)
def test_forced_detachment(node: Any, expected: list[str]) -> None:
    caches = AttachingCaches()
    caches.put("nodes", node)
    caches.put(ATTACHMENTS, attachment_view())
    result = controller(caches, disable_force_detach_on_timeout=True).reconcile("node-1", 0.0)
    assert (shown(result.actions), list(result.wakes)) == (expected, [])


def test_what_a_node_used_that_is_gone_is_remembered_for_six_minutes() -> None:
    caches = AttachingCaches()
    caches.put(ATTACHMENTS, attachment_view())
    attaching = controller(caches)
    [keys] = [source.keys for source in attaching.sources if source.resource == "nodes"]
    assert list(keys(ObjectChange("nodes", node_view(in_use=True), None))) == ["node-1"]
    assert list(attaching.reconcile("node-1", 0.0).wakes) == [("node-1", 360.0)]
    assert shown(attaching.reconcile("node-1", 360.0).actions) == ["detach uid-node-1"]


def test_second_node_waits_and_its_pods_are_told_once() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view("node-1"), node_view("node-2"))
    caches.put("pods", user("p"), user("q", node="node-2"))
    caches.put(ATTACHMENTS, attachment_view("node-1"))
    attaching = controller(caches)
    [event] = attaching.reconcile("node-2", 0.0).actions
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.regarding.name) == ("FailedAttachVolume", "q")
    assert event.message == 'Waiting for detach for volume "v" Volume is already used by pod(s) p'
    assert shown(attaching.reconcile("node-2", 1.0).actions) == []
    caches.remove(ATTACHMENTS, attachment_view("node-1"))
    assert shown(attaching.reconcile("node-2", 2.0).actions) == ["attach to node-2"]


def test_volume_for_many_nodes_is_attached_to_both() -> None:
    caches = AttachingCaches(modes=["ReadWriteMany"])
    caches.put("nodes", node_view("node-1"), node_view("node-2"))
    caches.put("pods", user("p"), user("q", node="node-2"))
    caches.put(ATTACHMENTS, attachment_view("node-1"))
    assert shown(controller(caches).reconcile("node-2", 0.0).actions) == ["attach to node-2"]


def test_failure_is_told_once() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view())
    caches.put("pods", user())
    caches.put(ATTACHMENTS, attachment_view(attached=False, error="disk is broken"))
    attaching = controller(caches)
    [event] = attaching.reconcile("node-1", 0.0).actions
    assert isinstance(event, RecordEvent)
    assert event.message == 'AttachVolume.Attach failed for volume "v" : disk is broken'
    assert shown(attaching.reconcile("node-1", 1.0).actions) == []


def test_attachments_under_other_names_are_left_alone() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view())
    caches.put(ATTACHMENTS, attachment_view(name="made-by-hand"))
    assert shown(controller(caches).reconcile("node-1", 0.0).actions) == []


def test_detached_volume_wakes_the_nodes_that_wait_for_it() -> None:
    caches = AttachingCaches()
    caches.put("pods", user("q", node="node-2"))
    attaching = controller(caches)
    [keys] = [source.keys for source in attaching.sources if source.resource == ATTACHMENTS]
    assert list(keys(ObjectChange(ATTACHMENTS, attachment_view("node-1"), None))) == ["node-2", "node-1"]


def test_volume_is_asked_for_on_one_node_only_before_the_attachment_is_seen() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view("node-1"), node_view("node-2"))
    caches.put("pods", user("p"), user("q", node="node-2"))
    attaching = controller(caches)
    assert shown(attaching.reconcile("node-1", 0.0).actions) == ["attach to node-1"]
    assert shown(attaching.reconcile("node-2", 0.0).actions) == ["FailedAttachVolume q"]
    assert shown(attaching.reconcile("node-1", 0.0).actions) == ["attach to node-1"], "it is tried again"
    caches.remove("pods", user("p"))
    assert list(attaching.reconcile("node-1", 1.0).wakes) == [("node-2", 1.0)]
    assert shown(attaching.reconcile("node-2", 1.0).actions) == ["attach to node-2"]


def test_attachment_of_a_volume_that_was_deleted_goes_and_one_that_was_never_known_stays() -> None:
    caches = AttachingCaches()
    caches.put("nodes", node_view(attached=True))
    caches.put("pods", user())
    caches.put(ATTACHMENTS, attachment_view())
    attaching = controller(caches)
    assert shown(attaching.reconcile("node-1", 0.0).actions) == []
    caches[VOLUMES].remove("v")
    assert shown(attaching.reconcile("node-1", 0.0).actions) == ["report []", "detach uid-node-1"]
    assert shown(controller(caches).reconcile("node-1", 0.0).actions) == ["report []", "detach uid-node-1"]
    caches.put("nodes", node_view())
    assert shown(controller(caches).reconcile("node-1", 0.0).actions) == []
