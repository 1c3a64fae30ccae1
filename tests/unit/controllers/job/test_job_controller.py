"""Jobs from their start to their end."""

from typing import Any

import pytest

from doorman.api.views.batch import Job
from doorman.api.views.coordination import Lease
from doorman.client.actions import Create
from doorman.controllers.job.job_controller import JobController
from doorman.controllers.job.job_pods import TRACKING
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import simulated_node
from support.binder import Binder
from support.objects import taints
from support.stage import Stage

JOBS, LEASES = "jobs.batch", "leases.coordination.k8s.io"


def stage_with(*names: str) -> Stage:
    stage = Stage({JOBS: Job, LEASES: Lease})
    caches = stage.caches
    for name in names:
        stage.create("nodes", simulated_node(name))
    stage.add(JobController(caches[JOBS], caches["pods"]))
    stage.add(Binder(caches["nodes"], caches["pods"]))
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    return stage


def job(runs_for: str = "5s", codes: str = "0", **spec: Any) -> dict[str, Any]:
    annotations = {"doorman.dev/runs-for": runs_for, "doorman.dev/exit-codes": codes}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    return {"metadata": {"namespace": "a", "name": "j"}, "spec": {"completions": 1, "template": template, **spec}}


def status(stage: Stage) -> dict[str, Any]:
    document = stage.get(JOBS, "a/j")
    assert document is not None
    found: dict[str, Any] = document.get("status", {})
    return found


def conditions(stage: Stage) -> dict[str, str]:
    return {one["type"]: one["reason"] for one in status(stage).get("conditions", []) if one["status"] == "True"}


def created(stage: Stage) -> list[float]:
    return [at for at, _ in stage.done(Create, "pods")]


def test_job_completes() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job())
    stage.at(2)
    assert (status(stage)["active"], status(stage)["ready"]) == (1, 1)
    stage.at(10)
    found = status(stage)
    assert found["succeeded"] == 1
    assert "active" not in found
    assert conditions(stage) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert (found["startTime"], found["completionTime"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z")
    assert not found["uncountedTerminatedPods"].get("succeeded")
    assert [text for _, text in stage.messages("Completed")] == ["Job completed"]
    held = next(iter(stage.documents["pods"].values()))["metadata"]["finalizers"]
    assert held == []


@pytest.mark.parametrize(("manager", "pods"), [("kubernetes.io/job-controller", 1), ("example.com/other", 0)])
def test_job_that_somebody_else_manages_is_left_alone(manager: str, pods: int) -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job(managedBy=manager))
    stage.at(2)
    assert len(created(stage)) == pods
    assert bool(status(stage)) == bool(pods)


def test_parallel_pods_until_enough_have_succeeded() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job(completions=5, parallelism=2))
    stage.at(60)
    assert status(stage)["succeeded"] == 5
    assert len(created(stage)) == 5
    assert "Complete" in conditions(stage)


def test_indexed_job_runs_every_index() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job(completions=3, parallelism=3, completionMode="Indexed"))
    stage.at(30)
    assert status(stage)["completedIndexes"] == "0-2"
    names = sorted(key.rpartition("/")[2][:4] for key in stage.documents["pods"])
    assert names == ["j-0-", "j-1-", "j-2-"]


def test_failures_back_off_and_count_against_the_limit() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("1s", "1", backoffLimit=2))
    stage.at(200)
    assert created(stage) == [0.0, 11.0, 32.0]
    assert status(stage)["failed"] == 3
    assert conditions(stage) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert [text for _, text in stage.messages("BackoffLimitExceeded")] == [
        "Job has reached the specified backoff limit"
    ]


def test_restarts_in_place_count_against_the_limit() -> None:
    stage = stage_with("n1")
    document = job("1s", "1", backoffLimit=2)
    document["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    stage.create(JOBS, document)
    stage.at(200)
    assert created(stage) == [0.0]
    assert conditions(stage) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert status(stage)["failed"] == 1


def test_evicted_pod_counts_as_failed_and_is_replaced_elsewhere() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("60s"))
    stage.at(5)
    stage.create("nodes", simulated_node("n2"))
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(120)
    assert status(stage)["failed"] == 1
    assert status(stage)["succeeded"] == 1
    assert created(stage) == [0.0, 15.0]


