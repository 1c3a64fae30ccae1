"""Who leaves a node so that a critical pod gets in."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.nodes.pods.critical_pod_preemption import decide_preemption, is_displaceable, preempted_body
from doorman.nodes.pods.pod_admission import CRITICAL_PRIORITY, PodRejection, Shortfall
from support.objects import pod


def view(name: str, kind: str = "Burstable", priority: int = 0, **requests: str) -> Pod:
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": requests}}], "priority": priority}
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "qosClass": kind}
    return msgspec.convert(pod(name, "n1", metadata={"uid": name}, spec=spec, status=status), Pod)


CRITICAL = view("critical", priority=CRITICAL_PRIORITY)


def lacking(**missing: int) -> Shortfall:
    return Shortfall(tuple(PodRejection(f"OutOf{name}", "", name, amount) for name, amount in missing.items()))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(view("ordinary"), True, id="1-not-critical"),
        pytest.param(view("equal", priority=CRITICAL_PRIORITY), False, id="1-as-critical"),
        pytest.param(view("higher", priority=CRITICAL_PRIORITY + 1), False, id="1-more-critical"),
    ],
)
def test_displaceable(other: Pod, expected: bool) -> None:
    assert is_displaceable(CRITICAL, other) is expected


@pytest.mark.parametrize(
    ("others", "shortfall", "leave"),
    [
        pytest.param(
            [view("g", "Guaranteed", cpu="1"), view("b", cpu="1")], lacking(cpu=500), ["b"],
            id="3-burstable-before-guaranteed",
        ),
        pytest.param(
            [view("e", "BestEffort"), view("b", cpu="1")], lacking(pods=1), ["e"], id="3-best-effort-first"
        ),
        pytest.param(
            [view("g", "Guaranteed", cpu="2"), view("b", cpu="1")], lacking(cpu=1500), ["g"],
            id="3-guaranteed-alone-if-it-must-go-anyway",
        ),
        pytest.param(
            [view("small", cpu="100m"), view("large", cpu="1")], lacking(cpu=500), ["large"], id="4-one-that-is-enough"
        ),
        pytest.param(
            [view("larger", cpu="2"), view("large", cpu="1")], lacking(cpu=500), ["large"], id="4-of-equals-the-smaller"
        ),
        pytest.param(
            [view("a", cpu="400m"), view("b", cpu="300m"), view("c", cpu="200m")], lacking(cpu=600), ["a", "c"],
            id="4-nearest-first-until-enough",
        ),
        pytest.param(
            [view("a", cpu="1"), view("b", memory="1Gi")], lacking(cpu=500, memory=1 << 29), ["a", "b"],
            id="4-every-resource",
        ),
    ],
)  # fmt: skip
def test_who_leaves(others: list[Pod], shortfall: Shortfall, leave: list[str]) -> None:
    found = decide_preemption(CRITICAL, others, shortfall)
    assert not isinstance(found, PodRejection)
    assert sorted(one.metadata.name for one in found) == sorted(leave)


def test_nobody_leaves_if_it_would_not_help() -> None:
    others = [view("b", cpu="100m"), view("equal", priority=CRITICAL_PRIORITY, cpu="4")]
    found = decide_preemption(CRITICAL, others, lacking(cpu=500))
    assert found == PodRejection(
        "UnexpectedAdmissionError",
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods "
        "to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 400), ]",
    )


def test_displaced_pod_failed_and_says_why() -> None:
    status = preempted_body(view("b"), 0.0)["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Preempting")
    assert status["message"] == "Preempted in order to admit critical pod"
    target = next(one for one in status["conditions"] if one["type"] == "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    assert target["message"] == "Pod was preempted by Kubelet to accommodate a critical pod."
