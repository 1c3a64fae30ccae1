"""What objects count for in quotas, and whom a quota is about.

Rules
-----
1. A pod counts as one `pods` and by its requests and limits until it has finished; as `count/pods` as long as it is
   stored. `cpu` is another name for `requests.cpu`; so are `memory`, `ephemeral-storage` and `hugepages-<size>`.
2. Of limits only cpu, memory and ephemeral storage count; of requests everything.
3. A Service counts by its type: `services.loadbalancers`, and for each port `services.nodeports`.
4. A claim counts by the storage it asks for or, where that is more, was allocated: as a whole and by storage class.
5. A claim of devices counts by the devices it asks for, by class: of alternatives the most of each class, and for all
   devices as many as a claim can get.
6. Everything else counts one: as `count/<resource>.<group>`, and the oldest kinds by their plain name too.
7. A quota with scopes is about those pods that are in all of them, or about those claims whose VolumeAttributesClass
   (wished, current or on its way) is in all of them; and about nothing else.
8. A sum is written as its parts are: in powers of two when any of them is.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity, quantity_text
from doorman.api.views.resource.resource_claims import CLAIMS as RESOURCE_CLAIMS
from doorman.api.well_known import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES, STORAGE_CLASS_ANNOTATION
from doorman.semantics.pods.pod_resources import Amounts, pod_amounts
from doorman.semantics.pods.qos import QosClass, qos_class
from doorman.semantics.pods.resource_names import HUGE_PAGES_PREFIX, is_native_resource

COUNT: Final = "count/"
PLAIN_COUNTS: Final = frozenset(
    {PODS, SERVICES, "replicationcontrollers", "resourcequotas", "secrets", "configmaps", PERSISTENT_VOLUME_CLAIMS}
)
IGNORED: Final = frozenset(("events", "events.events.k8s.io"))
"""Too many, too short-lived: nobody counts them."""
COMPUTE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_OF_PODS: Final = COMPUTE | {f"{field}.{name}" for field in ("requests", "limits") for name in COMPUTE}
_NODE_PORTS: Final = "services.nodeports"
_LOAD_BALANCERS: Final = "services.loadbalancers"
_STORAGE: Final = "requests.storage"
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_OF_DEVICE_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
_DEVICES_MAX: Final = 32
"""What a claim for all devices may get at most."""
_BINARY: Final = "in powers of two: "
"""Begins the name under which it is counted how many objects say an amount so."""

_ONE: Final = Fraction(1)
_NOTHING: Final = Fraction(0)
_Json = Mapping[str, Any]  # a document or a part of one
Requirements = Sequence[_Json]
"""ScopedResourceSelectorRequirements: all of them must hold."""


def usage_of(resource: str, obj: _Json) -> Amounts:
    """What an object of `resource` (as in `deployments.apps`) counts for, by the names that quotas use."""
    usage: Amounts = {f"{COUNT}{resource}": _ONE}
    if resource == PODS:
        if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return usage
        _add_pod(usage, obj.get("spec") or {})
    elif resource == SERVICES:
        _add_service(usage, obj.get("spec") or {})
    elif resource == PERSISTENT_VOLUME_CLAIMS:
        _add_claim(usage, obj)
    elif resource == RESOURCE_CLAIMS:
        _add_devices(usage, obj.get("spec") or {})
    if resource in PLAIN_COUNTS:
        usage[resource] = _ONE
    return usage


def usage_in_scope(resource: str, obj: _Json, requirements: Requirements) -> Amounts:
    """Nothing when the quota is not about the object."""
    return usage_of(resource, obj) if is_in_scope(requirements, resource, obj) else {}


def resource_counted_by(name: str) -> str:
    """The resource whose objects count for a name in a quota; empty when none does.

    >>> [resource_counted_by(name) for name in ("cpu", "count/jobs.batch", "secrets", "requests.storage", "limits.x/y")]
    ['pods', 'jobs.batch', 'secrets', 'persistentvolumeclaims', '']
    """
    if name.startswith(COUNT):
        return name.removeprefix(COUNT)
    if name in PLAIN_COUNTS:
        return name
    if name in (_NODE_PORTS, _LOAD_BALANCERS):
        return SERVICES
    if name == _STORAGE or _OF_CLASS in name:
        return PERSISTENT_VOLUME_CLAIMS
    if name.endswith(_OF_DEVICE_CLASS):
        return RESOURCE_CLAIMS
    wanted = name.removeprefix("requests.")
    is_extended = wanted != name and not is_native_resource(wanted)
    return PODS if name in _OF_PODS or wanted.startswith(HUGE_PAGES_PREFIX) or is_extended else ""


def names_of(usage: Amounts) -> list[str]:
    """What is counted by name, and not how it was written."""
    return [name for name in usage if not name.startswith(_BINARY)]


def increase(new: Amounts, old: Amounts) -> Amounts:
    """What one version of an object takes beyond another one. What is not more is left out."""
    more: Amounts = {}
    for name in names_of(new):
        added = new[name] - old.get(name, _NOTHING)
        if added > 0:
            _add_amount(more, name, added, is_binary=f"{_BINARY}{name}" in new)
    return more


def amount_text(name: str, amounts: Mapping[str, Fraction]) -> str:
    """Rule 8."""
    return quantity_text(amounts.get(name, _NOTHING), is_binary=bool(amounts.get(f"{_BINARY}{name}")))


def requirements_of(scopes: Iterable[str], selector: _Json | None) -> Requirements:
    """A quota's `scopes` and `scopeSelector` as one list."""
    wanted: list[_Json] = [{"scopeName": scope, "operator": "Exists"} for scope in scopes]
    wanted.extend((selector or {}).get("matchExpressions") or ())
    return wanted


