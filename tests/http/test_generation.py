"""metadata.generation of every kind that keeps one: what counts, and what does not."""

import asyncio
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from support.api import running_api

MERGE = {"content-type": "application/merge-patch+json"}
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
}
FOREVER = {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": FOREVER}
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
LABELED = {"metadata": {"labels": {"x": "y"}}}
ANNOTATED = {"metadata": {"annotations": {"x": "y"}}}


def case(resource: str, body: dict[str, Any], change: dict[str, Any], *expected: int | None, id_: str = "") -> Any:
    """Expected: generation when created, after `change`, after new labels, after new annotations."""
    return pytest.param(resource, body, change, list(expected), id=id_ or resource)


CASES = [
    case("deployments.apps", {"spec": SELECTED}, {"spec": {"replicas": 2}}, 1, 2, 2, 3),
    case("replicasets.apps", {"spec": SELECTED}, {"spec": {"replicas": 2}}, 1, 2, 2, 2),
    case("statefulsets.apps", {"spec": {**SELECTED, "serviceName": "s"}}, {"spec": {"replicas": 2}}, 1, 2, 2, 2),
    case("daemonsets.apps", {"spec": SELECTED}, {"spec": {"minReadySeconds": 2}}, 1, 2, 2, 2),
    case("replicationcontrollers", {"spec": {"template": FOREVER}}, {"spec": {"replicas": 2}}, 1, 2, 2, 2),
    case("jobs.batch", {"spec": {"template": TEMPLATE}}, {"spec": {"parallelism": 2}}, 1, 2, 2, 2),
    case(
        "cronjobs.batch",
        {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}},
        {"spec": {"suspend": True}},
        1, 2, 2, 2,
    ),
    case("podtemplates", {"template": FOREVER}, {"template": {"metadata": {"labels": {"z": "z"}}}}, 1, 2, 2, 2),
    case("poddisruptionbudgets.policy", {"spec": {"maxUnavailable": 1}}, {"spec": {"maxUnavailable": 2}}, 1, 2, 2, 2),
    case(
        "horizontalpodautoscalers.autoscaling",
        {"spec": {"scaleTargetRef": TARGET, "maxReplicas": 2}},
        {"spec": {"maxReplicas": 3}},
        1, 2, 2, 2,
    ),
    case(
        "networkpolicies.networking.k8s.io",
        {"spec": {"podSelector": {}}},
        {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
        1, 2, 2, 2,
    ),
    case(
        "devicetaintrules.resource.k8s.io",
        {"spec": {"taint": {"key": "k", "effect": "NoSchedule"}}},
        {"spec": {"taint": {"effect": "NoExecute"}}},
        1, 2, 2, 2,
    ),
    case("deviceclasses.resource.k8s.io", {"spec": {}}, {"spec": {"extendedResourceName": "a.b/gpu"}}, 1, 2, 2, 2),
    case(
        "endpointslices.discovery.k8s.io",
        {"addressType": "IPv4", "endpoints": []},
        {"endpoints": [{"addresses": ["10.0.0.1"]}]},
        1, 2, 3, 3,
    ),
    case("priorityclasses.scheduling.k8s.io", {"value": 5}, {"description": "more"}, 1, 1, 1, 1),
    case("csidrivers.storage.k8s.io", {"spec": {}}, {"spec": {"requiresRepublish": True}}, None, 1, 1, 1),
    case("configmaps", {}, {"data": {"a": "b"}}, None, None, None, None),
    case("services", {"spec": {"ports": [{"port": 80}]}}, {"spec": {"selector": {"a": "b"}}}, *[None] * 4),
    case("nodes", {}, {"spec": {"unschedulable": True}}, *[None] * 4),
    case("namespaces", {}, LABELED, *[None] * 4),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "body", "change", "expected"), CASES)
def test_generation(resource: str, body: dict[str, Any], change: dict[str, Any], expected: list[int | None]) -> None:
    async def main() -> list[int | None]:
        kind = builtin_kinds().named(resource)
        place = f"{kind.path}/namespaces/default/{kind.resource}" if kind.namespaced else f"{kind.path}/{kind.resource}"
        async with running_api() as api:
            head = {"kind": kind.kind, "apiVersion": kind.group_version, "metadata": {"name": "x"}}
            status, made = await api.call("POST", place, {**head, **body})
            assert status == 201, made
            found = [made["metadata"].get("generation")]
            for patch in (change, LABELED, ANNOTATED):
                status, answer = await api.call("PATCH", f"{place}/x", patch, headers=MERGE)
                assert status == 200, answer
                found.append(answer["metadata"].get("generation"))
            if kind.has_status:
                before = found[-1]
                status, answer = await api.call("PATCH", f"{place}/x/status", {"status": {}}, headers=MERGE)
                assert (status, answer["metadata"].get("generation")) == (200, before)
            return found

    assert asyncio.run(main()) == expected


def test_deletion_that_waits_for_a_finalizer_is_a_generation_too() -> None:
    async def main() -> Any:
        async with running_api() as api:
            place = "/apis/apps/v1/namespaces/default/deployments"
            metadata = {"name": "x", "finalizers": ["example.com/wait"]}
            body = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata, "spec": SELECTED}
            await api.call("POST", place, body)
            await api.call("DELETE", f"{place}/x")
            return (await api.call("DELETE", f"{place}/x"))[1]["metadata"]

    assert asyncio.run(main())["generation"] == 2
