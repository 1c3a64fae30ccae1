"""What a write of a pod's status may say: the spec comes from the store and is not looked at again."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.api.schema import Document
from doorman.base.errors import FieldError, Json, forbidden, invalid
from doorman.semantics.names import qualified_name_faults, subdomain_faults
from doorman.validation.metadata import IMMUTABLE, validate_metadata_update

_NOMINATED_ON_BOUND: Final = "may not be set on pods that are already bound to a node"
_RESTARTED: Final = "may not be transitioned to non-terminated state"
_SYSTEM_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "Initialized"})


def validate_pod_status(new: Document, old: Document) -> list[FieldError]:
    spec = old.get("spec") or {}
    after, before = new.get("status") or {}, old.get("status") or {}
    errors = status_errors(after, before, spec.get("restartPolicy", "Always"), spec.get("nodeName", ""))
    return [*validate_metadata_update(new, old), *errors]


def status_errors(
    after: Mapping[str, Any], before: Mapping[str, Any], restart_policy: str, node_name: str
) -> list[FieldError]:
    """Of a status in place of another, of a pod with this policy, on this node."""
    errors: list[FieldError] = []
    if conditions := after.get("conditions"):
        errors.extend(_condition_errors(conditions))
    nominated = after.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName", ""):
        errors.extend(invalid("status.nominatedNodeName", nominated, fault) for fault in subdomain_faults(nominated))
        if node_name:
            errors.append(forbidden("status.nominatedNodeName", _NOMINATED_ON_BOUND))
    if (qos := after.get("qosClass", "")) != before.get("qosClass", ""):
        errors.append(invalid("status.qosClass", Json(qos), IMMUTABLE))
    errors.extend(_restart_errors(after, before, "containerStatuses", restart_policy))
    # Nobody ever restarts an ephemeral container.
    errors.extend(_restart_errors(after, before, "ephemeralContainerStatuses", "Never"))
    return errors


def _condition_errors(conditions: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """The path begins with `metadata`: that is where Kubernetes says conditions are."""
    errors: list[FieldError] = []
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            path = f"metadata.conditions[{index}].Type"
            errors.extend(invalid(path, kind, fault) for fault in qualified_name_faults(kind))
    return errors


def _restart_errors(after: Mapping[str, Any], before: Mapping[str, Any], field: str, policy: str) -> list[FieldError]:
    """A container that has ended for good stays ended."""
    if policy == "Always" or not before.get(field):
        return []
    going = {status.get("name", "") for status in after.get(field) or () if _ended(status) is None}
    errors: list[FieldError] = []
    for index, status in enumerate(before[field]):
        ended = _ended(status)
        if ended is None or (policy == "OnFailure" and ended.get("exitCode", 0)):
            continue
        if status.get("name", "") in going:
            errors.append(forbidden(f"status.{field}[{index}].state", _RESTARTED))
    return errors


def _ended(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = (status.get("state") or {}).get("terminated")
    return found
