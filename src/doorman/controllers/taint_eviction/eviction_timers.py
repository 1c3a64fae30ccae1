"""Timers of tolerations, evictions that are due, and since when seconds count, other than from when a taint is seen.

Rules of timers that are taken up in a copy of a cluster, or after it was restored
----------------------------------------------------------------------------------
1. A taint counts from when it was added; one that does not say when, from now; none from before the pod came.
2. Taints are looked at in the order in which they came. The first that sets a timer, with those that were there before
   it, has set it for good: timers are frozen. One that is not tolerated ends it.
"""

from collections.abc import Sequence

import msgspec

from doorman.api.taints import Taint, Toleration
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.semantics.taints.eviction_time import NEVER, At, Eviction, Now, decide_eviction


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """A planned eviction, with what asked for it."""

    created: Instant
    fires: Instant
    node: str
    taint: Taint
    toleration: Toleration


class PendingEviction:
    """An eviction under way: due since `due`, tried `attempts` times."""

    __slots__ = ("attempts", "due", "is_held_back", "node", "starts", "taint", "timer_created", "toleration")

    def __init__(
        self, due: Instant, node: str, taint: Taint, toleration: Toleration | None, timer_created: Instant | None
    ) -> None:
        self.due = due
        self.node = node
        self.taint = taint
        self.toleration = toleration
        self.timer_created = timer_created
        self.attempts = 0
        self.starts = due
        self.is_held_back = False


def decide_persistent_eviction(
    taints: Sequence[Taint],
    tolerations: Sequence[Toleration],
    now: Instant,
    *,
    came: Instant = 0.0,
    comparison_operators: bool,
) -> Eviction:
    """As `decide_eviction`, but each taint's seconds count from its own `timeAdded` (from now if it has none).

    Not before the pod came, though: one that is placed on a node with an old taint would leave at once, and so would
    the one that replaces it.
    """
    soonest: Eviction = NEVER
    for taint in taints:
        since = max(instant_or(taint.time_added, now), came)
        decision = decide_eviction((taint,), tolerations, since, comparison_operators=comparison_operators)
        match decision:
            case Now():
                return decision
            case At() if not isinstance(soonest, At) or decision.instant < soonest.instant:
                soonest = decision
    if isinstance(soonest, At) and soonest.instant <= now:
        return Now(taint=soonest.taint, toleration=soonest.toleration)
    return soonest


def arrival_of(pod: Pod) -> Instant:
    """When the pod got its node, or else when it was made."""
    scheduled = pod.status.condition("PodScheduled")
    made = instant_or(pod.metadata.creation_timestamp, 0.0)
    if scheduled is None or scheduled.status != "True":
        return made
    return instant_or(scheduled.last_transition_time or "", made)


def decide_resumed_eviction(
    taints: Sequence[Taint],
    tolerations: Sequence[Toleration],
    now: Instant,
    *,
    came: Instant = 0.0,
    comparison_operators: bool,
) -> Eviction:
    """What has become, until now, of a pod that came then to a node with these taints. `At` may be in the past.

    >>> old = Taint(key="a", effect="NoExecute", time_added="1970-01-01T00:01:40Z")
    >>> minute = Toleration(key="a", operator="Exists", toleration_seconds=60)
    >>> decide_resumed_eviction([old], [minute], 130.0, comparison_operators=True).instant
    160.0
    """
    since = [min(now, max(instant_or(taint.time_added, now), came)) for taint in taints]
    soonest: Eviction = NEVER
    for instant in sorted(set(since)):
        there = [taint for taint, begun in zip(taints, since, strict=True) if begun <= instant]
        decision = decide_eviction(there, tolerations, instant, comparison_operators=comparison_operators)
        match decision:
            case Now():
                return decision
            case At() if soonest is NEVER:
                soonest = decision
    return soonest


def instant_or(text: str, otherwise: Instant) -> Instant:
    try:
        return from_time(text) if text else otherwise
    except ValueError:
        return otherwise
