"""What the scheduler has counted, under the names that metrics use."""

from collections import Counter
from collections.abc import Mapping

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_cache import PodCache
from doorman.scheduler.profile_runner import ProfileRunner
from doorman.scheduler.queue.scheduling_queue import SchedulingQueue


class SchedulerStatistics:
    """Reads; changes nothing."""

    def __init__(
        self,
        queue: SchedulingQueue,
        runners: Mapping[str, ProfileRunner],
        cluster: ClusterState,
        pod_cache: PodCache,
    ) -> None:
        self._queue = queue
        self._runners = runners
        self._cluster = cluster
        self._pod_cache = pod_cache

    def pending(self) -> dict[str, int]:
        """How many pods wait, by queue."""
        return self._queue.lengths()

    def in_flight(self) -> int:
        """Pods that are being tried or bound."""
        return self._queue.in_flight

    def incoming(self) -> Mapping[tuple[str, str], int]:
        """How many pods came into which queue so far, and what brought them there."""
        return self._queue.incoming

    def unschedulable(self) -> Mapping[tuple[str, str], int]:
        """How many pods wait because of which plugin of which profile."""
        counts: Counter[tuple[str, str]] = Counter()
        for queued in self._queue.all():
            counts.update((plugin, queued.profile) for plugin in (*queued.rejectors, queued.gate) if plugin)
        return counts

    def evaluated(self) -> Mapping[tuple[str, str, str], int]:
        """How often which plugin was asked about a pod, by plugin, extension point and profile."""
        return {
            (plugin, point, name): count
            for name, runner in self._runners.items()
            for (plugin, point), count in runner.cycle.evaluated().items()
        }

    def cache_sizes(self) -> dict[str, int]:
        pod_cache = self._pod_cache
        return {
            "nodes": self._cluster.node_count, "pods": len(pod_cache), "assumed_pods": pod_cache.assumed_count,
        }  # fmt: skip
