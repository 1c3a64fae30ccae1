"""LimitRanger: a namespace's default requests and limits, and its bounds on them."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from doorman.admission.plugin_contract import (
    CREATE,
    CREATE_AND_UPDATE,
    UPDATE,
    Attributes,
    ClusterReader,
    Interest,
    refusal,
)
from doorman.api.machinery.quantity import parse_quantity
from doorman.api.well_known import LIMIT_RANGES, PERSISTENT_VOLUME_CLAIMS
from doorman.base.clock import Instant
from doorman.semantics.pods.pod_resources import Amounts, pod_amounts

INTERESTS: Final = (
    Interest(resource="pods", operations=CREATE),
    Interest(resource="pods", subresource="resize", operations=UPDATE),
    Interest(resource=PERSISTENT_VOLUME_CLAIMS, operations=CREATE_AND_UPDATE),
)
ANNOTATION: Final = "kubernetes.io/limit-ranger"

_Limit = Mapping[str, Any]  # one element of a LimitRange's limits as JSON


def decide_defaults(limits: Iterable[_Limit]) -> tuple[dict[str, str], dict[str, str]]:
    """Default requests and default limits of a container; where several speak the first is heard."""
    requests: dict[str, str] = {}
    defaults: dict[str, str] = {}
    for limit in limits:
        if limit.get("type") != "Container":
            continue
        for name, quantity in (limit.get("defaultRequest") or {}).items():
            requests.setdefault(name, quantity)
        for name, quantity in (limit.get("default") or {}).items():
            defaults.setdefault(name, quantity)
    return requests, defaults


def decide_faults(limit: _Limit, kind: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> list[str]:
    """What the bounds have against these amounts, in the API's words."""
    faults: list[str] = []
    for name, bound in (limit.get("min") or {}).items():
        faults.extend(_least_faults(name, bound, kind, requests.get(name), limits.get(name)))
    for name, bound in (limit.get("max") or {}).items():
        faults.extend(_most_faults(name, bound, kind, requests.get(name), limits.get(name)))
    for name, bound in (limit.get("maxLimitRequestRatio") or {}).items():
        faults.extend(_ratio_faults(name, bound, kind, requests.get(name), limits.get(name)))
    return faults


class LimitRanger:
    name = "LimitRanger"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        if attributes.resource != "pods" or attributes.subresource or attributes.obj is None:
            return
        requests, limits = decide_defaults(_limits(cluster, attributes.namespace))
        if not requests and not limits:
            return
        spec = attributes.obj.setdefault("spec", {})
        told: list[str] = []
        for group, shown in (("containers", "container"), ("initContainers", "init container")):
            for container in spec.get(group) or ():
                told.extend(_merge(container, requests, limits, shown))
        if told:
            metadata = attributes.obj.setdefault("metadata", {})
            annotations = metadata.get("annotations") or {}
            metadata["annotations"] = {**annotations, ANNOTATION: f"LimitRanger plugin set: {'; '.join(told)}"}

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a write has an object"
        spec: Mapping[str, Any] = attributes.obj.get("spec") or {}
        for one in cluster.list(LIMIT_RANGES, attributes.namespace):
            said = (_faults_of(limit, attributes.resource, spec) for limit in _limits_of(one))
            # Two containers that break the same bound are told once.
            faults = list(dict.fromkeys(fault for each in said for fault in each))
            if faults:
                raise refusal(attributes, faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


def _faults_of(limit: _Limit, resource: str, spec: Mapping[str, Any]) -> list[str]:
    kind = limit.get("type", "")
    if resource == PERSISTENT_VOLUME_CLAIMS:
        return _claim_faults(limit, spec) if kind == "PersistentVolumeClaim" else []
    if kind == "Pod":
        requests, limits = _texts(pod_amounts(spec, "requests")), _texts(pod_amounts(spec, "limits"))
        return decide_faults(limit, kind, requests, limits)
    faults: list[str] = []
    if kind == "Container":
        for group in ("containers", "initContainers"):
            for container in spec.get(group) or ():
                resources = container.get("resources") or {}
                found = resources.get("requests") or {}, resources.get("limits") or {}
                faults.extend(decide_faults(limit, kind, *found))
    return faults


def _limits(cluster: ClusterReader, namespace: str) -> list[_Limit]:
    return [limit for one in cluster.list("limitranges", namespace) for limit in _limits_of(one)]


def _limits_of(limit_range: Mapping[str, Any]) -> Sequence[_Limit]:  # a LimitRange as JSON
    """Those of one without a spec are none."""
    return (limit_range.get("spec") or {}).get("limits") or ()


def _merge(
    container: dict[str, Any], requests: Mapping[str, str], limits: Mapping[str, str], shown: str
) -> list[str]:  # a Container as JSON, changed in place
    """Fill in what the container does not say; tells what was filled in."""
    told: list[str] = []
    resources = container.setdefault("resources", {})
    for field, defaults in (("requests", requests), ("limits", limits)):
        found = resources.get(field) or {}
        missing = {name: quantity for name, quantity in defaults.items() if name not in found}
        if missing:
            resources[field] = {**found, **missing}
            told.append(f"{', '.join(sorted(missing))} {field[:-1]} for {shown} {container.get('name', '')}")
    return told


def _least_faults(name: str, bound: str, kind: str, request: str | None, limit: str | None) -> list[str]:
    head = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        return [f"{head}.  No request is specified"]
    if parse_quantity(request) < parse_quantity(bound):
        return [f"{head}, but request is {request}"]
    if limit is not None and parse_quantity(limit) < parse_quantity(bound):
        return [f"{head}, but limit is {limit}"]
    return []


def _most_faults(name: str, bound: str, kind: str, request: str | None, limit: str | None) -> list[str]:
    head = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        return [f"{head}.  No limit is specified"]
    if parse_quantity(limit) > parse_quantity(bound):
        return [f"{head}, but limit is {limit}"]
    if request is not None and parse_quantity(request) > parse_quantity(bound):
        return [f"{head}, but request is {request}"]
    return []


def _ratio_faults(name: str, bound: str, kind: str, request: str | None, limit: str | None) -> list[str]:
    head = f"{name} max limit to request ratio per {kind} is {bound}"
    if request is None or parse_quantity(request) == 0:
        return [f"{head}, but no request is specified or request is 0"]
    if limit is None or parse_quantity(limit) == 0:
        return [f"{head}, but no limit is specified or limit is 0"]
    ratio = parse_quantity(limit) / parse_quantity(request)
    if ratio > parse_quantity(bound):
        return [f"{head}, but provided ratio is {float(ratio):f}"]
    return []


def _claim_faults(limit: _Limit, spec: Mapping[str, Any]) -> list[str]:
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "0")
    faults: list[str] = []
    if (least := (limit.get("min") or {}).get("storage")) and parse_quantity(wanted) < parse_quantity(least):
        faults.append(f"minimum storage usage per PersistentVolumeClaim is {least}, but request is {wanted}")
    if (most := (limit.get("max") or {}).get("storage")) and parse_quantity(wanted) > parse_quantity(most):
        faults.append(f"maximum storage usage per PersistentVolumeClaim is {most}, but request is {wanted}")
    return faults


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: _text(amount) for name, amount in amounts.items()}


def _text(amount: Fraction) -> str:
    return str(amount.numerator) if amount.denominator == 1 else f"{-(-amount * 1000 // 1)}m"
