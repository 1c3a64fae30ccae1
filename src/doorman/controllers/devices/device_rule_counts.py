"""What a DeviceTaintRule comes to: pods that must leave because of it, or would, and devices it selects."""

from collections.abc import Mapping

import msgspec

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import DeviceTaintRule, ResourceSlice
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.client.informer_cache import ListerOf
from doorman.controllers.devices.claim_evictions import (
    BY_POOL,
    TaintsByDevice,
    claim_eviction,
    newest_slices,
    pod_eviction,
    selects,
)
from doorman.controllers.devices.device_rule_status import RuleCounts
from doorman.semantics.devices.device_taints import NO_EXECUTE, ClaimEviction

Allocated = Mapping[str, tuple[ResourceClaim, ClaimEviction | None]]
"""Allocated claims by key, each with when its pods must leave."""
Planned = Mapping[str, ClaimEviction]
"""When pods must leave, by `namespace/name/uid`."""


def rule_counts(
    rule: DeviceTaintRule,
    allocated: Allocated,
    planned: Planned,
    published: Mapping[str, TaintsByDevice],
    pods: ListerOf[Pod],
    slices: ListerOf[ResourceSlice],
    evicted: int,
) -> RuleCounts:
    """With effect None it is counted what the rule would do, were it NoExecute and alone."""
    effect = rule.spec.taint.effect
    if effect == NO_EXECUTE:
        pending, namespaces = _pending(rule, planned, pods)
        return RuleCounts(pending_pods=pending, pending_namespaces=namespaces, evicted_pods=evicted)
    if effect != "None":
        return RuleCounts(evicted_pods=evicted)
    only = {rule.metadata.name: _as_evicting(rule)}
    supposed = {key: (claim, claim_eviction(claim, published, only)) for key, (claim, _) in allocated.items()}
    pending, namespaces = _pending(rule, _planned(supposed, pods), pods)
    return RuleCounts(
        pending_pods=pending,
        pending_namespaces=namespaces,
        published_devices=_count_published(rule, slices),
        allocated_devices=sum(
            selects(rule, result.id)
            for claim, _ in allocated.values()
            if claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
        ),
        evicted_pods=evicted,
    )


def _pending(rule: DeviceTaintRule, planned: Planned, pods: ListerOf[Pod]) -> tuple[int, int]:
    """Pods that must leave because of the rule, once for each reason, and in how many namespaces."""
    count = 0
    namespaces: set[str] = set()
    for own, eviction in planned.items():
        matching = [one for one in eviction.reasons if one.rule_uid == rule.metadata.uid]
        key, _, uid = own.rpartition("/")
        pod = pods.get(key) if matching else None
        if pod is not None and pod.metadata.uid == uid and not pod.metadata.deletion_timestamp:
            count += len(matching)
            namespaces.add(pod.metadata.namespace)
    return count, len(namespaces)


def _planned(allocated: Allocated, pods: ListerOf[Pod]) -> dict[str, ClaimEviction]:
    found: dict[str, ClaimEviction] = {}
    for claim, eviction in allocated.values():
        for one in claim.status.reserved_for if eviction is not None else ():
            pod = pods.get(f"{claim.metadata.namespace}/{one.name}")
            own = pod_eviction(pod, allocated) if pod is not None else None
            if pod is not None and own is not None:
                found[f"{pod.metadata.key}/{pod.metadata.uid}"] = own
    return found


def _count_published(rule: DeviceTaintRule, slices: ListerOf[ResourceSlice]) -> int:
    return sum(
        selects(rule, (one.spec.driver, one.spec.pool.name, device.name))
        for pool in slices.places(BY_POOL)
        for one in newest_slices(slices, pool)
        for device in one.spec.devices
    )


def _as_evicting(rule: DeviceTaintRule) -> DeviceTaintRule:
    """The rule as it would be with effect NoExecute."""
    taint = msgspec.structs.replace(rule.spec.taint, effect=NO_EXECUTE)
    return DeviceTaintRule(metadata=rule.metadata, spec=msgspec.structs.replace(rule.spec, taint=taint))
