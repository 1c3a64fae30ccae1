"""ResourceQuota: nothing beyond what a namespace may hold.

Usage is counted from what is stored at that moment, durable or not yet, and not from the quota's status: the status is
a controller's report and may lag behind a burst of writes. (Where others give out the same room, see rule 4.)

Rules
-----
1. What is created counts in full. Of what is changed only services, claims and resized pods are looked at, and what
   they take beyond what they took before; who takes less is let through, however full it is.
2. A quota is about a request when it limits anything of its kind and the object is in all its scopes.
3. A pod under a quota for cpu or memory has to say how much each of its containers takes, unless the pod says it.
4. What a quota limits may not be exceeded. The first quota that would be names everything that is too much. Where
   others give out the same room, what the status says is used counts if it is more than there is.
5. What is limited by default (a setting of the cluster) takes a quota that covers it, by name or by scope.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from doorman.admission.admission_configuration import LimitedResource
from doorman.admission.plugin_contract import (
    ANY,
    CREATE,
    UPDATE,
    Attributes,
    ClusterReader,
    Interest,
    plain_refusal,
    refusal,
)
from doorman.api.machinery.quantity import parse_quantity
from doorman.api.well_known import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES
from doorman.base.clock import Instant
from doorman.semantics.pods.pod_resources import Amounts
from doorman.semantics.pods.quota_usage import (
    COMPUTE,
    IGNORED,
    Requirements,
    amount_text,
    in_scopes,
    increase,
    is_in_scope,
    names_of,
    requirements_of,
    resource_counted_by,
    usage_in_scope,
    usage_of,
)

INTERESTS: Final = (
    Interest(resource=ANY, operations=CREATE),
    Interest(resource=SERVICES, operations=UPDATE),
    Interest(resource=PERSISTENT_VOLUME_CLAIMS, operations=UPDATE),
    Interest(resource=PERSISTENT_VOLUME_CLAIMS, subresource="status", operations=UPDATE),
    Interest(resource=PODS, subresource="resize", operations=UPDATE),
)

_MUST_BE_SAID: Final = ("cpu", "memory")
_OF_PODS_AS_A_WHOLE: Final = ("cpu", "memory", "hugepages-")
_Json = Mapping[str, Any]  # a document or a part of one


class Concerned(msgspec.Struct, frozen=True):
    """A quota that is about a request."""

    name: str
    hard: Mapping[str, str]
    """Of what it limits, that which objects of this kind count for."""
    requirements: Requirements
    reported: Mapping[str, str] = {}
    """What its status says is used."""


def decide_concerned(quota: _Json, resource: str, obj: _Json) -> Concerned | None:
    """Rule 2."""
    spec: _Json = quota.get("spec") or {}
    hard: Mapping[str, str] = spec.get("hard") or {}
    counted = {name: hard[name] for name in sorted(hard) if resource_counted_by(name) == resource}
    requirements = requirements_of(spec.get("scopes") or (), spec.get("scopeSelector"))
    if not counted or not is_in_scope(requirements, resource, obj):
        return None
    reported: Mapping[str, str] = (quota.get("status") or {}).get("used") or {}
    return Concerned(quota["metadata"]["name"], counted, requirements, reported)


def decide_unsaid(pod: _Json, hard: Mapping[str, str]) -> str:
    """Rule 3: what the quota counts and containers are silent about, as the API lists it."""
    spec: _Json = pod.get("spec") or {}
    if _says_it_as_a_whole(spec):
        return ""
    unsaid: dict[str, list[str]] = {}
    for name in sorted(hard):
        field, _, resource = ("requests", "", name) if name in COMPUTE else name.partition(".")
        if field not in ("requests", "limits") or resource not in _MUST_BE_SAID:
            continue
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            if resource not in ((container.get("resources") or {}).get(field) or {}):
                unsaid.setdefault(name, []).append(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(containers))}" for name, containers in unsaid.items())


def decide_uncovered(wanted: Amounts, limited: Sequence[LimitedResource], concerned: Sequence[Concerned]) -> list[str]:
    """Rule 5, by name: what is taken, limited by default, and in no quota."""
    names = [name for name in names_of(wanted) if wanted[name] > 0]
    by_default = [name for name in names if any(part in name for one in limited for part in one.match_contains)]
    covered = {name for quota in concerned for name in quota.hard}
    return sorted(name for name in by_default if name not in covered)


def decide_uncovered_scopes(
    limited: Sequence[LimitedResource], quotas: Sequence[_Json], resource: str, obj: _Json
) -> Requirements:
    """Rule 5, by scope: those that the object is in, that are limited by default, and that no quota of its own has."""
    covered: set[str] = set()
    for quota in quotas:
        spec: _Json = quota.get("spec") or {}
        requirements = requirements_of(spec.get("scopes") or (), spec.get("scopeSelector"))
        covered.update(one["scopeName"] for one in in_scopes(requirements, resource, obj))
    found = [one for each in limited for one in in_scopes(each.match_scopes, resource, obj)]
    return [one for one in found if one["scopeName"] not in covered]


class ResourceQuotaPlugin:
    name = "ResourceQuota"
    interests: Sequence[Interest] = INTERESTS

    def __init__(self, limited: Sequence[LimitedResource] = ()) -> None:
        self._limited = tuple(limited)

    def limit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        resource, obj = attributes.group_resource, attributes.obj
        if not attributes.namespace or obj is None or resource in IGNORED:
            return
        quotas = list(cluster.list("resourcequotas", attributes.namespace))
        if not quotas and not self._limited:
            return
        concerned = [found for quota in quotas if (found := decide_concerned(quota, resource, obj)) is not None]
        if resource == PODS:
            for quota in concerned:
                if unsaid := decide_unsaid(obj, quota.hard):
                    raise refusal(attributes, f"failed quota: {quota.name}: must specify {unsaid}")
        usage = usage_of(resource, obj)
        more = usage if attributes.old is None else increase(usage, usage_of(resource, attributes.old))
        wanted = [more if _was_counted(quota, attributes) else usage for quota in concerned]
        if not any(wanted or (more,)):
            return
        self._check_covered(attributes, usage, quotas, concerned)
        for quota, amounts in zip(concerned, wanted, strict=True):
            _check(quota, amounts, attributes, cluster)

    def _check_covered(
        self, attributes: Attributes, usage: Amounts, quotas: Sequence[_Json], concerned: Sequence[Concerned]
    ) -> None:
        if not self._limited or attributes.obj is None:
            return
        group, plural = attributes.group, attributes.resource
        own = [one for one in self._limited if (one.api_group, one.resource) == (group, plural)]
        if uncovered := decide_uncovered(usage, own, concerned):
            raise refusal(attributes, f"insufficient quota to consume: {','.join(uncovered)}")
        if scopes := decide_uncovered_scopes(self._limited, quotas, attributes.group_resource, attributes.obj):
            listed = " ".join(
                f"{{{one['scopeName']} {one['operator']} [{' '.join(one.get('values') or ())}]}}" for one in scopes
            )
            raise plain_refusal(f"insufficient quota to match these scopes: [{listed}]")


def _was_counted(quota: Concerned, attributes: Attributes) -> bool:
    """Rule 1: an object that comes into a quota's scope counts in full."""
    old = attributes.old
    return old is not None and is_in_scope(quota.requirements, attributes.group_resource, old)


