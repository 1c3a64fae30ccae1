"""What an eviction from a device leaves behind: the condition on the pod, and the events."""

from typing import Any, Final

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import ObjectReference, Patch, RecordEvent

NAME: Final = "device-taint-eviction-controller"
_CONDITION_TYPE: Final = "DisruptionTarget"
_CONDITION_REASON: Final = "DeletionByDeviceTaintManager"
_CONDITION_MESSAGE: Final = "Device Taint manager: deleting due to NoExecute taint"
EVENT_REASON: Final = "DeviceTaintManagerEviction"


def decide_condition_patch(pod: Pod, now: Instant) -> dict[str, Any] | None:
    """The body of the status patch that says why the pod goes; None when the pod says so already."""
    before = pod.status.condition(_CONDITION_TYPE)
    is_true = before is not None and before.status == "True"
    if before is not None and is_true and (before.reason, before.message) == (_CONDITION_REASON, _CONDITION_MESSAGE):
        return None
    condition = {
        "type": _CONDITION_TYPE,
        "status": "True",
        "reason": _CONDITION_REASON,
        "message": _CONDITION_MESSAGE,
        "lastProbeTime": None,
        "lastTransitionTime": before.last_transition_time if before is not None and is_true else to_time(now),
    }
    return {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}


def status_patch(pod: Pod, body: dict[str, Any]) -> Patch:  # a strategic patch
    meta = pod.metadata
    # The deletion that follows waits for it: two writes, one turn of the disk.
    return Patch(
        resource="pods", namespace=meta.namespace, name=meta.name, subresource="status", body=body, is_waited_for=False
    )


def eviction_event(pod: Pod, message: str) -> RecordEvent:
    meta = pod.metadata
    return RecordEvent(
        regarding=ObjectReference(kind="Pod", api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid),
        reason=EVENT_REASON,
        message=message,
        component=NAME,
    )
