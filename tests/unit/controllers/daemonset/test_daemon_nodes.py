"""Which nodes daemon pods belong on."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import DaemonSet
from doorman.api.views.nodes import Node
from doorman.api.views.pods import PodSpec
from doorman.controllers.daemonset.daemon_nodes import (
    Placement,
    Placements,
    daemon_pod,
    daemon_tolerations,
    decide_placement,
    reports_out_of_disk,
)
from support.objects import node, toleration

K8S = "node.kubernetes.io/"


def spec(tolerations: str = "", **more: Any) -> PodSpec:
    return msgspec.convert({"tolerations": [toleration(one) for one in tolerations.split()], **more}, PodSpec)


def test_automatic_tolerations_in_their_order() -> None:
    found = [(one.key.removeprefix(K8S), one.effect, one.toleration_seconds) for one in daemon_tolerations(spec())]
    assert found == [
        ("not-ready", "NoExecute", None),
        ("unreachable", "NoExecute", None),
        ("disk-pressure", "NoSchedule", None),
        ("memory-pressure", "NoSchedule", None),
        ("pid-pressure", "NoSchedule", None),
        ("unschedulable", "NoSchedule", None),
    ]
    assert daemon_tolerations(spec(hostNetwork=True))[-1].key == f"{K8S}network-unavailable"


def test_own_toleration_that_is_the_same_is_replaced_in_place() -> None:
    found = daemon_tolerations(spec(f"{K8S}not-ready:NoExecute@60 a"))
    assert [(one.key, one.toleration_seconds) for one in found][:2] == [(f"{K8S}not-ready", None), ("a", None)]
    assert len(found) == 7


@pytest.mark.parametrize(
    ("pod_spec", "taints", "expected"),
    [
        pytest.param(spec(), "", (True, True), id="plain"),
        pytest.param(spec(nodeName="n2"), "", (False, False), id="2-another-node"),
        pytest.param(spec(nodeName="n1"), "", (True, True), id="2-this-node"),
        pytest.param(spec(nodeSelector={"a": "b"}), "", (False, False), id="3-selector"),
        pytest.param(spec(), "x:NoSchedule", (False, True), id="4-no-schedule"),
        pytest.param(spec(), "x:NoExecute", (False, False), id="4-no-execute"),
        pytest.param(spec(), "x:PreferNoSchedule", (True, True), id="4-prefer-no-schedule"),
        pytest.param(spec("x:NoExecute@5"), "x:NoExecute", (True, True), id="4-seconds-do-not-matter"),
        pytest.param(spec(), f"{K8S}not-ready:NoSchedule", (False, True), id="4-not-ready-no-schedule"),
        pytest.param(spec(), f"{K8S}not-ready:NoExecute", (True, True), id="1-not-ready-no-execute"),
        pytest.param(spec(), f"{K8S}unschedulable:NoSchedule", (True, True), id="1-cordoned"),
        pytest.param(spec("*"), f"{K8S}not-ready:NoSchedule x:NoExecute", (True, True), id="tolerates-everything"),
    ],
)
def test_placement(pod_spec: PodSpec, taints: str, expected: tuple[bool, bool]) -> None:
    view = msgspec.convert(node("n1", taints=taints), Node)
    found = decide_placement(pod_spec, daemon_tolerations(pod_spec), view, comparison_operators=True)
    assert found == Placement(*expected)


def test_placements_are_computed_anew_when_the_node_changed() -> None:
    placements = Placements(DaemonSet(), comparison_operators=True)
    first = msgspec.convert(node("n1"), Node)
    assert placements.on(first).should_run
    assert placements.on(msgspec.convert(node("n1", Ready="True"), Node)).should_run
    assert not placements.on(msgspec.convert(node("n1", taints="x:NoSchedule"), Node)).should_run
    placements.forget("n1")
    assert placements._known == {}


def test_generation_annotation_becomes_a_label() -> None:
    document = {"metadata": {"name": "d", "annotations": {"deprecated.daemonset.template.generation": "3"}}}
    made = daemon_pod(msgspec.convert(document, DaemonSet), "n1", "h", owner={})
    assert made["metadata"]["labels"] == {"controller-revision-hash": "h", "pod-template-generation": "3"}


@pytest.mark.parametrize(
    ("priority", "condition", "tolerated"),
    [
        pytest.param("system-node-critical", "OutOfDisk", True, id="rule-6-critical-on-an-old-node"),
        pytest.param("", "OutOfDisk", False, id="rule-6-not-critical"),
        pytest.param("system-node-critical", "DiskPressure", False, id="rule-6-node-of-today"),
    ],
)
def test_out_of_disk(priority: str, condition: str, tolerated: bool) -> None:
    status = {"conditions": [{"type": condition, "status": "True"}]}
    view = msgspec.convert({"metadata": {"name": "n1"}, "status": status}, Node)
    found = daemon_tolerations(spec(priorityClassName=priority), reports_out_of_disk=reports_out_of_disk(view))
    assert (f"{K8S}out-of-disk" in [one.key for one in found]) is tolerated
