"""kube-controller-manager's defaults."""

from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings


def test_defaults_are_kube_controller_managers() -> None:
    settings = NodeLifecycleSettings()
    assert (settings.node_monitor_period_seconds, settings.node_monitor_grace_period_seconds) == (5.0, 50.0)
    assert (settings.node_eviction_rate, settings.secondary_node_eviction_rate) == (0.1, 0.01)
    assert (settings.large_cluster_size_threshold, settings.unhealthy_zone_threshold) == (50, 0.55)
    assert settings.resumed_at is None, "a cluster begins anew unless it is said to go on"
