"""Which taints the conditions of a node ask for."""

import pytest

from doorman.api.views.meta import Condition
from doorman.api.views.nodes import Node, NodeSpec, NodeStatus
from doorman.semantics.taints.condition_taints import (
    condition_taints,
    desired_no_schedule_taints,
    no_execute_taint_or_none,
    owned_no_schedule_taints,
)
from doorman.semantics.taints.taint_spec import parse_taint


@pytest.mark.parametrize(
    ("conditions", "unschedulable", "expected"),
    [
        pytest.param([("Ready", "True")], False, [], id="rule-1-ready"),
        pytest.param([("Ready", "False")], False, ["not-ready"], id="rule-1-not-ready"),
        pytest.param([("Ready", "Unknown")], False, ["unreachable"], id="rule-1-unknown"),
        pytest.param([], False, [], id="rule-1-no-condition"),
        pytest.param([("MemoryPressure", "True")], False, ["memory-pressure"], id="rule-2-memory"),
        pytest.param([("DiskPressure", "True")], False, ["disk-pressure"], id="rule-2-disk"),
        pytest.param([("PIDPressure", "True")], False, ["pid-pressure"], id="rule-2-pid"),
        pytest.param([("NetworkUnavailable", "True")], False, ["network-unavailable"], id="rule-2-network"),
        pytest.param([("MemoryPressure", "Unknown"), ("Else", "True")], False, [], id="rule-2-only-when-true"),
        pytest.param([("OutOfDisk", "True")], False, ["out-of-disk"], id="rule-7-out-of-disk"),
        pytest.param([("OutOfDisk", "False")], False, [], id="rule-7-only-when-true"),
        pytest.param([], True, ["unschedulable"], id="rule-3-unschedulable"),
        pytest.param(
            [("PIDPressure", "True"), ("Ready", "False")],
            True,
            ["pid-pressure", "not-ready", "unschedulable"],
            id="rule-4-order-of-conditions",
        ),
    ],
)
def test_condition_taints(conditions: list[tuple[str, str]], unschedulable: bool, expected: list[str]) -> None:
    found = condition_taints([Condition(type=t, status=s) for t, s in conditions], unschedulable=unschedulable)
    assert [str(taint) for taint in found] == [f"node.kubernetes.io/{key}:NoSchedule" for key in expected]


def test_rule_5_owned_are_no_schedule_taints_with_these_keys() -> None:
    mine = parse_taint("node.kubernetes.io/not-ready=by-hand:NoSchedule")
    node = Node(
        spec=NodeSpec(
            taints=(
                parse_taint("node.kubernetes.io/not-ready:NoExecute"),
                mine,
                parse_taint("gpu:NoSchedule"),
                parse_taint("node.kubernetes.io/out-of-service:NoSchedule"),
            )
        ),
        status=NodeStatus(conditions=(Condition(type="Ready", status="True"),)),
    )
    assert owned_no_schedule_taints(node) == (mine,)
    assert desired_no_schedule_taints(node) == ()


@pytest.mark.parametrize(
    ("conditions", "is_owned"),
    [
        pytest.param((Condition(type="OutOfDisk", status="False"),), True, id="rule-7-condition-reported"),
        pytest.param((Condition(type="Ready", status="True"),), False, id="rule-7-condition-unheard-of"),
    ],
)
def test_rule_7_out_of_disk_taint_is_owned(conditions: tuple[Condition, ...], is_owned: bool) -> None:
    taint = parse_taint("node.kubernetes.io/out-of-disk:NoSchedule")
    node = Node(spec=NodeSpec(taints=(taint,)), status=NodeStatus(conditions=conditions))
    assert owned_no_schedule_taints(node) == ((taint,) if is_owned else ())


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param("False", "node.kubernetes.io/not-ready:NoExecute", id="rule-6-false"),
        pytest.param("Unknown", "node.kubernetes.io/unreachable:NoExecute", id="rule-6-unknown"),
        pytest.param("True", "None", id="rule-6-true"),
    ],
)
def test_no_execute_taint_or_none(status: str, expected: str) -> None:
    assert str(no_execute_taint_or_none(status)) == expected
