"""The defaults are kube-scheduler's."""

from doorman.scheduler.config.scheduler_config import (
    DEFAULT_ORDER,
    DEFAULT_WEIGHTS,
    PluginArgs,
    Profile,
    SchedulerConfig,
)
from doorman.scheduler.plugin_registry import INERT, PLUGINS


def test_default_plugins_are_those_that_there_are() -> None:
    assert set(DEFAULT_ORDER) == set(PLUGINS) | INERT
    assert len(DEFAULT_ORDER) == len(set(DEFAULT_ORDER))


def test_scores_come_in_the_order_of_plugins_with_their_weights() -> None:
    assert Profile().scores == (
        ("TaintToleration", 3), ("NodeAffinity", 2), ("NodeResourcesFit", 1), ("VolumeBinding", 1),
        ("PodTopologySpread", 2), ("InterPodAffinity", 2), ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1), ("ImageLocality", 1),
    )  # fmt: skip
    assert dict(Profile().scores) == DEFAULT_WEIGHTS


def test_pods_of_a_workload_are_spread_over_hosts_and_zones_if_that_is_possible() -> None:
    found = [(one.topology_key, one.when_unsatisfiable, one.max_skew) for one in PluginArgs().spread_constraints]
    assert found == [
        ("kubernetes.io/hostname", "ScheduleAnyway", 3),
        ("topology.kubernetes.io/zone", "ScheduleAnyway", 5),
    ]


def test_times_and_sizes() -> None:
    config, args = SchedulerConfig(), PluginArgs()
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
    assert config.pod_max_in_unschedulable_seconds == 300
    assert (args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute) == (10, 100)
    assert (args.binding_timeout_seconds, args.hard_pod_affinity_weight) == (600, 1)
    assert [profile.name for profile in config.profiles] == ["default-scheduler"]
