"""Workloads: the kinds that hold a pod template."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults, percent_faults, subdomain_faults
from doorman.validation.apps.workload_status import (
    DAEMON_SET_STATUS,
    DEPLOYMENT_STATUS,
    NON_NEGATIVE,
    REPLICA_SET_STATUS,
    STATEFUL_SET_STATUS,
    StatusRules,
    status_errors,
)
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.core.claim_spec import claim_spec_errors
from doorman.validation.metadata import (
    IMMUTABLE,
    NameFaults,
    validate_metadata,
    validate_metadata_update,
)
from doorman.validation.pods.pod import allows_comparison_operators, template_errors
from doorman.validation.selectors import label_selector_errors, selector_matches

_MISMATCH: Final = "`selector` does not match template `labels`"
_NUMBER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_OVER_100: Final = "must not be greater than 100%"
_STATEFUL_FIXED: Final = ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy")
_RETENTION: Final = ("Retain", "Delete")
_Spec = Mapping[str, Any]  # the spec of a workload as JSON

WorkloadSpecErrors = Callable[[_Spec, _Spec, Context], list[FieldError]]
"""Of a spec, given the stored one (empty on create)."""

FixedErrors = Callable[[_Spec, _Spec], list[FieldError]]
"""Of a change from the second spec to the first."""


def non_negative_errors(spec: _Spec, path: str, *fields: str) -> list[FieldError]:
    return [
        invalid(f"{path}.{field}", spec[field], NON_NEGATIVE)
        for field in fields
        if spec.get(field) is not None and spec[field] < 0
    ]


def int_or_percent_errors(value: int | str, path: str) -> list[FieldError]:
    """A count, or a percentage such as `25%`."""
    if isinstance(value, str):
        return [invalid(path, value, fault) for fault in percent_faults(value)]
    return [invalid(path, value, NON_NEGATIVE)] if value < 0 else []


def percent_or_none(value: int | str | None) -> int | None:
    if isinstance(value, str) and not percent_faults(value):
        return int(value[:-1])
    return None


def _over_hundred_errors(value: int | str, path: str) -> list[FieldError]:
    percent = percent_or_none(value)
    return [invalid(path, value, _OVER_100)] if percent is not None and percent > 100 else []


def selected_template_errors(
    spec: _Spec, old: _Spec, context: Context, *, kind: str, requires_always: bool = True
) -> list[FieldError]:
    """The selector, and the template that it must select."""
    errors: list[FieldError] = []
    selector, is_selector = spec.get("selector"), True
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is None:
        if kind != "daemonset":
            errors.append(required("spec.selector"))
        # No selector selects nothing, so not the template either.
        errors.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
    else:
        found = label_selector_errors(selector, "spec.selector")
        errors.extend(found)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            errors.append(invalid("spec.selector", selector, f"empty selector is invalid for {kind}"))
        elif not found and not selector_matches(selector, labels or {}):
            errors.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
        if found and kind in _UNSELECTED:
            errors.append(invalid("spec.selector", selector, _UNSELECTED[kind]))
            is_selector = False
    if is_selector:
        errors.extend(plain_template_errors(spec, old, context))
    pod: _Spec = (spec.get("template") or {}).get("spec") or {}
    if requires_always and pod.get("restartPolicy") != "Always":
        policy = JsonText(pod.get("restartPolicy", ""))
        errors.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if requires_always and pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {_TITLES[kind]} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return errors


_UNSELECTED: Final = {"deployment": "invalid label selector", "replicaset": "invalid label selector", "statefulset": ""}
"""Kinds of which the template is not looked at before the selector is one, and what is said of it."""

_TITLES: Final = {
    "deployment": "ReplicaSet",
    "replicaset": "ReplicaSet",
    "daemonset": "DaemonSet",
    "statefulset": "StatefulSet",
}


def plain_template_errors(spec: _Spec, old: _Spec, context: Context, path: str = "spec.template") -> list[FieldError]:
    before = ((old.get("template") or {}).get("spec")) or {}
    allowed = allows_comparison_operators(before, context)
    return template_errors(spec.get("template") or {}, path, comparison_operators=allowed)


def _deployment_errors(spec: _Spec, old: _Spec, context: Context) -> list[FieldError]:
    errors = non_negative_errors(spec, "spec", "replicas")
    errors.extend(selected_template_errors(spec, old, context, kind="deployment"))
    errors.extend(_rolling_errors(spec.get("strategy") or {}))
    errors.extend(
        non_negative_errors(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    )
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _rolling_errors(strategy: Mapping[str, Any]) -> list[FieldError]:
    path = "spec.strategy"
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is None:
            return []
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(f"{path}.rollingUpdate", text)]
    if kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": rolling}
        return [not_supported(path, shown, ("Recreate", "RollingUpdate"))]
    rolling = rolling or {}
    path = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = [
        *int_or_percent_errors(unavailable, f"{path}.maxUnavailable"),
        *int_or_percent_errors(surge, f"{path}.maxSurge"),
    ]
    if _is_zero(unavailable) and _is_zero(surge):
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    errors.extend(_over_hundred_errors(unavailable, f"{path}.maxUnavailable"))
    return errors


def _is_zero(value: int | str) -> bool:
    """A text that is no percentage counts as the number it is, or as none."""
    if isinstance(value, int):
        return value == 0
    percent = percent_or_none(value)
    number = percent if percent is not None else int(value) if _NUMBER.fullmatch(value) else 0
    return number == 0


def _replica_set_errors(spec: _Spec, old: _Spec, context: Context) -> list[FieldError]:
    errors = non_negative_errors(spec, "spec", "replicas", "minReadySeconds")
    errors.extend(selected_template_errors(spec, old, context, kind="replicaset"))
    return errors


def _daemon_set_errors(spec: _Spec, old: _Spec, context: Context) -> list[FieldError]:
    errors = selected_template_errors(spec, old, context, kind="daemonset")
    errors.extend(non_negative_errors(spec, "spec", "minReadySeconds"))
    errors.extend(_daemon_strategy_errors(spec.get("updateStrategy") or {}))
    errors.extend(non_negative_errors(spec, "spec", "revisionHistoryLimit"))
    return errors


def _daemon_strategy_errors(strategy: Mapping[str, Any]) -> list[FieldError]:
    path = "spec.updateStrategy"
    kind = strategy.get("type", "")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [not_supported(path, dict(strategy), ("RollingUpdate", "OnDelete"))]
    rolling = strategy.get("rollingUpdate")
    if rolling is None:
        return [required(f"{path}.rollingUpdate")]
    path = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = [
        *int_or_percent_errors(unavailable, f"{path}.maxUnavailable"),
        *int_or_percent_errors(surge, f"{path}.maxSurge"),
        *_over_hundred_errors(unavailable, f"{path}.maxUnavailable"),
        *_over_hundred_errors(surge, f"{path}.maxSurge"),
    ]
    if _is_zero(unavailable) and _is_zero(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    if not _is_zero(unavailable) and not _is_zero(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    return errors


def _stateful_set_errors(spec: _Spec, old: _Spec, context: Context) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        at = "spec.podManagementPolicy"
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid(at, JsonText(policy), text) if policy else required(at))
    errors.extend(_stateful_strategy_errors(spec.get("updateStrategy") or {}))
    retention: Mapping[str, Any] = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for field in ("whenDeleted", "whenScaled"):
        if field in retention and retention[field] not in _RETENTION:
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(not_supported(at, JsonText(retention[field]), _RETENTION))
    if not old:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            errors.extend(claim_spec_errors(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec"))
    errors.extend(non_negative_errors(spec, "spec", "replicas", "minReadySeconds"))
    errors.extend(non_negative_errors(spec.get("ordinals") or {}, "spec.ordinals", "start"))
    if name := spec.get("serviceName"):
        errors.extend(invalid("spec.serviceName", name, fault) for fault in dns_label_faults(name))
    errors.extend(selected_template_errors(_with_claims(spec), old, context, kind="statefulset"))
    return errors


def _with_claims(spec: _Spec) -> _Spec:
    """Templates of claims are volumes, too, and take the place of those of the same name; names of hosts are given."""
    template = spec.get("template") or {}
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in ("subdomain", "hostname")}
    names = [((claim.get("metadata") or {}).get("name")) or "" for claim in spec.get("volumeClaimTemplates") or ()]
    if names:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
        pod["volumes"] = [*made, *(one for one in pod.get("volumes") or () if one.get("name", "") not in names)]
    return {**spec, "template": {**template, "spec": pod}}


def _stateful_strategy_errors(strategy: Mapping[str, Any]) -> list[FieldError]:
    path = "spec.updateStrategy"
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        text = "only allowed for updateStrategy 'RollingUpdate'"
        return [invalid(f"{path}.rollingUpdate", _in_memory(rolling), text)]
    if kind != "RollingUpdate":
        value = {"Type": kind, "RollingUpdate": _in_memory(rolling) if rolling is not None else None}
        text = "must be 'RollingUpdate' or 'OnDelete'"
        return [invalid(path, value, text) if kind else required(path)]
    path, rolling = f"{path}.rollingUpdate", rolling or {}
    errors = non_negative_errors(rolling, path, "partition")
    unavailable = rolling.get("maxUnavailable")
    if unavailable is not None:
        path = f"{path}.maxUnavailable"
        errors.extend(int_or_percent_errors(unavailable, path))
        errors.extend([invalid(path, unavailable, "cannot be 0")] if _is_zero(unavailable) else [])
        errors.extend(_over_hundred_errors(unavailable, path))
    return errors


def _in_memory(rolling: Mapping[str, Any]) -> dict[str, Any]:  # JSON
    """Messages show what a server holds in memory, whose members have other names."""
    return {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}


def _replication_controller_errors(spec: _Spec, old: _Spec, context: Context) -> list[FieldError]:
    errors = non_negative_errors(spec, "spec", "minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        errors.append(required("spec.selector"))
    errors.extend(non_negative_errors(spec, "spec", "replicas"))
    template = spec.get("template")
    if template is None:
        return [*errors, required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels")
    if any((labels or {}).get(key) != value for key, value in selector.items()):
        errors.append(invalid("spec.template.metadata.labels", labels, _MISMATCH))
    errors.extend(plain_template_errors(spec, old, context))
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    if policy != "Always":
        errors.append(not_supported("spec.template.spec.restartPolicy", JsonText(policy), ("Always",)))
    return errors


def _stateful_fixed_errors(new: _Spec, old: _Spec) -> list[FieldError]:
    return [
        invalid(f"spec.{field}", new.get(field), IMMUTABLE)
        for field in _STATEFUL_FIXED
        if (new.get(field) or None) != (old.get(field) or None)
    ]


def _fixed_selector_errors(new: _Spec, old: _Spec) -> list[FieldError]:
    if new.get("selector") == old.get("selector"):
        return []
    return [invalid("spec.selector", new.get("selector"), IMMUTABLE)]


def _nothing_fixed(_new: _Spec, _old: _Spec) -> list[FieldError]:
    return []


def workload_validator(
    spec_errors: WorkloadSpecErrors,
    fixed_errors: FixedErrors,
    status_rules: StatusRules | None = None,
    *,
    fixed_first: bool = False,
    name_faults: NameFaults = subdomain_faults,
) -> Validator:
    """A validator of metadata and spec; a write of the status looks at neither template nor selector.

    `fixed_first`: whether an update tells what may not change before what is wrong.
    """

    def create(doc: Document, context: Context) -> list[FieldError]:
        return [*validate_metadata(doc, name_faults), *spec_errors(doc.get("spec") or {}, {}, context)]

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        errors = validate_metadata_update(new, old)
        if context.subresource == "status":
            if status_rules is not None:
                errors.extend(status_errors(status_rules, new.get("status") or {}, old.get("status") or {}))
            return errors
        after, before = new.get("spec") or {}, old.get("spec") or {}
        errors.extend(validate_metadata(new, name_faults))
        found = [spec_errors(after, before, context), fixed_errors(after, before)]
        for some in reversed(found) if fixed_first else found:
            errors.extend(some)
        return distinct(errors)

    return Validator(create=create, update=update)


DEPLOYMENT: Final = workload_validator(_deployment_errors, _fixed_selector_errors, DEPLOYMENT_STATUS)
REPLICA_SET: Final = workload_validator(_replica_set_errors, _fixed_selector_errors, REPLICA_SET_STATUS)
DAEMON_SET: Final = workload_validator(_daemon_set_errors, _fixed_selector_errors, DAEMON_SET_STATUS, fixed_first=True)
STATEFUL_SET: Final = workload_validator(
    _stateful_set_errors, _stateful_fixed_errors, STATEFUL_SET_STATUS, name_faults=dns_label_faults
)
REPLICATION_CONTROLLER: Final = workload_validator(_replication_controller_errors, _nothing_fixed, REPLICA_SET_STATUS)