def _check(quota: Concerned, wanted: Amounts, attributes: Attributes, cluster: ClusterReader) -> None:
    """Rule 4."""
    counted = [name for name in quota.hard if wanted.get(name)]
    if not counted:
        return
    attributes.is_cacheable = False
    used = total_in_scope(cluster, attributes.group_resource, attributes.namespace, quota.requirements)
    if attributes.is_quota_shared:
        used = {**used, **_reported_more(quota.reported, used, counted)}
    over = [name for name in counted if used.get(name, Fraction(0)) + wanted[name] > parse_quantity(quota.hard[name])]
    if over:
        asked, taken = _listed(over, wanted), _listed(over, used)
        allowed = ",".join(f"{name}={quota.hard[name]}" for name in over)
        why = f"exceeded quota: {quota.name}, requested: {asked}, used: {taken}, limited: {allowed}"
        raise refusal(attributes, why)
    together = {**used, **{name: used.get(name, Fraction(0)) + wanted[name] for name in counted}}
    attributes.quota_used[quota.name] = {name: amount_text(name, together) for name in counted}


def _reported_more(reported: Mapping[str, str], used: Amounts, counted: Sequence[str]) -> dict[str, Fraction]:
    amounts = {name: parse_quantity(reported[name]) for name in counted if name in reported}
    return {name: amount for name, amount in amounts.items() if amount > used.get(name, 0)}


def total_in_scope(cluster: ClusterReader, resource: str, namespace: str, requirements: Requirements) -> Amounts:
    """What all objects of a kind in a namespace count for in a quota; whoever asks shares one sum."""
    return cluster.total(
        resource, namespace, repr(requirements), lambda obj: usage_in_scope(resource, obj, requirements)
    )


def _says_it_as_a_whole(spec: _Json) -> bool:
    resources: _Json = spec.get("resources") or {}
    said = (*(resources.get("requests") or ()), *(resources.get("limits") or ()))
    return any(name.startswith(_OF_PODS_AS_A_WHOLE) for name in said)


def _listed(resources: Sequence[str], amounts: Amounts) -> str:
    return ",".join(f"{resource}={amount_text(resource, amounts)}" for resource in resources)
