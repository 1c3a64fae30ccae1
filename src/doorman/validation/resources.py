"""Names and amounts of resources: in containers, in pods, on nodes."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.machinery.quantity import milli_value, parse_quantity, quantity_text
from doorman.base.errors import FieldError, forbidden, invalid, required
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.semantics.pods.pod_resources import is_pod_level_resource, is_written_in_binary, pod_amounts
from doorman.semantics.pods.resource_names import (
    HUGE_PAGES_PREFIX,
    is_extended_resource,
    is_native_resource,
    is_overcommit_allowed,
)

NEGATIVE: Final = "must be greater than or equal to 0"
NOT_WHOLE: Final = "must be an integer"

COUNTED_RESOURCES: Final = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
QUOTA_RESOURCES: Final = COUNTED_RESOURCES | {
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_STANDARD: Final = QUOTA_RESOURCES | {"storage"}
_STANDARD_FOR_CONTAINERS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


def quantity_errors(name: str, quantity: str, path: str) -> list[FieldError]:
    """An amount is not negative, and whole where things are counted one by one."""
    errors: list[FieldError] = []
    if parse_quantity(quantity) < 0:
        errors.append(invalid(path, quantity, NEGATIVE))
    if (name in COUNTED_RESOURCES or is_extended_resource(name)) and milli_value(quantity) % 1000:
        errors.append(invalid(path, quantity, NOT_WHOLE))
    return errors


def requirement_errors(requirements: Mapping[str, Any], path: str) -> list[FieldError]:
    """`resources` of a container."""
    limits: Mapping[str, str] = requirements.get("limits") or {}
    requests: Mapping[str, str] = requirements.get("requests") or {}
    errors: list[FieldError] = []
    for name, quantity in limits.items():
        at = f"{path}.limits[{name}]"
        errors.extend(container_resource_name_errors(name, at))
        errors.extend(quantity_errors(name, quantity, at))
    for name, quantity in requests.items():
        at = f"{path}.requests[{name}]"
        errors.extend(container_resource_name_errors(name, at))
        errors.extend(quantity_errors(name, quantity, at))
        errors.extend(_request_errors(name, quantity, limits.get(name), path))
    return errors


def pod_requirement_errors(spec: Mapping[str, Any], requirements: Mapping[str, Any], path: str) -> list[FieldError]:
    """`resources` of a pod: not less than its containers ask for together, nor less than one of them is limited to."""
    errors: list[FieldError] = []
    if "claims" in requirements:
        errors.append(forbidden(f"{path}.claims", "claims cannot be set for Resources at pod-level"))
    errors.extend(requirement_errors(requirements, path))
    if errors:
        return errors
    requests: Mapping[str, str] = requirements.get("requests") or {}
    alone = {name: spec[name] for name in ("containers", "initContainers") if name in spec}
    for name, amount in pod_amounts(alone, "requests").items():
        asked = requests.get(name, "0")
        if amount > parse_quantity(asked) and is_pod_level_resource(name):
            total = quantity_text(amount, is_binary=is_written_in_binary(spec, name))
            text = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{path}.requests[{name}]", asked, text))
    limits: Mapping[str, str] = requirements.get("limits") or {}
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and parse_quantity(limit) > parse_quantity(limits[name]):
                at = f"{path}.containers[{index}][{name}].limits"
                errors.append(invalid(at, limit, f"must be less than or equal to pod limits of {limits[name]}"))
    return errors


def _request_errors(name: str, quantity: str, limit: str | None, path: str) -> list[FieldError]:
    overcommit = is_overcommit_allowed(name)
    if limit is None:
        return [] if overcommit else [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    if quantity == limit:
        return []
    asked, allowed = parse_quantity(quantity), parse_quantity(limit)
    if asked != allowed and not overcommit:
        return [invalid(f"{path}.requests", quantity, f"must be equal to {name} limit of {limit}")]
    if asked > allowed:
        return [invalid(f"{path}.requests", quantity, f"must be less than or equal to {name} limit of {limit}")]
    return []


def is_quota_huge_pages(name: str) -> bool:
    return name.startswith((HUGE_PAGES_PREFIX, f"requests.{HUGE_PAGES_PREFIX}"))


def resource_name_errors(name: str, path: str) -> list[FieldError]:
    """A resource that Kubernetes knows, or somebody's own with a domain."""
    errors = [invalid(path, name, fault) for fault in qualified_name_faults(name)]
    if errors or "/" in name or name in _STANDARD or is_quota_huge_pages(name):
        return errors
    return [invalid(path, name, "must be a standard resource type or fully qualified")]


def container_resource_name_errors(name: str, path: str) -> list[FieldError]:
    if name in _STANDARD_FOR_CONTAINERS:
        return []
    errors = resource_name_errors(name, path)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES_PREFIX):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors
