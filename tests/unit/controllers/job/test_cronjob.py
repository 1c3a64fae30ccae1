"""Jobs each time a schedule comes round."""

from typing import Any

from doorman.api.views.batch import CronJob, Job
from doorman.client.actions import Create, Delete
from doorman.controllers.job.cronjob import CronJobController
from support.stage import Stage

CRONS, JOBS = "cronjobs.batch", "jobs.batch"


def stage_with(**spec: Any) -> Stage:
    stage = Stage({CRONS: CronJob, JOBS: Job})
    stage.add(CronJobController(stage.caches[CRONS], stage.caches[JOBS]))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {"containers": []}}}}
    document = {
        "metadata": {"namespace": "a", "name": "c"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec},
    }
    stage.create(CRONS, document)
    return stage


def finish(stage: Stage, *, kind: str = "Complete") -> None:
    for key, document in list(stage.documents[JOBS].items()):
        if not document.get("status", {}).get("conditions"):
            conditions = [{"type": kind, "status": "True"}]
            done = {
                "conditions": conditions,
                "completionTime": "2026-01-01T00:05:00Z",
                "startTime": document["metadata"]["creationTimestamp"],
            }
            stage.patch(JOBS, key, {"status": done})


def status(stage: Stage) -> dict[str, Any]:
    document = stage.get(CRONS, "a/c")
    assert document is not None
    found: dict[str, Any] = document.get("status", {})
    return found


def made(stage: Stage) -> list[float]:
    return [at for at, _ in stage.done(Create, JOBS)]


def test_job_every_minute() -> None:
    stage = stage_with()
    stage.at(185)
    assert made(stage) == [60.0, 120.0, 180.0]
    job = next(iter(stage.documents[JOBS].values()))
    assert job["metadata"]["name"] == f"c-{int(stage.start_instant + 60) // 60}"
    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    assert status(stage)["lastScheduleTime"] == "2026-01-01T00:03:00Z"
    assert len(status(stage)["active"]) == 3


def test_forbid_waits_for_the_one_that_runs() -> None:
    stage = stage_with(concurrencyPolicy="Forbid")
    stage.at(185)
    assert made(stage) == [60.0]
    assert stage.messages("JobAlreadyActive") != []
    finish(stage)
    stage.at(245)
    assert len(made(stage)) == 2
    assert "active" in status(stage)


def test_replace_deletes_the_one_that_runs() -> None:
    stage = stage_with(concurrencyPolicy="Replace")
    stage.at(125)
    assert len(made(stage)) == 2
    assert [at for at, _ in stage.done(Delete, JOBS)] == [120.0]
    assert len(stage.documents[JOBS]) == 1


def test_history_is_kept_to_its_limits() -> None:
    stage = stage_with(successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1)
    for minute in range(1, 7):
        stage.at(minute * 60 + 5)
        finish(stage, kind="Failed" if minute % 3 == 0 else "Complete")
    stage.settle()
    kinds = [document["status"]["conditions"][0]["type"] for document in stage.documents[JOBS].values()]
    assert sorted(kinds) == ["Complete", "Complete", "Failed"]
    assert status(stage)["lastSuccessfulTime"] == "2026-01-01T00:05:00Z"
    assert len(stage.messages("SawCompletedJob")) == 6


def test_suspended_makes_none_and_only_the_last_missed_is_made_up_for() -> None:
    stage = stage_with(suspend=True)
    stage.at(605)
    assert made(stage) == []
    stage.patch(CRONS, "a/c", {"spec": {"suspend": False}})
    stage.at(615)
    assert len(made(stage)) == 1
    assert status(stage)["lastScheduleTime"] == "2026-01-01T00:10:00Z"


def test_missed_time_beyond_the_starting_deadline_is_not_made_up_for() -> None:
    stage = stage_with(suspend=True, schedule="0 * * * *", startingDeadlineSeconds=100)
    stage.at(3600 + 300)
    stage.patch(CRONS, "a/c", {"spec": {"suspend": False}})
    stage.at(3600 + 400)
    assert made(stage) == []


def test_too_many_missed_times_are_told_and_the_last_one_served() -> None:
    stage = stage_with(suspend=True)
    stage.at(86400 + 30)
    stage.patch(CRONS, "a/c", {"spec": {"suspend": False}})
    stage.at(86400 + 40)
    assert len(made(stage)) == 1
    assert stage.messages("TooManyMissedTimes") != []
    assert status(stage)["lastScheduleTime"] == "2026-01-02T00:00:00Z"


def test_unreadable_schedule_is_told_once() -> None:
    stage = stage_with(schedule="every day")
    stage.at(100)
    stage.patch(CRONS, "a/c", {"metadata": {"labels": {"x": "y"}}})
    stage.at(200)
    assert len(stage.messages("UnparseableSchedule")) == 1


def test_unknown_time_zone_is_told() -> None:
    stage = stage_with(timeZone="Moon/Crater")
    stage.at(100)
    assert len(stage.messages("UnparseableSchedule")) == 1


def test_job_that_somebody_made_by_hand_is_told_of_and_in_nobodys_way() -> None:
    stage = stage_with(concurrencyPolicy="Forbid")
    owner = stage.get(CRONS, "a/c")
    assert owner is not None
    reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "controller": True}
    stage.create(
        JOBS,
        {
            "metadata": {
                "namespace": "a",
                "name": "by-hand",
                "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
                "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
            },
            "spec": {},
        },
    )
    stage.at(65)
    assert made(stage) == [60.0], "it does not count as running"
    told = {text for _, text in stage.messages("UnexpectedJob")}
    assert told == {"Saw a job that the controller did not create or forgot: by-hand"}
    assert [one["name"] for one in status(stage)["active"]] == [f"c-{int(stage.start_instant + 60) // 60}"]
