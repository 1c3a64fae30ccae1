"""Whether a node still gives signs of life, by the controller's own clock.

Rules
-----
1. A sign of life is a changed heartbeat time in the Ready condition or a newer renew time of the lease; what the
   times say does not matter, only that they changed and when that was seen.
2. A node without Ready condition is given the start-up grace from its creation, any other the monitor grace; one seen
   for the first time, or whose Ready condition came or went, counts as alive now.
3. When the grace is over (strictly), Ready, MemoryPressure, DiskPressure and PIDPressure become Unknown: missing ones
   are added, others keep their heartbeat time, and those that are Unknown already are left alone.
4. That is written only if it changes Ready.
5. In a cluster that is taken up as it was at an instant, a node was last seen alive when its times say.
"""

from typing import Any, Final

from doorman.api.views.coordination import Lease
from doorman.api.views.meta import Condition, ObjectMeta
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.well_known import NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Action, ObjectReference, Patch, RecordEvent

COMPONENT: Final = "node-controller"
WATCHED_CONDITIONS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
NEVER_UPDATED: Final = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
STOPPED: Final = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
_MOMENT_SECONDS: Final = 1e-6
_MICRO_TIME_LENGTH: Final = len("2026-01-01T00:00:00.000000Z")


class NodeMemory:
    """What the controller remembers of one node between passes."""

    __slots__ = (
        "is_counted", "is_given_up", "is_passed_over", "is_settled", "is_waiting", "lease", "lease_key", "node",
        "probed", "ready", "uid", "zone",
    )  # fmt: skip

    def __init__(self, node: Node, zone: str, probed: Instant) -> None:
        self.node = node
        self.uid = node.metadata.uid
        self.zone = zone
        self.probed = probed
        self.ready = node.status.condition("Ready")
        self.lease: Lease | None = None
        self.lease_key = f"{NODE_LEASE_NAMESPACE}/{node.metadata.name}"
        self.is_settled = False
        """As the node is now, there is nothing to do about it while it gives signs of life."""
        self.is_given_up = False
        """Unknown, and has its taint: there is nothing to do about it until it is heard of again."""
        self.is_waiting = False
        """Unknown, and has no such taint: it waits for its turn, until it is heard of again."""
        self.is_passed_over = False
        """Its signs of life are not looked at, for they are certain."""
        self.is_counted = True
        """Whether it counts for its zone; known once it is settled."""


def remember(node: Node, zone: str, now: Instant) -> NodeMemory:
    """Rule 2, for a node seen for the first time."""
    has_ready = node.status.condition("Ready") is not None
    return NodeMemory(node, zone, now if has_ready else created_at(node, now))


def resume(memory: NodeMemory, lease: Lease | None, now: Instant, period_seconds: float) -> None:
    """Rule 5, for a node of a cluster that is taken up as it was.

    Passes are taken to have been made in periods until now, so the last sign of life was seen at the first of them
    that came after it: the next one, if it was given just now.
    """
    memory.lease = lease
    memory.is_passed_over = False
    ready = memory.ready
    if ready is None:
        return
    renewed = _instant_or_zero(lease.spec.renew_time) if lease is not None else 0.0
    sign = min(now, max(_instant_or_zero(ready.last_heartbeat_time), renewed))
    if sign > 0.0:
        memory.probed = now - (now - sign - _MOMENT_SECONDS) // period_seconds * period_seconds


def observe(memory: NodeMemory, node: Node, lease: Lease | None, now: Instant) -> None:
    """Rules 1 and 2. A view that is the very one of the last pass has nothing new to tell."""
    if node is not memory.node:
        memory.node = node
        ready, before = node.status.condition("Ready"), memory.ready
        if (ready is None) is not (before is None) or (
            ready is not None and before is not None and ready.last_heartbeat_time != before.last_heartbeat_time
        ):
            memory.probed = now
        memory.ready = ready
    if lease is not None and lease is not memory.lease:
        if memory.lease is None or _is_before(memory.lease.spec.renew_time, lease.spec.renew_time):
            memory.probed = now
        memory.lease = lease


