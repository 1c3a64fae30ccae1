"""Taints and labels follow the node's conditions, one patch at a time."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.base.clock import VIRTUAL_START
from doorman.client.actions import Patch
from doorman.controllers.node.node_taints import (
    NEITHER,
    Intent,
    decide_labels,
    decide_taints,
    has_no_execute,
    taint_body,
)
from doorman.semantics.taints.condition_taints import NOT_READY_NO_EXECUTE, UNREACHABLE_NO_EXECUTE
from support.objects import node

K8S = "node.kubernetes.io/"


def view(document: dict[str, Any]) -> Node:
    document["metadata"]["resourceVersion"] = "7"
    return msgspec.convert(document, Node)


def written(patch: Patch | None) -> list[str] | None:
    if patch is None:
        return None
    assert patch.body["metadata"] == {"resourceVersion": "7"}
    taints = patch.body["spec"]["taints"]
    return [f"{t['key'].removeprefix(K8S)}:{t['effect']}" for t in taints or []]


@pytest.mark.parametrize(
    ("taints", "conditions", "intent", "expected"),
    [
        pytest.param("", {"Ready": "True"}, None, None, id="well"),
        pytest.param("", {"Ready": "False"}, None, ["not-ready:NoSchedule"], id="not-ready"),
        pytest.param("", {"Ready": "Unknown"}, None, ["unreachable:NoSchedule"], id="unknown"),
        pytest.param("", {"MemoryPressure": "Unknown"}, None, None, id="unknown-pressure-is-none"),
        pytest.param(f"{K8S}not-ready:NoSchedule", {}, None, [], id="no-ready-condition-removes"),
        pytest.param(f"{K8S}memory-pressure:NoSchedule", {"Ready": "True"}, None, [], id="made-by-hand-is-removed"),
        pytest.param(f"{K8S}memory-pressure:NoExecute", {"Ready": "True"}, None, None, id="other-effect-is-not-ours"),
        pytest.param(
            f"{K8S}not-ready:NoSchedule", {"Ready": "Unknown"}, None,
            ["not-ready:NoSchedule", "unreachable:NoSchedule"], id="1-adds-before-it-removes",
        ),
        pytest.param(
            f"{K8S}not-ready:NoSchedule {K8S}unreachable:NoSchedule", {"Ready": "Unknown"}, None,
            ["unreachable:NoSchedule"], id="1-then-removes",
        ),
        pytest.param(
            "team=x:NoSchedule hw:PreferNoSchedule", {"Ready": "False"}, None,
            ["team:NoSchedule", "hw:PreferNoSchedule", "not-ready:NoSchedule"], id="2-others-stay",
        ),
        pytest.param(
            f"{K8S}not-ready:NoSchedule", {"Ready": "False"}, Intent(NOT_READY_NO_EXECUTE),
            ["not-ready:NoSchedule", "not-ready:NoExecute"], id="intent-adds",
        ),
        pytest.param(
            f"{K8S}not-ready:NoExecute", {"Ready": "True"}, NEITHER, [], id="intent-removes",
        ),
        pytest.param(
            f"{K8S}unreachable:NoSchedule {K8S}not-ready:NoExecute", {"Ready": "Unknown"},
            Intent(UNREACHABLE_NO_EXECUTE),
            ["unreachable:NoSchedule", "not-ready:NoExecute", "unreachable:NoExecute"], id="swap-adds-first",
        ),
        pytest.param(
            f"{K8S}unreachable:NoSchedule {K8S}not-ready:NoExecute {K8S}unreachable:NoExecute", {"Ready": "Unknown"},
            Intent(UNREACHABLE_NO_EXECUTE), ["unreachable:NoSchedule", "unreachable:NoExecute"], id="swap-removes-then",
        ),
        pytest.param(f"{K8S}not-ready:NoExecute", {"Ready": "True"}, None, None, id="no-intent-no-change"),
    ],
)  # fmt: skip
def test_taints(taints: str, conditions: dict[str, str], intent: Intent | None, expected: list[str] | None) -> None:
    assert written(decide_taints(view(node("n1", taints=taints, **conditions)), intent, VIRTUAL_START)) == expected


def test_cordoned_node_is_tainted_with_the_time_and_without_a_value() -> None:
    document = node("n1", Ready="True")
    document["spec"]["unschedulable"] = True
    patch = decide_taints(view(document), None, VIRTUAL_START)
    assert patch is not None
    assert patch.body["spec"]["taints"] == [
        {"key": f"{K8S}unschedulable", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
    ]


def test_empty_list_is_written_as_null() -> None:
    patch = decide_taints(view(node("n1", taints=f"{K8S}not-ready:NoSchedule")), None, 0.0)
    assert patch is not None
    assert patch.body["spec"] == {"taints": None}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"kubernetes.io/os": "linux"}, {"beta.kubernetes.io/os": "linux"}, id="4-os"),
        pytest.param({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}, None, id="4-there"),
        pytest.param(
            {"kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64"},
            {"beta.kubernetes.io/arch": "arm64"},
            id="4-differs",
        ),
    ],
)
def test_labels(labels: dict[str, str], expected: dict[str, str] | None) -> None:
    action = decide_labels(view(node("n1", labels=labels)))
    assert (action.body["metadata"]["labels"] if isinstance(action, Patch) else None) == expected


def test_bodies_leave_out_what_is_empty() -> None:
    assert taint_body(NOT_READY_NO_EXECUTE) == {"key": f"{K8S}not-ready", "effect": "NoExecute"}
    assert has_no_execute(view(node("n1", taints=f"{K8S}unreachable:NoExecute")))
    assert not has_no_execute(view(node("n1", taints=f"{K8S}unreachable:NoSchedule")))
