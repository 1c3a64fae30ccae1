"""Which taints the conditions of a node ask for.

Rules
-----
1. Ready False: not-ready. Ready Unknown: unreachable. No Ready condition: neither.
2. MemoryPressure, DiskPressure, PIDPressure and NetworkUnavailable ask for their taint when True, and only then.
3. `spec.unschedulable` asks for the unschedulable taint.
4. All of them have effect NoSchedule and no value. They come in the order of the conditions, unschedulable last.
5. A NoSchedule taint with one of these seven keys belongs to the controller, whoever made it; the same key with
   another effect does not.
6. For eviction, Ready False asks for not-ready:NoExecute and Ready Unknown for unreachable:NoExecute.
7. Kubernetes before 1.16 knew OutOfDisk, which asks for the out-of-disk taint when True. Only on a node that reports
   this condition does the taint belong to the controller; elsewhere it is anybody's, as in later versions.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from doorman.api.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    OUT_OF_DISK,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    Effect,
    Taint,
)
from doorman.api.views.meta import Condition
from doorman.api.views.nodes import Node

CONDITION_TAINT_KEYS: Final[Mapping[tuple[str, str], str]] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): MEMORY_PRESSURE,
    ("DiskPressure", "True"): DISK_PRESSURE,
    ("PIDPressure", "True"): PID_PRESSURE,
    ("NetworkUnavailable", "True"): NETWORK_UNAVAILABLE,
}
"""(condition type, status) to the key of its taint: rules 1 and 2."""

OWNED_KEYS: Final = frozenset({*CONDITION_TAINT_KEYS.values(), UNSCHEDULABLE})
"""Rule 5."""

LEGACY_CONDITION: Final = "OutOfDisk"
"""Rule 7."""

NOT_READY_NO_EXECUTE: Final = Taint(key=NOT_READY, effect=Effect.NO_EXECUTE)
UNREACHABLE_NO_EXECUTE: Final = Taint(key=UNREACHABLE, effect=Effect.NO_EXECUTE)


def condition_taints(conditions: Iterable[Condition], *, unschedulable: bool) -> tuple[Taint, ...]:
    """The NoSchedule taints a node should carry: rules 1 to 4.

    >>> [str(t) for t in condition_taints([Condition(type="Ready", status="Unknown")], unschedulable=True)]
    ['node.kubernetes.io/unreachable:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule']
    """
    keys = [_key_or_none(condition) for condition in conditions]
    if unschedulable:
        keys.append(UNSCHEDULABLE)
    return tuple(Taint(key=key, effect=Effect.NO_SCHEDULE) for key in keys if key is not None)


def desired_no_schedule_taints(node: Node) -> tuple[Taint, ...]:
    return condition_taints(node.status.conditions, unschedulable=node.spec.unschedulable)


def owned_no_schedule_taints(node: Node) -> tuple[Taint, ...]:
    """Those the node carries and the controller may remove: rules 5 and 7."""
    owned = OWNED_KEYS if node.status.condition(LEGACY_CONDITION) is None else OWNED_KEYS | {OUT_OF_DISK}
    return tuple(t for t in node.spec.taints if t.effect == Effect.NO_SCHEDULE and t.key in owned)


def no_execute_taint_or_none(ready_status: str) -> Taint | None:
    """Rule 6, for the status of the Ready condition."""
    if ready_status == "False":
        return NOT_READY_NO_EXECUTE
    return UNREACHABLE_NO_EXECUTE if ready_status == "Unknown" else None


def _key_or_none(condition: Condition) -> str | None:
    if condition.type == LEGACY_CONDITION:
        return OUT_OF_DISK if condition.status == "True" else None
    return CONDITION_TAINT_KEYS.get((condition.type, condition.status))
