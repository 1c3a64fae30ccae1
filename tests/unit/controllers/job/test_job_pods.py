"""What a Job's pods mean for it."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.batch import Job
from doorman.api.views.pods import Pod
from doorman.controllers.job.job_pods import (
    Backoff,
    format_indexes,
    free_indexes,
    job_pod,
    match_failure_policy,
    parse_indexes,
    replaces_only_failed,
    restarts_too_often,
    sort_ended,
    wanted_active,
)
from support.objects import pod

IGNORE_DISRUPTIONS = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def job(**spec: Any) -> Job:
    return msgspec.convert({"metadata": {"name": "j", "namespace": "a", "uid": "u"}, "spec": spec}, Job)


def view(phase: str, *, going: bool = False, code: int | None = None, disrupted: bool = False, index: str = "") -> Pod:
    meta: dict[str, Any] = {"annotations": {"batch.kubernetes.io/job-completion-index": index} if index else {}}
    if going:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "DisruptionTarget", "status": "True"}] if disrupted else []
    statuses = [{"name": "c", "state": {"terminated": {"exitCode": code}}}] if code is not None else []
    status = {"phase": phase, "conditions": conditions, "containerStatuses": statuses}
    return msgspec.convert(pod("p", metadata=meta, status=status), Pod)


@pytest.mark.parametrize(
    ("one", "found", "expected"),
    [
        pytest.param(job(), view("Succeeded"), "succeeded", id="1-succeeded"),
        pytest.param(job(), view("Failed"), "failed", id="1-failed"),
        pytest.param(job(), view("Running"), "", id="1-running"),
        pytest.param(job(), view("Running", going=True), "failed", id="1-going-has-failed"),
        pytest.param(job(), view("Succeeded", going=True), "succeeded", id="1-going-but-succeeded"),
        pytest.param(
            job(podReplacementPolicy="Failed"), view("Running", going=True), "", id="1-only-failed-are-replaced"
        ),
        pytest.param(
            job(podFailurePolicy=IGNORE_DISRUPTIONS), view("Failed", disrupted=True), "ignored", id="2-ignored"
        ),
        pytest.param(job(podFailurePolicy=IGNORE_DISRUPTIONS), view("Failed"), "failed", id="2-no-rule-matches"),
    ],
)
def test_ended(one: Job, found: Pod, expected: str) -> None:
    ended = sort_ended(one, [found])
    sorted_in = [name for name in ("succeeded", "failed", "ignored") if getattr(ended, name)]
    assert sorted_in == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("rule", "found", "expected"),
    [
        pytest.param(
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}, view("Failed", code=42),
            ("FailJob", "Container c for pod default/p failed with exit code 42 matching FailJob rule at index 0"),
            id="2-exit-code",
        ),
        pytest.param(
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}, view("Failed", code=1),
            ("Count", ""), id="2-another-exit-code",
        ),
        pytest.param(
            {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [42]}}, view("Failed", code=1),
            ("Ignore", "Container c for pod default/p failed with exit code 1 matching Ignore rule at index 0"),
            id="2-not-in",
        ),
        pytest.param(
            {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            view("Failed", disrupted=True),
            ("FailJob", "Pod default/p has condition DisruptionTarget matching FailJob rule at index 0"),
            id="2-condition",
        ),
    ],
)  # fmt: skip
def test_failure_policy(rule: dict[str, Any], found: Pod, expected: tuple[str, str]) -> None:
    assert match_failure_policy(job(podFailurePolicy={"rules": [rule]}), found) == expected


@pytest.mark.parametrize(
    ("one", "active", "succeeded", "expected"),
    [
        pytest.param(job(parallelism=3, completions=5), 0, 0, 3, id="3-in-parallel"),
        pytest.param(job(parallelism=3, completions=5), 1, 4, 1, id="3-still-to-succeed"),
        pytest.param(job(parallelism=3, completions=5), 0, 5, 0, id="3-done"),
        pytest.param(job(parallelism=3), 3, 0, 3, id="3-without-a-number"),
        pytest.param(job(parallelism=3), 2, 1, 2, id="3-one-success-is-enough"),
        pytest.param(job(parallelism=3, suspend=True), 0, 0, 0, id="3-suspended"),
    ],
)
def test_wanted(one: Job, active: int, succeeded: int, expected: int) -> None:
    assert wanted_active(one, active, succeeded) == expected


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (3, 40), (7, 600), (30, 600)])
def test_backoff_doubles(failures: int, seconds: int) -> None:
    until = Backoff(failures=failures, since=100.0).until()
    assert until == (100.0 + seconds if failures else 0.0)


@pytest.mark.parametrize(
    ("policy", "limit", "phase", "restarts", "expected"),
    [
        pytest.param("OnFailure", 3, "Running", (1, 1), False, id="6-fewer-than-the-limit"),
        pytest.param("OnFailure", 3, "Running", (1, 2), True, id="6-as-many-as-the-limit-of-all-pods"),
        pytest.param("OnFailure", 0, "Running", (0, 0), False, id="6-none-with-limit-zero"),
        pytest.param("OnFailure", 0, "Pending", (1, 0), True, id="6-first-with-limit-zero"),
        pytest.param("OnFailure", 3, "Succeeded", (9, 9), False, id="6-of-pods-that-ended-none"),
        pytest.param("Never", 3, "Running", (9, 9), False, id="6-not-where-they-are-never-restarted"),
    ],
)
def test_restarts(policy: str, limit: int, phase: str, restarts: tuple[int, ...], expected: bool) -> None:
    one = job(backoffLimit=limit, template={"spec": {"restartPolicy": policy}})
    pods = [
        msgspec.convert(pod("p", status={"phase": phase, "containerStatuses": [{"restartCount": count}]}), Pod)
        for count in restarts
    ]
    assert restarts_too_often(one, pods) is expected


def test_replacement_policy_depends_on_a_failure_policy() -> None:
    assert not replaces_only_failed(job())
    assert replaces_only_failed(job(podFailurePolicy=IGNORE_DISRUPTIONS))
    assert not replaces_only_failed(
        job(podFailurePolicy=IGNORE_DISRUPTIONS, podReplacementPolicy="TerminatingOrFailed")
    )


def test_indexes() -> None:
    one = job(completions=6, completionMode="Indexed")
    assert free_indexes(one, [view("Running", index="1"), view("Failed", index="2")], frozenset({0}), 2) == [2, 3]
    assert parse_indexes(format_indexes({0, 1, 2, 4, 6, 7})) == {0, 1, 2, 4, 6, 7}
    assert format_indexes([]) == ""


def test_pod_is_labelled_and_held_by_a_finalizer() -> None:
    template = {"spec": {"containers": [{"name": "c"}]}}
    plain = job_pod(job(template=template), None, owner={})
    assert plain["metadata"]["generateName"] == "j-"
    assert plain["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert plain["metadata"]["labels"]["job-name"] == "j"
    indexed = job_pod(job(template=template), 3, owner={})
    assert indexed["metadata"]["generateName"] == "j-3-"
    assert indexed["metadata"]["annotations"] == {"batch.kubernetes.io/job-completion-index": "3"}
    assert indexed["spec"]["hostname"] == "j-3"
    assert indexed["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
