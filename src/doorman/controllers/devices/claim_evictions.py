"""When the pods of claims must leave, from what drivers publish and what rules say."""

from collections.abc import Iterator, Mapping
from typing import Final

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import DeviceId, DeviceTaint, DeviceTaintRule, ResourceSlice
from doorman.api.views.resource.resource_claims import AllocatedDevice, ResourceClaim
from doorman.client.informer_cache import ListerOf
from doorman.semantics.devices.device_taints import (
    NO_EXECUTE,
    ClaimEviction,
    EvictionReason,
    eviction_instant,
    merged,
    rule_reason,
    selector_names_device,
)
from doorman.semantics.devices.pod_claims import is_made_for, is_reserved_for, known_references

BY_POOL: Final = "pool"
"""Index of slices, and of claims by what was allocated to them."""

TaintsByDevice = Mapping[str, tuple[tuple[int, DeviceTaint], ...]]
"""NoExecute taints with their places in the list, by the device's name."""


def pool_key(driver: str, pool: str) -> str:
    return f"{driver}/{pool}"


def slice_pools(slice_: ResourceSlice) -> tuple[str, ...]:
    return (pool_key(slice_.spec.driver, slice_.spec.pool.name),)


def claim_pools(claim: ResourceClaim) -> tuple[str, ...]:
    if claim.status.allocation is None:
        return ()
    results = claim.status.allocation.devices.results
    return tuple(dict.fromkeys(pool_key(result.driver, result.pool) for result in results))


def newest_slices(slices: ListerOf[ResourceSlice], pool: str) -> Iterator[ResourceSlice]:
    """Of a pool only those of the highest generation count."""
    found = slices.by(BY_POOL, pool)
    generation = max((one.spec.pool.generation for one in found), default=0)
    return (one for one in found if one.spec.pool.generation == generation)


def evicting_taints(slices: ListerOf[ResourceSlice], pool: str) -> TaintsByDevice:
    found: dict[str, tuple[tuple[int, DeviceTaint], ...]] = {}
    for one in newest_slices(slices, pool):
        for device in one.spec.devices:
            if device.taints and device.name not in found:
                taints = [(at, taint) for at, taint in enumerate(device.taints) if taint.effect == NO_EXECUTE]
                if taints:
                    found[device.name] = tuple(taints)
    return found


def selects(rule: DeviceTaintRule, device: DeviceId) -> bool:
    """For eviction a rule without a selector names nothing."""
    return selector_names_device(rule.spec.device_selector, device, missing_is_all=False)


def selects_any(rule: DeviceTaintRule, claim: ResourceClaim) -> bool:
    """Whether the rule names any of the devices that a claim has."""
    allocation = claim.status.allocation
    return allocation is not None and any(selects(rule, result.id) for result in allocation.devices.results)


def claim_eviction(
    claim: ResourceClaim, published: Mapping[str, TaintsByDevice], rules: Mapping[str, DeviceTaintRule]
) -> ClaimEviction | None:
    """`published` by pool; `rules` are those with effect NoExecute. Rules count for devices no longer published too."""
    if claim.status.allocation is None:
        return None
    found = []
    for result in claim.status.allocation.devices.results:
        for reason, taint in _taints_of(result, published, rules):
            when = eviction_instant(taint, result.tolerations)
            if when is not None:
                found.append(ClaimEviction(when, (reason,)))
    return merged(found)


def _taints_of(
    result: AllocatedDevice, published: Mapping[str, TaintsByDevice], rules: Mapping[str, DeviceTaintRule]
) -> Iterator[tuple[EvictionReason, DeviceTaint]]:
    driver, pool, device = result.id
    for at, taint in published.get(pool_key(driver, pool), {}).get(device, ()):
        yield EvictionReason(True, driver=driver, pool=pool, device=device, index=at), taint
    for rule in rules.values():
        if selects(rule, result.id):
            yield rule_reason(rule), rule.spec.taint


def pod_eviction(pod: Pod, claims: Mapping[str, tuple[ResourceClaim, ClaimEviction | None]]) -> ClaimEviction | None:
    """Of all claims that are allocated and the pod's own. Claims for extended resources are not looked at."""
    if not pod.spec.node_name:
        return None
    found = []
    for reference in known_references(pod):
        claim, eviction = claims.get(f"{pod.metadata.namespace}/{reference.name}", (None, None))
        if claim is None or eviction is None:
            continue
        if (reference.is_generated and not is_made_for(claim, pod)) or not is_reserved_for(claim, pod):
            continue
        found.append(eviction)
    return merged(found)
