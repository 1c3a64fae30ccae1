"""What components have to tell while a plan is made: taken as values, written nowhere."""

from collections.abc import Mapping
from typing import Final

from doorman.client.actions import ObjectReference, RecordEvent
from doorman.controllers.taint_eviction.eviction_messages import EvictionCause

REFUSED: Final = "FailedCreate"
"""The reason a workload's controller gives when it cannot make a pod."""
REFUSALS_MAX: Final = 1000
UNATTACHED: Final = "FailedAttachVolume"
"""The reason the attach-detach controller gives to a pod whose volume it cannot attach."""


class EventTrail:
    """Takes the place of the recorders."""

    def __init__(self) -> None:
        self._evictions: dict[str, tuple[EvictionCause, str]] = {}
        self._preemptors: dict[str, ObjectReference] = {}
        self.refusals: dict[tuple[str, str], str] = {}
        """By workload and namespace: why its pods could not be made, the last time."""
        self._unattached: dict[str, str] = {}

    def record(self, action: RecordEvent) -> None:
        about = action.regarding
        if isinstance(action.cause, EvictionCause):
            self._evictions[about.uid] = (action.cause, action.message)
        elif action.reason == "Preempted" and action.related is not None:
            self._preemptors[about.uid] = action.related
        elif action.reason == REFUSED and len(self.refusals) < REFUSALS_MAX:
            self.refusals[f"{about.kind}/{about.name}", about.namespace] = action.message
        elif action.reason == UNATTACHED:
            self._unattached[about.uid] = action.message

    def eviction_of(self, uid: str) -> tuple[EvictionCause, str] | None:
        """Why a taint made a pod leave, and in words."""
        return self._evictions.get(uid)

    def attachment_failure(self, uid: str) -> str:
        """Why a volume of a pod could not be attached to its node, the last time; empty: nothing was said."""
        return self._unattached.get(uid, "")

    @property
    def preemptors(self) -> Mapping[str, ObjectReference]:
        """By a victim's uid."""
        return self._preemptors