def test_eviction_is_ignored_if_the_policy_says_so() -> None:
    stage = stage_with("n1")
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    stage.create(JOBS, job("60s", podFailurePolicy={"rules": rules}, backoffLimit=0))
    stage.at(5)
    stage.create("nodes", simulated_node("n2"))
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(120)
    assert "failed" not in status(stage)
    assert status(stage)["succeeded"] == 1


def test_policy_may_fail_the_job_at_once() -> None:
    stage = stage_with("n1")
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
    stage.create(JOBS, job("5s", "42", podFailurePolicy={"rules": rules}))
    stage.at(30)
    assert conditions(stage)["Failed"] == "PodFailurePolicy"
    assert len(created(stage)) == 1


def test_deadline_ends_the_job_and_its_pods() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("1h", activeDeadlineSeconds=30))
    stage.at(29)
    assert conditions(stage) == {}
    stage.at(40)
    assert conditions(stage)["Failed"] == "DeadlineExceeded"
    assert "active" not in status(stage)


@pytest.mark.parametrize("suspended_first", [True, False])
def test_suspended_job_runs_nothing_until_it_is_resumed(suspended_first: bool) -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("5s", suspend=suspended_first))
    stage.at(2)
    stage.patch(JOBS, "a/j", {"spec": {"suspend": True}})
    stage.at(20)
    assert conditions(stage) == {"Suspended": "JobSuspended"}
    assert "active" not in status(stage)
    assert "startTime" not in status(stage)
    stage.patch(JOBS, "a/j", {"spec": {"suspend": False}})
    stage.at(60)
    assert "Complete" in conditions(stage)


def test_without_completions_one_success_is_enough() -> None:
    stage = stage_with("n1")
    document = job("5s", parallelism=3)
    del document["spec"]["completions"]
    stage.create(JOBS, document)
    stage.at(30)
    assert status(stage)["succeeded"] == 3
    assert len(created(stage)) == 3
    assert "Complete" in conditions(stage)


def test_less_parallelism_deletes_pods() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("1h", completions=10, parallelism=4, backoffLimit=10))
    stage.at(5)
    stage.patch(JOBS, "a/j", {"spec": {"parallelism": 1}})
    stage.at(10)
    assert status(stage)["active"] == 1


def test_job_that_is_deleted_lets_its_pods_go_and_is_forgotten() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("1h"))
    stage.at(5)
    stage.patch(JOBS, "a/j", {"metadata": {"finalizers": ["orphan"]}})
    stage.delete(JOBS, "a/j")
    stage.at(6)
    assert next(iter(stage.documents["pods"].values()))["metadata"]["finalizers"] == []
    stage.patch(JOBS, "a/j", {"metadata": {"finalizers": None}})
    stage.at(7)
    controller = stage._controllers[0]
    assert isinstance(controller, JobController)
    assert (controller._uids, controller._backoffs) == ({}, {})


def test_pods_whose_job_is_gone_can_go() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("1h"))
    stage.at(5)
    stage.delete(JOBS, "a/j")
    stage.at(6)
    assert next(iter(stage.documents["pods"].values()))["metadata"]["finalizers"] == []


def test_pods_of_a_namesake_that_is_gone_can_go() -> None:
    stage = stage_with("n1")
    stage.create(JOBS, job("1h"))
    stage.at(5)
    (first,) = stage.documents["pods"]
    stage.delete(JOBS, "a/j")
    stage.create(JOBS, job("1h"))
    stage.at(10)
    finalizers = {name: pod["metadata"]["finalizers"] for name, pod in stage.documents["pods"].items()}
    assert finalizers.pop(first) == []
    assert list(finalizers.values()) == [[TRACKING]]


@pytest.mark.parametrize("owned", [True, False])
def test_tracked_pod_that_nobody_counts_can_go(owned: bool) -> None:
    """Also when its Job went while nobody looked."""
    stage = stage_with("n1")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "past", "uid": "past", "controller": True}
    meta = {
        "name": "p",
        "namespace": "a",
        "uid": "p",
        "finalizers": [TRACKING],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    stage.create("pods", {"metadata": {**meta, "ownerReferences": [owner] if owned else []}, "spec": {}, "status": {}})
    stage.at(1)
    assert "a/p" not in stage.documents["pods"], "nothing holds it any more"
