"""ResourceQuota: nothing new beyond what a namespace may hold.

Usage is counted from what is stored at that moment, durable or not yet, and not from the quota's status: the status is
a controller's report and may lag behind a burst of writes.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from doorman.admission.contract import ANY, CREATE, Attributes, Cluster, Interest, refusal
from doorman.api.quantity import canonical_quantity, parse_quantity
from doorman.base.clock import Instant
from doorman.semantics.pod_resources import Amounts, pod_amounts
from doorman.semantics.qos import QosClass, qos_class

INTERESTS: Final = (Interest(resource=ANY, operations=CREATE),)

_PLAIN_COUNTS: Final = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"}
)
_SHORT: Final = {"cpu": "requests.cpu", "memory": "requests.memory", "ephemeral-storage": "requests.ephemeral-storage"}
_MUST_BE_SAID: Final = ("cpu", "memory")
_Json = Mapping[str, Any]  # a document or a part of one


def decide_pod_usage(pod: _Json) -> Amounts:
    """What a pod counts for, by the names that quotas use."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {"count/pods": Fraction(1)}
    spec: _Json = pod.get("spec") or {}
    usage: Amounts = {"pods": Fraction(1), "count/pods": Fraction(1)}
    for name, amount in pod_amounts(spec, "requests").items():
        usage[f"requests.{name}"] = amount
        if name in _SHORT:
            usage[name] = amount
    for name, amount in pod_amounts(spec, "limits").items():
        usage[f"limits.{name}"] = amount
    return usage


def decide_unsaid(pod: _Json, hard: Mapping[str, str]) -> str:
    """Compute resources that the quota counts and a container is silent about, as the API lists them."""
    unsaid: dict[str, list[str]] = {}
    for name in sorted(hard):
        field, _, resource = _SHORT.get(name, name).partition(".")
        if field not in ("requests", "limits") or resource not in _MUST_BE_SAID:
            continue
        for container in (pod.get("spec") or {}).get("containers") or ():
            if resource not in ((container.get("resources") or {}).get(field) or {}):
                unsaid.setdefault(name, []).append(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(containers)}" for name, containers in unsaid.items())


def decide_scope(quota: _Json, pod: _Json | None) -> bool:
    """Whether the quota is about this pod (or, for other kinds, about everything)."""
    spec: _Json = quota.get("spec") or {}
    wanted = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    wanted.extend((spec.get("scopeSelector") or {}).get("matchExpressions") or ())
    if not wanted:
        return True
    return pod is not None and all(_is_in_scope(pod, requirement) for requirement in wanted)


class ResourceQuota:
    name = "ResourceQuota"
    interests: Sequence[Interest] = INTERESTS

    def limit(self, attributes: Attributes, cluster: Cluster, _now: Instant) -> None:
        if not attributes.namespace or attributes.obj is None or attributes.resource == "resourcequotas":
            return
        for quota in cluster.list("resourcequotas", attributes.namespace):
            self._check(quota, attributes, attributes.obj, cluster)

    def _check(self, quota: _Json, attributes: Attributes, obj: _Json, cluster: Cluster) -> None:
        hard: Mapping[str, str] = (quota.get("spec") or {}).get("hard") or {}
        is_pod = attributes.group_resource == "pods"
        if not decide_scope(quota, obj if is_pod else None):
            return
        name = quota["metadata"]["name"]
        if is_pod and (unsaid := decide_unsaid(obj, hard)):
            raise refusal(attributes, f"failed quota: {name}: must specify {unsaid}")
        wanted = decide_pod_usage(obj) if is_pod else _count(attributes)
        counted = sorted(resource for resource in hard if wanted.get(resource))
        if not counted:
            return
        attributes.is_particular = True
        used = self._used(attributes, quota, cluster, is_pod=is_pod)
        over = [
            resource
            for resource in counted
            if used.get(resource, Fraction(0)) + wanted[resource] > parse_quantity(hard[resource])
        ]
        if over:
            asked = _listed(over, wanted)
            taken = _listed(over, used)
            allowed = ",".join(f"{resource}={hard[resource]}" for resource in over)
            raise refusal(attributes, f"exceeded quota: {name}, requested: {asked}, used: {taken}, limited: {allowed}")

    def _used(self, attributes: Attributes, quota: _Json, cluster: Cluster, *, is_pod: bool) -> Amounts:
        resource, namespace = attributes.group_resource, attributes.namespace
        if not is_pod:
            one = _count(attributes)
            return cluster.total(resource, namespace, "count", lambda _: one)
        spec = quota.get("spec") or {}
        scopes = repr((spec.get("scopes"), spec.get("scopeSelector")))
        return cluster.total(
            resource, namespace, scopes, lambda pod: decide_pod_usage(pod) if decide_scope(quota, pod) else {}
        )


def _count(attributes: Attributes) -> Amounts:
    usage: Amounts = {f"count/{attributes.group_resource}": Fraction(1)}
    if attributes.group_resource in _PLAIN_COUNTS:
        usage[attributes.resource] = Fraction(1)
    return usage


def _is_in_scope(pod: _Json, requirement: _Json) -> bool:
    spec: _Json = pod.get("spec") or {}
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


def _listed(resources: Sequence[str], amounts: Amounts) -> str:
    return ",".join(f"{resource}={_text(amounts.get(resource, Fraction(0)))}" for resource in resources)


def _text(amount: Fraction) -> str:
    return canonical_quantity(str(amount.numerator) if amount.denominator == 1 else f"{-(-amount * 1000 // 1)}m")
