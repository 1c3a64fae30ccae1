"""Workloads while a plan is made: how many pods each has ready, the fewest, and for how long fewer than it wants.

Pods are counted for the workload that people know: those of a Deployment's ReplicaSet for the Deployment.
"""

from collections.abc import Iterator
from typing import Any, Final

from doorman.api.views.meta import ObjectMeta, controller_of
from doorman.api.views.pods import Pod
from doorman.base.clock import Clock, Instant
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import ListerOf
from doorman.plan.plan_result import WorkloadEffect

KINDS: Final = {
    "deployments.apps": "Deployment",
    "replicasets.apps": "ReplicaSet",
    "statefulsets.apps": "StatefulSet",
    "daemonsets.apps": "DaemonSet",
    "replicationcontrollers": "ReplicationController",
}
"""By resource: what pods are counted for."""


class _Count:
    __slots__ = ("below_since", "below_total", "desired", "first", "lowest", "ready")

    def __init__(self) -> None:
        self.desired = 0
        self.ready = 0
        self.first = 0
        self.lowest = 0
        self.below_since: Instant | None = None
        self.below_total = 0.0


class WorkloadTrails:
    def __init__(self, clock: Clock, replica_sets: ListerOf[Any]) -> None:
        self._clock = clock
        self._replica_sets = replica_sets
        self._counts: dict[tuple[str, str, str], _Count] = {}
        self._tops: dict[str, tuple[str, str, str] | None] = {}
        """By a controller's uid: the workload its pods are counted for."""
        self._is_begun = False

    def begin(self) -> None:
        """From now on it counts who has too few."""
        self._is_begun = True
        now = self._clock.now()
        for count in self._counts.values():
            count.first = count.lowest = count.ready
            count.below_since = now if count.ready < count.desired else None

    def workload_changed(self, change: ObjectChange) -> None:
        """For the informers of workloads."""
        meta: ObjectMeta = change.newest.metadata
        if controller_of(meta) is not None and change.resource == "replicasets.apps":
            return
        count = self._count((KINDS[change.resource], meta.namespace, meta.name))
        count.desired = _desired(change.resource, change.new)
        self._note(count)

    def readiness_changed(self, pod: Pod, by: int) -> None:
        top = self._top(pod)
        if top is not None:
            count = self._count(top)
            count.ready += by
            self._note(count)

    def top_of(self, pod: Pod) -> str | None:
        """`Deployment/web`: who makes such pods."""
        owner = controller_of(pod.metadata)
        if owner is None:
            return None
        top = self._top(pod)
        return f"{top[0]}/{top[2]}" if top is not None else f"{owner.kind}/{owner.name}"

    def effects(self, now: Instant) -> Iterator[WorkloadEffect]:
        """Those that were touched: fewer ready than before, or fewer than wanted for some time."""
        for (kind, namespace, name), count in sorted(self._counts.items()):
            below = count.below_total + (now - count.below_since if count.below_since is not None else 0.0)
            if count.lowest < count.first or (round(below, 1) > 0 and count.lowest < count.desired):
                yield WorkloadEffect(
                    kind=kind,
                    namespace=namespace,
                    name=name,
                    desired=count.desired,
                    ready_before=count.first,
                    lowest_ready=count.lowest,
                    below_desired_seconds=round(below, 1),
                    ready_after=count.ready,
                )

    def _note(self, count: _Count) -> None:
        if not self._is_begun:
            return
        now = self._clock.now()
        count.lowest = min(count.lowest, count.ready)
        if count.ready < count.desired:
            count.below_since = count.below_since if count.below_since is not None else now
        elif count.below_since is not None:
            count.below_total += now - count.below_since
            count.below_since = None

    def _count(self, key: tuple[str, str, str]) -> _Count:
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = _Count()
        return found

    def _top(self, pod: Pod) -> tuple[str, str, str] | None:
        owner = controller_of(pod.metadata)
        if owner is None:
            return None
        if owner.uid in self._tops:
            return self._tops[owner.uid]
        namespace = pod.metadata.namespace
        kind, name = owner.kind, owner.name
        if kind == "ReplicaSet":
            found = self._replica_sets.get(f"{namespace}/{name}")
            above = controller_of(found.metadata) if found is not None else None
            if above is not None:
                kind, name = above.kind, above.name
        top = (kind, namespace, name) if kind in KINDS.values() else None
        self._tops[owner.uid] = top
        return top


def _desired(resource: str, workload: Any) -> int:  # a view of the resource, or None when it is gone
    if workload is None or workload.metadata.deletion_timestamp:
        return 0
    if resource == "daemonsets.apps":
        return int(workload.status.desired_number_scheduled)
    return int(workload.spec.replicas)
