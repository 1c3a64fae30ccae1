"""The pods of a plan: who left and when, who came and where, who became ready.

A pod that nothing happens to has no trail: most of them.
"""

from collections.abc import Callable, Iterable

from doorman.api.views.meta import Condition, OwnerReference, controller_of
from doorman.api.views.pods import Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Clock, Instant
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.taint_eviction.eviction_messages import EvictionCause
from doorman.plan.trails.event_trail import EventTrail


class PodTrail:
    """What became of one pod. Instants are None while it has not happened."""

    __slots__ = (
        "bound", "cause", "created", "deleted", "disruption", "gone", "is_ended", "last", "node", "ready",
        "was_leaving", "was_pending",
    )  # fmt: skip

    def __init__(self, pod: Pod, *, created: Instant | None) -> None:
        self.last = pod
        """The newest version; of a pod that is gone, the last one."""
        self.created = created
        """None: it was there from the beginning."""
        self.node = pod.spec.node_name
        self.was_pending = created is None and not pod.spec.node_name
        self.was_leaving = created is None and (bool(pod.metadata.deletion_timestamp) or pod.is_finished)
        """It had begun to leave, or had ended, before."""
        self.bound: Instant | None = None
        self.ready: Instant | None = None
        self.deleted: Instant | None = None
        """When it began to leave: it was deleted, or failed on its node."""
        self.cause: tuple[EvictionCause, str] | None = None
        """The taint for which it was evicted, and in words."""
        self.disruption: Condition | None = None
        """Its condition DisruptionTarget when it began to leave."""
        self.gone: Instant | None = None
        self.is_ended = False
        """It has failed on its node, which ended it."""

    @property
    def owner(self) -> OwnerReference | None:
        return controller_of(self.last.metadata)


class PodTrails:
    def __init__(self, clock: Clock, events: EventTrail) -> None:
        self._clock = clock
        self._events = events
        self._is_begun = False
        self._trails: dict[str, PodTrail] = {}
        self.changed_at: Instant = clock.now()
        """When a pod changed last."""
        self.count = 0
        self._readiness: list[Callable[[Pod, int], None]] = []

    def on_readiness(self, listener: Callable[[Pod, int], None]) -> None:
        """Have `listener` told of each pod that counts as ready from now on (1), or no longer does (-1)."""
        self._readiness.append(listener)

    def begin(self) -> None:
        """Whatever was told until now was there before."""
        self._is_begun = True

    def all(self) -> Iterable[PodTrail]:
        """In the order in which something first happened to them."""
        return self._trails.values()

    def changed(self, change: ObjectChange) -> None:
        """For the informer of pods."""
        old: Pod | None = change.old
        new: Pod | None = change.new
        before, after = old is not None and counts_as_ready(old), new is not None and counts_as_ready(new)
        if before is not after:
            for listener in self._readiness:
                listener(change.newest, 1 if after else -1)
        if not self._is_begun:
            self.count += 1
            if new is not None and not new.spec.node_name:
                self._trails[new.metadata.uid] = PodTrail(new, created=None)
            return
        self.changed_at = now = self._clock.now()
        trail = self._trail(old, change.newest, now)
        if new is None:
            trail.gone = now
            if trail.deleted is None:
                self._left(trail, now)
            return
        trail.last = new
        if new.spec.node_name and trail.bound is None and not trail.node:
            trail.bound, trail.node = now, new.spec.node_name
        if after and trail.ready is None:
            trail.ready = now
        if trail.deleted is None and new.metadata.deletion_timestamp:
            self._left(trail, now)
        elif trail.deleted is None and new.status.phase == "Failed" and new.spec.node_name:
            trail.is_ended = True
            self._left(trail, now)

    def _left(self, trail: PodTrail, now: Instant) -> None:
        trail.deleted = now
        trail.cause = self._events.eviction_of(trail.last.metadata.uid)
        trail.disruption = trail.last.status.condition(DISRUPTION_TARGET)

    def _trail(self, old: Pod | None, newest: Pod, now: Instant) -> PodTrail:
        uid = newest.metadata.uid
        found = self._trails.get(uid)
        if found is None:
            first = old if old is not None else newest
            found = self._trails[uid] = PodTrail(first, created=now if old is None else None)
        return found


def counts_as_ready(pod: Pod) -> bool:
    """As the workloads' status counts: Ready, and neither ended nor on its way out."""
    if pod.metadata.deletion_timestamp or pod.is_finished:
        return False
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "True"
