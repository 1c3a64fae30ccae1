"""What a pod needs before it starts."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.resource.devices import ResourceSlice
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.client.actions import Patch, RecordEvent
from doorman.nodes.pods.pod_configuration import PodConfiguration
from doorman.nodes.pods.start_requirements import StartRequirements
from support.scheduling import make_pod
from support.volumes import bound_claim_view, claim_view, uses


class Known:
    """A lister of what it was given."""

    def __init__(self, **objects: Any) -> None:
        self.objects = {f"default/{name}": one for name, one in objects.items()}

    def get(self, key: str) -> Any:
        return self.objects.get(key)


def told(requirements: StartRequirements, pod: Any, now: float = 0.0) -> list[tuple[str, str]]:
    result = requirements.wait(pod.metadata.key, pod, now)
    actions = result.actions if result is not None else ()
    return [(one.reason, one.message) for one in actions if isinstance(one, RecordEvent)]


def requirements(**known: Any) -> StartRequirements:
    configuration = PodConfiguration(Known(), Known())  # type: ignore[arg-type]  # as far as it is asked
    return StartRequirements(configuration, Known(**known.get("claims", {})), Known(**known.get("resource_claims", {})))  # type: ignore[arg-type]  # as far as it is asked


def resource_claim(**status: Any) -> Any:
    return to_view({"metadata": {"name": "gpu", "namespace": "default", "uid": "u"}, "status": status}, ResourceClaim)


def test_pod_that_needs_nothing_starts() -> None:
    pod = make_pod("p", volumes=[{"name": "token", "projected": {"sources": []}}, {"name": "x", "emptyDir": {}}])
    assert requirements().wait("default/p", pod, 0.0) is None
    assert StartRequirements().wait("default/p", make_pod("q", volumes=uses("c")), 0.0) is None


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        pytest.param(claim_view("c"), "PVC is not bound", id="not bound"),
        pytest.param(
            claim_view("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "PVC is being deleted", id="going"
        ),
        pytest.param(bound_claim_view("c", "v"), "", id="bound"),
    ],
)
def test_claims(claim: Any, fault: str) -> None:
    found = told(requirements(claims={"c": claim}), make_pod("p", volumes=uses("c")))
    assert [text.rpartition("error processing PVC default/c: ")[2] for _, text in found] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        pytest.param(
            None, 'fetch ResourceClaim gpu: resourceclaims.resource.k8s.io "gpu" not found', id="does not exist"
        ),
        pytest.param(resource_claim(), "pod p (uid-p) is not allowed to use ResourceClaim gpu (u)", id="not reserved"),
        pytest.param(
            resource_claim(reservedFor=[{"resource": "pods", "name": "p", "uid": "uid-p"}]),
            "ResourceClaim gpu: not allocated",
            id="not allocated",
        ),
    ],
)
def test_devices(claim: Any, fault: str) -> None:
    pod = make_pod("p", resourceClaims=[{"name": "r", "resourceClaimName": "gpu"}])
    found = told(requirements(resource_claims={"gpu": claim} if claim is not None else {}), pod)
    text = f"Failed to prepare dynamic resources: prepare dynamic resources: {fault}"
    assert found == [("FailedPrepareDynamicResources", text)]


@pytest.mark.parametrize(
    ("driver", "published", "fault"),
    [
        pytest.param("gpu.doorman.dev", ["gpu-0", "gpu-1"], "", id="there"),
        pytest.param("gpu.doorman.dev", ["gpu-0"], "there is no device gpu-1", id="withdrawn"),
        pytest.param("gpu.doorman.dev", None, "there is no device gpu-1", id="nothing is published any more"),
        pytest.param("gpu.example.com", [], "", id="another driver says it itself"),
    ],
)
def test_device_that_its_driver_has_withdrawn_is_not_prepared(
    driver: str, published: list[str] | None, fault: str
) -> None:
    result = {"request": "r", "driver": driver, "pool": "node-1", "device": "gpu-1"}
    reserved = [{"resource": "pods", "name": "p", "uid": "uid-p"}]
    claim = resource_claim(reservedFor=reserved, allocation={"devices": {"results": [result]}})
    devices = [{"name": name} for name in published or ()]
    slices = Known()
    if published is not None:
        slices.objects["node-1-gpu.doorman.dev"] = to_view({"spec": {"devices": devices}}, ResourceSlice)
    needs = StartRequirements(resource_claims=Known(gpu=claim), slices=slices)  # type: ignore[arg-type]  # as far as it is asked
    found = told(needs, make_pod("p", node="node-1", resourceClaims=[{"name": "r", "resourceClaimName": "gpu"}]))
    assert [text.rpartition("ResourceClaim gpu: ")[2] for _, text in found] == ([fault] if fault else [])


def test_it_is_told_each_time_after_twice_as_long_and_pending_is_said_once() -> None:
    needs = requirements()
    pod = make_pod("p", volumes=[{"name": "x", "configMap": {"name": "c"}}])
    first = needs.wait("default/p", pod, 0.0)
    assert first is not None
    assert any(isinstance(one, Patch) for one in first.actions)
    assert first.wakes == (("pod/default/p", 0.5),)
    started = make_pod("p", volumes=[{"name": "x", "configMap": {"name": "c"}}], status={"startTime": "2026-01-01"})
    assert told(needs, started, 0.4) == []
    assert len(told(needs, started, 0.5)) == 1
    again = needs.wait("default/p", started, 0.6)
    assert again is not None
    assert (list(again.actions), again.wakes) == ([], (("pod/default/p", 1.5),))


def test_container_whose_variable_cannot_be_set_is_tried_again_every_ten_seconds() -> None:
    needs = requirements()
    container = {"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": "app"}}]}
    pod = make_pod("p", containers=[container, {"name": "other", "image": "i"}])
    first = needs.wait_for_variables("default/p", pod, 0.0)
    assert first is not None
    [event, patch] = first.actions
    assert isinstance(event, RecordEvent)
    assert isinstance(patch, Patch)
    assert (event.reason, event.message) == ("Failed", 'Error: configmap "app" not found')
    assert event.regarding.field_path == "spec.containers{c}"
    status = patch.body["status"]
    assert status["phase"] == "Pending"
    waiting = {"reason": "CreateContainerConfigError", "message": 'configmap "app" not found'}
    assert [one["state"] for one in status["containerStatuses"]] == [
        {"waiting": waiting}, {"running": {"startedAt": "1970-01-01T00:00:00Z"}},
    ]  # fmt: skip
    assert first.wakes == (("pod/default/p", 10.0),)
    told_so = make_pod("p", containers=[container], status=status)
    again = needs.wait_for_variables("default/p", told_so, 5.0)
    assert again is not None
    assert (list(again.actions), again.wakes) == ([], (("pod/default/p", 10.0),))
    later = needs.wait_for_variables("default/p", told_so, 10.0)
    assert later is not None
    assert [type(one) for one in later.actions] == [RecordEvent]
