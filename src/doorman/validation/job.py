"""Jobs, cron jobs and stored pod templates."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.schema import Document
from doorman.base.errors import FieldError, Json, invalid, not_supported, required
from doorman.semantics.names import subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update
from doorman.validation.pod import allows_comparison_operators, template_errors
from doorman.validation.workload import non_negative_errors, plain_template_errors, workload_validator

CRON_NAME_CHARACTERS_MAX: Final = 52
_JOB_RESTART_POLICIES: Final = ("OnFailure", "Never")
_CONCURRENCY_POLICIES: Final = ("Allow", "Forbid", "Replace")
_COMPLETION_MODES: Final = ("NonIndexed", "Indexed")
_JOB_FIXED: Final = (
    "completions",
    "selector",
    "template",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
)
_SCHEDULING_FIELDS: Final = ("nodeSelector", "tolerations", "affinity", "schedulingGates")

_Spec = Mapping[str, Any]  # the spec of a job as JSON


def _job_errors(spec: _Spec, old: _Spec, context: Context, path: str = "spec") -> list[FieldError]:
    errors = non_negative_errors(
        spec, path, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"
    )
    mode = spec.get("completionMode")
    if mode is not None and mode not in _COMPLETION_MODES:
        errors.append(not_supported(f"{path}.completionMode", Json(mode), _COMPLETION_MODES))
    if mode == "Indexed" and spec.get("completions") is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    errors.extend(plain_template_errors(spec, old, context, f"{path}.template"))
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    at = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        errors.append(required(at, 'valid values: "OnFailure", "Never"'))
    elif policy not in _JOB_RESTART_POLICIES:
        errors.append(not_supported(at, Json(policy), _JOB_RESTART_POLICIES))
    return errors


def _job_fixed_errors(new: _Spec, old: _Spec) -> list[FieldError]:
    """A suspended job that never ran may still be told elsewhere to run; the rest is settled at creation."""
    errors: list[FieldError] = []
    for field in _JOB_FIXED:
        after, before = new.get(field), old.get(field)
        if field == "template" and old.get("suspend"):
            after, before = _without_placement(after), _without_placement(before)
        if after != before:
            errors.append(invalid(f"spec.{field}", new.get(field), IMMUTABLE))
    return errors


def _without_placement(template: Mapping[str, Any] | None) -> Mapping[str, Any]:
    spec = (template or {}).get("spec") or {}
    return {
        **{key: value for key, value in (template or {}).items() if key != "metadata"},
        "spec": {key: value for key, value in spec.items() if key not in _SCHEDULING_FIELDS},
    }


JOB: Final = workload_validator(_job_errors, _job_fixed_errors)


def validate_cron_job_create(doc: Document, context: Context) -> list[FieldError]:
    return _cron_job_errors(doc, {}, context)


def validate_cron_job_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource != "status":
        errors.extend(_cron_job_errors(new, old.get("spec") or {}, context))
    return distinct(errors)


def _cron_job_errors(doc: Document, old: _Spec, context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    name = doc["metadata"].get("name", "")
    if len(name) > CRON_NAME_CHARACTERS_MAX and not subdomain_faults(name):
        errors.append(invalid("metadata.name", name, f"must be no more than {CRON_NAME_CHARACTERS_MAX} characters"))
    spec: _Spec = doc.get("spec") or {}
    if not spec.get("schedule"):
        errors.append(required("spec.schedule"))
    policy = spec.get("concurrencyPolicy", "")
    if policy not in _CONCURRENCY_POLICIES:
        at = "spec.concurrencyPolicy"
        errors.append(not_supported(at, Json(policy), _CONCURRENCY_POLICIES) if policy else required(at))
    errors.extend(
        non_negative_errors(
            spec, "spec", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
        )
    )
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    before = (old.get("jobTemplate") or {}).get("spec") or {}
    errors.extend(_job_errors(job, before, context, "spec.jobTemplate.spec"))
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
