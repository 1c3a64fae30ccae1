"""The pods of a Job: which have ended how, what that means, how many are wanted, and how one is made.

Rules
-----
1. A pod has succeeded when its phase says so. It has failed when its phase says so, or when it is being deleted and has
   not succeeded, unless only failed pods are replaced: then its phase alone counts.
2. A failure policy's first rule that matches decides what a failed pod means: the Job fails, the pod is not counted
   (Ignore), or it counts (Count, or no rule).
3. So many are wanted at once: as many as run in parallel and are still to succeed. Without a number of completions one
   success is enough, and no more are made after it. None while suspended.
4. After failures the next pod waits 10 s, doubling to 10 min, until one succeeds.
5. An indexed Job has one success for each index from 0.
6. Where containers are started again in their pod (OnFailure), these restarts count against the limit of failures
   while the pod is there: as many as the limit end the Job, or the first if the limit is zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.batch import Job, OnExitCodes, PodFailureRule
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.client.actions import Patch
from doorman.controllers.pods.pod_control import pod_body
from doorman.controllers.pods.pod_state import is_active

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEXES_MAX: Final = 100_000
"""More completions an indexed Job does not have."""
BACKOFF_SECONDS_MIN: Final = 10.0
BACKOFF_SECONDS_MAX: Final = 600.0


class EndedPods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that have ended, whether counted yet or not. `fails_job` is why the whole Job fails, if it does."""

    succeeded: tuple[Pod, ...] = ()
    failed: tuple[Pod, ...] = ()
    ignored: tuple[Pod, ...] = ()
    fails_job: str = ""


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    failures: int = 0
    since: Instant = 0.0

    def until(self) -> Instant:
        """Rule 4."""
        if self.failures == 0:
            return 0.0
        return self.since + min(BACKOFF_SECONDS_MIN * 2.0 ** (self.failures - 1), BACKOFF_SECONDS_MAX)


def replaces_only_failed(job: Job) -> bool:
    policy = job.spec.pod_replacement_policy
    return policy == "Failed" or (not policy and job.spec.pod_failure_policy is not None)


def sort_ended(job: Job, pods: Iterable[Pod]) -> EndedPods:
    """Rules 1 and 2."""
    succeeded: list[Pod] = []
    failed: list[Pod] = []
    ignored: list[Pod] = []
    fails_job = ""
    for pod in pods:
        if pod.status.phase == "Succeeded":
            succeeded.append(pod)
        elif _has_failed(job, pod):
            action, text = match_failure_policy(job, pod)
            (ignored if action == "Ignore" else failed).append(pod)
            if action == "FailJob" and not fails_job:
                fails_job = text
    return EndedPods(succeeded=tuple(succeeded), failed=tuple(failed), ignored=tuple(ignored), fails_job=fails_job)


def match_failure_policy(job: Job, pod: Pod) -> tuple[str, str]:
    """The action of the first rule that matches, and what it matched."""
    policy = job.spec.pod_failure_policy
    for at, rule in enumerate(policy.rules if policy is not None else ()):
        found = _match(rule, pod)
        if found:
            return rule.action, f"{found} matching {rule.action} rule at index {at}"
    return "Count", ""


def wanted_active(job: Job, active: int, succeeded: int) -> int:
    """Rule 3."""
    if job.spec.suspend:
        return 0
    if job.spec.completions is None:
        return active if succeeded else job.spec.parallelism
    return min(job.spec.parallelism, max(job.spec.completions - succeeded, 0))