def grace_seconds(node: Node, *, monitor_seconds: float, startup_seconds: float) -> float:
    return startup_seconds if node.status.condition("Ready") is None else monitor_seconds


def unknown_conditions(node: Node, now: Instant) -> list[dict[str, Any]]:
    """Rules 3 and 4: the conditions to write, or none."""
    ready = node.status.condition("Ready")
    if ready is not None and ready.status == "Unknown":
        return []
    time = to_time(now)
    changed: list[dict[str, Any]] = []
    for kind in WATCHED_CONDITIONS:
        found = node.status.condition(kind)
        if found is None:
            reason, message = NEVER_UPDATED
            heartbeat = {"lastHeartbeatTime": node.metadata.creation_timestamp or time}
        elif found.status != "Unknown":
            reason, message = STOPPED
            heartbeat = {}
        else:
            continue
        changed.append(
            {
                "type": kind, "status": "Unknown", "reason": reason, "message": message,
                "lastTransitionTime": time, **heartbeat,
            }
        )  # fmt: skip
    # A patch puts what it names in its own order: theirs is kept, and new ones come last.
    places = {one.type: place for place, one in enumerate(node.status.conditions)}
    return sorted(changed, key=lambda one: places.get(one["type"], len(places)))


def decide_pod_not_ready(pod: Pod, now: Instant) -> list[Action]:
    """The pod's Ready condition becomes False, reason and message stay; nothing if it is so already, or has none."""
    ready = pod.status.condition("Ready")
    if ready is None or ready.status == "False":
        return []
    meta = pod.metadata
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": to_time(now)}
    body = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
    regarding = ObjectReference(kind="Pod", namespace=meta.namespace, name=meta.name, uid=meta.uid, api_version="v1")
    return [
        Patch(resource="pods", namespace=meta.namespace, name=meta.name, subresource="status", body=body),
        RecordEvent(
            regarding=regarding, type="Warning", reason="NodeNotReady", message="Node is not ready", component=COMPONENT
        ),
    ]


def decide_mark(node: Node, now: Instant) -> list[Action]:
    """The write that makes a silent node Unknown, and the event when it was Ready."""
    conditions = unknown_conditions(node, now)
    if not conditions:
        return []
    name = node.metadata.name
    body = {
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "status": {"conditions": conditions},
    }
    actions: list[Action] = [Patch(resource="nodes", name=name, subresource="status", body=body)]
    if ready_status(node) == "True":
        actions.append(node_event(node.metadata, "NodeNotReady", f"Node {name} status is now: NodeNotReady"))
    return actions


def node_event(meta: ObjectMeta, reason: str, message: str) -> RecordEvent:
    regarding = ObjectReference(kind="Node", name=meta.name, uid=meta.uid, api_version="v1")
    return RecordEvent(regarding=regarding, reason=reason, message=message, component=COMPONENT)


def as_unknown(ready: Condition | None, node: Node) -> Condition:
    """The Ready condition as the controller just wrote it, for its own memory."""
    heartbeat = ready.last_heartbeat_time if ready is not None else node.metadata.creation_timestamp
    return Condition(type="Ready", status="Unknown", last_heartbeat_time=heartbeat)


def ready_status(node: Node) -> str | None:
    ready = node.status.condition("Ready")
    return ready.status if ready is not None else None


def created_at(node: Node, otherwise: Instant) -> Instant:
    text = node.metadata.creation_timestamp
    return from_time(text) if text else otherwise


def _instant_or_zero(text: str) -> Instant:
    try:
        return from_time(text) if text else 0.0
    except ValueError:
        return 0.0


def _is_before(one: str, other: str) -> bool:
    """Micro times of full length sort as text; what clients wrote otherwise is read."""
    if len(one) == len(other) == _MICRO_TIME_LENGTH and one[-1] == other[-1] == "Z":
        return one < other
    if not one or not other:
        return bool(other)
    return from_time(one) < from_time(other)
