"""job-controller: runs pods until enough have succeeded, or too many have failed.

It reads Jobs and pods. Pods carry a finalizer, so that none goes uncounted: one that has ended is noted in the status
by uid, then its finalizer is taken off, then it is added to the counters. The status carries the version it was
computed from, because a count made from an older one would be lost. See `job_pods` for what counts as what.

A Job that ends says why in two steps: first that it will (SuccessCriteriaMet or FailureTarget), and when its last pod
has ended that it has (Complete or Failed). See `job_indexes` for indexes that fail or succeed on their own.

A Job that says (`managedBy`) that somebody else manages it is left alone, and so are its pods.

A pod whose Job is gone is nobody's to count: its finalizer is taken off, or it would never go.

Keys: `job/<namespace>/<name>`, `orphan/<namespace>/<pod>`, and those of `pod_control`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.batch import Job, JobStatus, UncountedPods
from doorman.api.views.meta import Condition, ObjectMeta, controller_of
from doorman.api.views.object_indexes import BY_OWNER
from doorman.api.views.pods import Pod
from doorman.api.well_known import BATCH_V1, JOBS
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Action, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.job.job_indexes import (
    Indexes,
    decide_index_end,
    decide_index_failure,
    decide_indexes,
    decide_success,
    is_per_index,
)
from doorman.controllers.job.job_pods import (
    TRACKING,
    Backoff,
    EndedPods,
    free_indexes,
    is_indexed,
    is_tracked,
    job_pod,
    parse_indexes,
    release,
    replaces_only_failed,
    restarts_too_often,
    sort_ended,
    wanted_active,
)
from doorman.controllers.pods.pod_control import KEYS, Owner, PodControl
from doorman.controllers.pods.pod_state import created_order, is_active, is_ready, owner_reference
from doorman.controllers.pods.status_reports import condition_body, reference_to, status_patch

NAME: Final = "job-controller"
KIND: Final = "Job"
MANAGER: Final = "kubernetes.io/job-controller"
WORKERS: Final = 32
PODS_PER_SYNC_MAX: Final = 500

Verdict = tuple[str, str, str]
"""The condition that announces the end (`SuccessCriteriaMet` or `FailureTarget`), its reason and its message."""


def job_keys(change: ObjectChange) -> Iterable[str]:
    return (f"job/{change.newest.metadata.key}",)


def pod_keys(change: ObjectChange) -> Iterable[str]:
    pod: Pod = change.newest
    owner = controller_of(pod.metadata)
    if owner is not None and owner.kind != KIND:
        return
    if owner is not None:
        yield f"job/{pod.metadata.namespace}/{owner.name}"
    if is_tracked(pod) and (owner is None or pod.metadata.deletion_timestamp):
        yield f"orphan/{pod.metadata.key}"


SOURCES: Final = (Source(JOBS, job_keys), Source("pods", pod_keys))


def decide_verdict(
    job: Job, ended: EndedPods, status: JobStatus, pods: Sequence[Pod], active: int, now: Instant
) -> Verdict | None:
    """Whether the Job is to end, and how."""
    if status.is_true("FailureTarget") or status.is_true("SuccessCriteriaMet"):
        return None
    if ended.fails_job:
        return "FailureTarget", "PodFailurePolicy", ended.fails_job
    succeeded, failed = counted(status)
    if failed > job.spec.backoff_limit or restarts_too_often(job, pods):
        return "FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    deadline = deadline_of(job, status)
    if deadline is not None and now >= deadline:
        return "FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline"
    done = parse_indexes(status.completed_indexes)
    of_indexes = decide_index_failure(job, parse_indexes(status.failed_indexes or "")) or decide_success(job, done)
    if of_indexes is not None:
        return of_indexes
    wanted = job.spec.completions
    if wanted is None:
        is_done = succeeded > 0 and active == 0
    else:
        is_done = succeeded >= wanted
    if is_done:
        return "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"
    return decide_index_end(job, status)


def decide_counting(job: Job, ended: EndedPods, pods: Sequence[Pod]) -> JobStatus:
    """Note pods that have ended; add to the counters those that were noted and have lost their finalizer."""
    status = job.status
    tracked = {pod.metadata.uid for pod in pods if TRACKING in pod.metadata.finalizers}
    noted = status.uncounted_terminated_pods
    known = {*noted.succeeded, *noted.failed}
    done_succeeded = [uid for uid in noted.succeeded if uid not in tracked]
    done_failed = [uid for uid in noted.failed if uid not in tracked]
    new_succeeded = [pod.metadata.uid for pod in ended.succeeded if _is_new(pod, known)]
    new_failed = [pod.metadata.uid for pod in ended.failed if _is_new(pod, known)]
    return msgspec.structs.replace(
        status,
        succeeded=status.succeeded + len(done_succeeded),
        failed=status.failed + len(done_failed),
        uncounted_terminated_pods=UncountedPods(
            succeeded=tuple(uid for uid in noted.succeeded if uid in tracked) + tuple(new_succeeded),
            failed=tuple(uid for uid in noted.failed if uid in tracked) + tuple(new_failed),
        ),
    )


def counted(status: JobStatus) -> tuple[int, int]:
    """Succeeded and failed, those included that are only noted."""
    noted = status.uncounted_terminated_pods
    return status.succeeded + len(noted.succeeded), status.failed + len(noted.failed)


def deadline_of(job: Job, status: JobStatus) -> Instant | None:
    seconds = job.spec.active_deadline_seconds
    if seconds is None or not status.start_time or job.spec.suspend:
        return None
    return from_time(status.start_time) + seconds


def decide_status_patch(job: Job, status: JobStatus) -> Patch | None:
    if status == job.status:
        return None
    noted = status.uncounted_terminated_pods
    body: dict[str, Any] = {  # JSON
        "active": status.active or None,
        "ready": status.ready,
        "terminating": status.terminating,
        "succeeded": status.succeeded or None,
        "failed": status.failed or None,
        "startTime": status.start_time or None,
        "completionTime": status.completion_time or None,
        "completedIndexes": status.completed_indexes or None,
        "failedIndexes": status.failed_indexes,
        "uncountedTerminatedPods": {
            "succeeded": list(noted.succeeded) or None,
            "failed": list(noted.failed) or None,
        },
        "conditions": [condition_body(one) for one in status.conditions] or None,
    }
    return status_patch(JOBS, job.metadata, body, guarded=True)


class JobController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, jobs: ListerOf[Job], pods: ListerOf[Pod]) -> None:
        self._jobs = jobs
        self._pods = pods
        self._control = PodControl(NAME, pods)
        self._backoffs: dict[str, Backoff] = {}
        self._uids: dict[str, str] = {}

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind in KEYS:
            return self._control.reconcile(key, now)
        if kind == "orphan":
            return self._sync_orphan(rest)
        assert kind == "job", f"unknown key {key}"
        return self._sync(rest, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        if key.startswith(("create/", "delete/")):
            self._control.gave_up(key, error, now)

    def _sync(self, key: str, now: Instant) -> Result:
        job = self._jobs.get(key)
        if job is None or self._uids.get(key, job.metadata.uid) != job.metadata.uid:
            gone = self._uids.pop(key, "")
            self._backoffs.pop(gone, None)
            self._control.forget(f"job/{key}")
            orphans = [(f"orphan/{pod.metadata.key}", now) for pod in self._pods.by(BY_OWNER, gone)] if gone else []
            return Result(wakes=[*orphans, (f"job/{key}", now)] if job is not None else orphans)
        self._uids[key] = job.metadata.uid
        if job.spec.managed_by not in (None, MANAGER):
            return DONE
        pods = [
            self._control.seen_as_deleting(pod)
            for pod in self._pods.by(BY_OWNER, job.metadata.uid)
            if (owner := controller_of(pod.metadata)) is not None and owner.uid == job.metadata.uid
        ]
        if job.metadata.deletion_timestamp or job.status.is_finished:
            return Result(actions=[release(pod) for pod in pods if is_tracked(pod)])
        return self._control.with_late(self._run(key, job, pods, now), f"job/{key}", now)

    def _sync_orphan(self, key: str) -> Result:
        pod = self._pods.get(key)
        if pod is None or not is_tracked(pod):
            return DONE
        owner = controller_of(pod.metadata)
        job = self._jobs.get(f"{pod.metadata.namespace}/{owner.name}") if owner is not None else None
        if owner is not None and job is not None and job.metadata.uid == owner.uid:
            return DONE
        return Result(actions=(release(pod),))

    def _run(self, key: str, job: Job, pods: Sequence[Pod], now: Instant) -> Result:
        ended = sort_ended(job, pods)
        indexes = decide_indexes(job, ended, pods)
        ended = indexes.countable
        status = msgspec.structs.replace(
            decide_counting(job, ended, pods),
            completed_indexes=indexes.completed_text,
            failed_indexes=indexes.failed_text,
        )
        self._note_backoff(job, status, now)
        owner = Owner(key=f"job/{key}", meta=job.metadata, reference=_reference(job.metadata))
        coming = len(self._control.creating(owner.key, now))
        active = [pod for pod in pods if is_active(pod)]
        terminating = sum(1 for pod in pods if pod.metadata.deletion_timestamp and not pod.is_finished)
        actions: list[Action] = self._control.failure_events(owner, self._control.failures(owner.key))
        status, events = self._with_suspension(job, status, now)
        actions.extend(events)
        verdict = decide_verdict(job, ended, status, pods, len(active) + coming, now)
        if verdict is not None:
            status = _announced(status, verdict, now)
        wakes: list[tuple[str, Instant]] = []
        if status.is_true("FailureTarget") or status.is_true("SuccessCriteriaMet"):
            wakes += self._control.delete(owner, active, now)
            if not active and not terminating and not coming and not indexes.is_holding and not _uncounted(status):
                status, event = _ended_status(job, status, now)
                actions.append(event)
        else:
            wakes += self._adjust(owner, job, pods, active, coming, terminating, indexes, status, now)
        status = msgspec.structs.replace(
            status, active=len(active), ready=sum(map(is_ready, active)), terminating=terminating
        )
        # The status first: a pod that lost its finalizer before it was noted would be lost.
        patch = decide_status_patch(job, status)
        if patch is not None:
            actions.append(patch)
        done = (*ended.succeeded, *ended.failed, *ended.ignored)
        actions.extend(release(pod) for pod in done if is_tracked(pod))
        deadline = deadline_of(job, status)
        return Result(actions=actions, wakes=_soonest(wakes, owner.key, deadline, now))

    def _adjust(
        self,
        owner: Owner,
        job: Job,
        pods: Sequence[Pod],
        active: Sequence[Pod],
        coming: int,
        terminating: int,
        indexes: Indexes,
        status: JobStatus,
        now: Instant,
    ) -> list[tuple[str, Instant]]:
        """Make what is missing, delete what is too much."""
        succeeded, _ = counted(status)
        wanted = wanted_active(job, len(active) + coming, succeeded + len(indexes.failed))
        surplus = len(active) - wanted
        if surplus > 0:
            order = sorted(active, key=lambda pod: (is_ready(pod), created_order(pod)))
            return self._control.delete(owner, order[:surplus], now)
        missing = wanted - len(active) - coming - (terminating if replaces_only_failed(job) else 0)
        if missing <= 0:
            return self._control.create(owner, [], now)
        missing = min(missing, PODS_PER_SYNC_MAX)
        reference = owner_reference(BATCH_V1, KIND, job.metadata)
        until = self._backoffs.get(job.metadata.uid, Backoff()).until() if not is_per_index(job) else 0.0
        if now < until:
            return [(owner.key, until)]
        if not is_indexed(job):
            bodies = [job_pod(job, None, owner=reference)] * missing
            return self._control.create(owner, bodies, now)
        if coming:
            return self._control.create(owner, [], now)
        free = free_indexes(job, pods, indexes.over, missing + indexes.waiting)
        due = [index for index in free if indexes.waits_until(index) <= now]
        bodies = [
            job_pod(job, index, owner=reference, annotations=indexes.annotations(index)) for index in due[:missing]
        ]
        wakes = self._control.create(owner, bodies, now)
        later = [indexes.waits_until(index) for index in free if index not in due]
        return [*wakes, (owner.key, min(later))] if later else wakes

    def _note_backoff(self, job: Job, status: JobStatus, now: Instant) -> None:
        before, after = counted(job.status), counted(status)
        if after[0] > before[0]:
            self._backoffs.pop(job.metadata.uid, None)
        elif after[1] > before[1]:
            known = self._backoffs.get(job.metadata.uid, Backoff())
            more = after[1] - before[1]
            self._backoffs[job.metadata.uid] = Backoff(failures=known.failures + more, since=now)

    def _with_suspension(self, job: Job, status: JobStatus, now: Instant) -> tuple[JobStatus, list[Action]]:
        """Start time, and the condition Suspended with its events."""
        is_suspended = status.is_true("Suspended")
        if job.spec.suspend:
            if is_suspended:
                return status, []
            text = "Job suspended"
            condition = _condition("Suspended", "True", "JobSuspended", text, now)
            changed = msgspec.structs.replace(
                status, start_time="", conditions=_with_condition(status.conditions, condition)
            )
            return changed, [_event(job.metadata, "Suspended", text)]
        actions: list[Action] = []
        conditions = status.conditions
        if is_suspended:
            condition = _condition("Suspended", "False", "JobResumed", "Job resumed", now)
            conditions = _with_condition(conditions, condition)
            actions.append(_event(job.metadata, "Resumed", "Job resumed"))
        start = status.start_time or to_time(now)
        return msgspec.structs.replace(status, start_time=start, conditions=conditions), actions


def _announced(status: JobStatus, verdict: Verdict, now: Instant) -> JobStatus:
    kind, reason, message = verdict
    condition = _condition(kind, "True", reason, message, now)
    return msgspec.structs.replace(status, conditions=_with_condition(status.conditions, condition))


def _ended_status(job: Job, status: JobStatus, now: Instant) -> tuple[JobStatus, RecordEvent]:
    failure = status.condition("FailureTarget")
    if failure is not None and failure.status == "True":
        condition = _condition("Failed", "True", failure.reason, failure.message, now)
        ended = msgspec.structs.replace(status, conditions=_with_condition(status.conditions, condition))
        return ended, _event(job.metadata, failure.reason, failure.message, kind="Warning")
    success = status.condition("SuccessCriteriaMet")
    assert success is not None, "a Job that ends has said how"
    condition = _condition("Complete", "True", success.reason, success.message, now)
    ended = msgspec.structs.replace(
        status, conditions=_with_condition(status.conditions, condition), completion_time=to_time(now)
    )
    return ended, _event(job.metadata, "Completed", "Job completed")


def _uncounted(status: JobStatus) -> bool:
    noted = status.uncounted_terminated_pods
    return bool(noted.succeeded or noted.failed)


def _is_new(pod: Pod, known: set[str]) -> bool:
    return is_tracked(pod) and pod.metadata.uid not in known


def _soonest(
    wakes: list[tuple[str, Instant]], key: str, deadline: Instant | None, now: Instant
) -> list[tuple[str, Instant]]:
    own = [instant for wake, instant in wakes if wake == key]
    if deadline is not None and deadline > now:
        own.append(deadline)
    rest = [wake for wake in wakes if wake[0] != key]
    return [*rest, (key, min(own))] if own else rest


def _condition(kind: str, status: str, reason: str, message: str, now: Instant) -> Condition:
    time = to_time(now)
    return Condition(
        type=kind, status=status, reason=reason, message=message, last_probe_time=time, last_transition_time=time
    )


def _with_condition(conditions: tuple[Condition, ...], condition: Condition) -> tuple[Condition, ...]:
    return (*(one for one in conditions if one.type != condition.type), condition)


def _reference(meta: ObjectMeta) -> ObjectReference:
    return reference_to(meta, api_version=BATCH_V1, kind=KIND)


def _event(meta: ObjectMeta, reason: str, message: str, *, kind: str = "Normal") -> RecordEvent:
    return RecordEvent(regarding=_reference(meta), type=kind, reason=reason, message=message, component=NAME)