def restarts_too_often(job: Job, pods: Iterable[Pod]) -> bool:
    """Rule 6."""
    if (job.spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in pod.status.container_statuses
    )
    return restarts >= max(job.spec.backoff_limit, 1)


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def index_of(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def free_indexes(job: Job, pods: Iterable[Pod], done: frozenset[int], count: int) -> list[int]:
    """Rule 5: the lowest that are neither done nor running."""
    taken = {index_of(pod) for pod in pods if is_active(pod)} | done
    free: list[int] = []
    for index in range(job.spec.completions or 0):
        if len(free) == count:
            break
        if index not in taken:
            free.append(index)
    return free


def parse_indexes(text: str) -> frozenset[int]:
    """
    What is no index is none, and of the others there are not more than a Job can have.

    >>> sorted(parse_indexes("0-2,5"))
    [0, 1, 2, 5]
    >>> sorted(parse_indexes("a,3,7-6,-1,1-")), len(parse_indexes("0-999999999999"))
    ([3], 100000)
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            found.update(range(int(first), min(int(last or first), INDEXES_MAX - 1) + 1))
    return frozenset(found)


def format_indexes(indexes: Iterable[int]) -> str:
    """
    >>> format_indexes({0, 1, 2, 5, 7, 8})
    '0-2,5,7,8'
    """
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(indexes), -1]:
        if run and index == run[-1] + 1:
            run.append(index)
            continue
        if len(run) > 2:
            parts.append(f"{run[0]}-{run[-1]}")
        else:
            parts.extend(str(one) for one in run)
        run = [index]
    return ",".join(parts)


def job_pod(
    job: Job,
    index: int | None,
    *,
    owner: Mapping[str, Any],  # an owner reference as JSON
    annotations: Mapping[str, str] | None = None,
) -> Document:
    meta = job.metadata
    labels = {
        "batch.kubernetes.io/controller-uid": meta.uid,
        "batch.kubernetes.io/job-name": meta.name,
        "controller-uid": meta.uid,
        "job-name": meta.name,
    }
    if index is None:
        return pod_body(
            job.spec.template, owner=owner, generate_name=f"{meta.name}-", labels=labels, finalizers=(TRACKING,)
        )
    containers = (job.spec.template.get("spec") or {}).get("containers") or []
    return pod_body(
        job.spec.template,
        owner=owner,
        generate_name=f"{meta.name}-{index}-",
        labels={**labels, INDEX: str(index)},
        annotations={INDEX: str(index), **(annotations or {})},
        finalizers=(TRACKING,),
        spec={
            "hostname": f"{meta.name}-{index}",
            "containers": [_with_index(container) for container in containers],
        },
    )


def _with_index(container: Mapping[str, Any]) -> Document:
    name = "JOB_COMPLETION_INDEX"
    env: Sequence[Mapping[str, Any]] = container.get("env") or []
    if any(one.get("name") == name for one in env):
        return dict(container)
    field = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*env, {"name": name, "valueFrom": field}]}


def _has_failed(job: Job, pod: Pod) -> bool:
    if pod.status.phase == "Failed":
        return True
    return bool(pod.metadata.deletion_timestamp) and not replaces_only_failed(job)


def _match(rule: PodFailureRule, pod: Pod) -> str:
    if pod.status.phase != "Failed":
        return ""
    if rule.on_exit_codes is not None:
        return _match_exit_codes(rule.on_exit_codes, pod)
    for wanted in rule.on_pod_conditions:
        found = pod.status.condition(wanted.type)
        if found is not None and found.status == wanted.status:
            return f"Pod {pod.metadata.key} has condition {wanted.type}"
    return ""


def _match_exit_codes(wanted: OnExitCodes, pod: Pod) -> str:
    for status in pod.status.container_statuses:
        ended = status.state.terminated
        if ended is None or ended.exit_code == 0 or wanted.container_name not in ("", status.name):
            continue
        if (ended.exit_code in wanted.values) is (wanted.operator == "In"):
            return f"Container {status.name} for pod {pod.metadata.key} failed with exit code {ended.exit_code}"
    return ""


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def release(pod: Pod) -> Patch:
    """The pod has been counted, or is nobody's to count."""
    body = {"metadata": {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    return Patch(resource="pods", namespace=pod.metadata.namespace, name=pod.metadata.name, body=body)
