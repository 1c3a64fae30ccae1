"""Names and amounts of resources: in containers, in pods, on nodes."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from doorman.api.machinery.quantity import QuantityError, int64_value, parse_quantity, quantity_text, whole_value
from doorman.base.errors import (
    FieldError,
    duplicate,
    field_not_found,
    forbidden,
    invalid,
    not_supported,
    required,
)
from doorman.semantics.name_syntax import dns_label_faults, qualified_name_faults
from doorman.semantics.pods.pod_resources import is_pod_level_resource, is_written_in_binary, pod_amounts
from doorman.semantics.pods.resource_names import (
    HUGE_PAGES_PREFIX,
    is_extended_resource,
    is_native_resource,
    is_overcommit_allowed,
)

NameCheck = Callable[[str, str], list[FieldError]]
"""From the name of a resource and its place to what is wrong with it."""

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
    if parse_quantity(quantity).numerator < 0:
        errors.append(invalid(path, quantity, NEGATIVE))
    if (name in COUNTED_RESOURCES or is_extended_resource(name)) and int64_value(quantity, -3) % 1000:
        errors.append(invalid(path, quantity, NOT_WHOLE))
    return errors


def requirement_errors(
    requirements: Mapping[str, Any], claims: frozenset[str], path: str, check: NameCheck | None = None
) -> list[FieldError]:
    """`resources` of a container, or with another `check` of names those of a pod. `claims`: what may be named."""
    limits: Mapping[str, str] = requirements.get("limits") or {}
    requests: Mapping[str, str] = requirements.get("requests") or {}
    errors: list[FieldError] = []
    name_errors = check or container_resource_name_errors
    for name, quantity in limits.items():
        at = f"{path}.limits[{name}]"
        errors.extend(name_errors(name, at))
        errors.extend(quantity_errors(name, quantity, at))
        errors.extend(_page_errors(name, quantity, at))
    for name, quantity in requests.items():
        at = f"{path}.requests[{name}]"
        errors.extend(name_errors(name, at))
        errors.extend(quantity_errors(name, quantity, at))
        errors.extend(_request_errors(name, quantity, limits.get(name), path))
        errors.extend(_page_errors(name, quantity, at))
    names = {**limits, **requests}
    if "cpu" not in names and "memory" not in names and any(name.startswith(HUGE_PAGES_PREFIX) for name in names):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if used := requirements.get("claims"):
        errors.extend(_claim_errors(used, claims, f"{path}.claims"))
    return errors


def _page_errors(name: str, quantity: str, path: str) -> list[FieldError]:
    """Huge pages come whole."""
    if not name.startswith(HUGE_PAGES_PREFIX):
        return []
    try:
        size = parse_quantity(name.removeprefix(HUGE_PAGES_PREFIX))
    except QuantityError:
        size = Fraction(0)
    if size > 0 and size.denominator == 1 and whole_value(quantity) % size == 0:
        return []
    return [invalid(path, quantity, f"{quantity} is not positive integer multiple of {name}")]


def _claim_errors(used: Sequence[Mapping[str, Any]], claims: frozenset[str], path: str) -> list[FieldError]:
    """A claim as a whole, or some of its requests, each once."""
    errors: list[FieldError] = []
    seen: dict[str, set[str]] = {}
    for index, claim in enumerate(used):
        name, request, at = claim.get("name", ""), claim.get("request", ""), f"{path}[{index}]"
        if not name:
            errors.append(required(at))
            continue
        requests = seen.setdefault(name, set())
        if "" in requests:
            errors.append(duplicate(at, name))
        else:
            if request:
                errors.extend(invalid(f"{at}.request", request, fault) for fault in dns_label_faults(request))
            if request in requests:
                errors.append(duplicate(at, f"{name}/{request}"))
            elif not request:
                errors.extend(duplicate(at, name) for _ in requests)
            requests.add(request)
        if name not in claims:
            text = "must be one of the names in pod.spec.resourceClaims"
            text += f": {', '.join(sorted(claims))}" if claims else " which is empty"
            errors.append(field_not_found(at, name, text))
    return errors


def pod_requirement_errors(
    spec: Mapping[str, Any], requirements: Mapping[str, Any], claims: frozenset[str], path: str
) -> list[FieldError]:
    """`resources` of a pod: not less than its containers ask for together, nor less than one of them is limited to."""
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(path, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if "claims" in requirements:
        errors.append(forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
    errors.extend(requirement_errors(requirements, claims, path, _pod_resource_name_errors))
    requests: Mapping[str, str] = requirements.get("requests") or {}
    limits: Mapping[str, str] = requirements.get("limits") or {}
    alone = {name: spec[name] for name in ("containers", "initContainers") if name in spec}
    for name, amount in pod_amounts(alone, "requests").items():
        if name in requests and amount > parse_quantity(requests[name]):
            total = quantity_text(amount, is_binary=is_written_in_binary(spec, name))
            text = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{path}.requests[{name}]", requests[name], text))
    for name, amount in pod_amounts(alone, "limits").items():
        is_paged = name.startswith(HUGE_PAGES_PREFIX) and name in limits
        if is_paged and amount > parse_quantity(limits[name]):
            total = quantity_text(amount, is_binary=is_written_in_binary(spec, name))
            text = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(f"{path}.limits[{name}]", limits[name], text))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and parse_quantity(limit) > parse_quantity(limits[name]):
                at = f"{path}.containers[{index}][{name}].limits"
                errors.append(invalid(at, limit, f"must be less than or equal to pod limits of {limits[name]}"))
    return errors


def _pod_resource_name_errors(name: str, path: str) -> list[FieldError]:
    if errors := resource_name_errors(name, path):
        return errors
    if is_pod_level_resource(name):
        return []
    return [not_supported(path, name, ("cpu", HUGE_PAGES_PREFIX, "memory"))]


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
