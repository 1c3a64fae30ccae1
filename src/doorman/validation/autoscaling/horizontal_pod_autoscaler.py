"""HorizontalPodAutoscalers: what is scaled, between which bounds, by which metrics and how fast."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults, path_segment_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import NOT_NEGATIVE, POSITIVE, Part, each, named, needed, not_negative, one_of
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.resources import container_resource_name_errors

_PERIOD_SECONDS_MAX: Final = 1800
_WINDOW_SECONDS_MAX: Final = 3600
_SOURCES: Final = {
    "Object": "object", "External": "external", "Pods": "pods", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip
"""The type of a metric and where it is described, in the order they are looked at."""
_TYPES: Final = tuple(sorted(_SOURCES))
_POPULATE: Final = "must populate information for the given metric source"
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_spec_errors(doc.get("spec") or {}, None)]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        return distinct([*errors, *_status_errors(new.get("status") or {})])
    return distinct([*errors, *_spec_errors(new.get("spec") or {}, old.get("spec") or {})])


def _status_errors(status: Part) -> list[FieldError]:
    path = "status.conditions"
    errors = each(status.get("conditions"), path, lambda one, at: not_negative(one, "observedGeneration", at))
    errors += not_negative(status, "currentReplicas", "status")
    return [*errors, *not_negative(status, "desiredReplicas", "status")]


def _spec_errors(spec: Part, old: Part | None) -> list[FieldError]:
    """`old`: the spec before an update; an object that is refused is not refused for what it always said."""
    errors: list[FieldError] = []
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and high < low:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    target, before = spec.get("scaleTargetRef") or {}, (old or {}).get("scaleTargetRef") or {}
    is_same = old is not None and all(target.get(name) == before.get(name) for name in ("apiVersion", "kind"))
    errors += _reference_errors(
        target,
        "spec.scaleTargetRef",
        any_version=is_same,
        any_group=target.get("kind") == "ReplicationController",
    )
    was_bad = any(_version_fault(_described(metric)) for metric in (old or {}).get("metrics") or ())
    errors += _metrics_errors(spec.get("metrics") or (), low, any_version=was_bad)
    behavior = spec.get("behavior") or {}
    for name in ("scaleUp", "scaleDown"):
        if (rules := behavior.get(name)) is not None:
            errors += _rules_errors(rules, f"spec.behavior.{name}")
    if low is not None and low < 0:
        errors.append(invalid("spec.minReplicas", low, NOT_NEGATIVE))
    if high == 0:
        errors.append(required("spec.maxReplicas"))
    elif high < 0:
        errors.append(invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
    return errors


def _described(metric: Part) -> Part:
    found: Part = (metric.get("object") or {}).get("describedObject") or {}
    return found if metric.get("type") == "Object" else {}


def _version_fault(reference: Part, *, any_group: bool = True) -> str:
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    return "" if any_group or version.partition("/")[1] else "apiVersion must specify API group"


def _reference_errors(reference: Part, path: str, *, any_version: bool, any_group: bool) -> list[FieldError]:
    errors = named(reference, "kind", path, path_segment_faults)
    errors += named(reference, "name", path, path_segment_faults)
    if not any_version and (fault := _version_fault(reference, any_group=any_group)):
        errors.append(invalid(f"{path}.apiVersion", reference.get("apiVersion") or "", fault))
    return errors


def _metrics_errors(metrics: Sequence[Part], low: int | None, *, any_version: bool) -> list[FieldError]:
    errors = each(metrics, "spec.metrics", lambda one, at: _metric_errors(one, at, any_version=any_version))
    if low == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", text))
    return errors


def _metric_errors(metric: Part, path: str, *, any_version: bool) -> list[FieldError]:
    kind = metric.get("type") or ""
    errors = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        name = present[0]
        errors += _SOURCE_CHECKS[name](metric[name], f"{path}.{name}", any_version)
    wanted = _SOURCES.get(kind, "")
    if not wanted:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    elif wanted not in present:
        errors.append(required(f"{path}.{wanted}", _POPULATE))
    if len(present) != 1:
        text = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{name}", text) for name in present if name != wanted]
    return distinct(errors)


def _object_errors(source: Part, path: str, any_version: bool) -> list[FieldError]:
    described = source.get("describedObject") or {}
    errors = _reference_errors(described, f"{path}.describedObject", any_version=any_version, any_group=True)
    errors += [*_identifier_errors(source, path), *_target_errors(source, path)]
    target = source.get("target") or {}
    if target.get("value") is None and target.get("averageValue") is None:
        errors.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return errors


def _external_errors(source: Part, path: str, _any_version: bool) -> list[FieldError]:
    errors = [*_identifier_errors(source, path), *_target_errors(source, path)]
    target = source.get("target") or {}
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        text = "must set either a target value for metric or a per-pod target"
        errors.append(required(f"{path}.target.averageValue", text))
    if value is not None and average is not None:
        text = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.target.value", text))
    return errors


def _pods_errors(source: Part, path: str, _any_version: bool) -> list[FieldError]:
    errors = [*_identifier_errors(source, path), *_target_errors(source, path)]
    text = "must specify a positive target averageValue"
    return [*errors, *needed(source.get("target") or {}, "averageValue", f"{path}.target", text)]


def _resource_errors(source: Part, path: str, _any_version: bool) -> list[FieldError]:
    return [*needed(source, "name", path, "must specify a resource name"), *_use_errors(source, path)]


def _container_resource_errors(source: Part, path: str, _any_version: bool) -> list[FieldError]:
    errors = needed(source, "name", path, "must specify a resource name")
    if name := source.get("name"):
        errors += container_resource_name_errors(name, f"{path}.name")
    errors += named(source, "container", path, dns_label_faults, "must specify a container")
    return [*errors, *_use_errors(source, path)]


def _use_errors(source: Part, path: str) -> list[FieldError]:
    errors = _target_errors(source, path)
    target = source.get("target") or {}
    use, average = target.get("averageUtilization"), target.get("averageValue")
    if use is None and average is None:
        text = "must set either a target raw value or a target utilization"
        errors.append(required(f"{path}.target.averageUtilization", text))
    if use is not None and average is not None:
        text = "may not set both a target raw value and a target utilization"
        errors.append(forbidden(f"{path}.target.averageValue", text))
    return errors


def _identifier_errors(source: Part, path: str) -> list[FieldError]:
    return named(
        source.get("metric") or {}, "name", f"{path}.metric", path_segment_faults, "must specify a metric name"
    )


def _target_errors(source: Part, path: str) -> list[FieldError]:
    target, path = source.get("target") or {}, f"{path}.target"
    errors = needed(target, "type", path, "must specify a metric target type")
    if (kind := target.get("type") or "") not in _TARGET_TYPES:
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        if (amount := target.get(name)) is not None and parse_quantity(amount) <= 0:
            errors.append(invalid(f"{path}.{name}", amount, "must be positive"))
    use = target.get("averageUtilization")
    if use is not None and use < 1:
        errors.append(invalid(f"{path}.averageUtilization", use, "must be greater than 0"))
    return errors


_SOURCE_CHECKS: Final[dict[str, Callable[[Any, str, bool], list[FieldError]]]] = {
    "object": _object_errors,
    "external": _external_errors,
    "pods": _pods_errors,
    "resource": _resource_errors,
    "containerResource": _container_resource_errors,
}


def _rules_errors(rules: Part, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    window = rules.get("stabilizationWindowSeconds")
    at = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(invalid(at, window, "must be greater than or equal to zero"))
    if window is not None and window > _WINDOW_SECONDS_MAX:
        errors.append(invalid(at, window, f"must be less than or equal to {_WINDOW_SECONDS_MAX}"))
    if rules.get("selectPolicy") is not None:
        errors += one_of(rules, "selectPolicy", path, ("Disabled", "Max", "Min"))
    errors += needed(rules, "policies", path, "must specify at least one Policy")
    errors += each(rules.get("policies"), f"{path}.policies", _policy_errors)
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_quantity(tolerance) < 0:
        errors.append(invalid(f"{path}.tolerance", tolerance, NOT_NEGATIVE))
    return errors


def _policy_errors(policy: Part, path: str) -> list[FieldError]:
    errors = one_of(policy, "type", path, ("Percent", "Pods"))
    for name in ("value", "periodSeconds"):
        if (number := policy.get(name) or 0) <= 0:
            errors.append(invalid(f"{path}.{name}", number, POSITIVE))
    if (period := policy.get("periodSeconds") or 0) > _PERIOD_SECONDS_MAX:
        text = f"must be less than or equal to {_PERIOD_SECONDS_MAX}"
        errors.append(invalid(f"{path}.periodSeconds", period, text))
    return errors


HORIZONTAL_POD_AUTOSCALER: Final = Validator(create=_create, update=_update)
