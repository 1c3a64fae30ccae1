"""Which toleration tolerates which device taint, which devices a rule taints, and when a claim's pods must leave.

Rules
-----
1. A toleration with an effect or a key is for taints of that effect or key only; an empty one is for all.
2. No operator and `Equal` ask for the same value, `Exists` is content with any; any other operator never matches.
3. A device is not allocated when it has a NoSchedule or NoExecute taint that no toleration of the request tolerates.
   `None` and effects nobody knows never stand in the way. Seconds do not matter here.
4. A rule taints the devices that have every driver, pool and device its selector names; `{}` names nothing and so
   means all. Without a selector Kubernetes contradicts itself: the scheduler takes it for all devices, the eviction
   controller for none. Both are kept, so who asks must say which reading it wants.
5. Only a toleration whose effect is NoExecute, spelt out, protects from eviction: one without an effect lets the
   device be allocated, and its pod is evicted all the same.
6. A tolerated taint without seconds is passed over. Otherwise the claim's pods leave at `timeAdded` plus the smallest
   number of seconds of those tolerations that match (a negative number is 0, none at all is 0).
7. The claim's instant is the earliest of all its taints; all of them are its reasons.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.views.resource.devices import (
    DeviceId,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    DeviceToleration,
)
from doorman.base.clock import Instant
from doorman.base.instants import from_time

NO_EXECUTE: Final = "NoExecute"
_KEEPS_AWAY: Final = frozenset({"NoSchedule", NO_EXECUTE})


def tolerates_device_taint(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Rules 1 and 2.

    >>> broken = DeviceTaint(key="broken", value="fan", effect="NoSchedule")
    >>> tolerates_device_taint(DeviceToleration(key="broken", operator="Exists"), broken)
    True
    >>> tolerates_device_taint(DeviceToleration(key="broken", value="memory"), broken)
    False
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def untolerated_taint(taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> DeviceTaint | None:
    """Rule 3: the first taint that keeps the device from being allocated."""
    for taint in taints:
        if taint.effect in _KEEPS_AWAY and not any(tolerates_device_taint(one, taint) for one in tolerations):
            return taint
    return None


def selector_names_device(selector: DeviceTaintSelector | None, device: DeviceId, *, missing_is_all: bool) -> bool:
    """Rule 4.

    >>> selector_names_device(DeviceTaintSelector(pool="node-1"), ("gpu.example.com", "node-1", "gpu-0"), missing_is_all=True)
    True
    """  # noqa: E501
    if selector is None:
        return missing_is_all
    return all(
        wanted is None or wanted == found
        for wanted, found in zip((selector.driver, selector.pool, selector.device), device, strict=True)
    )


class EvictionReason(msgspec.Struct, frozen=True, order=True):
    """A taint that makes a pod leave. Rules come first, by name; then taints of slices, by device and place."""

    is_published: bool
    """In a slice, and not a rule's."""
    rule: str = ""
    rule_uid: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    index: int = 0

    def __str__(self) -> str:
        if not self.is_published:
            return f"DeviceTaintRule {self.rule}"
        return f"taint #{self.index} of device {self.driver}/{self.pool}/{self.device}"


class ClaimEviction(msgspec.Struct, frozen=True):
    """When the pods of a claim must leave, and because of what."""

    when: Instant
    reasons: tuple[EvictionReason, ...]


def eviction_instant(taint: DeviceTaint, tolerations: Sequence[DeviceToleration]) -> Instant | None:
    """Rules 5 and 6: when the taint takes the device's pods away; None when it never does.

    >>> taint = DeviceTaint(key="broken", effect="NoExecute", time_added="2026-01-01T00:00:00Z")
    >>> eviction_instant(taint, [DeviceToleration(operator="Exists")]) == from_time("2026-01-01T00:00:00Z")
    True
    >>> eviction_instant(taint, [DeviceToleration(operator="Exists", effect="NoExecute")]) is None
    True
    """
    seconds: int | None = None
    for toleration in tolerations:
        if toleration.effect == NO_EXECUTE and tolerates_device_taint(toleration, taint):
            if toleration.toleration_seconds is None:
                return None
            own = max(toleration.toleration_seconds, 0)
            seconds = own if seconds is None else min(seconds, own)
    return _added(taint) + (seconds or 0)


def merged(evictions: Iterable[ClaimEviction]) -> ClaimEviction | None:
    """The earliest of several, with all their reasons."""
    found = list(evictions)
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    reasons = sorted({reason for one in found for reason in one.reasons})
    return ClaimEviction(min(one.when for one in found), tuple(reasons))


def rule_reason(rule: DeviceTaintRule) -> EvictionReason:
    return EvictionReason(False, rule=rule.metadata.name, rule_uid=rule.metadata.uid)


def _added(taint: DeviceTaint) -> Instant:
    try:
        return from_time(taint.time_added)
    except ValueError:
        return 0.0
