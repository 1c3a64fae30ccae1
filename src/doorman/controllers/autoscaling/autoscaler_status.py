"""The status of an autoscaler while it is worked out: its conditions and numbers, and whether anything has changed."""

from typing import Any

import msgspec

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import RESOURCE, HorizontalPodAutoscaler
from doorman.api.views.meta import Condition
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Patch
from doorman.controllers.pods.status_reports import condition_body, status_patch


class AutoscalerStatus:
    """Begins as it is stored; conditions keep their places, and their times for as long as their status stays."""

    def __init__(self, autoscaler: HorizontalPodAutoscaler, now: Instant) -> None:
        self._autoscaler = autoscaler
        self._now = now
        self._conditions = {one.type: one for one in autoscaler.status.conditions}
        self._numbers: dict[str, Any] = {}  # JSON

    def condition(self, type_: str) -> str:
        """Its status; empty if it is not there."""
        found = self._conditions.get(type_)
        return found.status if found is not None else ""

    def set_condition(self, type_: str, status: str, why: tuple[str, str]) -> None:
        before = self._conditions.get(type_)
        time = to_time(self._now)
        if before is not None and before.status == status and before.last_transition_time:
            time = before.last_transition_time
        self._conditions[type_] = Condition(
            type=type_, status=status, reason=why[0], message=why[1], last_transition_time=time
        )

    def set_numbers(self, current: int, desired: int, metrics: list[dict[str, Any]], *, rescaled: bool) -> None:
        self._numbers = {
            "currentReplicas": current,
            "desiredReplicas": desired,
            "currentMetrics": metrics or None,
            "observedGeneration": self._autoscaler.metadata.generation or None,
        }
        if rescaled:
            self._numbers["lastScaleTime"] = to_time(self._now)

    def patch(self) -> Patch | None:
        """None when nothing has changed."""
        status = self._autoscaler.status
        conditions = [condition_body(one) for one in self._conditions.values()]
        before = {
            "currentReplicas": status.current_replicas,
            "desiredReplicas": status.desired_replicas,
            "currentMetrics": list(msgspec.to_builtins(status.current_metrics)) or None,
            "observedGeneration": status.observed_generation,
        }
        is_same = conditions == [condition_body(one) for one in status.conditions]
        if is_same and all(before.get(name) == value for name, value in self._numbers.items()):
            return None
        return status_patch(RESOURCE, self._autoscaler.metadata, {**self._numbers, "conditions": conditions})
