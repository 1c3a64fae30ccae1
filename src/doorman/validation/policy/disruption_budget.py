"""Pod disruption budgets."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, invalid, not_supported
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import path_segment_faults
from doorman.validation.apps.workload import int_or_percent_errors, percent_or_none
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.resource.status_conditions import condition_errors
from doorman.validation.selectors import label_selector_errors

_BOTH: Final = "minAvailable and maxUnavailable cannot be both set"
_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")


def validate_disruption_budget_create(doc: Document, _context: Context) -> list[FieldError]:
    """Of metadata something is said only when there is nothing to say of the spec."""
    return _spec_errors(doc.get("spec") or {}) or validate_metadata(doc, path_segment_faults)


def _spec_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        errors.append(invalid("spec", spec, _BOTH))
    for field in ("minAvailable", "maxUnavailable"):
        if (value := spec.get(field)) is None:
            continue
        errors.extend(int_or_percent_errors(value, f"spec.{field}"))
        if (percent_or_none(value) or 0) > 100:
            errors.append(invalid(f"spec.{field}", value, "must not be greater than 100%"))
    errors.extend(label_selector_errors(spec.get("selector"), "spec.selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", JsonText(policy), _POLICIES))
    return errors


def validate_disruption_budget_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource != "status":
        errors.extend(validate_disruption_budget_create(new, context))
        return distinct(errors)
    status = new.get("status") or {}
    errors.extend(condition_errors(status.get("conditions") or (), "status.conditions"))
    errors.extend(
        invalid(f"status.{field}", status[field], "must be greater than or equal to 0")
        for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        if status.get(field, 0) < 0
    )
    return errors
