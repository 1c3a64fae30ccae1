"""What a kubelet says of a pod at each turn of its life."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import Pod
from doorman.nodes.pods.kubelet_pod_status import (
    closed_gates,
    completed_body,
    condition_of,
    readiness_body,
    refused_body,
    restarted_body,
    running_body,
    waiting_body,
)
from doorman.nodes.pods.unstarted_pod_status import starting_body
from support.objects import pod

LONG_AGO = "1970-01-01T00:00:10Z"
NOW = "1970-01-01T00:01:40Z"


def view(**more: Any) -> Pod:
    return msgspec.convert(pod("p", "node-1", **more), Pod)


def saying(**condition: str) -> Pod:
    return view(status={"conditions": [{"type": "Ready", "lastTransitionTime": LONG_AGO, **condition}]})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(view(), {"lastTransitionTime": NOW}, id="new"),
        pytest.param(saying(status="True"), {"lastTransitionTime": LONG_AGO}, id="unchanged-keeps-its-time"),
        pytest.param(saying(status="False"), {"lastTransitionTime": NOW}, id="changed"),
        pytest.param(
            saying(status="False", reason="ContainersNotReady", message="m"),
            {"lastTransitionTime": NOW, "reason": None, "message": None},
            id="reason-of-the-old-status-goes",
        ),
    ],
)
def test_condition(before: Pod, after: dict[str, Any]) -> None:
    assert condition_of(before, "Ready", "True", 100.0) == {"type": "Ready", "status": "True", **after}


GATES = {"readinessGates": [{"conditionType": "a.b/one"}, {"conditionType": "a.b/two"}]}


@pytest.mark.parametrize(
    ("conditions", "closed"),
    [
        pytest.param(
            [],
            'corresponding condition of pod readiness gate "a.b/one" does not exist., '
            'corresponding condition of pod readiness gate "a.b/two" does not exist.',
            id="nobody-said-anything",
        ),
        pytest.param(
            [{"type": "a.b/one", "status": "True"}, {"type": "a.b/two", "status": "False"}],
            'the status of pod readiness gate "a.b/two" is not "True", but False',
            id="one-is-closed",
        ),
        pytest.param([{"type": "a.b/one", "status": "True"}, {"type": "a.b/two", "status": "True"}], "", id="open"),
    ],
)
def test_readiness_gates(conditions: list[dict[str, str]], closed: str) -> None:
    one = view(spec=GATES, status={"conditions": conditions})
    assert closed_gates(one) == closed
    told = {condition["type"]: condition for condition in readiness_body(one, 100.0)["status"]["conditions"]}
    assert told["ContainersReady"]["status"] == "True"
    assert told["Ready"]["status"] == ("False" if closed else "True")
    assert told["Ready"].get("message", "") == closed
    assert told["Ready"].get("reason", "") == ("ReadinessGatesNotReady" if closed else "")


def test_pod_that_is_not_ready_names_its_containers() -> None:
    one = view(spec={"containers": [{"name": "a"}, {"name": "b"}]})
    ready = running_body(one, 100.0, ready=False)["status"]["conditions"][2]
    assert (ready["reason"], ready["message"]) == ("ContainersNotReady", "containers with unready status: [a b]")


@pytest.mark.parametrize("known", [True, False], ids=["by-the-scheduler", "by-hand"])
def test_pod_on_a_node_is_scheduled_whoever_put_it_there(known: bool) -> None:
    conditions = [{"type": "PodScheduled", "status": "True"}] if known else []
    one = view(status={"conditions": conditions})
    for body in (running_body(one, 100.0, ready=True), starting_body(one, 100.0)):
        assert any(each["type"] == "PodScheduled" for each in body["status"]["conditions"]) is not known


def test_pod_with_init_containers_starts_with_the_first_of_them() -> None:
    inits = [{"name": "side", "restartPolicy": "Always"}, {"name": "one"}, {"name": "two"}]
    status = starting_body(view(spec={"initContainers": inits}), 100.0)["status"]
    initialized = next(one for one in status["conditions"] if one["type"] == "Initialized")
    assert (initialized["status"], initialized["reason"], initialized["message"]) == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [one two]",
    )
    assert [list(one["state"]) for one in status["initContainerStatuses"]] == [["waiting"], ["running"], ["waiting"]]
    assert [one["state"]["waiting"]["reason"] for one in status["containerStatuses"]] == ["PodInitializing"]


@pytest.mark.parametrize(("seconds", "written"), [(10.0, "10s"), (80.0, "1m20s"), (300.0, "5m0s")])
def test_back_off_is_told_as_kubelets_tell_it(seconds: float, written: str) -> None:
    one = view(metadata={"uid": "1-2", "namespace": "default"})
    (container,) = waiting_body(one, 1, seconds, 100.0)["status"]["containerStatuses"]
    assert container["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": f"back-off {written} restarting failed container=c pod=p_default(1-2)",
    }


def test_last_state_is_kept_whole() -> None:
    ended = {
        "exitCode": 1, "reason": "Error", "startedAt": LONG_AGO, "finishedAt": NOW, "containerID": "doorman://u/c",
    }  # fmt: skip
    known = {"name": "c", "restartCount": 1, "state": {"waiting": {}}, "lastState": {"terminated": ended}}
    one = view(status={"containerStatuses": [known]})
    for body in (restarted_body(one, 2, 200.0, ready=True, code=None), readiness_body(one, 200.0)):
        assert body["status"]["containerStatuses"][0]["lastState"] == {"terminated": ended}


@pytest.mark.parametrize(
    ("code", "phase", "reasons"),
    [
        pytest.param(0, "Succeeded", {"PodCompleted"}, id="succeeds"),
        pytest.param(3, "Failed", {"PodFailed"}, id="fails"),
    ],
)
def test_pod_that_ends(code: int, phase: str, reasons: set[str]) -> None:
    status = completed_body(view(), code, 100.0)["status"]
    assert (status["phase"], {one["reason"] for one in status["conditions"]}) == (phase, reasons)


def test_refused_pod_has_a_start_but_no_containers() -> None:
    assert refused_body(view(metadata={"generation": 1}), "R", "m", 100.0)["status"] == {
        "observedGeneration": 1, "phase": "Failed", "reason": "R", "message": "m", "startTime": NOW,
    }  # fmt: skip
