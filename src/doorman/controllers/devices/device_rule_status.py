"""The condition EvictionInProgress of a DeviceTaintRule: what the rule does, has done, or would do."""

from typing import Any, Final

import msgspec

from doorman.api.views.meta import Condition
from doorman.api.views.resource.devices import RESOURCE_VERSION, TAINT_RULES, DeviceTaintRule
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Patch, PatchType
from doorman.controllers.devices.device_eviction_messages import NAME
from doorman.semantics.devices.device_taints import NO_EXECUTE

CONDITION: Final = "EvictionInProgress"
STATUS_PERIOD_SECONDS: Final = 10.0


class RuleCounts(msgspec.Struct, frozen=True, kw_only=True):
    pending_pods: int = 0
    pending_namespaces: int = 0
    published_devices: int = 0
    allocated_devices: int = 0
    evicted_pods: int = 0
    """Since the controller started."""


def condition_of(rule: DeviceTaintRule) -> Condition | None:
    return next((one for one in rule.status.conditions if one.type == CONDITION), None)


def next_report(rule: DeviceTaintRule, now: Instant) -> Instant:
    """A condition that is good for the rule as it is stands for ten seconds; before that nothing is written."""
    before = condition_of(rule)
    if before is None or before.observed_generation != rule.metadata.generation:
        return now
    try:
        return max(now, from_time(before.last_transition_time or "") + STATUS_PERIOD_SECONDS)
    except ValueError:
        return now


def decide_condition(rule: DeviceTaintRule, counts: RuleCounts) -> tuple[str, str, str]:
    """Status, reason and message.

    >>> from doorman.api.views.resource.devices import DeviceTaint, DeviceTaintRuleSpec
    >>> rule = DeviceTaintRule(spec=DeviceTaintRuleSpec(taint=DeviceTaint(key="a", effect="NoExecute")))
    >>> decide_condition(rule, RuleCounts(pending_pods=1, pending_namespaces=1))
    ('True', 'PodsPendingEviction', '1 pod needs to be evicted in 1 namespace.')
    >>> decide_condition(rule, RuleCounts(evicted_pods=2))
    ('False', 'Completed', '2 pods evicted since starting the controller.')
    """
    status, reason, message = "False", "OtherEffect", "Eviction only happens for the NoExecute effect."
    if rule.spec.taint.effect == NO_EXECUTE:
        reason, message = ("Completed" if counts.evicted_pods else "NotStarted"), ""
        if counts.pending_pods:
            status, reason, message = "True", "PodsPendingEviction", _pending(counts)
    elif rule.spec.taint.effect == "None":
        reason, message = "NoEffect", _dry_run(counts)
    if counts.evicted_pods:
        evicted = f"{_pods(counts.evicted_pods)} evicted since starting the controller."
        message = f"{message} {evicted}" if message else evicted
    return status, reason, message


def decide_report(rule: DeviceTaintRule, counts: RuleCounts, now: Instant) -> Patch | None:
    """What is to be written; None when the rule says so already."""
    status, reason, message = decide_condition(rule, counts)
    before = condition_of(rule)
    generation = rule.metadata.generation
    if before is not None and (status, reason, message, generation) == (
        before.status,
        before.reason,
        before.message,
        before.observed_generation,
    ):
        return None
    condition: dict[str, Any] = {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": to_time(now),
    }
    body = {
        "apiVersion": RESOURCE_VERSION,
        "kind": "DeviceTaintRule",
        "metadata": {"uid": rule.metadata.uid},
        "status": {"conditions": [condition]},
    }
    return Patch(
        resource=TAINT_RULES,
        name=rule.metadata.name,
        subresource="status",
        body=body,
        type=PatchType.APPLY,
        manager=NAME,
    )


def _pending(counts: RuleCounts) -> str:
    needs = "pod needs" if counts.pending_pods == 1 else "pods need"
    return f"{counts.pending_pods} {needs} to be evicted in {_namespaces(counts)}."


def _dry_run(counts: RuleCounts) -> str:
    return (
        f"{_devices(counts.published_devices, 'published')} {_devices(counts.allocated_devices, 'allocated')} "
        f"{_pods(counts.pending_pods)} would be evicted in {_namespaces(counts)} if the effect was NoExecute. "
        "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
    )


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _devices(count: int, which: str) -> str:
    return f"1 {which} device selected." if count == 1 else f"{count} {which} devices selected."


def _namespaces(counts: RuleCounts) -> str:
    count = counts.pending_namespaces
    return "1 namespace" if count == 1 else f"{count} different namespaces"
