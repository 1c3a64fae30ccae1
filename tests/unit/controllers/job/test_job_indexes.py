"""Indexes of Jobs that fail or succeed on their own."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.batch import Job, JobStatus
from doorman.api.views.coordination import Lease
from doorman.api.views.pods import Pod
from doorman.client.actions import Create
from doorman.controllers.job.job_controller import JobController
from doorman.controllers.job.job_indexes import (
    FAILURES,
    decide_failed_indexes,
    decide_index_end,
    decide_index_failure,
    decide_indexes,
    decide_success,
)
from doorman.controllers.job.job_pods import INDEX, sort_ended
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import simulated_node
from support.binder import Binder
from support.objects import taints
from support.stage import Stage

JOBS, LEASES = "jobs.batch", "leases.coordination.k8s.io"
FAIL_INDEX = {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}}]}


def view(status: dict[str, Any] | None = None, **spec: Any) -> Job:
    return msgspec.convert({"spec": {"completionMode": "Indexed", **spec}, "status": status or {}}, Job)


def failed_pod(index: int, failures: int, *, name: str = "p", code: int = 1, phase: str = "Failed") -> Pod:
    terminated = {"exitCode": code, "finishedAt": "2026-01-01T00:00:10Z"}
    document = {
        "metadata": {"name": name, "uid": name, "annotations": {INDEX: str(index), FAILURES: str(failures)}},
        "status": {"phase": phase, "containerStatuses": [{"name": "c", "state": {"terminated": terminated}}]},
    }
    return msgspec.convert(document, Pod)


@pytest.mark.parametrize(
    ("job", "pod", "done", "expected"),
    [
        pytest.param(view(backoffLimitPerIndex=1), failed_pod(3, 0), (), [], id="rule-1-may-fail-once-more"),
        pytest.param(view(backoffLimitPerIndex=1), failed_pod(3, 1), (), [3], id="rule-1-carries-the-limit"),
        pytest.param(view(backoffLimitPerIndex=0), failed_pod(3, 0), (), [3], id="rule-1-limit-zero"),
        pytest.param(view(), failed_pod(3, 9), (), [], id="rule-1-without-a-limit"),
        pytest.param(
            view(backoffLimitPerIndex=5, podFailurePolicy=FAIL_INDEX), failed_pod(3, 0, code=42), (), [3],
            id="rule-1-policy-says-so",
        ),
        pytest.param(view(backoffLimitPerIndex=0), failed_pod(3, 0), (3,), [], id="rule-1-not-when-it-succeeded"),
        pytest.param(
            view({"failedIndexes": "1"}, backoffLimitPerIndex=1), failed_pod(3, 1), (), [1, 3], id="rule-1-on-record"
        ),
    ],
)  # fmt: skip
def test_failed_indexes(job: Job, pod: Pod, done: tuple[int, ...], expected: list[int]) -> None:
    assert sorted(decide_failed_indexes(job, [pod], frozenset(done))) == expected


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        pytest.param(0, 10.0, id="rule-2-first"),
        pytest.param(2, 40.0, id="rule-2-doubles"),
        pytest.param(20, 600.0, id="rule-2-at-most"),
    ],
)
def test_index_waits_from_the_end_of_its_pod(failures: int, seconds: float) -> None:
    job = view(backoffLimitPerIndex=30, completions=5)
    pods = [failed_pod(3, failures)]
    indexes = decide_indexes(job, sort_ended(job, pods), pods)
    assert indexes.waits_until(3) == 1_767_225_610.0 + seconds
    assert indexes.waits_until(0) == 0.0
    assert indexes.annotations(3) == {FAILURES: str(failures + 1)}
    assert indexes.annotations(0) == {FAILURES: "0"}


def test_failed_pod_is_held_until_its_successor_is_there_rule_3() -> None:
    job = view(backoffLimitPerIndex=3, completions=5)
    first, second = failed_pod(1, 0, name="a"), failed_pod(1, 1, name="b", phase="Running")
    alone = decide_indexes(job, sort_ended(job, [first]), [first])
    assert (alone.is_holding, alone.countable.failed) == (True, ())
    followed = decide_indexes(job, sort_ended(job, [first, second]), [first, second])
    assert (followed.is_holding, followed.countable.failed) == (False, (first,))


@pytest.mark.parametrize(
    ("most", "failed", "expected"),
    [
        pytest.param(1, "0,1", "MaxFailedIndexesExceeded", id="rule-4-more-than-allowed"),
        pytest.param(2, "0,1", None, id="rule-4-as-many-as-allowed"),
        pytest.param(None, "0,1", None, id="rule-4-no-limit"),
    ],
)
def test_too_many_failed_indexes(most: int | None, failed: str, expected: str | None) -> None:
    job = view(backoffLimitPerIndex=0, maxFailedIndexes=most)
    verdict = decide_index_failure(job, frozenset(map(int, failed.split(","))))
    assert (verdict[1] if verdict is not None else None) == expected


@pytest.mark.parametrize(
    ("completed", "failed", "expected"),
    [
        pytest.param("0,1", "2", "FailedIndexes", id="rule-4-all-have-ended"),
        pytest.param("0", "2", None, id="rule-4-one-is-left"),
        pytest.param("0-2", "", None, id="rule-4-none-failed"),
    ],
)
def test_end_of_all_indexes(completed: str, failed: str, expected: str | None) -> None:
    job = view(backoffLimitPerIndex=0, completions=3)
    verdict = decide_index_end(job, JobStatus(completed_indexes=completed, failed_indexes=failed))
    assert (verdict[1] if verdict is not None else None) == expected


@pytest.mark.parametrize(
    ("rules", "done", "expected"),
    [
        pytest.param([{"succeededIndexes": "0,2-3"}], {0, 2, 3}, 0, id="rule-5-all-named"),
        pytest.param([{"succeededIndexes": "0,2-3"}], {0, 1, 2}, None, id="rule-5-one-named-is-missing"),
        pytest.param([{"succeededCount": 2}], {4, 5}, 0, id="rule-5-count-of-all"),
        pytest.param([{"succeededIndexes": "0-4", "succeededCount": 2}], {1, 7}, None, id="rule-5-count-of-named"),
        pytest.param([{"succeededIndexes": "9"}, {"succeededCount": 1}], {1}, 1, id="rule-5-first-that-is-met"),
    ],
)
def test_success_policy(rules: list[dict[str, Any]], done: set[int], expected: int | None) -> None:
    verdict = decide_success(view(successPolicy={"rules": rules}), frozenset(done))
    told = ("SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {expected}")
    assert verdict == (told if expected is not None else None)


def stage_with(runs_for: str, codes: str, **spec: Any) -> Stage:
    stage = Stage({JOBS: Job, LEASES: Lease})
    caches = stage.caches
    stage.create("nodes", simulated_node("n1"))
    stage.add(JobController(caches[JOBS], caches["pods"]))
    stage.add(Binder(caches["nodes"], caches["pods"]))
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    template = {
        "metadata": {"annotations": {"doorman.dev/runs-for": runs_for, "doorman.dev/exit-codes": codes}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    counts = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimit": 2**31 - 1}
    stage.create(JOBS, {"metadata": {"namespace": "a", "name": "j"}, "spec": {**counts, "template": template, **spec}})
    return stage


def status(stage: Stage) -> dict[str, Any]:
    document = stage.get(JOBS, "a/j")
    assert document is not None
    found: dict[str, Any] = document["status"]
    return found


def reasons(stage: Stage) -> dict[str, str]:
    return {one["type"]: one["reason"] for one in status(stage)["conditions"] if one["status"] == "True"}


def test_every_index_fails_as_often_as_it_may_and_then_the_job() -> None:
    stage = stage_with("1s", "1", backoffLimitPerIndex=1)
    stage.at(200)
    assert [at for at, _ in stage.done(Create, "pods")] == [0.0, 0.0, 11.0, 11.0]
    assert (status(stage)["failedIndexes"], status(stage)["failed"]) == ("0,1", 4)
    assert reasons(stage) == {"FailureTarget": "FailedIndexes", "Failed": "FailedIndexes"}
    assert all(not pod["metadata"]["finalizers"] for pod in stage.documents["pods"].values())


def test_too_many_failed_indexes_end_the_job_and_every_pod_is_counted() -> None:
    stage = stage_with("1s", "1", backoffLimitPerIndex=0, maxFailedIndexes=0)
    stage.at(60)
    assert reasons(stage)["Failed"] == "MaxFailedIndexesExceeded"
    assert status(stage)["failed"] == 2
    assert all(not pod["metadata"]["finalizers"] for pod in stage.documents["pods"].values())


def test_evicted_pod_leaves_its_number_to_its_successor() -> None:
    stage = stage_with("1h", "0", backoffLimitPerIndex=5, completions=1, parallelism=1)
    stage.at(5)
    stage.create("nodes", simulated_node("n2"))
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(60)
    (pod,) = stage.documents["pods"].values()
    assert pod["metadata"]["annotations"][FAILURES] == "1"
    assert status(stage)["failed"] == 1


def test_success_policy_ends_the_job_early() -> None:
    stage = stage_with("5s", "0", completions=4, parallelism=1, successPolicy={"rules": [{"succeededCount": 2}]})
    stage.at(100)
    assert status(stage)["completedIndexes"] == "0,1"
    assert reasons(stage) == {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"}
