"""The quality-of-service class of a pod, from its document.

Rules
-----
1. Only cpu and memory count. Of one resource: request and limit differ, Burstable; both absent or zero, BestEffort;
   else Guaranteed.
2. A set of requirements is BestEffort when it names neither requests nor limits; Burstable when one of its resources is
   or the two differ; else what both are.
3. Pod-level resources, where set, decide alone.
4. Otherwise init containers and containers count (ephemeral ones do not): one Burstable, or different classes, make
   the pod Burstable.

The document must have been defaulted: requests that were left out equal their limits.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from doorman.api.machinery.quantity import parse_quantity


class QosClass(StrEnum):
    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def qos_class(spec: Mapping[str, Any]) -> QosClass:  # a PodSpec as JSON
    """
    >>> qos_class({"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}]})
    <QosClass.BURSTABLE: 'Burstable'>
    """
    pod_level = spec.get("resources")
    if pod_level and (pod_level.get("requests") or pod_level.get("limits")):
        return _class_of(pod_level)
    found: QosClass | None = None
    for containers in (spec.get("initContainers") or (), spec.get("containers") or ()):
        for container in containers:
            one = _class_of(container.get("resources"))
            if one is QosClass.BURSTABLE or (found is not None and found is not one):
                return QosClass.BURSTABLE
            found = one
    return QosClass.BEST_EFFORT if found is None else found


def _class_of(requirements: Mapping[str, Any] | None) -> QosClass:  # ResourceRequirements as JSON
    """Rule 2."""
    if not requirements:
        return QosClass.BEST_EFFORT
    requests = requirements.get("requests")
    limits = requirements.get("limits")
    if not requests and not limits:
        return QosClass.BEST_EFFORT
    cpu = _shape(requests or {}, limits or {}, "cpu")
    if cpu is QosClass.BURSTABLE:
        return cpu
    return cpu if _shape(requests or {}, limits or {}, "memory") is cpu else QosClass.BURSTABLE


def _shape(requests: Mapping[str, Any], limits: Mapping[str, Any], resource: str) -> QosClass:
    """Rule 1."""
    request, limit = requests.get(resource), limits.get(resource)
    requested = parse_quantity(str(request)) if request is not None else 0
    limited = parse_quantity(str(limit)) if limit is not None else 0
    if requested != limited:
        return QosClass.BURSTABLE
    return QosClass.GUARANTEED if requested else QosClass.BEST_EFFORT
