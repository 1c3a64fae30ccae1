"""What an eviction from a device leaves behind: the condition on the pod, and the events."""

from typing import Any, Final

import msgspec

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import RESOURCE_VERSION, DeviceTaintRule
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import ObjectReference, RecordEvent
from doorman.semantics.devices.device_taints import ClaimEviction

NAME: Final = "device-taint-eviction-controller"
_CONDITION_REASON: Final = "DeletionByDeviceTaintManager"
_CONDITION_MESSAGE: Final = "Device Taint manager: deleting due to NoExecute taint"
EVENT_REASON: Final = "DeviceTaintManagerEviction"
DETAIL_REASON: Final = "TaintEvictionDetail"


def decide_condition_patch(pod: Pod, now: Instant) -> dict[str, Any] | None:
    """The body of the status patch that says why the pod goes; None when the pod says so already."""
    before = pod.status.condition(DISRUPTION_TARGET)
    is_true = before is not None and before.status == "True"
    if before is not None and is_true and (before.reason, before.message) == (_CONDITION_REASON, _CONDITION_MESSAGE):
        return None
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": _CONDITION_REASON,
        "message": _CONDITION_MESSAGE,
        "lastProbeTime": None,
        "lastTransitionTime": before.last_transition_time if before is not None and is_true else to_time(now),
    }
    return {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}


def detail_message(pod: Pod, eviction: ClaimEviction) -> str:
    """What the second event says: every taint that took the pod away, and where it is from.

    >>> from doorman.semantics.devices.device_taints import EvictionReason
    >>> detail_message(Pod(), ClaimEviction(0.0, (EvictionReason(False, rule="drain"),)))
    'Evicted from node : its devices are tainted by DeviceTaintRule drain'
    """
    reasons = ", ".join(str(reason) for reason in eviction.reasons)
    return f"Evicted from node {pod.spec.node_name}: its devices are tainted by {reasons}"


def no_selector_event(rule: DeviceTaintRule) -> RecordEvent:
    """Kubernetes contradicts itself here; whoever wrote the rule should know."""
    text = (
        "The rule has no deviceSelector: no device is allocated to claims that do not tolerate its taint, but no pod "
        "is evicted because of it. Set deviceSelector: {} to mean every device, or name the devices."
    )
    regarding = ObjectReference(
        kind="DeviceTaintRule", api_version=RESOURCE_VERSION, name=rule.metadata.name, uid=rule.metadata.uid
    )
    return RecordEvent(
        regarding=regarding, type="Warning", reason="MissingDeviceSelector", message=text, component=NAME
    )


def detail_event(pod: Pod, eviction: ClaimEviction) -> RecordEvent:
    event = eviction_event(pod, detail_message(pod, eviction))
    return msgspec.structs.replace(event, reason=DETAIL_REASON)


def eviction_event(pod: Pod, message: str) -> RecordEvent:
    meta = pod.metadata
    return RecordEvent(
        regarding=ObjectReference(kind="Pod", api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid),
        reason=EVENT_REASON,
        message=message,
        component=NAME,
    )
