"""What an eviction leaves behind: the condition on the pod, the events, and the words of both."""

from typing import Any, Final

import msgspec

from doorman.api.taints import Taint, Toleration
from doorman.api.views.meta import Condition
from doorman.api.views.pods import Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import ObjectReference, RecordEvent
from doorman.controllers.taint_eviction.eviction_timers import PendingEviction

NAME: Final = "taint-eviction-controller"
CONDITION_REASON: Final = "DeletionByTaintManager"
CONDITION_MESSAGE: Final = "Taint manager: deleting due to NoExecute taint"


class EvictionCause(msgspec.Struct, frozen=True, kw_only=True):
    """Which taint evicts a pod, and which toleration bore it until then; None: none does."""

    taint: Taint
    toleration: Toleration | None


def decide_condition_patch(pod: Pod, now: Instant) -> dict[str, Any] | None:
    """The body of the status patch that says why the pod goes; None when the pod says so already."""
    before = pod.status.condition(DISRUPTION_TARGET)
    is_said = before is not None and before.status == "True"
    changed_at = (before.last_transition_time or "") if before is not None and is_said else to_time(now)
    if before is not None and _is_same_condition(before, changed_at):
        return None
    condition = {
        "lastProbeTime": None, "lastTransitionTime": changed_at, "message": CONDITION_MESSAGE,
        "observedGeneration": pod.metadata.generation, "reason": CONDITION_REASON, "status": "True",
        "type": DISRUPTION_TARGET,
    }  # fmt: skip
    order = [{"type": one.type} for one in pod.status.conditions]
    if before is None:
        order.append({"type": DISRUPTION_TARGET})
    return {
        "metadata": {"uid": pod.metadata.uid},
        "status": {"$setElementOrder/conditions": order, "conditions": [condition]},
    }


def detail_message(pending: PendingEviction) -> str:
    """What the second event says: the taint, the toleration and the timer.

    >>> pending = PendingEviction(160.0, "n1", Taint(key="a", effect="NoExecute"), None, None)
    >>> detail_message(pending)
    'Evicted from node n1 because of taint a:NoExecute: the pod has no toleration for it'
    """
    head = f"Evicted from node {pending.node} because of taint {pending.taint}: "
    if pending.toleration is None:
        return head + "the pod has no toleration for it"
    tail = f"tolerated for {pending.toleration.toleration_seconds}s by {toleration_text(pending.toleration)}"
    if pending.timer_created is None:
        return head + tail
    return head + f"{tail}, timer from {to_time(pending.timer_created)} to {to_time(pending.due)}"


def held_back_message(pending: PendingEviction, budget: str) -> str:
    """
    >>> held_back_message(PendingEviction(0.0, "n1", Taint(key="a", effect="NoExecute"), None, None), "db")
    'Has to leave node n1 because of taint a:NoExecute, but disruption budget db does not let it go yet'
    """
    head = f"Has to leave node {pending.node} because of taint {pending.taint}"
    return f"{head}, but disruption budget {budget} does not let it go yet"


def toleration_text(toleration: Toleration) -> str:
    """
    >>> toleration_text(Toleration(key="a", operator="Exists", effect="NoExecute", toleration_seconds=60))
    'toleration {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}'
    """
    fields = {
        "key": toleration.key, "operator": toleration.operator, "value": toleration.value,
        "effect": toleration.effect, "tolerationSeconds": toleration.toleration_seconds,
    }  # fmt: skip
    return "toleration {" + ", ".join(f"{k}: {v}" for k, v in fields.items() if v not in ("", None)) + "}"


def eviction_event(pod_key: str, message: str) -> RecordEvent:
    """Without the pod's uid, as Kubernetes sends it."""
    namespace, _, name = pod_key.partition("/")
    regarding = ObjectReference(kind="Pod", api_version="v1", namespace=namespace, name=name)
    return RecordEvent(regarding=regarding, reason="TaintManagerEviction", message=message, component=NAME)


def detail_event(pod: Pod, message: str, cause: EvictionCause | None = None) -> RecordEvent:
    meta = pod.metadata
    regarding = ObjectReference(kind="Pod", api_version="v1", namespace=meta.namespace, name=meta.name, uid=meta.uid)
    return RecordEvent(regarding=regarding, reason="TaintEvictionDetail", message=message, component=NAME, cause=cause)


def _is_same_condition(before: Condition, changed_at: str) -> bool:
    return (
        before.status == "True"
        and before.reason == CONDITION_REASON
        and before.message == CONDITION_MESSAGE
        and before.last_transition_time == changed_at
        and not before.last_probe_time
    )
