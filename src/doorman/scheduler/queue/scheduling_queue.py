"""Pods that wait to be scheduled, in three places.

    active          next to be tried: higher priority first, then who entered earlier
    backoff         waits out a penalty; two heaps, after rejections and after errors
    unschedulable   waits for an event that may help, or for a gate

Rules
-----
1. Attempt n is followed by a penalty of min(initial * 2**(n-1), max) seconds, n counting rejections, or errors in a
   row if the last attempt ended in one. It expires at (re-entry + penalty) cut to a whole second; the pod is backing
   off while that is not before the current second. n = 0 has no penalty.
2. Expired pods become active at whole seconds.
3. When nothing is active, the head of the rejections' heap is tried at once, whatever is left of its penalty.
4. After a rejection a pod waits for events; after an error it backs off.
5. An event moves a pod that some plugin which rejected it deems worth a try: to backoff, or active if the penalty is
   over. A pod that was rejected by nobody is always worth a try.
6. Entering active or backoff asks the gates first; a gated pod waits among the unschedulable, and only events that
   its gate asked for are considered.
7. Every 30 s, pods that have been unschedulable for more than five minutes move on, as if everything had changed.

Re-entry after a failed attempt refreshes a pod's time; moving between places does not. Heaps are cleaned lazily: an
entry whose number is not the pod's current one is forgotten.
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource
from doorman.scheduler.queue.cluster_events import event_label
from doorman.scheduler.queue.queued_pod import QueuedPod, SubQueue
from doorman.scheduler.queue.queueing_hints import Answers, QueueingHints

FLUSH_PERIOD_SECONDS: Final = 30


_QUEUES: Final = {
    SubQueue.ACTIVE: "active",
    SubQueue.BACKOFF: "backoff",
    SubQueue.ERROR_BACKOFF: "backoff",
    SubQueue.UNSCHEDULABLE: "unschedulable",
}
_FAILURE: Final = "ScheduleAttemptFailure"


_HeapItem = tuple[Any, ...]  # what the heap sorts by, then the pod's number at the time, then the pod

Gate = Callable[[QueuedPod], str]
"""The name of the plugin that wants the pod to wait, or ""."""


class SchedulingQueue:
    """See the module's docstring."""

    def __init__(
        self,
        *,
        hints: QueueingHints,
        gate: Gate,
        initial_backoff_seconds: float = 1,
        max_backoff_seconds: float = 10,
        unschedulable_seconds_max: float = 300,
    ) -> None:
        self._hints = hints
        self._gate = gate
        self._initial_backoff_seconds = initial_backoff_seconds
        self._max_backoff_seconds = max_backoff_seconds
        self._unschedulable_seconds_max = unschedulable_seconds_max
        self._pods: dict[str, QueuedPod] = {}
        self._active: list[_HeapItem] = []
        """By priority, time, sequence."""
        self._backoff: list[_HeapItem] = []
        """By the second of expiry, then as active."""
        self._error_backoff: list[_HeapItem] = []
        self._stale: list[_HeapItem] = []
        """Ungated unschedulable pods, longest first."""
        self._counts = dict.fromkeys(SubQueue, 0)
        self._interested: dict[tuple[EventResource, ActionType], dict[str, QueuedPod]] = {}
        """Unschedulable pods by the events that one of their rejectors or their gate asked for."""
        self._by_all: dict[str, QueuedPod] = {}
        """Unschedulable pods that nobody rejected: every event concerns them."""
        self.incoming: Counter[tuple[str, str]] = Counter()
        """By queue and by what brought the pod there, under the names that metrics use."""
        self._cause = ""
        self._last_number = 0
        self._now: Instant = 0.0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key)

    def all(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def lengths(self) -> dict[str, int]:
        """How many pods wait where, by the names that metrics use."""
        gated = sum(1 for pod in self._pods.values() if pod.gate and pod.sub_queue is SubQueue.UNSCHEDULABLE)
        return {
            "active": self._counts[SubQueue.ACTIVE],
            "backoff": self._counts[SubQueue.BACKOFF] + self._counts[SubQueue.ERROR_BACKOFF],
            "unschedulable": self._counts[SubQueue.UNSCHEDULABLE] - gated,
            "gated": gated,
        }

    @property
    def in_flight(self) -> int:
        return self._counts[SubQueue.IN_FLIGHT]

    def add(self, pod: QueuedPod, now: Instant) -> None:
        assert pod.key not in self._pods, "a pod is added once"
        self._now = now
        self._pods[pod.key] = pod
        self._counts[pod.sub_queue] += 1
        pod.sequence = self._next_number()
        pod.timestamp = now
        self._cause = "TargetPodAdd"
        self._enter(pod, SubQueue.ACTIVE)

    def remove(self, key: str) -> QueuedPod | None:
        pod = self._pods.pop(key, None)
        if pod is not None:
            self._unindex_by_event(pod)
            self._counts[pod.sub_queue] -= 1
            pod.number = self._next_number()
        return pod

    def pop(self, now: Instant) -> QueuedPod | None:
        """The next pod to try; it is in flight until it is rejected, failed or removed."""
        self.flush(now)
        pod = _pop(self._active) or _pop(self._backoff)  # rule 3
        if pod is not None:
            if not pod.attempts:
                pod.first_tried = now
            pod.attempts += 1
            self._move(pod, SubQueue.IN_FLIGHT)
        return pod

    def rejected(self, pod: QueuedPod, rejectors: frozenset[str], now: Instant) -> None:
        """Rule 4, after an attempt that found no node. Without rejectors it counts as an error."""
        if not rejectors:
            self.failed(pod, now)
            return
        assert pod.sub_queue is SubQueue.IN_FLIGHT, "only an attempt can be rejected"
        self._now = now
        pod.timestamp = now
        pod.rejectors = rejectors
        pod.was_flushed = False
        pod.rejections += 1
        pod.errors = 0
        self._cause = _FAILURE
        self._wait(pod)

    def failed(self, pod: QueuedPod, now: Instant) -> None:
        """Rule 4, after an attempt that went wrong."""
        assert pod.sub_queue is SubQueue.IN_FLIGHT, "only an attempt can fail"
        self._now = now
        pod.timestamp = now
        pod.rejectors = frozenset()
        pod.errors += 1
        self._cause = _FAILURE
        self._requeue(pod)

    def update(self, key: str, new: Pod, shape: Shape, events: Iterable[ClusterEvent], now: Instant) -> None:
        """The pod's object changed; `events` say in what way."""
        pod = self._pods[key]
        self._now = now
        pod.pod = new
        pod.shape = shape
        pod.priority = new.spec.priority
        is_waiting = pod.sub_queue is SubQueue.UNSCHEDULABLE
        if is_waiting:
            # Where it is filed depends on who keeps it waiting, and not on its object.
            for event in events:
                if self._hints.is_worth_a_try(pod, event):
                    self._cause = event_label(event.resource, event.change)
                    self._requeue(pod)
                    if pod.sub_queue is not SubQueue.UNSCHEDULABLE:
                        break
        elif pod.sub_queue is not SubQueue.IN_FLIGHT:
            self._cause = "TargetPodUpdate"
            self._enter(pod, pod.sub_queue)

    def happened(self, event: ClusterEvent, now: Instant, *, priority_max: int | None = None) -> None:
        """Rules 5 and 6: let an event move pods; with `priority_max`, only those of at most that priority."""
        if not self._counts[SubQueue.UNSCHEDULABLE]:
            return
        self._now = now
        concerned = self._interested.get((event.resource, event.change), {})
        if event.resource is EventResource.WILDCARD:
            concerned = {key: pod for key, pod in self._pods.items() if pod.sub_queue is SubQueue.UNSCHEDULABLE}
        elif event.only is not None:
            concerned = {key: concerned[key] for key in sorted(event.only) if key in concerned}
        answers: Answers = {}
        self._cause = event_label(event.resource, event.change)
        for pod in [*self._by_all.values(), *concerned.values()]:
            if priority_max is not None and pod.priority > priority_max:
                continue
            if self._hints.is_worth_a_try(pod, event, answers):
                self._requeue(pod)

    def ungate(self, key: str, now: Instant) -> None:
        """A gate may have opened: let the pod go on if it missed something meanwhile."""
        pod = self._pods.get(key)
        if pod is None or pod.sub_queue is not SubQueue.UNSCHEDULABLE or not pod.gate:
            return
        self._now = now
        self._unindex_by_event(pod)
        pod.gate = self._gate(pod)
        self._index_by_event(pod)
        if pod.missed_event and not pod.gate:
            self._cause = "ForceActivate"
            self._requeue(pod)

    def retry(self, key: str, now: Instant) -> None:
        """Nothing may happen that would wake the pod: let it be tried again, but not before its penalty is over."""
        pod = self._pods.get(key)
        if pod is not None and pod.sub_queue is SubQueue.UNSCHEDULABLE:
            self._now = now
            self._cause = "ForceActivate"
            self._enter(pod, SubQueue.ERROR_BACKOFF if self._is_backing_off(pod) else SubQueue.ACTIVE)

    def flush(self, now: Instant) -> None:
        """Rules 2 and 7: what time alone brings about."""
        self._now = now
        second = math.floor(now)
        self._cause = "BackoffComplete"
        for heap in (self._backoff, self._error_backoff):
            while (first := _first(heap)) is not None and first[0] < second:
                heapq.heappop(heap)
                self._enter(first[-1], SubQueue.ACTIVE)
        self._cause = "UnschedulableTimeout"
        tick = second - second % FLUSH_PERIOD_SECONDS
        while (longest := _first(self._stale)) is not None and longest[0] + self._unschedulable_seconds_max < tick:
            heapq.heappop(self._stale)
            longest[-1].was_flushed = True
            self._requeue(longest[-1])

    def next_wake(self) -> Instant | None:
        """The earliest instant at which `pop` may give a pod; an instant in the past means now."""
        if self._counts[SubQueue.ACTIVE] or self._counts[SubQueue.BACKOFF]:
            return self._now
        wakes: list[Instant] = []
        if (failed := _first(self._error_backoff)) is not None:
            wakes.append(failed[0] + 1.0)
        if (longest := _first(self._stale)) is not None:
            periods = math.floor((longest[0] + self._unschedulable_seconds_max) / FLUSH_PERIOD_SECONDS) + 1
            wakes.append(float(periods * FLUSH_PERIOD_SECONDS))
        return min(wakes, default=None)

    def _wait(self, pod: QueuedPod) -> None:
        pod.number = self._next_number()
        pod.gate = self._gate(pod)
        self._move(pod, SubQueue.UNSCHEDULABLE)
        pod.missed_event = False
        self._index_by_event(pod)

    def _requeue(self, pod: QueuedPod) -> None:
        """To backoff while the penalty lasts, else to active."""
        if self._is_backing_off(pod):
            self._enter(pod, SubQueue.ERROR_BACKOFF if pod.errors else SubQueue.BACKOFF)
        else:
            self._enter(pod, SubQueue.ACTIVE)

    def _enter(self, pod: QueuedPod, sub_queue: SubQueue) -> None:
        """Rule 6, then into that heap."""
        if pod.sub_queue is SubQueue.UNSCHEDULABLE:
            self._unindex_by_event(pod)
        pod.number = self._next_number()
        gate = self._gate(pod)
        if gate:
            pod.gate = gate
            pod.missed_event = True
            self._move(pod, SubQueue.UNSCHEDULABLE)
            self._index_by_event(pod)
            return
        pod.gate = ""
        pod.missed_event = False
        self._move(pod, sub_queue)
        if sub_queue is SubQueue.ACTIVE:
            heapq.heappush(self._active, (-pod.priority, pod.timestamp, pod.sequence, pod.number, pod))
        elif sub_queue is SubQueue.BACKOFF:
            item = (self._expiry(pod), -pod.priority, pod.timestamp, pod.sequence, pod.number, pod)
            heapq.heappush(self._backoff, item)
        else:
            heapq.heappush(self._error_backoff, (self._expiry(pod), pod.sequence, pod.number, pod))

    def _move(self, pod: QueuedPod, sub_queue: SubQueue) -> None:
        self._counts[pod.sub_queue] -= 1
        self._counts[sub_queue] += 1
        pod.sub_queue = sub_queue
        if sub_queue is not SubQueue.IN_FLIGHT:
            self.incoming[_QUEUES[sub_queue] if not pod.gate else "gated", self._cause] += 1

    def _index_by_event(self, pod: QueuedPod) -> None:
        """File an unschedulable pod under the events it waits for."""
        if not pod.gate:
            heapq.heappush(self._stale, (pod.timestamp, pod.sequence, pod.number, pod))
            if not pod.rejectors:
                self._by_all[pod.key] = pod
        for wanted in self._hints.wanted(pod):
            self._interested.setdefault(wanted, {})[pod.key] = pod

    def _unindex_by_event(self, pod: QueuedPod) -> None:
        self._by_all.pop(pod.key, None)
        for wanted in self._hints.wanted(pod):
            self._interested.get(wanted, {}).pop(pod.key, None)

    def _is_backing_off(self, pod: QueuedPod) -> bool:
        """Rule 1."""
        return self._penalty_seconds(pod) > 0 and self._expiry(pod) >= math.floor(self._now)

    def _expiry(self, pod: QueuedPod) -> int:
        return math.floor(pod.timestamp + self._penalty_seconds(pod))

    def _penalty_seconds(self, pod: QueuedPod) -> float:
        attempts = pod.errors or pod.rejections
        if not attempts or not self._max_backoff_seconds:
            return 0.0
        # Beyond 2**62 times the initial penalty any maximum has long been reached.
        return min(self._initial_backoff_seconds * 2.0 ** min(attempts - 1, 62), self._max_backoff_seconds)

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number


def _first(heap: list[_HeapItem]) -> _HeapItem | None:
    """The head of a heap, forgotten entries thrown away."""
    while heap and heap[0][-1].number != heap[0][-2]:
        heapq.heappop(heap)
    return heap[0] if heap else None


def _pop(heap: list[_HeapItem]) -> QueuedPod | None:
    first = _first(heap)
    if first is None:
        return None
    heapq.heappop(heap)
    pod: QueuedPod = first[-1]
    return pod
