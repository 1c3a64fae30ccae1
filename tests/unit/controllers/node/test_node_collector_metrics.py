"""Zones in numbers."""

import pytest

from doorman.controllers.node.node_collector_metrics import NodeCollectorMetrics
from doorman.controllers.node.node_zones import ZoneCount


@pytest.mark.parametrize(
    ("count", "health"),
    [
        pytest.param(ZoneCount(ready=3, not_ready=1), 75, id="some-sick"),
        pytest.param(ZoneCount(ready=0, not_ready=0), 100, id="nobody-is-there"),
        pytest.param(ZoneCount(ready=0, not_ready=2), 0, id="all-sick"),
    ],
)
def test_zone_is_told_under_kubernetes_names(count: ZoneCount, health: float) -> None:
    metrics = NodeCollectorMetrics()
    metrics.set_zone("a", count)
    samples = {
        sample.name: sample.value for metric in metrics.all for one in metric.collect() for sample in one.samples
    }
    assert samples["node_collector_zone_health"] == health
    assert samples["node_collector_zone_size"] == count.size
    assert samples["node_collector_unhealthy_nodes_in_zone"] == count.not_ready
