"""Webhooks and policies see objects in the version their rules name, whatever version was written."""

from pathlib import Path
from typing import Any

import pytest

from support.hooks import GROUP, allowed, hooks

AUTOSCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"content-type": "application/merge-patch+json"}
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
V1_SPEC = {"scaleTargetRef": TARGET, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}


def rule(version: str, **more: Any) -> dict[str, Any]:
    resources = {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"]}
    return {"operations": ["*"], "apiVersions": [version], **resources, **more}


def autoscaler(version: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "x"},
        "spec": spec,
    }


async def test_webhook_of_a_newer_version_sees_the_older_one_converted_and_changes_it(tmp_path: Path) -> None:
    more_cpu = [{"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 80}]
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda request: allowed(request, more_cpu)}
        await server.given("mutating", "a", rules=[rule("v2")])
        status, made = await server.api.call("POST", AUTOSCALERS.format("v1"), autoscaler("v1", **V1_SPEC))
        assert status == 201, made
        assert made["spec"]["targetCPUUtilizationPercentage"] == 80
        (asked,) = server.asked
        assert asked["object"]["apiVersion"] == "autoscaling/v2"
        assert asked["object"]["spec"]["metrics"] == [CPU]
        group = {"group": "autoscaling", "kind": "HorizontalPodAutoscaler"}
        assert (asked["kind"], asked["requestKind"]) == ({**group, "version": "v2"}, {**group, "version": "v1"})
        assert (asked["resource"]["version"], asked["requestResource"]["version"]) == ("v2", "v1")


@pytest.mark.parametrize(
    ("rules", "policy", "seen"),
    [
        pytest.param([rule("v1")], "Equivalent", "autoscaling/v1", id="its-own-version-as-it-was-sent"),
        pytest.param([rule("*")], "Equivalent", "autoscaling/v1", id="any-version-is-its-own"),
        pytest.param([rule("v2")], "Exact", None, id="exact"),
    ],
)
async def test_which_version_is_seen(rules: Any, policy: str, seen: str | None, tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda request: allowed(request)}
        await server.given("validating", "a", rules=rules, matchPolicy=policy)
        status, made = await server.api.call("POST", AUTOSCALERS.format("v1"), autoscaler("v1", **V1_SPEC))
        assert status == 201, made
        assert [asked["object"]["apiVersion"] for asked in server.asked] == ([seen] if seen else [])
        if seen:
            assert server.asked[0]["object"]["spec"] == {**V1_SPEC, "minReplicas": 1}


async def test_events_are_one_resource_in_two_groups(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda request: allowed(request)}
        newer = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "apiVersions": ["v1"], "operations": ["*"]}
        await server.given("validating", "a", rules=[newer])
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        body = {"metadata": {"name": "e"}, "involvedObject": about, "message": "hello", "reason": "R"}
        status, made = await server.api.call("POST", "/api/v1/namespaces/default/events", body)
        assert status == 201, made
        (asked,) = server.asked
        assert asked["object"]["note"] == "hello"
        assert asked["object"]["apiVersion"] == "events.k8s.io/v1"
        assert (asked["resource"]["group"], asked["requestResource"]["group"]) == ("events.k8s.io", "")


async def test_eviction_is_shown_as_what_it_is(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda request: allowed(request)}
        evictions = {"apiGroups": [""], "resources": ["pods/eviction"], "apiVersions": ["v1"], "operations": ["*"]}
        await server.given("validating", "a", rules=[evictions])
        pods = "/api/v1/namespaces/default/pods"
        account = {"metadata": {"name": "default"}}
        await server.api.call("POST", "/api/v1/namespaces/default/serviceaccounts", account)
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        assert (await server.api.call("POST", pods, pod))[0] == 201
        status, answer = await server.api.call("POST", f"{pods}/p/eviction", {"metadata": {"name": "p"}})
        assert status == 201, answer
        (asked,) = server.asked
        assert asked["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
        assert asked["resource"] == {"group": "", "version": "v1", "resource": "pods"}
        assert asked["object"]["apiVersion"] == "policy/v1"


async def given_policy(server: Any, kind: str, rules: Any, **spec: Any) -> None:
    constraints = {"resourceRules": rules, "matchPolicy": "Equivalent"}
    policy = {"metadata": {"name": "p"}, "spec": {"matchConstraints": constraints, **spec}}
    binding: dict[str, Any] = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    if kind == "validating":
        binding["spec"]["validationActions"] = ["Deny"]
    for resource, body in (("policies", policy), ("policybindings", binding)):
        status, made = await server.api.call("POST", f"{GROUP}/{kind}admission{resource}", body)
        assert status == 201, made


async def test_policy_of_a_newer_version_judges_the_older_one_converted(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        target = "object.spec.metrics[0].resource.target.averageUtilization"
        expression = f"{target} < 70 && request.kind.version == 'v2' && request.requestKind.version == 'v1'"
        await given_policy(server, "validating", [rule("v2")], validations=[{"expression": expression}])
        path = AUTOSCALERS.format("v1")
        assert (await server.api.call("POST", path, autoscaler("v1", **V1_SPEC)))[0] == 201
        more = {"spec": {"targetCPUUtilizationPercentage": 75}}
        status, refused = await server.api.call("PATCH", f"{path}/x", more, headers=MERGE)
        assert (status, refused["reason"]) == (422, "Invalid")


async def test_mutating_policy_of_the_older_version_changes_the_newer_one(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        expression = "Object{spec: Object.spec{targetCPUUtilizationPercentage: 42}}"
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
        more = {"mutations": [mutation], "reinvocationPolicy": "Never"}
        await given_policy(server, "mutating", [rule("v1")], **more)
        body = autoscaler("v2", scaleTargetRef=TARGET, maxReplicas=5, metrics=[CPU])
        status, made = await server.api.call("POST", AUTOSCALERS.format("v2"), body)
        assert status == 201, made
        assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 42
