"""What is written whatever it says: the members Go never leaves out."""

import copy
from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.schema import Schema
from doorman.api.views.meta import Condition, view_decoder

SCHEMA = Schema(type_table())

NODE_INFO = dict.fromkeys(
    ("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion",
     "machineID", "operatingSystem", "osImage", "systemUUID"),
    "",
)  # fmt: skip

ROWS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("a struct that says nothing", "core.v1.Pod", {"spec": {"containers": []}}, {"status": {}}),
    ("a list that may not be left out", "rbac.v1.Role", {}, {"rules": None}),
    (
        "structs in structs",
        "core.v1.Node",
        {"spec": {}},
        {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": NODE_INFO}},
    ),
    ("a number", "policy.v1.PodDisruptionBudgetStatus", {"currentHealthy": 3}, {"expectedPods": 0}),
    ("a time", "core.v1.PodCondition", {"type": "Ready"}, {"lastProbeTime": None, "lastTransitionTime": None}),
    ("an amount", "core.v1.ResourceFieldSelector", {"resource": "limits.cpu"}, {"divisor": "0"}),
]


@pytest.mark.parametrize(("type_name", "doc", "added"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_is_missing_is_put_in(type_name: str, doc: dict[str, Any], added: dict[str, Any]) -> None:
    given = copy.deepcopy(doc)
    SCHEMA.complete(doc, type_name)
    for name, value in {**given, **added}.items():
        assert doc[name] == value


def test_elements_of_lists_are_completed() -> None:
    pod: dict[str, Any] = {"spec": {"containers": [{"name": "a"}, {}]}}
    SCHEMA.complete(pod, "core.v1.Pod")
    assert pod["spec"]["containers"] == [{"name": "a", "resources": {}}, {"name": "", "resources": {}}]


def test_what_may_be_left_out_is_not_put_in() -> None:
    doc: dict[str, Any] = {}
    SCHEMA.complete(doc, "meta.v1.ObjectMeta")
    assert doc == {}


@pytest.mark.parametrize("type_name", sorted(name for name, row in type_table().items() if row.get("gvk")))
def test_a_complete_document_is_clean(type_name: str) -> None:
    """So that what was read can be written back on the quick way."""
    doc: dict[str, Any] = {}
    SCHEMA.complete(doc, type_name)
    cleaned, problems = SCHEMA.clean(doc, type_name)
    assert cleaned is doc
    assert problems == []


def test_a_pointer_keeps_its_zero_and_a_plain_member_does_not() -> None:
    cleaned, _ = SCHEMA.clean({"replicas": 0, "minReadySeconds": 0}, "apps.v1.DeploymentSpec")
    assert cleaned == {"replicas": 0}


def test_views_pass_over_nulls() -> None:
    read = view_decoder(Condition)
    assert read(b'{"type":"Ready","lastTransitionTime":null}') == Condition(type="Ready")
