"""Jobs, cron jobs and stored pod templates."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, invalid, not_supported, required, too_long
from doorman.base.json_types import Document
from doorman.semantics.cron_schedule import ScheduleError, parse_schedule, zone_fault
from doorman.semantics.name_syntax import dns_label_faults, subdomain_faults
from doorman.validation.apps.workload import non_negative_errors, plain_template_errors, workload_validator
from doorman.validation.batch.job_policies import policy_errors
from doorman.validation.batch.job_status import job_status_errors
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.document_paths import domain_path_errors
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update
from doorman.validation.pods.pod import allows_comparison_operators, template_errors
from doorman.validation.selectors import label_selector_errors, selector_matches

CRON_NAME_CHARACTERS_MAX: Final = 52
_JOB_RESTART_POLICIES: Final = ("OnFailure", "Never")
_CONCURRENCY_POLICIES: Final = ("Allow", "Forbid", "Replace")
_MANAGER_BYTES_MAX: Final = 63
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_COMPLETION_MODES: Final = ("NonIndexed", "Indexed")
_JOB_FIXED: Final = (
    "completions",
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_SCHEDULING_FIELDS: Final = ("nodeSelector", "tolerations", "schedulingGates")

_Spec = Mapping[str, Any]  # the spec of a job as JSON


def _job_errors(spec: _Spec, old: _Spec, context: Context, path: str = "spec") -> list[FieldError]:
    errors = non_negative_errors(
        spec, path, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes",
    )  # fmt: skip
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        errors.extend(domain_path_errors(manager, f"{path}.managedBy"))
        if len(manager.encode()) > _MANAGER_BYTES_MAX:
            errors.append(too_long(f"{path}.managedBy", _MANAGER_BYTES_MAX))
    mode = spec.get("completionMode")
    if mode is not None and mode not in _COMPLETION_MODES:
        errors.append(not_supported(f"{path}.completionMode", JsonText(mode), _COMPLETION_MODES))
    errors.extend(policy_errors(spec, path))
    errors.extend(plain_template_errors(spec, old, context, f"{path}.template"))
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    at = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        errors.append(required(at, 'valid values: "OnFailure", "Never"'))
    elif policy not in _JOB_RESTART_POLICIES:
        errors.append(not_supported(at, JsonText(policy), _JOB_RESTART_POLICIES))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        errors.append(invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified'))
    return errors


def _own_job_errors(spec: _Spec, old: _Spec, context: Context) -> list[FieldError]:
    """Of a job that is not the template of a cron job: it has a selector, which finds the pods of its template."""
    errors = _job_errors(spec, old, context)
    selector = spec.get("selector")
    faults = [required("spec.selector")] if selector is None else label_selector_errors(selector, "spec.selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is None or (not faults and not selector_matches(selector, labels or {})):
        at = "spec.template.metadata.labels"
        faults.append(invalid(at, labels, "`selector` does not match template `labels`"))
    return errors + faults


def _fixed_errors(new: Document, old: Document) -> list[FieldError]:
    """A suspended job that never ran may still be told elsewhere to run; the rest is settled at creation."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    first, others = _JOB_FIXED[:2], _JOB_FIXED[2:]
    return [
        *_changed_errors(after, before, first),
        *_template_errors(new, old),
        *_changed_errors(after, before, others),
    ]


