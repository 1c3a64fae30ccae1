"""ResourceQuota: nothing new beyond what a namespace may hold.

Usage is counted from what is stored at that moment, durable or not yet, and not from the quota's status: the status is
a controller's report and may lag behind a burst of writes.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from doorman.admission.contract import ANY, CREATE, Attributes, Cluster, Interest, refusal
from doorman.api.quantity import parse_quantity
from doorman.base.clock import Instant
from doorman.semantics.pod_resources import Amounts
from doorman.semantics.quotas import (
    COMPUTE,
    PODS,
    Requirements,
    amount_text,
    is_in_scope,
    requirements_of,
    usage_in_scope,
    usage_of,
)

INTERESTS: Final = (Interest(resource=ANY, operations=CREATE),)

_MUST_BE_SAID: Final = ("cpu", "memory")
_Json = Mapping[str, Any]  # a document or a part of one


def decide_unsaid(pod: _Json, hard: Mapping[str, str]) -> str:
    """Compute resources that the quota counts and a container is silent about, as the API lists them."""
    unsaid: dict[str, list[str]] = {}
    for name in sorted(hard):
        field, _, resource = ("requests", "", name) if name in COMPUTE else name.partition(".")
        if field not in ("requests", "limits") or resource not in _MUST_BE_SAID:
            continue
        for container in (pod.get("spec") or {}).get("containers") or ():
            if resource not in ((container.get("resources") or {}).get(field) or {}):
                unsaid.setdefault(name, []).append(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(containers)}" for name, containers in unsaid.items())


class ResourceQuota:
    name = "ResourceQuota"
    interests: Sequence[Interest] = INTERESTS

    def limit(self, attributes: Attributes, cluster: Cluster, _now: Instant) -> None:
        if not attributes.namespace or attributes.obj is None or attributes.resource == "resourcequotas":
            return
        for quota in cluster.list("resourcequotas", attributes.namespace):
            self._check(quota, attributes, attributes.obj, cluster)

    def _check(self, quota: _Json, attributes: Attributes, obj: _Json, cluster: Cluster) -> None:
        spec: _Json = quota.get("spec") or {}
        hard: Mapping[str, str] = spec.get("hard") or {}
        resource = attributes.group_resource
        is_pod = resource == PODS
        requirements = requirements_of(spec.get("scopes") or (), spec.get("scopeSelector"))
        if not is_in_scope(requirements, obj if is_pod else None):
            return
        name = quota["metadata"]["name"]
        if is_pod and (unsaid := decide_unsaid(obj, hard)):
            raise refusal(attributes, f"failed quota: {name}: must specify {unsaid}")
        wanted = usage_of(resource, obj)
        counted = sorted(limited for limited in hard if wanted.get(limited))
        if not counted:
            return
        attributes.is_particular = True
        used = total_in_scope(cluster, resource, attributes.namespace, requirements)
        over = [
            limited
            for limited in counted
            if used.get(limited, Fraction(0)) + wanted[limited] > parse_quantity(hard[limited])
        ]
        if over:
            asked, taken = _listed(over, wanted), _listed(over, used)
            allowed = ",".join(f"{limited}={hard[limited]}" for limited in over)
            raise refusal(attributes, f"exceeded quota: {name}, requested: {asked}, used: {taken}, limited: {allowed}")


def total_in_scope(cluster: Cluster, resource: str, namespace: str, requirements: Requirements) -> Amounts:
    """What all objects of a kind in a namespace count for in a quota; whoever asks shares one sum."""
    return cluster.total(
        resource, namespace, repr(requirements), lambda obj: usage_in_scope(resource, obj, requirements)
    )


def _listed(resources: Sequence[str], amounts: Amounts) -> str:
    return ",".join(f"{resource}={amount_text(resource, amounts)}" for resource in resources)
