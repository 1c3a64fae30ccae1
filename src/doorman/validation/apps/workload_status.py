"""What a workload's status may say: counters that are not negative and fit together.

Rules
-----
1. No counter is negative.
2. Of the pods that there are (`replicas`) no more can be ready, available, updated, current or fully labelled, and no
   more can be available than are ready.
3. The count of collisions never falls, for that would bring a name back that is taken.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.base.errors import FieldError, invalid

NON_NEGATIVE: Final = "must be greater than or equal to 0"

_Status = Mapping[str, Any]  # JSON


class StatusRules(msgspec.Struct, frozen=True, kw_only=True):
    """Of one kind: its counters in the order in which they are looked at, and which of them `replicas` bounds."""

    counters: tuple[str, ...]
    bounded: tuple[str, ...] = ()
    ready_name: str = "readyReplicas"
    """How messages call the number of pods that are ready."""


REPLICA_SET_STATUS: Final = StatusRules(
    counters=(
        "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas",
        "observedGeneration",
    ),
    bounded=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
)  # fmt: skip
DEPLOYMENT_STATUS: Final = StatusRules(
    counters=(
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount",
    ),
    bounded=("updatedReplicas", "readyReplicas", "availableReplicas"),
)  # fmt: skip
STATEFUL_SET_STATUS: Final = StatusRules(
    counters=(
        "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
        "collisionCount",
    ),
    bounded=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    ready_name="status.readyReplicas",
)  # fmt: skip
DAEMON_SET_STATUS: Final = StatusRules(
    counters=(
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
    ),
)  # fmt: skip


def status_errors(rules: StatusRules, new: _Status, old: _Status) -> list[FieldError]:
    """Rules 1 to 3."""
    errors = [invalid(f"status.{name}", new[name], NON_NEGATIVE) for name in rules.counters if (new.get(name) or 0) < 0]
    replicas = new.get("replicas") or 0
    errors.extend(
        invalid(f"status.{name}", new.get(name) or 0, "cannot be greater than status.replicas")
        for name in rules.bounded
        if (new.get(name) or 0) > replicas
    )
    available = new.get("availableReplicas") or 0
    if "availableReplicas" in rules.bounded and available > (new.get("readyReplicas") or 0):
        errors.append(invalid("status.availableReplicas", available, f"cannot be greater than {rules.ready_name}"))
    if "collisionCount" in rules.counters and (new.get("collisionCount") or 0) < (old.get("collisionCount") or 0):
        errors.append(invalid("status.collisionCount", new.get("collisionCount") or 0, "cannot be decremented"))
    return errors
