"""Views of jobs and cron jobs. Templates stay plain JSON, because pods and jobs are made of all of it."""

from typing import Any

from doorman.api.views.apps import Template
from doorman.api.views.meta import Condition, LabelSelector, ObjectMeta, View


class OnExitCodes(View, frozen=True, kw_only=True):
    container_name: str = ""
    operator: str = ""
    values: tuple[int, ...] = ()


class OnPodCondition(View, frozen=True, kw_only=True):
    type: str = ""
    status: str = "True"


class PodFailureRule(View, frozen=True, kw_only=True):
    action: str = ""
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[OnPodCondition, ...] = ()


class PodFailurePolicy(View, frozen=True, kw_only=True):
    rules: tuple[PodFailureRule, ...] = ()


class SuccessRule(View, frozen=True, kw_only=True):
    succeeded_indexes: str = ""
    succeeded_count: int | None = None


class SuccessPolicy(View, frozen=True, kw_only=True):
    rules: tuple[SuccessRule, ...] = ()


class JobSpec(View, frozen=True, kw_only=True):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    active_deadline_seconds: int | None = None
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    success_policy: SuccessPolicy | None = None
    suspend: bool = False
    selector: LabelSelector | None = None
    template: Template = {}
    ttl_seconds_after_finished: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: str = ""
    managed_by: str | None = None


class UncountedPods(View, frozen=True, kw_only=True):
    """Pods that ended and are not in the counters yet, by uid."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(View, frozen=True, kw_only=True):
    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: str = ""
    completion_time: str = ""
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedPods = UncountedPods()
    conditions: tuple[Condition, ...] = ()

    def is_true(self, kind: str) -> bool:
        return any(one.type == kind and one.status == "True" for one in self.conditions)

    def condition(self, kind: str) -> Condition | None:
        return next((one for one in self.conditions if one.type == kind), None)

    @property
    def is_finished(self) -> bool:
        return self.is_true("Complete") or self.is_true("Failed")


class Job(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobReference(View, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class CronJobSpec(View, frozen=True, kw_only=True):
    schedule: str = ""
    time_zone: str = ""
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: dict[str, Any] = {}  # a JobTemplateSpec as JSON
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class CronJobStatus(View, frozen=True, kw_only=True):
    active: tuple[JobReference, ...] = ()
    last_schedule_time: str = ""
    last_successful_time: str = ""


class CronJob(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
