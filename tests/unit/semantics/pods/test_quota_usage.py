"""What objects count for in quotas, and whom a quota is about."""

from fractions import Fraction
from typing import Any

import pytest

from doorman.semantics.pods.quota_usage import amount_text, is_in_scope, requirements_of, resource_counted_by, usage_of


def pod(phase: str = "Pending", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], **spec}, "status": {"phase": phase}}


def asking(requests: dict[str, str], limits: dict[str, str] | None = None, phase: str = "Running") -> dict[str, Any]:
    return pod(phase, containers=[{"name": "c", "resources": {"requests": requests, "limits": limits or {}}}])


def claim(storage: str, storage_class: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": storage}}}
    return {"metadata": {}, "spec": {**spec, **({"storageClassName": storage_class} if storage_class else {})}}


def service(kind: str, **spec: Any) -> dict[str, Any]:
    return {"spec": {"type": kind, "ports": [{"port": 1, "nodePort": 30001}, {"port": 2}], **spec}}


FAST = "fast.storageclass.storage.k8s.io"


@pytest.mark.parametrize(
    ("resource", "obj", "expected"),
    [
        pytest.param(
            "pods",
            asking({"cpu": "500m", "memory": "1Gi"}, {"cpu": "1"}),
            {
                "count/pods": "1", "pods": "1", "cpu": "500m", "requests.cpu": "500m", "memory": "1Gi",
                "requests.memory": "1Gi", "limits.cpu": "1",
            },
            id="1-pod",
        ),
        pytest.param("pods", asking({"cpu": "1"}, phase="Failed"), {"count/pods": "1"}, id="1-finished"),
        pytest.param(
            "pods",
            asking({"hugepages-2Mi": "4Mi"}),
            {"count/pods": "1", "pods": "1", "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"},
            id="1-huge-pages",
        ),
        pytest.param(
            "pods",
            asking({"example.com/gpu": "2"}, {"example.com/gpu": "2"}),
            {"count/pods": "1", "pods": "1", "requests.example.com/gpu": "2"},
            id="2-extended",
        ),
        pytest.param("services", service("ClusterIP"), {"count/services": "1", "services": "1"}, id="3-plain"),
        pytest.param(
            "services",
            service("NodePort"),
            {"count/services": "1", "services": "1", "services.nodeports": "2"},
            id="3-node-port",
        ),
        pytest.param(
            "services",
            service("LoadBalancer", allocateLoadBalancerNodePorts=False),
            {"count/services": "1", "services": "1", "services.loadbalancers": "1", "services.nodeports": "1"},
            id="3-load-balancer-without-ports-but-one",
        ),
        pytest.param(
            "persistentvolumeclaims",
            claim("10Gi", "fast"),
            {
                "count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "10Gi",
                f"{FAST}/requests.storage": "10Gi", f"{FAST}/persistentvolumeclaims": "1",
            },
            id="4-claim-of-a-class",
        ),
        pytest.param(
            "persistentvolumeclaims",
            claim("10G"),
            {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "10G"},
            id="4-claim",
        ),
        pytest.param("secrets", {}, {"count/secrets": "1", "secrets": "1"}, id="5-plain"),
        pytest.param("deployments.apps", {}, {"count/deployments.apps": "1"}, id="5-group"),
    ],
)  # fmt: skip
def test_usage(resource: str, obj: Any, expected: dict[str, str]) -> None:
    usage = usage_of(resource, obj)
    assert {name: amount_text(name, usage) for name in usage if ":" not in name} == expected
    assert {resource_counted_by(name) for name in expected} == {resource}


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        pytest.param(["512Mi", "512Mi"], "1Gi", id="7-powers-of-two"),
        pytest.param(["128M", "128M"], "256M", id="7-powers-of-ten"),
        pytest.param([], "0", id="7-nothing"),
    ],
)
def test_sums_are_written_as_their_parts(memory: list[str], expected: str) -> None:
    total: dict[str, Fraction] = {}
    for amount in memory:
        for name, more in usage_of("pods", asking({"memory": amount})).items():
            total[name] = total.get(name, Fraction(0)) + more
    assert amount_text("requests.memory", total) == expected


@pytest.mark.parametrize("name", ["limits.example.com/gpu", "requests.bananas", "bananas"])
def test_names_that_nothing_counts_for(name: str) -> None:
    assert resource_counted_by(name) == ""