def _changed_errors(new: _Spec, old: _Spec, fields: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in fields:
        after, before = new.get(field), old.get(field)
        if after == before:
            continue
        if field == "completions" and new.get("completionMode") == "Indexed" and after is not None:
            # An indexed job may grow and shrink, as long as all its indexes run at once.
            if after != new.get("parallelism"):
                errors.append(invalid(f"spec.{field}", after, "can only be modified in tandem with spec.parallelism"))
            continue
        errors.append(invalid(f"spec.{field}", new.get(field), IMMUTABLE))
    return errors


def _template_errors(new: Document, old: Document) -> list[FieldError]:
    """While nothing of the job runs, its pods may be told to go elsewhere, and to take more or less."""
    template, stored = ((one.get("spec") or {}).get("template") or {} for one in (new, old))
    status = old.get("status") or {}
    is_idle = not status.get("startTime") or any(
        one.get("type") == "Suspended" and one.get("status") == "True" for one in status.get("conditions") or ()
    )
    if not (old.get("spec") or {}).get("suspend") or not is_idle or status.get("active"):
        is_same = template == stored
        return [] if is_same else [invalid("spec.template", template, IMMUTABLE)]
    after, before = template.get("spec") or {}, stored.get("spec") or {}
    is_same = _but_placement(after, before) == _but_placement(before, before)
    return [] if is_same else [invalid("spec.template.spec", after, IMMUTABLE)]


def _but_placement(spec: _Spec, before: _Spec) -> dict[str, Any]:
    """What must stay; resources of containers need not, as long as the containers are the same ones."""
    kept = {key: value for key, value in spec.items() if key not in _SCHEDULING_FIELDS}
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    kept["affinity"] = affinity
    for group in ("containers", "initContainers"):
        mine, theirs = spec.get(group) or (), before.get(group) or ()
        if len(mine) == len(theirs):
            kept[group] = [
                {**one, "resources": None} if one.get("name") == other.get("name") else one
                for one, other in zip(mine, theirs, strict=True)
            ]
    return kept


_JOB: Final = workload_validator(_own_job_errors, lambda _new, _old: [])


def validate_job_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    if context.subresource == "status":
        return [*_JOB.update(new, old, context), *job_status_errors(new, old)]
    return distinct([*_JOB.update(new, old, context), *_fixed_errors(new, old), *_host_name_errors(new)])


def validate_job_create(doc: Document, context: Context) -> list[FieldError]:
    errors = [*validate_metadata(doc), *_generated_errors(doc), *_JOB.create(doc, context), *_host_name_errors(doc)]
    return distinct(errors)


def _host_name_errors(doc: Document) -> list[FieldError]:
    """The pods of an indexed job are called after it and their index, and so are their hosts."""
    name, spec = doc["metadata"].get("name", ""), doc.get("spec") or {}
    completions = spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    longest = f"{name}-{completions - 1}"
    text = f"will not able to create pod with invalid DNS label: {longest}"
    return [invalid("metadata.name", name, text)] if dns_label_faults(longest) else []


def _generated_errors(doc: Document) -> list[FieldError]:
    """Of a selector that was put in: it is by the job's own uid, and its pods have that and its name."""
    metadata, spec = doc["metadata"], doc.get("spec") or {}
    labels: Mapping[str, str] = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    errors: list[FieldError] = []
    own = {name: metadata.get("uid", "") for name in ("batch.kubernetes.io/controller-uid", "controller-uid")}
    own |= {name: metadata.get("name", "") for name in ("batch.kubernetes.io/job-name", "job-name")}
    for name, value in own.items():
        at, detail = f"spec.template.metadata.labels[{name}]", f"must be '{value}'"
        if name not in labels:
            errors.append(required(at, detail))
        elif labels[name] != value:
            errors.append(invalid(at, labels, detail))
    if not _selects(selector, own):
        errors.append(invalid("spec.selector", selector, "`selector` not auto-generated"))
    return errors


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return not label_selector_errors(selector, "spec.selector") and selector_matches(selector, labels)


JOB: Final = Validator(create=validate_job_create, update=validate_job_update)


def validate_cron_job_create(doc: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    name = doc["metadata"].get("name", "")
    if len(name) > CRON_NAME_CHARACTERS_MAX and not subdomain_faults(name):
        errors.append(invalid("metadata.name", name, f"must be no more than {CRON_NAME_CHARACTERS_MAX} characters"))
    return [*errors, *_cron_job_errors(doc, {}, context)]


def validate_cron_job_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource != "status":
        errors.extend(_cron_job_errors(new, old.get("spec") or {}, context))
    return distinct(errors)


def _cron_job_errors(doc: Document, old: _Spec, context: Context) -> list[FieldError]:
    spec: _Spec = doc.get("spec") or {}
    errors = _schedule_errors(spec, old)
    errors.extend(non_negative_errors(spec, "spec", "startingDeadlineSeconds"))
    if not old or old.get("timeZone") != spec.get("timeZone"):
        errors.extend(_time_zone_errors(spec.get("timeZone"), "spec.timeZone"))
    policy = spec.get("concurrencyPolicy", "")
    if policy not in _CONCURRENCY_POLICIES:
        at = "spec.concurrencyPolicy"
        errors.append(not_supported(at, JsonText(policy), _CONCURRENCY_POLICIES) if policy else required(at))
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    before = (old.get("jobTemplate") or {}).get("spec") or {}
    errors.extend(_job_errors(job, before, context, "spec.jobTemplate.spec"))
    if (selector := job.get("selector")) is not None:
        errors.append(invalid("spec.jobTemplate.spec.selector", selector, "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    errors.extend(non_negative_errors(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"))
    return errors


def _schedule_errors(spec: _Spec, old: _Spec) -> list[FieldError]:
    schedule = spec.get("schedule", "")
    if not schedule:
        return [required("spec.schedule")]
    errors: list[FieldError] = []
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        errors.append(invalid("spec.schedule", schedule, str(error)))
    if "TZ" in schedule:
        if "TZ" not in old.get("schedule", ""):
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, text))
        elif "timeZone" in spec:
            text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            errors.append(invalid("spec.schedule", schedule, text))
    return errors


def _time_zone_errors(zone: str | None, path: str) -> list[FieldError]:
    if zone is None:
        return []
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            return [invalid(path, zone, f"unknown time zone {zone}")]
    errors: list[FieldError] = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, text))
    if zone != "Local" and (fault := zone_fault(zone)):
        errors.append(invalid(path, zone, fault))
    return errors


CRON_JOB: Final = Validator(create=validate_cron_job_create, update=validate_cron_job_update)


def validate_pod_template_create(doc: Document, context: Context) -> list[FieldError]:
    return _pod_template_errors(doc, {}, context)


def validate_pod_template_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    stored = (old.get("template") or {}).get("spec") or {}
    return distinct([*validate_metadata_update(new, old), *_pod_template_errors(new, stored, context)])


def _pod_template_errors(doc: Document, old_spec: Mapping[str, Any], context: Context) -> list[FieldError]:
    allowed = allows_comparison_operators(old_spec, context)
    return [
        *validate_metadata(doc),
        *template_errors(doc.get("template") or {}, "template", comparison_operators=allowed),
    ]


POD_TEMPLATE: Final = Validator(create=validate_pod_template_create, update=validate_pod_template_update)
