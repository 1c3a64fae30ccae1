"""cronjob-controller: makes a Job each time a schedule comes round.

It reads CronJobs and Jobs. Of several times that were missed only the last is made up for, if its starting deadline is
not over; a Job that still runs holds up the next (Forbid), is deleted for it (Replace) or runs beside it (Allow).
Finished Jobs beyond the limits are deleted, oldest first.

Keys: `cron/<namespace>/<name>`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfoNotFoundError

from doorman.api.views.batch import CronJob, CronJobStatus, Job, JobReference
from doorman.api.views.meta import ObjectMeta, controller_of
from doorman.api.views.object_indexes import BY_OWNER
from doorman.api.well_known import BATCH_V1, JOBS
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Action, Create, Delete, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import owner_reference
from doorman.controllers.pods.status_reports import reference_to, status_patch
from doorman.semantics.cron_schedule import Schedule, ScheduleError, next_time, parse_schedule, times_between

NAME: Final = "cronjob-controller"
RESOURCE: Final = "cronjobs.batch"
KIND: Final = "CronJob"
WORKERS: Final = 16
MISSED_MAX: Final = 100
SCHEDULED_ANNOTATION: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def cron_keys(change: ObjectChange) -> Iterable[str]:
    return (f"cron/{change.newest.metadata.key}",)


def job_keys(change: ObjectChange) -> Iterable[str]:
    owner = controller_of(change.newest.metadata)
    if owner is None or owner.kind != KIND:
        return ()
    return (f"cron/{change.newest.metadata.namespace}/{owner.name}",)


SOURCES: Final = (Source(RESOURCE, cron_keys), Source(JOBS, job_keys))


def decide_due(cron_job: CronJob, schedule: Schedule, now: Instant) -> tuple[Instant | None, int]:
    """The last time that came round and was not served, and how many there were (at most a little over a hundred)."""
    last = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    since = from_time(last) if last else now
    deadline = cron_job.spec.starting_deadline_seconds
    if deadline is not None:
        since = max(since, now - deadline)
    due: Instant | None = None
    count = 0
    for instant in times_between(schedule, since, now, cron_job.spec.time_zone):
        due = instant
        count += 1
        if count > MISSED_MAX:
            break
    if count > MISSED_MAX:
        # Too many to go through one by one: the last one is found from its own end.
        due = _last_before(schedule, now, cron_job.spec.time_zone)
    return due, count


def decide_history(cron_job: CronJob, jobs: Sequence[Job]) -> list[Action]:
    """Finished Jobs beyond the limits."""
    excess: list[Job] = []
    for kind, limit in (
        ("Complete", cron_job.spec.successful_jobs_history_limit),
        ("Failed", cron_job.spec.failed_jobs_history_limit),
    ):
        finished = sorted((job for job in jobs if job.status.is_true(kind)), key=_started)
        excess += finished[: max(len(finished) - limit, 0)]
    return [_delete(job) for job in excess if not job.metadata.deletion_timestamp]


def decide_status(cron_job: CronJob, jobs: Sequence[Job], scheduled: Instant | None) -> CronJobStatus:
    active = tuple(
        JobReference(name=job.metadata.name, namespace=job.metadata.namespace, uid=job.metadata.uid)
        for job in jobs
        if _is_active(job) and _is_scheduled(job)
    )
    ends = [job.status.completion_time for job in jobs if job.status.is_true("Complete") and job.status.completion_time]
    return CronJobStatus(
        active=active,
        last_schedule_time=to_time(scheduled) if scheduled is not None else cron_job.status.last_schedule_time,
        last_successful_time=max([cron_job.status.last_successful_time, *ends]),
    )


def job_body(cron_job: CronJob, scheduled: Instant) -> dict[str, Any]:
    """Named after the minute, so that no time is served twice."""
    meta = cron_job.metadata
    template = cron_job.spec.job_template
    of_template = template.get("metadata") or {}
    stamp = to_time(scheduled)
    metadata: dict[str, Any] = {  # JSON
        "name": f"{meta.name}-{int(scheduled) // 60}",
        "namespace": meta.namespace,
        "annotations": {**(of_template.get("annotations") or {}), SCHEDULED_ANNOTATION: stamp},
        "ownerReferences": [owner_reference(BATCH_V1, KIND, meta)],
    }
    if of_template.get("labels"):
        metadata["labels"] = dict(of_template["labels"])
    return {"apiVersion": BATCH_V1, "kind": "Job", "metadata": metadata, "spec": template.get("spec") or {}}


class CronJobController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, cron_jobs: ListerOf[CronJob], jobs: ListerOf[Job]) -> None:
        self._cron_jobs = cron_jobs
        self._jobs = jobs
        self._told: dict[str, str] = {}
        """By CronJob: the fault of its schedule that was told last."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        assert kind == "cron", f"unknown key {key}"
        cron_job = self._cron_jobs.get(rest)
        if cron_job is None or cron_job.metadata.deletion_timestamp:
            self._told.pop(rest, None)
            return DONE
        jobs = [
            job
            for job in self._jobs.by(BY_OWNER, cron_job.metadata.uid)
            if (owner := controller_of(job.metadata)) is not None and owner.uid == cron_job.metadata.uid
        ]
        try:
            schedule = parse_schedule(cron_job.spec.schedule)
            following = next_time(schedule, now, cron_job.spec.time_zone)
        except (ScheduleError, ZoneInfoNotFoundError, ValueError) as error:
            return self._unreadable(rest, cron_job, str(error))
        return self._serve(key, cron_job, schedule, jobs, following, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next time comes round."""
        return

    def _unreadable(self, key: str, cron_job: CronJob, fault: str) -> Result:
        if self._told.get(key) == fault:
            return DONE
        self._told[key] = fault
        text = f"unparseable schedule: {cron_job.spec.schedule} : {fault}"
        return Result(actions=(_event(cron_job.metadata, "UnparseableSchedule", text, kind="Warning"),))

    def _serve(
        self,
        key: str,
        cron_job: CronJob,
        schedule: Schedule,
        jobs: Sequence[Job],
        following: Instant | None,
        now: Instant,
    ) -> Result:
        actions: list[Action] = decide_history(cron_job, jobs)
        actions.extend(_finished_events(cron_job, jobs))
        for job in jobs:
            if _is_active(job) and not _is_scheduled(job):
                text = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
                actions.append(_event(cron_job.metadata, "UnexpectedJob", text, kind="Warning"))
        scheduled: Instant | None = None
        if not cron_job.spec.suspend:
            scheduled = self._start_due(cron_job, schedule, jobs, actions, now)
        patch = _status_patch(cron_job, decide_status(cron_job, jobs, scheduled))
        if patch is not None:
            actions.append(patch)
        wakes = ((key, following),) if following is not None and not cron_job.spec.suspend else ()
        return Result(actions=actions, wakes=wakes)

    def _start_due(
        self, cron_job: CronJob, schedule: Schedule, jobs: Sequence[Job], actions: list[Action], now: Instant
    ) -> Instant | None:
        due, missed = decide_due(cron_job, schedule, now)
        if due is None:
            return None
        meta = cron_job.metadata
        if missed > MISSED_MAX:
            hint = "Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            text = f"too many missed start times: {missed}. {hint}"
            actions.append(_event(meta, "TooManyMissedTimes", text, kind="Warning"))
        active = [job for job in jobs if _is_active(job) and _is_scheduled(job)]
        if active and cron_job.spec.concurrency_policy == "Forbid":
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            actions.append(_event(meta, "JobAlreadyActive", text))
            return None
        if active and cron_job.spec.concurrency_policy == "Replace":
            for job in active:
                actions.append(_delete(job))
                actions.append(_event(meta, "SuccessfulDelete", f"Deleted job {job.metadata.name}"))
        body = job_body(cron_job, due)
        name = body["metadata"]["name"]
        if all(job.metadata.name != name for job in jobs):
            actions.append(Create(resource=JOBS, namespace=meta.namespace, body=body))
            actions.append(_event(meta, "SuccessfulCreate", f"Created job {name}"))
        return due


def _is_active(job: Job) -> bool:
    return not job.status.is_finished and not job.metadata.deletion_timestamp


def _is_scheduled(job: Job) -> bool:
    """Whether it was made for a time, and not by hand (`kubectl create job --from`)."""
    return SCHEDULED_ANNOTATION in job.metadata.annotations


def _finished_events(cron_job: CronJob, jobs: Sequence[Job]) -> Iterable[RecordEvent]:
    """Jobs that were active at the last look and have finished since."""
    known = {one.uid for one in cron_job.status.active}
    for job in jobs:
        if job.metadata.uid in known and job.status.is_finished:
            how = "Complete" if job.status.is_true("Complete") else "Failed"
            text = f"Saw completed job: {job.metadata.name}, condition: {how}"
            yield _event(cron_job.metadata, "SawCompletedJob", text)


def _status_patch(cron_job: CronJob, status: CronJobStatus) -> Patch | None:
    if status == cron_job.status:
        return None
    active = [
        {"apiVersion": BATCH_V1, "kind": "Job", "name": one.name, "namespace": one.namespace, "uid": one.uid}
        for one in status.active
    ]
    body = {
        "active": active or None,
        "lastScheduleTime": status.last_schedule_time or None,
        "lastSuccessfulTime": status.last_successful_time or None,
    }
    return status_patch(RESOURCE, cron_job.metadata, body)


def _last_before(schedule: Schedule, now: Instant, zone: str) -> Instant | None:
    """Looking back over growing spans, until one holds a time."""
    span = 3600.0
    while span < 6 * 366 * 86400:
        found = None
        for instant in times_between(schedule, now - span, now, zone):
            found = instant
        if found is not None:
            return found
        span *= 24
    return None


def _delete(job: Job) -> Delete:
    meta = job.metadata
    return Delete(resource=JOBS, namespace=meta.namespace, name=meta.name, uid=meta.uid, propagation="Background")


def _started(job: Job) -> tuple[str, str]:
    return job.status.start_time, job.metadata.name


def _event(meta: ObjectMeta, reason: str, message: str, *, kind: str = "Normal") -> RecordEvent:
    regarding = reference_to(meta, api_version=BATCH_V1, kind=KIND)
    return RecordEvent(regarding=regarding, type=kind, reason=reason, message=message, component=NAME)
