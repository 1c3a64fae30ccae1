"""Binding and eviction as functions on documents."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.base.errors import ApiError
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.registry.fastpath.object_bytes import object_bytes_of
from doorman.registry.pod_operations import bind_to, decremented, set_condition
from doorman.store.store_contract import Entry
from support.api import running_api

NOW = 1767225600.0
NEVER_PROBED: dict[str, Any] = {"lastProbeTime": None}
TIME = "2026-01-01T00:00:00Z"
META = {"name": "p", "uid": "u", "resourceVersion": "7", "generation": 1}


def binding(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": "n1"}}


def bound(doc: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    decoder = msgspec.json.Decoder(Pod).decode
    stored = Stored(Entry("pods/x/p", to_kept_bytes(doc), 7, 7), "x/p", decoder)
    pod_bytes = object_bytes_of(stored)
    bind_to(stored.view, pod_bytes, wanted, NOW)
    return Stored(Entry("pods/x/p", pod_bytes.kept(), 8, 7), "x/p", decoder).document()


def test_bound_pod_is_on_its_node_and_no_longer_nominated() -> None:
    doc = {"metadata": dict(META), "spec": {}, "status": {"nominatedNodeName": "n2"}}
    found = bound(doc, binding(annotations={"a": "b"}, labels={"zone": "z"}))
    assert found["spec"] == {"nodeName": "n1"}
    assert (found["metadata"]["annotations"], found["metadata"]["labels"]) == ({"a": "b"}, {"zone": "z"})
    assert found["metadata"]["generation"] == 1
    said = {
        "type": "PodScheduled",
        "status": "True",
        **NEVER_PROBED,
        "lastTransitionTime": TIME,
    }
    assert found["status"] == {"conditions": [said]}


@pytest.mark.parametrize(
    ("doc", "wanted", "message"),
    [
        pytest.param({"spec": {"nodeName": "n0"}}, {}, 'pod p is already assigned to node "n0"', id="placed"),
        pytest.param(
            {"metadata": {**META, "deletionTimestamp": TIME}},
            {},
            "pod p is being deleted, cannot be assigned to a host",
            id="going",
        ),
        pytest.param(
            {"spec": {"schedulingGates": [{"name": "g"}]}}, {}, "pod p has non-empty .spec.schedulingGates", id="gated"
        ),
    ],
)
def test_binding_that_conflicts(doc: dict[str, Any], wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        bound({"metadata": dict(META), **doc}, binding(**wanted))
    assert caught.value.code == 409
    assert caught.value.message.startswith(f'Operation cannot be fulfilled on pods/binding "p": {message}')


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        pytest.param({"uid": "x"}, "UID in precondition: x, UID in object meta: u", id="namesake"),
        pytest.param({"resourceVersion": "6"}, "ResourceVersion in precondition: 6", id="old"),
    ],
)
def test_binding_is_about_the_pod_that_was_seen(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        bound({"metadata": dict(META)}, binding(**wanted))
    assert caught.value.code == 409
    assert caught.value.message.startswith('Operation cannot be fulfilled on pods "p": StorageError: invalid object')
    assert f"AdditionalErrorMsg: Precondition failed: {message}" in caught.value.message


def test_condition_keeps_its_time_until_its_status_changes() -> None:
    status: dict[str, Any] = {}
    set_condition(status, {"type": "Ready", "status": "True"}, NOW)
    set_condition(status, {"type": "Ready", "status": "True", "reason": "again"}, NOW + 60)
    assert status["conditions"] == [
        {"type": "Ready", "status": "True", "reason": "again", **NEVER_PROBED, "lastTransitionTime": TIME}
    ]
    set_condition(status, {"type": "Ready", "status": "False"}, NOW + 60)
    assert status["conditions"] == [
        {"type": "Ready", "status": "False", **NEVER_PROBED, "lastTransitionTime": "2026-01-01T00:01:00Z"}
    ]


def budget(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "b", "generation": 2}, "status": {"observedGeneration": 2, **status}}


def test_budget_notes_who_goes() -> None:
    found = decremented(budget(disruptionsAllowed=2), "p", NOW)
    assert (found["status"]["disruptionsAllowed"], found["status"]["disruptedPods"]) == (1, {"p": TIME})


def denied(reason: str) -> dict[str, Any]:
    return {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": "why"}


@pytest.mark.parametrize(
    ("status", "code", "retry", "cause"),
    [
        pytest.param(
            {"observedGeneration": 1},
            429,
            10,
            "The disruption budget b is still being processed by the server.",
            id="not-seen-yet",
        ),
        pytest.param(
            {"desiredHealthy": 2, "currentHealthy": 2},
            429,
            0,
            "The disruption budget b needs 2 healthy pods and has 2 currently",
            id="too-few",
        ),
        pytest.param(
            {"desiredHealthy": 1, "currentHealthy": 2},
            429,
            0,
            "The disruption budget b does not allow evicting pods currently",
            id="none-allowed",
        ),
        pytest.param(
            {"desiredHealthy": 1, "currentHealthy": 2, "conditions": [denied("SyncFailed")]},
            429,
            0,
            "The disruption budget b does not allow evicting pods currently because it failed sync: why",
            id="failed",
        ),
        pytest.param(
            {"desiredHealthy": 1, "currentHealthy": 2, "conditions": [denied("Other")]},
            429,
            0,
            "The disruption budget b does not allow evicting pods currently (Other): why",
            id="for-a-reason",
        ),
    ],
)
def test_budget_that_refuses(status: dict[str, Any], code: int, retry: int, cause: str) -> None:
    with pytest.raises(ApiError) as caught:
        decremented(budget(**status), "p", NOW)
    assert (caught.value.code, caught.value.retry_after_seconds) == (code, retry)
    assert [one.message for one in caught.value.causes] == [cause]


def test_negative_budget_is_forbidden() -> None:
    with pytest.raises(ApiError, match="pdb disruptions allowed is negative"):
        decremented(budget(disruptionsAllowed=-1), "p", NOW)


async def test_options_of_an_eviction_are_looked_at_before_its_preconditions() -> None:
    async with running_api() as api:
        await api.given_account("default")
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await api.given("pods", {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
        path = "/api/v1/namespaces/default/pods/p/eviction"
        options = {"propagationPolicy": "x", "preconditions": {"uid": "other"}}
        status, refused = await api.call("POST", path, {"metadata": {"name": "p"}, "deleteOptions": options})
        assert (status, refused["details"]["causes"][0]["field"]) == (422, "propagationPolicy")
        del options["propagationPolicy"]
        status, _ = await api.call("POST", path, {"metadata": {"name": "p"}, "deleteOptions": options})
        assert status == 409
