"""What a write of a pod's status may say: the spec comes from the store and is not looked at again."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from doorman.base.errors import FieldError, FieldErrorType, JsonText, forbidden, invalid
from doorman.base.json_types import Document
from doorman.semantics.addresses import IP_FAULT
from doorman.semantics.name_syntax import qualified_name_faults, subdomain_faults
from doorman.validation.metadata import IMMUTABLE, validate_metadata_update

_NOMINATED_ON_BOUND: Final = "may not be set on pods that are already bound to a node"
_ONE_OF_EACH: Final = "may specify no more than one IP for each IP family"
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
        errors.append(invalid("status.qosClass", JsonText(qos), IMMUTABLE))
    errors.extend(_restart_errors(after, before, "containerStatuses", restart_policy))
    # Nobody ever restarts an ephemeral container.
    errors.extend(_restart_errors(after, before, "ephemeralContainerStatuses", "Never"))
    for field in ("podIPs", "hostIPs"):
        if (addresses := after.get(field)) and addresses != before.get(field):
            if field == "hostIPs" and (first := addresses[0].get("ip", "")) != after.get("hostIP", ""):
                errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
            errors.extend(_address_errors(addresses, before.get(field) or (), f"status.{field}"))
    return errors


def _address_errors(
    addresses: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]], path: str
) -> list[FieldError]:
    """Addresses, at most one of each family."""
    known = {one.get("ip", "") for one in before}
    errors: list[FieldError] = []
    families = []
    for index, one in enumerate(addresses):
        text = one.get("ip", "")
        family = _family(text)
        families.append(family)
        if not family and text not in known:
            errors.append(invalid(f"{path}[{index}]", text, IP_FAULT))
    if len(addresses) < 2:
        return errors
    if 0 in families:
        first = families.index(0)
        why = f"failed to check for dual stack with error:invalid IP[{first}]: {addresses[first].get('ip', '')}"
        errors.append(FieldError(FieldErrorType.INTERNAL, path, f"Internal error: {why}"))
    if 0 in families or len(set(families)) < len(families):
        errors.append(invalid(path, JsonText([{"IP": one.get("ip", "")} for one in addresses]), _ONE_OF_EACH))
    return errors


def _family(text: str) -> int:
    """4 or 6; 0 for what is no address."""
    try:
        return ip_address(text).version
    except ValueError:
        return 0


def _condition_errors(conditions: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            path = f"status.conditions[{index}].Type"
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
