"""How fast an autoscaler may follow its metrics: stabilization windows, rates and bounds.

Rules
-----
1. Without a behavior, less is only taken when nothing more was recommended in the last five minutes.
2. Without a behavior, at most twice as many as there are, or four, at a time; never beyond the bounds.
3. With a behavior, more is only as much as the least that was recommended in the window for scaling up, and less only
   as little as the most in the window for scaling down. What there is stays if it is between the two.
4. With a behavior, policies say by how much pods or how many percent in so long; what was changed in that time counts.
   `Max` takes the policy that allows most, `Min` the one that allows least, `Disabled` allows nothing.
5. Each limit says why, for the conditions AbleToScale and ScalingLimited.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import ScalingPolicy, ScalingRules
from doorman.base.clock import Instant

DOWNSCALE_STABILIZATION_SECONDS: Final = 300.0
SCALE_UP_FACTOR: Final = 2
SCALE_UP_MIN: Final = 4
_HIGHER: Final = "recent recommendations were higher than current one, applying the highest recent recommendation"
_LOWER: Final = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_WITHIN: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_UP_LIMIT: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")

Why = tuple[str, str]
"""Reason and message."""


class Recommendation(msgspec.Struct, frozen=True):
    at: Instant
    replicas: int


class ScaleChange(msgspec.Struct, frozen=True):
    """So many replicas more, or less."""

    at: Instant
    replicas: int


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    min_replicas: int
    max_replicas: int


class Limited(msgspec.Struct, frozen=True, kw_only=True):
    """A number after a limit was looked at, and why."""

    replicas: int
    why: Why


def stabilized(desired: int, before: Sequence[Recommendation], now: Instant) -> Limited:
    """Rule 1."""
    cutoff = now - DOWNSCALE_STABILIZATION_SECONDS
    most = max((one.replicas for one in before if one.at >= cutoff), default=desired)
    if most > desired:
        return Limited(replicas=most, why=("ScaleDownStabilized", _HIGHER))
    return Limited(replicas=desired, why=_READY)


def limited(current: int, desired: int, bounds: Bounds) -> Limited:
    """Rule 2."""
    up_limit = max(SCALE_UP_FACTOR * current, SCALE_UP_MIN)
    if desired < bounds.min_replicas:
        return Limited(replicas=bounds.min_replicas, why=_TOO_FEW)
    if desired > min(bounds.max_replicas, up_limit):
        why = _UP_LIMIT if bounds.max_replicas > up_limit else _TOO_MANY
        return Limited(replicas=min(bounds.max_replicas, up_limit), why=why)
    return Limited(replicas=desired, why=_WITHIN)


def stabilized_by_rules(
    current: int, desired: int, before: Sequence[Recommendation], up: ScalingRules, down: ScalingRules, now: Instant
) -> Limited:
    """Rule 3."""
    up_cutoff, down_cutoff = now - (up.stabilization_window_seconds or 0), now - window_seconds(down)
    least = min([desired, *(one.replicas for one in before if one.at > up_cutoff)])
    most = max([desired, *(one.replicas for one in before if one.at > down_cutoff)])
    replicas = min(max(current, least), most)
    if replicas == desired:
        return Limited(replicas=replicas, why=_READY)
    why = ("ScaleUpStabilized", _LOWER) if desired >= current else ("ScaleDownStabilized", _HIGHER)
    return Limited(replicas=replicas, why=why)


def limited_by_rules(
    current: int,
    desired: int,
    bounds: Bounds,
    up: ScalingRules,
    down: ScalingRules,
    changes: tuple[Sequence[ScaleChange], Sequence[ScaleChange]],
    now: Instant,
) -> Limited:
    """Rule 4. `changes`: up and down, as they were made."""
    if desired > current:
        limit = max(_limit(current, up, changes, now, direction=1), current)
        highest = min(bounds.max_replicas, limit)
        if desired > highest:
            return Limited(replicas=highest, why=_UP_LIMIT if bounds.max_replicas > limit else _TOO_MANY)
    elif desired < current:
        limit = min(_limit(current, down, changes, now, direction=-1), current)
        lowest = max(bounds.min_replicas, limit)
        if desired < lowest:
            return Limited(replicas=lowest, why=_DOWN_LIMIT if bounds.min_replicas < limit else _TOO_FEW)
    return Limited(replicas=desired, why=_WITHIN)


def window_seconds(down: ScalingRules) -> float:
    """The window for scaling down, which has a default of its own."""
    seconds = down.stabilization_window_seconds
    return DOWNSCALE_STABILIZATION_SECONDS if seconds is None else float(seconds)


def _limit(
    current: int,
    rules: ScalingRules,
    changes: tuple[Sequence[ScaleChange], Sequence[ScaleChange]],
    now: Instant,
    *,
    direction: int,
) -> int:
    if rules.select_policy == "Disabled" or not rules.policies:
        return current
    proposals = []
    for policy in rules.policies:
        added, removed = (_changed(one, policy.period_seconds, now) for one in changes)
        proposals.append(_proposal(policy, current - added + removed, direction))
    takes_most = (rules.select_policy == "Min") is (direction < 0)
    return max(proposals) if takes_most else min(proposals)


def _proposal(policy: ScalingPolicy, start: int, direction: int) -> int:
    if policy.type == "Pods":
        return start + direction * policy.value
    share = start * (1 + direction * policy.value / 100)
    # Rounded up where it grows: else a small number would never grow.
    return math.ceil(share) if direction > 0 else int(share)


def _changed(changes: Sequence[ScaleChange], period_seconds: int, now: Instant) -> int:
    return sum(change.replicas for change in changes if change.at > now - period_seconds)
