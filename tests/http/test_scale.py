"""The scale of a workload is an object of its own: for patches, for field owners, for admission."""

from typing import Any

import pytest

from support.api import Api, running_api

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}}


async def given_deployment(api: Api) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    status, made = await api.call(
        "POST", f"{DEPLOYMENTS}?fieldManager=maker", {"metadata": {"name": "d"}, "spec": spec}
    )
    assert status == 201, made


async def owner_of_replicas(api: Api) -> list[tuple[str, str, str, str]]:
    _, read = await api.call("GET", f"{DEPLOYMENTS}/d")
    return [
        (entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", ""))
        for entry in read["metadata"]["managedFields"]
        if "f:replicas" in entry["fieldsV1"].get("f:spec", {})
    ]


@pytest.mark.parametrize(
    ("method", "body", "headers"),
    [
        pytest.param("PATCH", {"spec": {"replicas": 5}}, MERGE, id="merge-patch"),
        pytest.param("PUT", {**SCALE, "spec": {"replicas": 5}}, {}, id="put"),
    ],
)
async def test_whoever_scales_owns_the_replicas(method: str, body: Any, headers: Any) -> None:
    async with running_api() as api:
        await given_deployment(api)
        status, scale = await api.call(method, f"{DEPLOYMENTS}/d/scale?fieldManager=me", body, headers=headers)
        assert (status, scale["spec"]["replicas"]) == (200, 5)
        assert await owner_of_replicas(api) == [("me", "Update", "apps/v1", "scale")]


async def test_applied_scale_conflicts_or_takes_the_replicas() -> None:
    async with running_api() as api:
        await given_deployment(api)
        path = f"{DEPLOYMENTS}/d/scale?fieldManager=me"
        body = {**SCALE, "spec": {"replicas": 5}}
        status, refused = await api.call("PATCH", path, body, headers=APPLY)
        assert (status, refused["reason"]) == (409, "Conflict")
        assert refused["details"]["causes"][0]["field"] == ".spec.replicas"
        status, scale = await api.call("PATCH", f"{path}&force=true", body, headers=APPLY)
        assert (status, scale["kind"], scale["spec"]["replicas"]) == (200, "Scale", 5)
        assert await owner_of_replicas(api) == [("me", "Apply", "apps/v1", "scale")]


async def test_policies_see_the_scale_and_not_the_deployment() -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"], "operations": ["UPDATE"]}
    seen = "object.kind == 'Scale' && request.kind.group == 'autoscaling' && oldObject.spec.replicas == 2"
    validation = {"expression": f"{seen} && object.spec.replicas <= 3"}
    policy = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]},
    }
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    async with running_api() as api:
        await given_deployment(api)
        for where, body in ((POLICIES, policy), (POLICIES.replace("policies", "policybindings"), binding)):
            assert (await api.call("POST", where, body))[0] == 201
        path = f"{DEPLOYMENTS}/d/scale"
        status, refused = await api.call("PATCH", path, {"spec": {"replicas": 4}}, headers=MERGE)
        assert (status, refused["reason"]) == (422, "Invalid")
        status, scale = await api.call("PATCH", path, {"spec": {"replicas": 3}}, headers=MERGE)
        assert (status, scale["spec"]["replicas"]) == (200, 3)
        change = {"spec": {"replicas": 9}}
        assert (await api.call("PATCH", f"{DEPLOYMENTS}/d", change, headers=MERGE))[0] == 200
