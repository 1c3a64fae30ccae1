"""Every plugin under its own name, with what the profile and the scheduler give it."""

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from doorman.scheduler.config.scheduler_config import PluginArgs, ResourceWeight, ScoringStrategy
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.plugin_registry import INERT, PLUGINS, PluginContext, make_plugins
from doorman.scheduler.volumes.volume_state import VolumeState


def context(**args: object) -> PluginContext:
    resources = ResourceIds()
    cluster = ClusterState(resources)
    return PluginContext(
        args=PluginArgs(**args),  # type: ignore[arg-type]  # members of the arguments
        comparison_operators=True, relations=cluster.relations, workloads=WorkloadSelectors(), preempting=set(),
        cluster=cluster, devices=DeviceState(cluster), volumes=VolumeState(),
    )  # fmt: skip


def test_every_plugin_has_the_name_it_is_found_by() -> None:
    made = make_plugins(context())
    assert {name: plugin.name for name, plugin in made.items()} == {name: name for name in PLUGINS}
    assert not INERT & set(made)


def test_plugins_are_each_profile_s_own() -> None:
    shared = context()
    one, other = make_plugins(shared), make_plugins(shared)
    assert all(one[name] is not other[name] for name in PLUGINS)


def test_arguments_reach_their_plugin() -> None:
    strategy = ScoringStrategy(type="MostAllocated", resources=(ResourceWeight(name="cpu", weight=3),))
    made = make_plugins(context(scoring_strategy=strategy))["NodeResourcesFit"]
    assert strategy in vars(made).values()
