"""What an autoscaler has recommended and changed: what its limits are held against.

Kept in memory, as upstream keeps it: after a restart the present size is the first recommendation.
"""

from typing import Final

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import AutoscalerBehavior
from doorman.base.clock import Instant
from doorman.controllers.autoscaling.scaling_limits import (
    Bounds,
    Limited,
    Recommendation,
    ScaleChange,
    limited,
    limited_by_rules,
    stabilized,
    stabilized_by_rules,
)

MEMORY_SECONDS: Final = 3600.0
"""The longest window and the longest period that can be asked for."""


class ScalingHistory:
    """By the autoscaler's key."""

    def __init__(self) -> None:
        self._recommendations: dict[str, list[Recommendation]] = {}
        self._changes: dict[str, tuple[list[ScaleChange], list[ScaleChange]]] = {}
        """Up and down."""
        self._last: dict[str, tuple[int, str]] = {}
        """The size that was last asked for and why, until it is certain that it was written."""

    def begin(self, key: str, current: int, now: Instant) -> None:
        """An autoscaler is looked at; what there is when it is first seen counts as recommended."""
        self._last.pop(key, None)
        if key not in self._recommendations:
            self._recommendations[key] = [Recommendation(now, current)]

    def limit(
        self,
        key: str,
        behavior: AutoscalerBehavior | None,
        current: int,
        desired: int,
        bounds: Bounds,
        now: Instant,
    ) -> tuple[Limited, Limited]:
        """After stabilization, and after rates and bounds; what was desired is remembered."""
        before = self._recommendations[key]
        if behavior is None:
            steady = stabilized(desired, before, now)
            limit = limited(current, steady.replicas, bounds)
        else:
            up, down = behavior.scale_up, behavior.scale_down
            steady = stabilized_by_rules(current, desired, before, up, down, now)
            changes = self._changes.get(key, ([], []))
            limit = limited_by_rules(current, steady.replicas, bounds, up, down, changes, now)
        kept = [one for one in before if one.at >= now - MEMORY_SECONDS]
        self._recommendations[key] = [*kept, Recommendation(now, desired)]
        return steady, limit

    def changed(self, key: str, before: int, after: int, reason: str, now: Instant) -> None:
        self._last[key] = (after, reason)
        up, down = self._changes.get(key, ([], []))
        up, down = ([one for one in some if one.at >= now - MEMORY_SECONDS] for some in (up, down))
        (up if after > before else down).append(ScaleChange(now, abs(after - before)))
        self._changes[key] = (up, down)

    def take_back(self, key: str) -> tuple[int, str] | None:
        """The last change was not made; gives which size it was, and why. None: there was none."""
        last = self._last.pop(key, None)
        if last is not None:
            up, down = self._changes[key]
            newest = max((some for some in (up, down) if some), key=lambda some: some[-1].at)
            newest.pop()
        return last

    def forget(self, key: str) -> None:
        self._recommendations.pop(key, None)
        self._changes.pop(key, None)
        self._last.pop(key, None)
