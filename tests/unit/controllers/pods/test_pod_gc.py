"""Pods that nobody else removes."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import FINISHED, Pod, end_of
from doorman.base.errors import ApiError
from doorman.client.actions import Delete, Patch
from doorman.controllers.pods.pod_gc import PodGcController, PodGcSettings, decide_force_delete, decide_terminated
from support.objects import node, pod
from support.stage import Stage

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def stage_with(threshold: int = 12500) -> Stage:
    stage = Stage()
    settings = PodGcSettings(terminated_pod_gc_threshold=threshold)
    stage.add(PodGcController(stage.caches["pods"], stage.caches["nodes"], settings))
    return stage


def deleted(stage: Stage) -> list[tuple[float, str]]:
    return [(at, action.name) for at, action in stage.done(Delete, "pods")]


def test_orphan_is_marked_failed_and_removed_after_the_quarantine() -> None:
    stage = stage_with()
    stage.create("nodes", node("n1"))
    stage.create("pods", pod("p", "n1"))
    stage.at(5)
    stage.delete("nodes", "n1")
    stage.at(59)
    assert stage.actions == []
    stage.at(60)
    assert deleted(stage) == [(60.0, "p")]
    patch = stage.done(Patch, "pods")[0][1]
    condition = patch.body["status"]["conditions"][0]
    assert patch.body["status"]["phase"] == "Failed"
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "DisruptionTarget", "DeletionByPodGC", "PodGC: node no longer exists",
    )  # fmt: skip
    assert stage.done(Delete)[0][1].grace_seconds == 0
    assert stage.get("pods", "default/p") is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param("True", "2020-01-01T00:00:00Z", id="evicted-before-keeps-its-time"),
        pytest.param("False", "1970-01-01T00:01:40Z", id="was-no-target"),
    ],
)
def test_orphan_that_was_a_disruption_target(status: str, expected: str) -> None:
    before = {"type": "DisruptionTarget", "status": status, "lastTransitionTime": "2020-01-01T00:00:00Z"}
    view = msgspec.convert(pod("p", "n1", status={"conditions": [before]}), Pod)
    action = decide_force_delete(view, 100.0, orphaned=True)[0]
    assert isinstance(action, Patch)
    (condition,) = action.body["status"]["conditions"]
    assert (condition["reason"], condition["lastTransitionTime"]) == ("DeletionByPodGC", expected)


def test_node_that_comes_back_in_the_quarantine_keeps_its_pods() -> None:
    stage = stage_with()
    stage.create("pods", pod("p", "n1"))
    stage.at(30)
    stage.create("nodes", node("n1"))
    stage.at(300)
    assert deleted(stage) == []


@pytest.mark.parametrize(
    ("taints", "ready", "terminating", "removed"),
    [
        pytest.param(f"{OUT_OF_SERVICE}=nodeshutdown:NoExecute", "Unknown", True, True, id="dead-and-tainted"),
        pytest.param(f"{OUT_OF_SERVICE}:NoSchedule", "False", True, True, id="any-effect-and-value"),
        pytest.param(f"{OUT_OF_SERVICE}:NoExecute", "True", True, False, id="node-is-ready"),
        pytest.param(f"{OUT_OF_SERVICE}:NoExecute", "Unknown", False, False, id="pod-is-not-being-deleted"),
        pytest.param("other:NoExecute", "Unknown", True, False, id="another-taint"),
        pytest.param(f"{OUT_OF_SERVICE}:NoExecute", "", True, True, id="no-ready-condition"),
    ],
)
def test_out_of_service(taints: str, ready: str, terminating: bool, removed: bool) -> None:
    stage = stage_with()
    stage.create("nodes", node("n1", taints=taints, **({"Ready": ready} if ready else {})))
    stage.create("pods", pod("p", "n1"))
    if terminating:
        stage.delete("pods", "default/p")
    stage.at(20)
    assert (stage.get("pods", "default/p") is None) is removed
    if removed:
        assert "conditions" not in stage.done(Patch, "pods")[0][1].body["status"]


def test_terminating_pod_without_a_node_is_removed() -> None:
    stage = stage_with()
    stage.create("pods", pod("p", metadata={"finalizers": ["f"]}))
    stage.delete("pods", "default/p")
    stage.at(20)
    assert deleted(stage) == [(0.0, "p"), (20.0, "p")]


def finished(name: str, created: str, **status: str) -> Pod:
    document: dict[str, Any] = pod(name, "n1", status={"phase": "Failed", **status})
    document["metadata"]["creationTimestamp"] = created
    return msgspec.convert(document, Pod)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        pytest.param(4, [], id="not-beyond-the-threshold"),
        pytest.param(2, ["young-evicted", "a-old"], id="evicted-first-then-oldest-then-name"),
        pytest.param(1, ["young-evicted", "a-old", "b-old"], id="more"),
        pytest.param(0, [], id="off"),
    ],
)
def test_terminated(threshold: int, expected: list[str]) -> None:
    pods = [
        finished("b-old", "2026-01-01T00:00:00Z"),
        finished("a-old", "2026-01-01T00:00:00Z"),
        finished("new", "2026-01-02T00:00:00Z", phase="Succeeded"),
        finished("young-evicted", "2026-01-03T00:00:00Z", reason="Evicted"),
        finished("runs", "2025-01-01T00:00:00Z", phase="Running"),
    ]
    on_their_way_out = [one for one in pods if FINISHED in end_of(one)]
    assert [one.metadata.name for one in decide_terminated(on_their_way_out, threshold)] == expected


def test_finished_pod_is_deleted_without_another_status() -> None:
    actions = decide_force_delete(finished("p", ""), 0.0, orphaned=True)
    assert [type(action) for action in actions] == [Delete]


def test_failure_is_counted_and_the_next_sweep_tries_again() -> None:
    stage = stage_with()
    stage.create("pods", pod("p", "gone"))
    stage.fail(Delete, 1, ApiError(500, "InternalError", "no"))
    stage.at(400)
    assert stage.get("pods", "default/p") is None
    controller = stage._controllers[0]
    assert isinstance(controller, PodGcController)
    assert controller._errors.labels("default", "orphaned")._value.get() == 1
    assert controller._deletions.labels("default", "orphaned")._value.get() == 1
