"""What the scheduler does when it hears of a pod: it waits, it has a node, it is gone."""

from collections.abc import Container

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.scheduler.cache.pod_cache import PodCache, on_node
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource
from doorman.scheduler.profile_runner import SharedState
from doorman.scheduler.queue.cluster_events import pod_update_events
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.queue.scheduling_queue import SchedulingQueue


class PodEventHandlers:
    def __init__(
        self,
        profiles: Container[str],
        queue: SchedulingQueue,
        pod_cache: PodCache,
        shapes: ShapeTable,
        state: SharedState,
    ) -> None:
        """`profiles` are the names under which pods are scheduled here."""
        self._profiles = profiles
        self._queue = queue
        self._pod_cache = pod_cache
        self._shapes = shapes
        self._nominator = state.nominator
        self._preempting = state.preempting
        self._claims = state.claims

    def changed(self, old: Pod | None, new: Pod | None, now: Instant) -> None:
        newest = new if new is not None else old
        assert newest is not None, "a change has an old or a new side"
        key = newest.metadata.key
        known = self._known_pod(key)
        if known is not None and known.metadata.uid != newest.metadata.uid:
            self._pod_gone(key, now)  # a namesake took its place unseen
            known = None
        if new is None or new.is_finished:
            self._pod_gone(key, now)
        elif new.spec.node_name:
            self._pod_bound(key, new, now)
        else:
            self._pod_waits(key, new, now, was_leaving=known is None and old is not None and is_leaving(old))

    def _known_pod(self, key: str) -> Pod | None:
        record = self._pod_cache.get(key)
        if record is not None:
            return record.pod
        queued = self._queue.get(key)
        return None if queued is None else queued.pod

    def _pod_waits(self, key: str, new: Pod, now: Instant, *, was_leaving: bool) -> None:
        """An unbound pod was seen. One that was dropped because it is being deleted is not taken up again."""
        self._claims.seen_waiting(new)
        record = self._pod_cache.get(key)
        if record is not None:
            if record.assumed:
                record.pod = new
            return
        queued = self._queue.get(key)
        if queued is None:
            if new.spec.scheduler_name in self._profiles and not was_leaving:
                fresh = QueuedPod(key, new, self._shapes.take(new), new.spec.scheduler_name, now)
                self._claims.queued(fresh)
                self._update_nomination(fresh, None, now)
                self._queue.add(fresh, now)
            return
        old, old_shape = queued.pod, queued.shape
        shape = self._shapes.take(new)
        events = pod_update_events(EventResource.TARGET_POD, old, new)
        self._queue.update(key, new, shape, events, now)
        self._shapes.release(old_shape)
        self._update_nomination(queued, old, now)

    def _pod_bound(self, key: str, new: Pod, now: Instant) -> None:
        """A pod was seen on a node: bound just now by whomever, or changed since."""
        self._claims.pod_bound(key)
        self._nominator.remove(key)
        self._preempting.end(key)
        if is_leaving(new):
            self.victim_leaves(key, now)
        record = self._pod_cache.get(key)
        queued = self._queue.remove(key)
        if record is None:
            if queued is not None:
                self._shapes.release(queued.shape)
            self._pod_cache.place(key, new)
            self._queue.happened(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, None, new), now)
            return
        old = record.pod
        was_assumed = record.assumed
        self._pod_cache.replace(record, new)
        if was_assumed:
            self._queue.happened(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, None, new), now)
        else:
            for event in pod_update_events(EventResource.ASSIGNED_POD, old, new):
                self._queue.happened(event, now)

    def _pod_gone(self, key: str, now: Instant) -> None:
        nominated = self._nominator.record_or_none(key)
        self._nominator.remove(key)
        self._preempting.end(key)
        self._claims.pod_gone(key)
        self.victim_leaves(key, now)
        queued = self._queue.remove(key)
        record = self._pod_cache.get(key)
        if record is not None:
            gone = on_node(record)
            self._pod_cache.remove(record)
            self._queue.happened(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, gone, None), now)
        elif queued is not None:
            self._shapes.release(queued.shape)
            if nominated is not None:
                self._room_given_up(nominated, now)

    def victim_leaves(self, key: str, now: Instant) -> None:
        for preemptor in self._preempting.seen_leaving(key):
            self._queue.ungate(preemptor, now)

    def _update_nomination(self, queued: QueuedPod, old: Pod | None, now: Instant) -> None:
        """Follow `status.nominatedNodeName`. What was nominated in memory stays until the API's copy has caught up."""
        before = "" if old is None else old.status.nominated_node_name
        after = queued.pod.status.nominated_node_name
        remembered = self._nominator.record_or_none(queued.key)
        if before and after != before and remembered is not None and remembered.node != after:
            self._nominator.remove(queued.key)
            self._room_given_up(remembered, now)
        node = after or self._nominator.node_of(queued.key)
        if node:
            self._nominator.nominate(PodRecord(queued.key, queued.pod, queued.shape, node, assumed=True))

    def _room_given_up(self, nominated: PodRecord, now: Instant) -> None:
        event = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, on_node(nominated), None)
        self._queue.happened(event, now, priority_max=nominated.priority)


def is_leaving(pod: Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp)
