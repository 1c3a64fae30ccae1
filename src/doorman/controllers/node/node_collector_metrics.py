"""What the node-lifecycle-controller counts, by zone, under the names that Kubernetes gives it."""

from collections.abc import Sequence
from typing import Final

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from doorman.controllers.node.node_zones import ZoneCount

NODE_BUCKETS_SECONDS: Final = tuple(0.001 * 4**power for power in range(8))
PASS_BUCKETS_SECONDS: Final = tuple(0.01 * 4**power for power in range(8))


class NodeCollectorMetrics:
    def __init__(self) -> None:
        self.evictions = Counter("node_collector_evictions_total", "Nodes tainted NoExecute.", ["zone"], registry=None)
        self._health = Gauge("node_collector_zone_health", "Percent of healthy nodes.", ["zone"], registry=None)
        self._sizes = Gauge("node_collector_zone_size", "Nodes of a zone.", ["zone"], registry=None)
        self._unhealthy = Gauge(
            "node_collector_unhealthy_nodes_in_zone", "Nodes of a zone that are not ready.", ["zone"], registry=None
        )
        self.node_seconds = Histogram(
            "node_collector_update_node_health_duration_seconds",
            "Seconds it took to judge one node.",
            buckets=NODE_BUCKETS_SECONDS,
            registry=None,
        )
        self.pass_seconds = Histogram(
            "node_collector_update_all_nodes_health_duration_seconds",
            "Seconds it took to judge all nodes.",
            buckets=PASS_BUCKETS_SECONDS,
            registry=None,
        )

    @property
    def all(self) -> Sequence[MetricWrapperBase]:
        return (self.evictions, self._health, self._sizes, self._unhealthy, self.node_seconds, self.pass_seconds)

    def set_zone(self, zone: str, count: ZoneCount) -> None:
        self._sizes.labels(zone).set(count.size)
        self._unhealthy.labels(zone).set(count.not_ready)
        self._health.labels(zone).set(100 * count.ready / count.size if count.size else 100)
