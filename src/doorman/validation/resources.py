"""Names and amounts of resources: in containers, in pods, on nodes."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.quantity import milli_value, parse_quantity
from doorman.base.errors import FieldError, invalid, required
from doorman.semantics.names import qualified_name_faults
from doorman.semantics.resource_names import (
    HUGE_PAGES_PREFIX,
    is_extended_resource,
    is_native_resource,
    is_overcommit_allowed,
)

NEGATIVE: Final = "must be greater than or equal to 0"
NOT_WHOLE: Final = "must be an integer"

_STANDARD_FOR_CONTAINERS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD: Final = _STANDARD_FOR_CONTAINERS | {
    "storage", "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims",
}  # fmt: skip
_COUNTED: Final = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"}
)


def quantity_errors(name: str, quantity: str, path: str) -> list[FieldError]:
    """An amount is not negative, and whole where things are counted one by one."""
    errors: list[FieldError] = []
    if parse_quantity(quantity) < 0:
        errors.append(invalid(path, quantity, NEGATIVE))
    if (name in _COUNTED or is_extended_resource(name)) and milli_value(quantity) % 1000:
        errors.append(invalid(path, quantity, NOT_WHOLE))
    return errors


def requirement_errors(requirements: Mapping[str, Any], path: str) -> list[FieldError]:
    """`resources` of a container."""
    limits: Mapping[str, str] = requirements.get("limits") or {}
    requests: Mapping[str, str] = requirements.get("requests") or {}
    errors: list[FieldError] = []
    for name, quantity in limits.items():
        at = f"{path}.limits[{name}]"
        errors.extend(_container_resource_name_errors(name, at))
        errors.extend(quantity_errors(name, quantity, at))
    for name, quantity in requests.items():
        at = f"{path}.requests[{name}]"
        errors.extend(_container_resource_name_errors(name, at))
        errors.extend(quantity_errors(name, quantity, at))
        errors.extend(_request_errors(name, quantity, limits.get(name), path))
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


def _container_resource_name_errors(name: str, path: str) -> list[FieldError]:
    if name in _STANDARD_FOR_CONTAINERS or name.startswith(HUGE_PAGES_PREFIX):
        return []
    errors = [invalid(path, name, fault) for fault in qualified_name_faults(name)]
    if errors:
        return errors
    if "/" not in name:
        if name not in _STANDARD:
            errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
        errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native_resource(name) and not is_extended_resource(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors
