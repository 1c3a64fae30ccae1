"""Versions that look different from what is stored: there and back again."""

import copy
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.conversion import CONVERSIONS, from_stored, to_stored
from doorman.api.machinery.schema import Schema

META = {"name": "x", "namespace": "default"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
QUEUE = {
    "type": "External",
    "external": {
        "metric": {"name": "queue", "selector": {"matchLabels": {"q": "a"}}},
        "target": {"type": "Value", "value": "30"},
    },
}
REQUESTS = {
    "type": "Object",
    "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "s"},
        "metric": {"name": "hits"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}
PODS = {"type": "Pods", "pods": {"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "5"}}}
CONTAINER = {
    "type": "ContainerResource",
    "containerResource": {
        "name": "cpu",
        "container": "c",
        "target": {"type": "Utilization", "averageUtilization": 40},
    },
}
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}


def autoscaler(*metrics: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 3}
    if metrics:
        spec["metrics"] = list(metrics)
    return {"metadata": META, "spec": {**spec, **more}}


STORED = [
    pytest.param(
        "events.events.k8s.io/v1",
        {"metadata": META, "involvedObject": {"name": "p"}, "message": "m", "source": {}, "count": 2, "reason": "r"},
        id="event",
    ),
    pytest.param("horizontalpodautoscalers.autoscaling/v1", autoscaler(CPU), id="cpu"),
    pytest.param(
        "horizontalpodautoscalers.autoscaling/v1",
        autoscaler(MEMORY, QUEUE, REQUESTS, PODS, CONTAINER, CPU),
        id="all-metrics",
    ),
    pytest.param(
        "horizontalpodautoscalers.autoscaling/v1",
        autoscaler(
            CPU,
            behavior={
                "scaleUp": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 9}]}
            },
        ),
        id="behavior",
    ),
    pytest.param(
        "horizontalpodautoscalers.autoscaling/v1",
        {
            **autoscaler(CPU),
            "status": {
                "currentReplicas": 1,
                "desiredReplicas": 2,
                "conditions": [{"type": "AbleToScale", "status": "True"}],
                "currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}
                ],
            },
        },
        id="status",
    ),
    pytest.param(
        "resourceclaims.resource.k8s.io/v1beta1",
        {
            "metadata": META,
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "a", "exactly": {"deviceClassName": "c", "count": 2, "allocationMode": "ExactCount"}},
                        {"name": "b", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]},
                    ]
                }
            },
        },
        id="claim",
    ),
    pytest.param(
        "resourceclaimtemplates.resource.k8s.io/v1beta1",
        {
            "metadata": META,
            "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}},
        },
        id="template",
    ),
    pytest.param(
        "resourceslices.resource.k8s.io/v1beta1",
        {
            "metadata": {"name": "x"},
            "spec": {"driver": "d", "devices": [{"name": "gpu-0", "taints": [{"key": "k", "effect": "NoExecute"}]}]},
        },
        id="slice",
    ),
]


@pytest.mark.parametrize(("conversion", "stored"), STORED)
def test_nothing_is_lost_on_the_way_out_and_back(conversion: str, stored: dict[str, Any]) -> None:
    before = copy.deepcopy(stored)
    shown = from_stored(conversion, stored)
    assert shown != stored
    assert to_stored(conversion, shown) == stored
    assert stored == before, "the given document stays as it is"


@pytest.mark.parametrize(("conversion", "stored"), STORED)
def test_each_side_has_the_members_of_its_version(conversion: str, stored: dict[str, Any]) -> None:
    schema = Schema(type_table())
    row = next(row for row in builtin_kinds().rows if row.conversion == conversion)
    assert schema.clean(from_stored(conversion, stored), row.type_name)[1] == []
    assert schema.clean(stored, builtin_kinds().stored(row).type_name)[1] == []


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_a_document_with_nothing_to_convert_stays_as_it_is(conversion: str) -> None:
    assert to_stored(conversion, {"metadata": {"name": "x"}}) == {"metadata": {"name": "x"}}
    assert from_stored(conversion, {"metadata": {"name": "x"}}) == {"metadata": {"name": "x"}}


def test_version_one_of_an_autoscaler_shows_the_first_use_of_cpu_and_notes_the_rest() -> None:
    shown = from_stored("horizontalpodautoscalers.autoscaling/v1", autoscaler(CPU, MEMORY))
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 50
    assert shown["metadata"]["annotations"] == {
        "autoscaling.alpha.kubernetes.io/metrics": (
            '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]'
        )
    }


def test_a_note_that_cannot_be_read_goes() -> None:
    notes = {"autoscaling.alpha.kubernetes.io/metrics": "{nonsense", "mine": "stays"}
    shown = {"metadata": {**META, "annotations": notes}, "spec": {"maxReplicas": 3}}
    stored = to_stored("horizontalpodautoscalers.autoscaling/v1", shown)
    assert stored["metadata"]["annotations"] == {"mine": "stays"}
    assert "metrics" not in stored["spec"]
