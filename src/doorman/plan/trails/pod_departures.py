"""From trails of pods to who leaves, why, and who takes their place.

Why, the first that is known:

1. `NotTolerated`, `TolerationSecondsOver`: a NoExecute taint of the node, without or with a toleration for some time;
2. what the pod's condition DisruptionTarget says: `Drained`, `Preempted`, `DeviceTaint`, `NodeGone`, `EndedByNode`;
3. `EndedByNode`: it failed there;
4. `Deleted`: somebody deleted it, mostly its own workload.

Who takes whose place: a StatefulSet's pod is replaced by its namesake and a DaemonSet's by the one on its node; of all
others, the first that leaves by the first that comes after it.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from doorman.base.clock import Instant
from doorman.plan.plan_result import Because, PodMove, Preemption, Replacement
from doorman.plan.trails.event_trail import EventTrail
from doorman.plan.trails.pod_trail import PodTrail
from doorman.scheduler.cache.node_order import natural_order
from doorman.semantics.taints.toleration_lists import toleration_document

REASONS: Final = {
    "EvictionByEvictionAPI": "Drained",
    "PreemptionByScheduler": "Preempted",
    "DeletionByDeviceTaintManager": "DeviceTaint",
    "DeletionByPodGC": "NodeGone",
    "TerminationByKubelet": "EndedByNode",
}
"""By the reason of the condition DisruptionTarget."""
DELETED: Final = "Deleted"

OwnerOf = Callable[[Any], str | None]  # from the view of a pod


class Departures:
    def __init__(self, events: EventTrail, owner_of: OwnerOf, begun: Instant) -> None:
        self._events = events
        self._owner_of = owner_of
        self._begun = begun

    def moves(self, trails: Iterable[PodTrail]) -> Iterator[PodMove]:
        """In the order in which they leave."""
        found = list(trails)
        leaving = [trail for trail in found if is_leaving(trail)]
        leaving.sort(key=_by_departure)
        replacements = self._replacements(leaving, [trail for trail in found if trail.created is not None])
        for trail in leaving:
            yield self._move(trail, replacements.get(trail.last.metadata.uid))

    def preemptions(self, trails: Iterable[PodTrail]) -> Iterator[Preemption]:
        for trail in sorted((one for one in trails if is_leaving(one)), key=_by_departure):
            preemptor = self._events.preemptors.get(trail.last.metadata.uid)
            if preemptor is not None:
                meta = trail.last.metadata
                yield Preemption(
                    namespace=meta.namespace,
                    name=meta.name,
                    node=trail.node,
                    at_seconds=self._seconds(trail.deleted or 0.0),
                    preemptor=f"{preemptor.namespace}/{preemptor.name}",
                )

    def _move(self, trail: PodTrail, replacement: PodTrail | None) -> PodMove:
        meta = trail.last.metadata
        assert trail.deleted is not None, "who leaves has begun to"
        return PodMove(
            namespace=meta.namespace,
            name=meta.name,
            owner=self._owner_of(trail.last),
            node=trail.node,
            at_seconds=self._seconds(trail.deleted),
            because=self._because(trail),
            gone_at_seconds=self._seconds_or_none(trail.gone),
            replacement=self._replacement(replacement) if replacement is not None else None,
        )

    def _because(self, trail: PodTrail) -> Because:
        condition = trail.disruption
        if trail.cause is not None:
            cause, message = trail.cause
            toleration = cause.toleration
            return Because(
                reason="NotTolerated" if toleration is None else "TolerationSecondsOver",
                message=message,
                taint=str(cause.taint),
                toleration=toleration_document(toleration) if toleration is not None else None,
            )
        if condition is not None and condition.status == "True" and condition.reason in REASONS:
            return Because(reason=REASONS[condition.reason], message=condition.message)
        if trail.is_ended:
            return Because(reason="EndedByNode", message=trail.last.status.message or trail.last.status.reason)
        return Because(reason=DELETED, message="deleted by its owner, or by the action itself")

    def _replacement(self, trail: PodTrail) -> Replacement:
        assert trail.created is not None, "who replaces came later"
        at = trail.bound if trail.bound is not None else trail.created
        return Replacement(
            name=trail.last.metadata.name,
            at_seconds=self._seconds(at),
            made_at_seconds=self._seconds(trail.created),
            node=trail.node or None,
            ready_at_seconds=self._seconds_or_none(trail.ready),
        )

    def _replacements(self, leaving: Iterable[PodTrail], coming: list[PodTrail]) -> dict[str, PodTrail]:
        """By the uid of who leaves."""
        waiting: dict[tuple[str, ...], deque[PodTrail]] = defaultdict(deque)
        for trail in sorted(coming, key=_by_arrival):
            waiting[self._place(trail)].append(trail)
        found: dict[str, PodTrail] = {}
        for trail in leaving:
            queue = waiting.get(self._place(trail))
            while queue and trail.owner is not None:
                new = queue.popleft()
                if (new.created or 0.0) >= (trail.deleted or 0.0):
                    found[trail.last.metadata.uid] = new
                    break
        return found

    def _place(self, trail: PodTrail) -> tuple[str, ...]:
        """What a pod and its replacement have in common."""
        meta = trail.last.metadata
        owner = self._owner_of(trail.last) or ""
        kind = owner.partition("/")[0]
        own = meta.name if kind == "StatefulSet" else trail.node if kind == "DaemonSet" else ""
        return meta.namespace, owner, own

    def _seconds(self, instant: Instant) -> float:
        return round(instant - self._begun, 1)

    def _seconds_or_none(self, instant: Instant | None) -> float | None:
        return None if instant is None else self._seconds(instant)


def is_leaving(trail: PodTrail) -> bool:
    """Whether it leaves a node because of what happens."""
    return trail.deleted is not None and not trail.was_leaving and bool(trail.node)


def _by_departure(trail: PodTrail) -> tuple[Instant, str, Sequence[str | int], str]:
    meta = trail.last.metadata
    return trail.deleted or 0.0, meta.namespace, natural_order(trail.node), meta.name


def _by_arrival(trail: PodTrail) -> tuple[Instant, Instant, Sequence[str | int]]:
    """By node, among those that come together: names are made up."""
    created = trail.created or 0.0
    return created, trail.bound if trail.bound is not None else math.inf, natural_order(trail.node)
