"""One stored object through two versions of the API."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from support.api import Api, running_api

MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
NAMED = {"name": "x", "namespace": "default"}
AUTOSCALERS = "namespaces/default/horizontalpodautoscalers"
CLAIMS = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
EVENTS = "namespaces/default/events"


def run(story: Callable[[Api], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with running_api() as api:
            await story(api)

    asyncio.run(main())


def test_claim_written_in_the_old_form_reads_in_both() -> None:
    async def story(api: Api) -> None:
        request = {"name": "gpu", "deviceClassName": "c", "tolerations": [{"key": "k", "operator": "Exists"}]}
        body = {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceClaim",
            "metadata": {"name": "x"},
            "spec": {"devices": {"requests": [request]}},
        }
        status, made = await api.call("POST", CLAIMS.format("v1beta1") + "?fieldValidation=Strict", body)
        assert status == 201, made
        shown = {**request, "allocationMode": "ExactCount", "count": 1}
        assert made["spec"]["devices"]["requests"] == [shown]
        assert made["apiVersion"] == "resource.k8s.io/v1beta1"
        for version in ("v1", "v1beta2"):
            _, read = await api.call("GET", CLAIMS.format(version) + "/x")
            exactly = {name: value for name, value in shown.items() if name != "name"}
            assert read["spec"]["devices"]["requests"] == [{"name": "gpu", "exactly": exactly}]
        _, listed = await api.call("GET", CLAIMS.format("v1beta1"))
        assert listed["items"][0]["spec"]["devices"]["requests"] == [shown]

    run(story)


def test_autoscaler_is_patched_through_either_version() -> None:
    async def story(api: Api) -> None:
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        body = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "x"}}
        path = f"/apis/autoscaling/v1/{AUTOSCALERS}"
        spec = {"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
        status, made = await api.call("POST", path, {**body, "spec": spec})
        assert status == 201, made
        assert made["spec"] == {**spec, "minReplicas": 1}
        _, newer = await api.call("GET", f"/apis/autoscaling/v2/{AUTOSCALERS}/x")
        assert newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 60
        assert "targetCPUUtilizationPercentage" not in newer["spec"]
        patch = {"spec": {"targetCPUUtilizationPercentage": 70}}
        _, patched = await api.call("PATCH", path + "/x", patch, headers=MERGE)
        assert patched["spec"]["targetCPUUtilizationPercentage"] == 70
        assert patched["metadata"]["generation"] == 2
        _, newer = await api.call("GET", f"/apis/autoscaling/v2/{AUTOSCALERS}/x")
        assert newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70

    run(story)


def test_autoscaler_is_applied_through_the_old_version() -> None:
    async def story(api: Api) -> None:
        path = f"/apis/autoscaling/v1/{AUTOSCALERS}/x?fieldManager=me"
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        config = {
            "kind": "HorizontalPodAutoscaler",
            "apiVersion": "autoscaling/v1",
            "metadata": {"name": "x"},
            "spec": {"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60},
        }
        status, made = await api.call("PATCH", path, config, headers=APPLY)
        assert status == 201, made
        assert made["spec"]["targetCPUUtilizationPercentage"] == 60
        status, again = await api.call("PATCH", path, config, headers=APPLY)
        assert (status, again["metadata"]["resourceVersion"]) == (200, made["metadata"]["resourceVersion"])

    run(story)


def test_event_of_the_core_group_has_every_member_clients_expect() -> None:
    async def story(api: Api) -> None:
        body = {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Node", "name": "n"},
        }
        status, made = await api.call("POST", f"/api/v1/{EVENTS}", body)
        assert status == 201, made
        always = {name: made[name] for name in ("eventTime", "firstTimestamp", "lastTimestamp", "source")}
        assert always == {"eventTime": None, "firstTimestamp": None, "lastTimestamp": None, "source": {}}
        assert (made["reportingComponent"], made["reportingInstance"]) == ("", "")
        _, same = await api.call("PATCH", f"/api/v1/{EVENTS}/e", {}, headers=MERGE)
        assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        _, other = await api.call("GET", f"/apis/events.k8s.io/v1/{EVENTS}/e")
        assert other["regarding"] == {"kind": "Node", "name": "n"}
        assert "reportingController" not in other

    run(story)


def test_event_through_its_own_group_is_checked_strictly() -> None:
    async def story(api: Api) -> None:
        body = {
            "kind": "Event",
            "apiVersion": "events.k8s.io/v1",
            "metadata": {"name": "e"},
            "regarding": {"kind": "Node", "name": "n"},
            "deprecatedCount": 3,
        }
        status, refused = await api.call("POST", f"/apis/events.k8s.io/v1/{EVENTS}", body)
        assert status == 422
        fields = [cause["field"] for cause in refused["details"]["causes"]]
        assert fields == ["eventTime", "type", "count"]
        table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        await api.given(
            "events", {"metadata": {"name": "e"}, "involvedObject": {"kind": "Node", "name": "n"}}, namespace="default"
        )
        _, shown = await api.call("GET", f"/apis/events.k8s.io/v1/{EVENTS}", headers=table)
        assert "node/n" in json.dumps(shown["rows"][0]["cells"])

    run(story)


def owners(doc: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """By manager: in the terms of which version, and which members of spec."""
    return {
        entry["manager"]: (entry["apiVersion"], sorted(entry["fieldsV1"].get("f:spec", {})))
        for entry in doc["metadata"]["managedFields"]
    }


def test_fields_are_owned_in_the_terms_of_the_version_that_was_written() -> None:
    async def story(api: Api) -> None:
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        spec = {"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
        body = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "x"}}
        old, new = (f"/apis/autoscaling/{version}/{AUTOSCALERS}" for version in ("v1", "v2"))
        _, made = await api.call("POST", f"{old}?fieldManager=one", {**body, "spec": spec})
        members = ["f:maxReplicas", "f:minReplicas", "f:scaleTargetRef", "f:targetCPUUtilizationPercentage"]
        assert owners(made) == {"one": ("autoscaling/v1", members)}

        utilization = {"type": "Utilization", "averageUtilization": 80}
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": utilization}}
        change = {"spec": {"metrics": [metric]}}
        status, changed = await api.call("PATCH", f"{new}/x?fieldManager=two", change, headers=MERGE)
        assert status == 200, changed
        assert owners(changed) == {"one": ("autoscaling/v1", members[:3]), "two": ("autoscaling/v2", ["f:metrics"])}

    run(story)


def test_apply_in_one_version_conflicts_with_who_wrote_another() -> None:
    async def story(api: Api) -> None:
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        utilization = {"type": "Utilization", "averageUtilization": 80}
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": utilization}}
        body = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "x"}}
        spec = {"scaleTargetRef": target, "maxReplicas": 5}
        old, new = (f"/apis/autoscaling/{version}/{AUTOSCALERS}" for version in ("v1", "v2"))
        made = {**body, "apiVersion": "autoscaling/v2", "spec": {**spec, "metrics": [metric]}}
        await api.call("POST", f"{new}?fieldManager=two", made)
        applied = {**body, "apiVersion": "autoscaling/v1", "spec": {**spec, "targetCPUUtilizationPercentage": 50}}
        status, refused = await api.call("PATCH", f"{old}/x?fieldManager=me", applied, headers=APPLY)
        assert (status, refused["reason"]) == (409, "Conflict")
        assert refused["details"]["causes"][0]["field"] == ".spec.metrics"
        status, taken = await api.call("PATCH", f"{old}/x?fieldManager=me&force=true", applied, headers=APPLY)
        assert status == 200, taken
        assert taken["spec"]["targetCPUUtilizationPercentage"] == 50
        found = owners(taken)
        assert found["me"] == (
            "autoscaling/v1",
            ["f:maxReplicas", "f:scaleTargetRef", "f:targetCPUUtilizationPercentage"],
        )
        assert "f:metrics" not in found["two"][1]

    run(story)
