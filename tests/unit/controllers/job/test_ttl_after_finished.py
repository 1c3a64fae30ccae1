"""Jobs that go some time after their end."""

from typing import Any

import pytest

from doorman.api.views.batch import Job
from doorman.base.errors import GroupResource, stale
from doorman.client.actions import Delete
from doorman.controllers.job.ttl_after_finished import TtlAfterFinishedController
from support.stage import Stage

JOBS = "jobs.batch"
END = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}


def stage_with(seconds: int | None, conditions: list[dict[str, str]]) -> Stage:
    stage = Stage({JOBS: Job})
    stage.add(TtlAfterFinishedController(stage.caches[JOBS]))
    spec = {} if seconds is None else {"ttlSecondsAfterFinished": seconds}
    document: dict[str, Any] = {"metadata": {"namespace": "a", "name": "j"}, "spec": spec}
    stage.create(JOBS, document)
    stage.at(10)
    stage.patch(JOBS, "a/j", {"status": {"conditions": conditions}})
    return stage


def deleted(stage: Stage) -> list[float]:
    return [at for at, _ in stage.done(Delete, JOBS)]


@pytest.mark.parametrize(
    ("seconds", "conditions", "expected"),
    [
        pytest.param(60, [{"type": "Complete", **END}], [70.0], id="complete"),
        pytest.param(60, [{"type": "Failed", **END}], [70.0], id="failed"),
        pytest.param(0, [{"type": "Complete", **END}], [10.0], id="zero-is-at-once"),
        pytest.param(None, [{"type": "Complete", **END}], [], id="without-a-number-it-stays"),
        pytest.param(60, [{"type": "SuccessCriteriaMet", **END}], [], id="announced-is-not-ended"),
        pytest.param(60, [{"type": "Complete", "status": "False"}], [], id="not-true"),
    ],
)
def test_finished_job_goes(seconds: int | None, conditions: list[dict[str, str]], expected: list[float]) -> None:
    stage = stage_with(seconds, conditions)
    stage.at(1000)
    assert deleted(stage) == expected


def test_job_goes_in_the_foreground_and_once() -> None:
    stage = stage_with(60, [{"type": "Complete", **END}])
    stage.at(71)
    stage.patch(JOBS, "a/j", {"metadata": {"labels": {"touched": "yes"}}})
    stage.at(1000)
    ((_, action),) = stage.done(Delete, JOBS)
    job = stage.get(JOBS, "a/j")
    assert job is not None
    assert (action.propagation, action.uid) == ("Foreground", job["metadata"]["uid"])
    assert job["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_changed_time_counts() -> None:
    stage = stage_with(60, [{"type": "Complete", **END}])
    stage.at(50)
    stage.patch(JOBS, "a/j", {"spec": {"ttlSecondsAfterFinished": 600}})
    stage.at(609)
    assert deleted(stage) == []
    stage.at(610)
    assert deleted(stage) == [610.0]


def test_failed_deletion_is_tried_again() -> None:
    stage = stage_with(60, [{"type": "Complete", **END}])
    stage.fail(Delete, 2, stale(GroupResource("batch", "jobs"), "j"))
    stage.at(1000)
    assert len(deleted(stage)) == 3
    assert deleted(stage)[-1] < 71
