"""What the node-lifecycle-controller can be told."""

from collections.abc import Callable

import msgspec

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant


def _nobody(_: Node) -> bool:
    return False


class NodeLifecycleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """kube-controller-manager's flags, with its defaults."""

    node_monitor_period_seconds: float = 5.0
    node_monitor_grace_period_seconds: float = 50.0
    node_startup_grace_period_seconds: float = 60.0
    node_eviction_rate: float = 0.1
    secondary_node_eviction_rate: float = 0.01
    large_cluster_size_threshold: int = 50
    unhealthy_zone_threshold: float = 0.55
    resumed_at: Instant | None = None
    """The cluster was taken up as it was at this instant: signs of life from before count from when they were given."""

    is_alive_for_certain: Callable[[Node], bool] = _nobody
    """Whether a node, as it is, gives signs of life that need not be looked at."""

    def is_resuming(self, now: Instant) -> bool:
        return self.resumed_at is not None and now <= self.resumed_at
