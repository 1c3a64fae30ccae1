"""The status a kubelet posts for its node: conditions in the kubelet's words, and the events of their changes."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.views.meta import Condition
from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import ObjectReference, RecordEvent

_WORDS: Final[Mapping[str, Mapping[str, tuple[str, str, str]]]] = {
    "MemoryPressure": {
        "False": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"),
        "True": (
            "KubeletHasInsufficientMemory",
            "kubelet has insufficient memory available",
            "NodeHasInsufficientMemory",
        ),
    },
    "DiskPressure": {
        "False": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
        "True": ("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
    },
    "PIDPressure": {
        "False": ("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
        "True": ("KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
    },
    "NetworkUnavailable": {
        "False": ("RouteCreated", "the simulated network is there", ""),
        "True": ("NoRouteCreated", "the simulated network is not there", ""),
    },
    "OutOfDisk": {
        "False": ("KubeletHasSufficientDisk", "kubelet has sufficient disk space available", "NodeHasSufficientDisk"),
        "True": ("KubeletOutOfDisk", "out of disk space", "NodeOutOfDisk"),
    },
    "Ready": {
        "True": ("KubeletReady", "kubelet is posting ready status", "NodeReady"),
        "False": ("KubeletNotReady", "the node is simulated as not ready", "NodeNotReady"),
    },
}
"""Type and status to the condition's reason and message, and to the reason of the event when it comes about."""

_GOOD: Final = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
"""Good health, in the order in which a kubelet reports: Ready last."""

_TOLD_ONLY: Final = ("NetworkUnavailable", "OutOfDisk")
"""OutOfDisk is what kubelets before 1.13 reported."""


def good_conditions(time: str) -> list[dict[str, str]]:
    return [_condition(kind, status, time, time) for kind, status in _GOOD.items()]


def wanted_statuses(conditions: Mapping[str, str], node: Node) -> dict[str, str]:
    """Status by type that the node should report: good health but for `conditions`.

    Conditions that today's kubelets do not report of themselves are reported only by those who were told so, and
    from then on.
    """
    wanted = {kind: conditions.get(kind, status) for kind, status in _GOOD.items() if kind != "Ready"}
    for kind in _TOLD_ONLY:
        if kind in conditions:
            wanted[kind] = conditions[kind]
        elif node.status.condition(kind) is not None:
            wanted[kind] = "False"
    wanted["Ready"] = conditions.get("Ready", _GOOD["Ready"])
    return wanted


def next_report(
    node: Node,
    wanted: Mapping[str, str],
    now: Instant,
    report_seconds: float,
    messages: Mapping[str, str] | None = None,
) -> Instant:
    """When the status must be posted next: now if it says something else, or in its own time if it does not.

    `messages` are those of conditions, by type, that are not the usual ones.
    """
    oldest = now
    for kind, status in wanted.items():
        found = node.status.condition(kind)
        reason, message, _ = _WORDS[kind][status]
        if messages and kind in messages:
            message = messages[kind]
        if found is None or (found.status, found.reason, found.message) != (status, reason, message):
            return now
        oldest = min(oldest, _instant(found.last_heartbeat_time))
    return max(now, oldest + report_seconds)


def last_report(node: Node, now: Instant, report_seconds: float) -> Instant:
    """When a node that went on reporting, with nothing new to say, would have done so last before `now`."""
    ready = node.status.condition("Ready")
    first = _instant(ready.last_heartbeat_time) if ready is not None else 0.0
    return first + max(0.0, (now - first) // report_seconds) * report_seconds


def status_body(
    node: Node,
    wanted: Mapping[str, str],
    now: Instant,
    missing: Mapping[str, Any],
    messages: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The strategic patch of nodes/status. `missing` is what the node has not said of itself yet."""
    time = to_time(now)
    conditions = []
    for kind, status in wanted.items():
        found = node.status.condition(kind)
        kept = found is not None and found.status == status and found.last_transition_time
        condition = _condition(kind, status, time, kept or time)
        if messages and kind in messages:
            condition["message"] = messages[kind]
        conditions.append(condition)
    order = [{"type": kind} for kind in wanted]
    return {"status": {"$setElementOrder/conditions": order, "conditions": conditions, **missing}}


def change_events(node: Node, wanted: Mapping[str, str]) -> list[RecordEvent]:
    """What a kubelet tells when a condition comes about. It knows its node by name, not by uid."""
    regarding = ObjectReference(kind="Node", name=node.metadata.name, uid=node.metadata.name)
    events = []
    for kind, status in wanted.items():
        found = node.status.condition(kind)
        reason = _WORDS[kind][status][2]
        if reason and (_is_change(found, status) or (found is None and kind == "Ready")):
            message = f"Node {node.metadata.name} status is now: {reason}"
            events.append(
                RecordEvent(
                    regarding=regarding,
                    reason=reason,
                    message=message,
                    component="kubelet",
                    host=node.metadata.name,
                )
            )
    return events


def _is_change(found: Condition | None, status: str) -> bool:
    return found is not None and found.status != status


def _condition(kind: str, status: str, heartbeat: str, transition: str) -> dict[str, str]:
    reason, message, _ = _WORDS[kind][status]
    return {
        "type": kind, "status": status, "lastHeartbeatTime": heartbeat, "lastTransitionTime": transition,
        "reason": reason, "message": message,
    }  # fmt: skip


def _instant(text: str) -> Instant:
    return from_time(text) if text else 0.0