def is_in_scope(requirements: Requirements, resource: str, obj: _Json) -> bool:
    """Rule 7."""
    return all(_holds(requirement, resource, obj) for requirement in requirements)


def in_scopes(requirements: Requirements, resource: str, obj: _Json) -> Requirements:
    """Those of the requirements that hold."""
    return [one for one in requirements if _holds(one, resource, obj)]


def _add_pod(usage: Amounts, spec: _Json) -> None:
    binary = {field: _said_in_powers_of_two(spec, field) for field in ("requests", "limits")}
    for name, amount in pod_amounts(spec, "requests").items():
        names = (f"requests.{name}", name) if name in COMPUTE or name.startswith(HUGE_PAGES_PREFIX) else ()
        for known_as in names or (f"requests.{name}",):
            _add_amount(usage, known_as, amount, is_binary=name in binary["requests"])
    for name, amount in pod_amounts(spec, "limits").items():
        if name in COMPUTE:
            _add_amount(usage, f"limits.{name}", amount, is_binary=name in binary["limits"])


def _said_in_powers_of_two(spec: _Json, field: str) -> Mapping[str, None]:
    owners = (spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    said = [(owner.get("resources") or {}).get(field) or {} for owner in owners]
    return {
        name: None for each in (*said, spec.get("overhead") or {}) for name, text in each.items() if _is_binary(text)
    }


def _add_service(usage: Amounts, spec: _Json) -> None:
    ports = spec.get("ports") or ()
    match spec.get("type"):
        case "NodePort":
            usage[_NODE_PORTS] = Fraction(len(ports))
        case "LoadBalancer":
            wants_all = spec.get("allocateLoadBalancerNodePorts") is not False
            usage[_LOAD_BALANCERS] = _ONE
            usage[_NODE_PORTS] = Fraction(sum(1 for port in ports if wants_all or port.get("nodePort")))


def _add_claim(usage: Amounts, claim: _Json) -> None:
    spec: _Json = claim.get("spec") or {}
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    storage_class = annotations.get(STORAGE_CLASS_ANNOTATION, spec.get("storageClassName") or "")
    text = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if text is not None and allocated is not None and parse_quantity(allocated) > parse_quantity(text):
        text = allocated  # an expansion that failed still takes what it tried to get
    prefix = f"{storage_class}{_OF_CLASS}"
    if storage_class:
        usage[f"{prefix}{PERSISTENT_VOLUME_CLAIMS}"] = _ONE
    if text is not None:
        for name in (_STORAGE, f"{prefix}{_STORAGE}") if storage_class else (_STORAGE,):
            _add_amount(usage, name, parse_quantity(text), is_binary=_is_binary(text))


def _add_devices(usage: Amounts, spec: _Json) -> None:
    """Rule 5."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        most: Amounts = {}
        for one in request.get("firstAvailable") or (request.get("exactly") or {},):
            name = f"{one.get('deviceClassName', '')}{_OF_DEVICE_CLASS}"
            most[name] = max(most.get(name, _NOTHING), _devices_asked_for(one))
        for name, amount in most.items():
            usage[name] = usage.get(name, _NOTHING) + amount


def _devices_asked_for(request: _Json) -> Fraction:
    match request.get("allocationMode"):
        case "All":
            return Fraction(_DEVICES_MAX)
        case "ExactCount":
            return Fraction(request.get("count") or 0)
    return _NOTHING


def _add_amount(usage: Amounts, name: str, amount: Fraction, *, is_binary: bool) -> None:
    usage[name] = amount
    if is_binary:
        usage[f"{_BINARY}{name}"] = _ONE


def _is_binary(quantity: str) -> bool:
    return quantity.endswith("i")


def _holds(requirement: _Json, resource: str, obj: _Json) -> bool:
    if resource == PERSISTENT_VOLUME_CLAIMS:
        is_meant = requirement.get("scopeName") == "VolumeAttributesClass"
        return is_meant and any(_has_class(name, requirement) for name in _attributes_classes(obj) or ("",))
    return resource == PODS and _holds_for_pod(requirement, obj.get("spec") or {})


def _attributes_classes(claim: _Json) -> set[str]:
    status: _Json = claim.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    named = (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        target,
    )
    return {name for name in named if name}


def _holds_for_pod(requirement: _Json, spec: _Json) -> bool:
    match requirement.get("scopeName"):
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return qos_class(spec) == QosClass.BEST_EFFORT
        case "NotBestEffort":
            return qos_class(spec) != QosClass.BEST_EFFORT
        case "PriorityClass":
            return _has_class(spec.get("priorityClassName", ""), requirement)
        case "CrossNamespacePodAffinity":
            return _has_cross_namespace_affinity(spec)
    return False


def _has_class(name: str, requirement: _Json) -> bool:
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
    return False


def _has_cross_namespace_affinity(spec: _Json) -> bool:
    for side in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(side) or {}
        terms = list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms.extend(weighted.get("podAffinityTerm") or {} for weighted in preferred)
        if any(term.get("namespaces") or "namespaceSelector" in term for term in terms):
            return True
    return False
