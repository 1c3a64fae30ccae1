"""How many may be disrupted right now."""

from typing import Any

import pytest

from doorman.api.views.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from doorman.api.views.policy import PodDisruptionBudget
from doorman.base.instants import to_time
from doorman.client.actions import Patch
from doorman.controllers.cluster.disruption import DisruptionController, WorkloadScales
from support.objects import pod
from support.stage import Stage

BUDGETS = "poddisruptionbudgets.policy"
RS = {"kind": "ReplicaSet", "name": "r", "uid": "r1", "controller": True}


def stage_with(replicas: int = 4, ready: int = 4, owner: dict[str, Any] | None = RS) -> Stage:
    stage = Stage(
        {
            BUDGETS: PodDisruptionBudget, "replicasets.apps": ReplicaSet, "deployments.apps": Deployment,
            "statefulsets.apps": StatefulSet, "replicationcontrollers": ReplicationController,
        }
    )  # fmt: skip
    caches = stage.caches
    workloads = WorkloadScales(
        caches["replicasets.apps"],
        caches["deployments.apps"],
        caches["statefulsets.apps"],
        caches["replicationcontrollers"],
    )
    stage.add(DisruptionController(caches[BUDGETS], caches["pods"], workloads))
    meta = {"namespace": "default", "name": "r", "uid": "r1"}
    stage.create("replicasets.apps", {"metadata": meta, "spec": {"replicas": replicas}})
    for number in range(replicas):
        add_pod(stage, f"p{number}", ready=number < ready, owner=owner)
    return stage


def add_pod(stage: Stage, name: str, *, ready: bool, owner: dict[str, Any] | None = RS) -> None:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"labels": {"app": "a"}, "ownerReferences": [owner] if owner else []}
    stage.create("pods", pod(name, "n1", metadata=metadata, status={"phase": "Running", "conditions": conditions}))


def budget(stage: Stage, **spec: Any) -> None:
    selector = {"matchLabels": {"app": "a"}}
    stage.create(BUDGETS, {"metadata": {"namespace": "default", "name": "b"}, "spec": {"selector": selector, **spec}})
    stage.settle()


def status(stage: Stage) -> tuple[int, int, int, int]:
    document = stage.get(BUDGETS, "default/b")
    assert document is not None
    found = document["status"]
    return found["disruptionsAllowed"], found["currentHealthy"], found["desiredHealthy"], found["expectedPods"]


def condition(stage: Stage) -> tuple[str, str]:
    document = stage.get(BUDGETS, "default/b")
    assert document is not None
    found = document["status"]["conditions"][0]
    return found["status"], found["reason"]


@pytest.mark.parametrize(
    ("spec", "ready", "expected"),
    [
        pytest.param({"minAvailable": 3}, 4, (1, 4, 3, 4), id="2-number"),
        pytest.param({"minAvailable": 3}, 3, (0, 3, 3, 4), id="3-nothing-to-spare"),
        pytest.param({"minAvailable": "50%"}, 4, (2, 4, 2, 4), id="2-share"),
        pytest.param({"minAvailable": "60%"}, 4, (1, 4, 3, 4), id="2-share-rounded-up"),
        pytest.param({"maxUnavailable": 1}, 4, (1, 4, 3, 4), id="2-max-unavailable"),
        pytest.param({"maxUnavailable": "30%"}, 4, (2, 4, 2, 4), id="2-max-unavailable-rounded-up"),
        pytest.param({"maxUnavailable": 1}, 2, (0, 2, 3, 4), id="1-unready-do-not-count"),
    ],
)
def test_allowed(spec: dict[str, Any], ready: int, expected: tuple[int, int, int, int]) -> None:
    stage = stage_with(ready=ready)
    budget(stage, **spec)
    assert status(stage) == expected
    assert condition(stage) == (("True", "SufficientPods") if expected[0] else ("False", "InsufficientPods"))


def test_no_pods_nothing_allowed() -> None:
    stage = stage_with(replicas=0)
    budget(stage, minAvailable=0)
    assert status(stage) == (0, 0, 0, 0)


def test_missing_pods_of_a_workload_count_as_unavailable() -> None:
    stage = stage_with()
    budget(stage, maxUnavailable=1)
    stage.delete("pods", "default/p0", grace_seconds=0)
    stage.settle()
    assert status(stage) == (0, 3, 3, 4)
    add_pod(stage, "p9", ready=False)
    stage.settle()
    assert status(stage) == (0, 3, 3, 4)
    stage.patch("pods", "default/p9", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    stage.settle()
    assert status(stage) == (1, 4, 3, 4)


def test_pod_being_deleted_is_not_healthy() -> None:
    stage = stage_with()
    budget(stage, minAvailable=2)
    stage.delete("pods", "default/p0")
    stage.settle()
    assert status(stage) == (1, 3, 2, 4)


def test_deployment_counts_for_its_replica_sets() -> None:
    stage = stage_with()
    stage.create(
        "deployments.apps", {"metadata": {"namespace": "default", "name": "d", "uid": "d1"}, "spec": {"replicas": 10}}
    )
    owner = {"kind": "Deployment", "name": "d", "uid": "d1", "controller": True}
    stage.patch("replicasets.apps", "default/r", {"metadata": {"ownerReferences": [owner]}})
    budget(stage, maxUnavailable="50%")
    assert status(stage) == (0, 4, 5, 10)
    stage.patch("deployments.apps", "default/d", {"spec": {"replicas": 4}})
    stage.settle()
    assert status(stage) == (2, 4, 2, 4)


def test_unknown_workload_makes_a_share_impossible_but_not_a_number() -> None:
    stage = stage_with(owner={"kind": "Strange", "name": "s", "uid": "s1", "controller": True})
    budget(stage, maxUnavailable="50%")
    assert condition(stage) == ("False", "SyncFailed")
    assert status(stage)[0] == 0
    stage.patch(BUDGETS, "default/b", {"spec": {"maxUnavailable": None, "minAvailable": 1}})
    stage.settle()
    assert status(stage) == (3, 4, 1, 4)


def test_granted_eviction_counts_until_the_pod_goes_or_two_minutes_are_over() -> None:
    stage = stage_with()
    budget(stage, minAvailable=2)
    granted = {"disruptedPods": {"p0": to_time(stage.now), "p1": to_time(stage.now)}, "disruptionsAllowed": 0}
    stage.patch(BUDGETS, "default/b", {"status": granted})
    stage.settle()
    assert status(stage) == (0, 2, 2, 4)
    stage.delete("pods", "default/p0")
    stage.at(10)
    document = stage.get(BUDGETS, "default/b")
    assert document is not None
    assert list(document["status"]["disruptedPods"]) == ["p1"]
    stage.at(119)
    assert status(stage) == (0, 2, 2, 4)
    stage.at(121)
    assert status(stage) == (1, 3, 2, 4)


def test_status_is_written_with_the_version_it_came_from_and_only_if_it_changed() -> None:
    stage = stage_with()
    budget(stage, minAvailable=1)
    writes = stage.done(Patch, BUDGETS)
    assert writes[0][1].body["metadata"]["resourceVersion"]
    stage.patch("pods", "default/p0", {"metadata": {"annotations": {"x": "y"}}})
    stage.settle()
    assert len(stage.done(Patch, BUDGETS)) == len(writes)


def test_label_that_leaves_the_selector_is_noticed() -> None:
    stage = stage_with()
    budget(stage, minAvailable=1)
    stage.patch("pods", "default/p0", {"metadata": {"labels": {"app": "other"}}})
    stage.settle()
    assert status(stage) == (2, 3, 1, 3)
