"""The words for values of the wrong type, of both decoders."""

from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.decode_errors import DecodeError, json_type
from doorman.api.machinery.map_conversion import conversion_fault
from doorman.api.machinery.schema import Schema

SCHEMA = Schema(type_table())
NODE, POD, DEPLOYMENT, MAP = "core.v1.Node", "core.v1.Pod", "apps.v1.Deployment", "core.v1.ConfigMap"


@pytest.mark.parametrize(
    ("type_name", "doc", "decoded", "converted"),
    [
        pytest.param(
            DEPLOYMENT,
            {"spec": {"replicas": "x"}},
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
            "unrecognized type: int32",
            id="text-for-a-number",
        ),
        pytest.param(
            DEPLOYMENT,
            {"spec": {"replicas": 1.5}},
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            "cannot convert float64 to int32",
            id="part-of-a-number",
        ),
        pytest.param(
            NODE,
            {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}, {"key": 1}]}},
            "number into Go struct field Taint.spec.taints.key of type string",
            "cannot convert int64 to string",
            id="number-in-a-list-of-structs",
        ),
        pytest.param(
            NODE,
            {"spec": {"taints": [{"effect": 1}]}},
            "number into Go struct field Taint.spec.taints.effect of type v1.TaintEffect",
            "cannot convert int64 to v1.TaintEffect",
            id="type-with-a-name",
        ),
        pytest.param(
            NODE,
            {"spec": {"taints": [{"key": True}]}},
            "bool into Go struct field Taint.spec.taints.key of type string",
            "unrecognized type: string",
            id="bool-for-text",
        ),
        pytest.param(
            NODE,
            {"spec": {"taints": "x"}},
            "string into Go struct field NodeSpec.spec.taints of type []v1.Taint",
            "cannot restore slice from string",
            id="text-for-a-list",
        ),
        pytest.param(
            NODE,
            {"spec": {"taints": {"key": "k"}}},
            "object into Go struct field NodeSpec.spec.taints of type []v1.Taint",
            "cannot restore slice from map",
            id="object-for-a-list",
        ),
        pytest.param(
            NODE,
            {"spec": {"unschedulable": "yes"}},
            "string into Go struct field NodeSpec.spec.unschedulable of type bool",
            "unrecognized type: bool",
            id="text-for-a-bool",
        ),
        pytest.param(
            NODE,
            {"spec": [1]},
            "array into Go struct field Node.spec of type v1.NodeSpec",
            "cannot restore struct from: slice",
            id="list-for-a-struct",
        ),
        pytest.param(
            MAP,
            {"metadata": {"labels": {"a": 1}}},
            "number into Go struct field ObjectMeta.metadata.labels of type string",
            "cannot convert int64 to string",
            id="keys-of-maps-are-not-named",
        ),
        pytest.param(
            MAP,
            {"data": "x"},
            "string into Go struct field ConfigMap.data of type map[string]string",
            "cannot restore map from string",
            id="text-for-a-map",
        ),
        pytest.param(
            POD,
            {"spec": {"containers": [{"name": "c", "resources": {"limits": "x"}}]}},
            "string into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
            "cannot restore map from string",
            id="map-with-a-name",
        ),
    ],
)
def test_words(type_name: str, doc: dict[str, Any], decoded: str, converted: str) -> None:
    with pytest.raises(DecodeError) as caught:
        SCHEMA.clean(doc, type_name)
    assert str(caught.value) == f"json: cannot unmarshal {decoded}"
    assert conversion_fault(SCHEMA, doc, f"@{type_name}") == converted


@pytest.mark.parametrize(
    "doc",
    [
        pytest.param({"spec": {"replicas": 2.0, "paused": None}}, id="whole-float-and-null"),
        pytest.param({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "10%"}}}}, id="number-or-text"),
    ],
)
def test_conversion_takes_what_go_converts(doc: dict[str, Any]) -> None:
    assert conversion_fault(SCHEMA, doc, f"@{DEPLOYMENT}") is None


@pytest.mark.parametrize(
    ("doc", "fault"),
    [
        pytest.param({"metadata": {"creationTimestamp": 5}}, "json: cannot unmarshal number into", id="time"),
        pytest.param({"spec": {"strategy": {"rollingUpdate": {"maxSurge": []}}}}, "json: cannot unmarshal", id="port"),
        pytest.param({"spec": {"replicas": "1"}}, "unrecognized type: int32", id="text-for-number"),
        pytest.param({"spec": 2**63}, "cannot restore struct from: float64", id="more-than-64-bits"),
    ],
)
def test_conversion_tells_a_types_own_faults(doc: dict[str, Any], fault: str) -> None:
    assert (conversion_fault(SCHEMA, doc, f"@{DEPLOYMENT}") or "").startswith(fault)


def test_names_of_json_types() -> None:
    values = ("a", 1, 1.5, True, None, [], {})
    assert [json_type(value) for value in values] == ["string", "number", "number", "bool", "null", "array", "object"]
