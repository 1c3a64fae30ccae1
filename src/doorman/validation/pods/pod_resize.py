"""What a resize of a pod may change: amounts of processor time and memory, and nothing else."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.well_known import MIRROR_POD_ANNOTATION
from doorman.base.errors import FieldError, JsonText, forbidden, invalid
from doorman.base.json_types import Document
from doorman.semantics.pods.qos import qos_class
from doorman.validation.context import Context
from doorman.validation.pods.pod import allows_comparison_operators, pod_errors

_Json = Mapping[str, Any]  # a part of a pod

_RESIZED: Final = ("cpu", "memory")
_QOS_CHANGED: Final = "Pod QOS Class may not change as a result of resizing"
_ONLY: Final = "only cpu and memory resources are mutable"


def resize_errors(new: Document, old: Document, context: Context) -> list[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if MIRROR_POD_ANNOTATION in (old["metadata"].get("annotations") or {}):
        return [forbidden("", "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    errors = pod_errors(new, comparison_operators=allows_comparison_operators(before, context))
    was = (old.get("status") or {}).get("qosClass") or qos_class(before)
    if qos_class(after) != was:
        errors.append(invalid("spec", JsonText(was), _QOS_CHANGED))
    if _is_set(before) or _is_set(after):
        errors += _whole_errors(after, before)
    if found := _order_errors(after, before):
        return [*errors, *found]
    for group in ("initContainers", "containers"):
        for index, container in enumerate(before.get(group) or ()):
            wanted, stored = after[group][index].get("resources") or {}, container.get("resources") or {}
            at = f"spec.{group}[{index}].resources"
            errors += [
                forbidden(f"{at}.{field}", f"resource {field} cannot be removed")
                for field in ("requests", "limits")
                if _is_removed(wanted, stored, field)
            ]
    return [*errors, *_other_errors(after, before)]


def _is_set(spec: _Json) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _whole_errors(after: _Json, before: _Json) -> list[FieldError]:
    """Resources of the pod as a whole."""
    wanted, stored = after.get("resources"), before.get("resources")
    if stored is not None and wanted is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    errors = [
        forbidden(f"spec.resources.{field}", f"pod-level resource {field} cannot be removed")
        for field in ("requests", "limits")
        if stored is not None and _is_removed(wanted or {}, stored, field)
    ]
    if _without_resized(wanted or {}) != _without_resized(stored or {}):
        errors.append(forbidden("spec", f"{_ONLY} at pod-level"))
    return errors


def _order_errors(after: _Json, before: _Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for group in ("containers", "initContainers"):
        new, old = after.get(group) or (), before.get(group) or ()
        if len(new) != len(old):
            errors.append(forbidden(f"spec.{group}", f"{group} may not be added or removed on resize"))
            continue
        errors += [
            forbidden(f"spec.{group}[{index}].name", f"{group} may not be renamed or reordered on resize")
            for index, (one, other) in enumerate(zip(new, old, strict=True))
            if one.get("name") != other.get("name")
        ]
    return errors


def _other_errors(after: _Json, before: _Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for container, stored in zip(after.get("containers") or (), before.get("containers") or (), strict=True):
        if _but_resized(container) != _but_resized(stored):
            errors.append(forbidden("spec", _ONLY))
    pairs = zip(after.get("initContainers") or (), before.get("initContainers") or (), strict=True)
    for index, (container, stored) in enumerate(pairs):
        at = f"spec.initContainers[{index}]"
        if _but_resized(container) != _but_resized(stored):
            text = "only cpu and memory resources for init or sidecar containers are mutable"
            errors.append(forbidden(at, text))
        if container != stored and container.get("restartPolicy") != "Always":
            text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            policies = container.get("resizePolicy") or ()
            errors += [forbidden(at, text) for one in policies if one.get("restartPolicy") == "RestartContainer"]
    return errors


def _is_removed(wanted: _Json, stored: _Json, field: str) -> bool:
    return any(name not in (wanted.get(field) or {}) for name in stored.get(field) or {})


def _but_resized(container: _Json) -> dict[str, Any]:
    return {**container, "resources": _without_resized(container.get("resources") or {})}


def _without_resized(resources: _Json) -> dict[str, Any]:
    kept = {
        field: {name: amount for name, amount in (resources.get(field) or {}).items() if name not in _RESIZED}
        for field in ("limits", "requests")
    }
    return {**kept, "claims": resources.get("claims") or []}
