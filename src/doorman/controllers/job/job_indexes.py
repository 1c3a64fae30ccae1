"""Indexes of a Job that fail or succeed on their own: `backoffLimitPerIndex` and `successPolicy`.

Rules
-----
1. A pod carries how often its index had failed before it; a failure that is ignored does not add to that. An index has
   failed when a pod fails that carries the limit already, or when the failure policy says FailIndex.
2. After a failure the index waits 10 s from the pod's end, doubling to 10 min; other indexes do not wait for it.
3. A pod that failed is held until its successor is there, so that its number is not lost with it; not when the index
   has ended.
4. More failed indexes than allowed fail the Job at once; otherwise it fails when every index has ended and some failed.
5. A success policy's rule is met when all the indexes it names have succeeded, or as many of them (of all, if it names
   none) as it counts. The first that is met ends the Job.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.views.batch import Job, JobStatus
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.controllers.job.job_pods import (
    Backoff,
    EndedPods,
    format_indexes,
    index_of,
    is_indexed,
    match_failure_policy,
    parse_indexes,
)
from doorman.controllers.pods.pod_state import created_order

FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
"""The annotation of rule 1."""

IndexVerdict = tuple[str, str, str]


def is_per_index(job: Job) -> bool:
    return job.spec.backoff_limit_per_index is not None


def failures_before(pod: Pod) -> int:
    text = pod.metadata.annotations.get(FAILURES, "")
    return int(text) if text.isdecimal() else 0


def decide_failed_indexes(job: Job, failed: Iterable[Pod], done: frozenset[int]) -> frozenset[int]:
    """Rule 1, with those on record; an index that has succeeded has not failed."""
    limit = job.spec.backoff_limit_per_index
    if limit is None:
        return frozenset()
    found = set(parse_indexes(job.status.failed_indexes or ""))
    for pod in failed:
        index = index_of(pod)
        if index is not None and (failures_before(pod) >= limit or match_failure_policy(job, pod)[0] == "FailIndex"):
            found.add(index)
    return frozenset(found - done)


class Indexes:
    """How the indexes of a Job stand. Of a Job without indexes: everything is countable, nothing waits."""

    def __init__(self, job: Job, ended: EndedPods, last: Mapping[int, Pod]) -> None:
        self._is_per_index = is_per_index(job)
        self._last = last
        self._ignored = {pod.metadata.uid for pod in ended.ignored}
        reached = {index for pod in ended.succeeded if (index := index_of(pod)) is not None}
        self.completed = parse_indexes(job.status.completed_indexes) | (reached if is_indexed(job) else frozenset())
        self.failed = decide_failed_indexes(job, ended.failed, self.completed)
        self.over = self.completed | self.failed
        is_ending = job.status.is_true("FailureTarget") or job.status.is_true("SuccessCriteriaMet")
        held = {pod.metadata.uid for index, pod in last.items() if index not in self.over and not is_ending}
        self.is_holding = bool(held)
        self.countable = ended if not held else _without(ended, held)
        """Rule 3: what may be counted and let go."""

    @property
    def waiting(self) -> int:
        """How many indexes may have to wait, at most."""
        return len(self._last)

    @property
    def completed_text(self) -> str:
        return format_indexes(self.completed)

    @property
    def failed_text(self) -> str | None:
        """Nothing at all unless indexes fail on their own."""
        return format_indexes(self.failed) if self._is_per_index else None

    def waits_until(self, index: int) -> Instant:
        """Rule 2."""
        pod = self._last.get(index)
        return Backoff(failures=failures_before(pod) + 1, since=_end_of(pod)).until() if pod is not None else 0.0

    def annotations(self, index: int) -> Mapping[str, str]:
        """Rule 1: what the next pod of the index carries."""
        if not self._is_per_index:
            return {}
        pod = self._last.get(index)
        if pod is None:
            return {FAILURES: "0"}
        return {FAILURES: str(failures_before(pod) + (0 if pod.metadata.uid in self._ignored else 1))}


def decide_indexes(job: Job, ended: EndedPods, pods: Sequence[Pod]) -> Indexes:
    return Indexes(job, ended, _last_failures(pods, ended) if is_per_index(job) else {})


def decide_index_failure(job: Job, failed: frozenset[int]) -> IndexVerdict | None:
    """Rule 4, the first half."""
    most = job.spec.max_failed_indexes
    if is_per_index(job) and most is not None and len(failed) > most:
        text = "Job has exceeded the specified maximal number of failed indexes"
        return "FailureTarget", "MaxFailedIndexesExceeded", text
    return None


def decide_index_end(job: Job, status: JobStatus) -> IndexVerdict | None:
    """Rule 4, the second half."""
    failed = parse_indexes(status.failed_indexes or "")
    done = parse_indexes(status.completed_indexes)
    if failed and len(failed | done) >= (job.spec.completions or 0):
        return "FailureTarget", "FailedIndexes", "Job has failed indexes"
    return None


def decide_success(job: Job, done: frozenset[int]) -> IndexVerdict | None:
    """Rule 5."""
    policy = job.spec.success_policy
    for at, rule in enumerate(policy.rules if policy is not None else ()):
        named = parse_indexes(rule.succeeded_indexes) if rule.succeeded_indexes else None
        reached = done if named is None else done & named
        wanted = rule.succeeded_count if rule.succeeded_count is not None else len(named or ())
        if wanted and len(reached) >= wanted:
            return "SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {at}"
    return None


def _last_failures(pods: Sequence[Pod], ended: EndedPods) -> Mapping[int, Pod]:
    """By index: the pod that failed, where none has come after it."""
    newest: dict[int, Pod] = {}
    for pod in sorted(pods, key=created_order):
        index = index_of(pod)
        if index is not None:
            newest[index] = pod
    failed = {pod.metadata.uid for pod in (*ended.failed, *ended.ignored)}
    return {index: pod for index, pod in newest.items() if pod.metadata.uid in failed}


def _without(ended: EndedPods, held: set[str]) -> EndedPods:
    return msgspec.structs.replace(
        ended,
        failed=tuple(pod for pod in ended.failed if pod.metadata.uid not in held),
        ignored=tuple(pod for pod in ended.ignored if pod.metadata.uid not in held),
    )


def _end_of(pod: Pod) -> Instant:
    ends = [
        status.state.terminated.finished_at
        for status in pod.status.container_statuses
        if status.state.terminated is not None and status.state.terminated.finished_at
    ]
    if ends:
        return from_time(max(ends))
    meta = pod.metadata
    if not meta.deletion_timestamp:
        return 0.0
    return from_time(meta.deletion_timestamp) - (meta.deletion_grace_period_seconds or 0)
