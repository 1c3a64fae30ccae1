"""What is made for pods and what is freed, one decision at a time."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.api.views.resource.resource_claims import FINALIZER, ResourceClaim, ResourceClaimTemplate
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, RecordEvent
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache
from doorman.controllers.devices.resource_claim_controller import (
    BY_CLAIM,
    BY_TEMPLATE,
    ResourceClaimController,
    decide_release,
    decide_remaining,
    pod_keys,
    templates_of,
)
from doorman.semantics.devices.pod_claims import claim_keys_of

POD = {"metadata": {"namespace": "default", "name": "p", "uid": "uid-p"}}
ENTRY = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}


class Desk:
    """A controller and what it sees."""

    def __init__(self) -> None:
        self.pods: InformerCache[Pod] = InformerCache({BY_CLAIM: claim_keys_of, BY_TEMPLATE: templates_of})
        owners = {"owner": lambda claim: [one.uid for one in claim.metadata.owner_references]}
        self.claims: InformerCache[ResourceClaim] = InformerCache(owners)
        self.templates: InformerCache[ResourceClaimTemplate] = InformerCache()
        self.controller = ResourceClaimController(self.pods, self.claims, self.templates)

    def pod(self, **more: Any) -> Pod:
        pod = msgspec.convert({**POD, "spec": ENTRY, **more}, Pod)
        self.pods.put("default/p", pod)
        return pod

    def template(self) -> None:
        spec = {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}}, "spec": {"devices": {"requests": []}}}
        self.templates.put(
            "default/t", msgspec.convert({"metadata": {"name": "t"}, "spec": spec}, ResourceClaimTemplate)
        )

    def claim(self, *users: str, owner: str = "", deleting: bool = False, is_ours: bool = True) -> ResourceClaim:
        metadata: dict[str, Any] = {"namespace": "default", "name": "c", "uid": "uid-c"}
        if is_ours:
            metadata["finalizers"] = [FINALIZER]
        if deleting:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if owner:
            reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
            metadata["ownerReferences"] = [reference]
        reserved = [{"resource": "pods", "name": user, "uid": f"uid-{user}"} for user in users]
        status = {"allocation": {"devices": {}}, "reservedFor": reserved}
        claim = msgspec.convert({"metadata": metadata, "status": status}, ResourceClaim)
        self.claims.put("default/c", claim)
        return claim


def test_claim_of_a_template_is_made_and_the_pod_is_told_in_one_turn() -> None:
    desk = Desk()
    desk.template()
    desk.pod()
    create, told = desk.controller.reconcile("pod/default/p", 0.0).actions
    assert isinstance(create, Create)
    metadata = create.body["metadata"]
    assert metadata["name"].startswith("p-gpu-")
    assert metadata["generateName"] == "p-gpu-"
    assert metadata["labels"] == {"a": "b"}
    assert metadata["annotations"] == {"x": "y", "resource.kubernetes.io/pod-claim-name": "gpu"}
    assert metadata["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    ]
    assert isinstance(told, Patch)
    assert told.body["status"] == {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": metadata["name"]}]}


def test_claim_that_was_made_before_is_found_by_owner_and_annotation() -> None:
    desk = Desk()
    desk.template()
    desk.pod()
    claim = desk.claim(owner="uid-p")
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    meta = msgspec.structs.replace(claim.metadata, annotations=annotations)
    desk.claims.put("default/c", msgspec.structs.replace(claim, metadata=meta))
    [told] = desk.controller.reconcile("pod/default/p", 0.0).actions
    assert isinstance(told, Patch)
    assert told.body["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": "c"}]


def test_missing_template_is_told_and_tried_again_later_and_later() -> None:
    desk = Desk()
    desk.pod()
    first = desk.controller.reconcile("pod/default/p", 0.0)
    second = desk.controller.reconcile("pod/default/p", 0.0)
    [event] = first.actions
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.message) == (
        "FailedResourceClaimCreation",
        'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found',
    )
    assert [list(result.wakes) for result in (first, second)] == [[("pod/default/p", 0.005)], [("pod/default/p", 0.01)]]
    assert desk.controller.reconcile("template/default/t", 0.0).wakes == [("pod/default/p", 0.0)]


def test_name_that_somebody_else_has_is_not_tried_twice() -> None:
    desk = Desk()
    desk.template()
    desk.pod()
    first = desk.controller.reconcile("pod/default/p", 0.0).actions[0]
    assert isinstance(first, Create)
    name = first.body["metadata"]["name"]
    foreign = msgspec.convert({"metadata": {"namespace": "default", "name": name}}, ResourceClaim)
    desk.claims.put(f"default/{name}", foreign)
    desk.controller.failed("pod/default/p", ApiError(409, "AlreadyExists", "it is there"))
    second = desk.controller.reconcile("pod/default/p", 0.0).actions[0]
    assert isinstance(second, Create)
    assert second.body["metadata"]["name"] != name


@pytest.mark.parametrize(
    ("pod", "stays"),
    [
        pytest.param({"spec": {"nodeName": "n"}}, True, id="it runs"),
        pytest.param({"status": {"phase": "Succeeded"}}, False, id="it has ended"),
        pytest.param({"metadata": {**POD["metadata"], "uid": "other"}}, False, id="it was replaced"),
        pytest.param(
            {"metadata": {**POD["metadata"], "deletionTimestamp": "x"}}, False, id="it is deleted without a node"
        ),
        pytest.param(
            {"metadata": {**POD["metadata"], "deletionTimestamp": "x"}, "spec": {"nodeName": "n"}}, True, id="it stops"
        ),
    ],
)
def test_reservations_that_stay(pod: dict[str, Any], stays: bool) -> None:
    desk = Desk()
    desk.pod(**pod)
    claim = desk.claim("p", "gone")
    assert [one.name for one in decide_remaining(claim, desk.pods)] == (["p"] if stays else [])


def operations(action: Any) -> list[str]:
    assert isinstance(action, Patch)
    if isinstance(action.body, dict):
        return [f"without {action.body['metadata']['$deleteFromPrimitiveList/finalizers'][0]}"]
    return [f"{one['op']} {one['path']}" for one in action.body if one["op"] != "test"]


@pytest.mark.parametrize(
    ("users", "remaining", "options", "expected"),
    [
        pytest.param(("a", "b"), 1, {}, [["replace /status/reservedFor"]], id="one of two stays"),
        pytest.param(
            ("a",), 0, {},
            [["remove /status/reservedFor", "remove /status/allocation"], [f"without {FINALIZER}"]], id="the last goes",
        ),
        pytest.param(("a",), 0, {"is_ours": False}, [["remove /status/reservedFor"]], id="another's allocation stays"),
        pytest.param((), 0, {}, [], id="allocated and not used: kept"),
        pytest.param(
            (), 0, {"deleting": True}, [["remove /status/allocation"], [f"without {FINALIZER}"]], id="being deleted"
        ),
        pytest.param(("a",), 1, {"deleting": True}, [], id="being deleted, and used"),
    ],
)  # fmt: skip
def test_release(users: tuple[str, ...], remaining: int, options: dict[str, bool], expected: list[list[str]]) -> None:
    claim = Desk().claim(*users, **options)
    assert [operations(one) for one in decide_release(claim, claim.status.reserved_for[:remaining])] == expected


def test_generated_claim_of_a_pod_that_has_ended_is_deleted() -> None:
    desk = Desk()
    desk.pod(status={"phase": "Failed"})
    desk.claim("p", owner="uid-p")
    *_, last = desk.controller.reconcile("claim/default/c", 0.0).actions
    assert isinstance(last, Delete)
    assert (last.name, last.uid) == ("c", "uid-c")


def test_pod_that_was_placed_by_hand_gets_its_allocated_claim_reserved() -> None:
    desk = Desk()
    entry = {"nodeName": "n", "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}
    desk.pod(spec=entry)
    desk.claim("other")
    [patch] = desk.controller.reconcile("pod/default/p", 0.0).actions
    assert isinstance(patch, Patch)
    assert patch.body["status"] == {"reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}]}


def test_metrics_count_claims_by_what_they_are() -> None:
    desk = Desk()
    desk.claim("p")
    [_, gauge] = desk.controller.metrics
    [sample] = next(iter(gauge.collect())).samples
    assert (sample.labels, sample.value) == ({"allocated": "true", "admin_access": "false", "source": ""}, 1.0)


TOLD = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}


@pytest.mark.parametrize(
    ("pod", "users", "is_woken"),
    [
        pytest.param({}, (), True, id="it was not told"),
        pytest.param({"status": TOLD}, (), False, id="it was told and waits for a node"),
        pytest.param({"status": TOLD, "spec": {**ENTRY, "nodeName": "n"}}, (), True, id="it is not reserved for it"),
        pytest.param({"status": TOLD, "spec": {**ENTRY, "nodeName": "n"}}, ("p",), False, id="it has what it needs"),
        pytest.param(
            {"status": TOLD, "metadata": {**POD["metadata"], "uid": "another"}}, (), True, id="a namesake has its claim"
        ),
    ],
)
def test_change_of_a_claim_wakes_pods_that_it_leaves_something_to_do(
    pod: dict[str, Any], users: tuple[str, ...], is_woken: bool
) -> None:
    desk = Desk()
    desk.pod(**pod)
    desk.claim(*users, owner="uid-p")
    wakes = desk.controller.reconcile("claim/default/c", 0.0).wakes
    assert list(wakes) == ([("pod/default/p", 0.0)] if is_woken else [])


@pytest.mark.parametrize(
    ("changed", "is_looked_at"),
    [
        pytest.param({}, False, id="nothing of interest"),
        pytest.param({"status": {"phase": "Running", "podIP": "10.0.0.1"}}, False, id="it runs"),
        pytest.param({"status": TOLD}, True, id="what it was told"),
        pytest.param({"spec": {**ENTRY, "nodeName": "n"}}, True, id="its node"),
        pytest.param({"metadata": {**POD["metadata"], "uid": "another"}}, True, id="it is another"),
    ],
)
def test_changes_of_a_pod_that_are_looked_at(changed: dict[str, Any], is_looked_at: bool) -> None:
    before = msgspec.convert({**POD, "spec": ENTRY}, Pod)
    after = msgspec.convert({**POD, "spec": ENTRY, **changed}, Pod)
    assert list(pod_keys(ObjectChange("pods", before, after))) == (["pod/default/p"] if is_looked_at else [])


def test_claim_is_waited_for_with_what_the_pod_is_told() -> None:
    desk = Desk()
    desk.template()
    desk.pod()
    create, told = desk.controller.reconcile("pod/default/p", 0.0).actions
    assert isinstance(create, Create)
    assert isinstance(told, Patch)
    assert (create.is_waited_for, told.is_waited_for) == (False, True)