def selector(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "doc", "expected"),
    [
        pytest.param({}, pod(), True, id="no-scope"),
        pytest.param({"scopes": ["BestEffort"]}, pod(), True, id="best-effort"),
        pytest.param({"scopes": ["NotBestEffort"]}, pod(), False, id="not-best-effort"),
        pytest.param({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True, id="terminating"),
        pytest.param({"scopes": ["NotTerminating"]}, pod(activeDeadlineSeconds=5), False, id="not-terminating"),
        pytest.param({"scopeSelector": selector("In", "high")}, pod(priorityClassName="high"), True, id="class-in"),
        pytest.param(
            {"scopeSelector": selector("NotIn", "high")}, pod(priorityClassName="high"), False, id="class-not-in"
        ),
        pytest.param({"scopeSelector": selector("Exists")}, pod(), False, id="class-exists"),
        pytest.param({"scopeSelector": selector("DoesNotExist")}, pod(), True, id="class-does-not-exist"),
    ],
)
def test_scope(spec: Any, doc: Any, expected: bool) -> None:
    assert is_in_scope(requirements_of(spec.get("scopes", ()), spec.get("scopeSelector")), "pods", doc) is expected


def test_cross_namespace_affinity_is_a_scope() -> None:
    term = {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["x"]}]}
    scoped = requirements_of(["CrossNamespacePodAffinity"], None)
    assert is_in_scope(scoped, "pods", pod(affinity={"podAffinity": term}))
    assert not is_in_scope(scoped, "pods", pod())


def test_scope_of_pods_is_about_no_other_kind() -> None:
    assert not is_in_scope(requirements_of(["NotBestEffort"], None), "services", {"spec": {}})


GOLD: Any = {"spec": {"volumeAttributesClassName": "gold"}}
CHANGING: Any = {
    "spec": {"volumeAttributesClassName": "gold"},
    "status": {
        "currentVolumeAttributesClassName": "silver",
        "modifyVolumeStatus": {"targetVolumeAttributesClassName": "bronze"},
    },
}


@pytest.mark.parametrize(
    ("operator", "values", "claim", "expected"),
    [
        pytest.param("In", ["gold"], GOLD, True, id="in"),
        pytest.param("In", ["silver"], GOLD, False, id="in-another"),
        pytest.param("In", ["silver"], CHANGING, True, id="in-current"),
        pytest.param("In", ["bronze"], CHANGING, True, id="in-target"),
        pytest.param("NotIn", ["gold"], GOLD, False, id="not-in"),
        pytest.param("NotIn", ["gold"], CHANGING, True, id="not-in-one-of-several"),
        pytest.param("NotIn", ["gold"], {"spec": {}}, True, id="not-in-without-class"),
        pytest.param("Exists", [], GOLD, True, id="exists"),
        pytest.param("Exists", [], {"spec": {}}, False, id="exists-without-class"),
        pytest.param("DoesNotExist", [], {"spec": {}}, True, id="does-not-exist"),
        pytest.param("DoesNotExist", [], GOLD, False, id="does-not-exist-with-class"),
    ],
)
def test_scope_of_volume_attributes_classes(operator: str, values: list[str], claim: Any, expected: bool) -> None:
    scoped = [{"scopeName": "VolumeAttributesClass", "operator": operator, "values": values}]
    assert is_in_scope(scoped, "persistentvolumeclaims", claim) is expected
    assert not is_in_scope(scoped, "pods", pod())


def test_claim_of_devices_counts_by_class() -> None:
    claim = {
        "spec": {
            "devices": {
                "requests": [
                    {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}},
                    {"name": "b", "exactly": {"deviceClassName": "nic", "allocationMode": "All"}},
                    {
                        "name": "c",
                        "firstAvailable": [
                            {"name": "x", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 4},
                            {"name": "y", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                        ],
                    },
                ]
            }
        }
    }
    assert usage_of("resourceclaims.resource.k8s.io", claim) == {
        "count/resourceclaims.resource.k8s.io": 1,
        "gpu.deviceclass.resource.k8s.io/devices": 6,
        "nic.deviceclass.resource.k8s.io/devices": 32,
    }
    assert resource_counted_by("gpu.deviceclass.resource.k8s.io/devices") == "resourceclaims.resource.k8s.io"
