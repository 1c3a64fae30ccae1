"""ttl-after-finished-controller: deletes Jobs whose time after their end is over.

It reads Jobs. A Job counts from the transition of its condition Complete or Failed to True, whichever stands first,
for `ttlSecondsAfterFinished`; then it is deleted in the foreground, so that its pods go first. A Job without that
number stays.

Keys: `job/<namespace>/<name>`.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.batch import Job
from doorman.api.well_known import JOBS
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.client.actions import Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "ttl-after-finished-controller"
WORKERS: Final = 5


def job_keys(change: ObjectChange) -> Iterable[str]:
    job: Job | None = change.new
    return (f"job/{job.metadata.key}",) if job is not None and expiry_of(job) is not None else ()


SOURCES: Final = (Source(JOBS, job_keys),)


def expiry_of(job: Job) -> Instant | None:
    """When the Job is to go; None: it stays, has not ended, or goes already."""
    seconds = job.spec.ttl_seconds_after_finished
    if seconds is None or job.metadata.deletion_timestamp:
        return None
    ends = (one for one in job.status.conditions if one.type in ("Complete", "Failed") and one.status == "True")
    end = next(ends, None)
    if end is None or not end.last_transition_time:
        return None
    return from_time(end.last_transition_time) + seconds


class TtlAfterFinishedController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, jobs: ListerOf[Job]) -> None:
        self._jobs = jobs

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        assert kind == "job", f"unknown key {key}"
        job = self._jobs.get(rest)
        expiry = expiry_of(job) if job is not None else None
        if job is None or expiry is None:
            return DONE
        if now < expiry:
            return Result(wakes=((key, expiry),))
        meta = job.metadata
        # The version too: the time may have been changed after all.
        action = Delete(
            resource=JOBS, namespace=meta.namespace, name=meta.name, propagation="Foreground", uid=meta.uid,
            resource_version=meta.resource_version,
        )  # fmt: skip
        return Result(actions=(action,))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """A change of the Job asks again."""
        return
