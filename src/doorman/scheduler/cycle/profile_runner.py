"""What decides for one profile: its plugins, its cycle, its preemption."""

from collections.abc import Callable, Container, Mapping

import msgspec

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from doorman.scheduler.config.scheduler_config import Profile
from doorman.scheduler.cycle.attempts import FitError
from doorman.scheduler.cycle.profile_plugins import ProfilePlugins
from doorman.scheduler.cycle.scheduling_cycle import Cycle
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.explain.explainer import Explainer
from doorman.scheduler.framework import Plugin
from doorman.scheduler.plugin_registry import PluginContext, make_plugins
from doorman.scheduler.plugins.default_preemption import DefaultPreemption
from doorman.scheduler.plugins.dynamic_resources import DynamicResources
from doorman.scheduler.preemption.nominator import Nominator
from doorman.scheduler.preemption.preemption_evaluator import Budgets, PreemptionEvaluator


class SharedState(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduler's state that all profiles see."""

    cluster: ClusterState
    workloads: WorkloadSelectors
    nominator: Nominator
    budgets: Budgets
    preempting: Container[str]
    devices: DeviceState
    comparison_operators: bool


class ProfileRunner(msgspec.Struct, frozen=True):
    profile: Profile
    plugins: ProfilePlugins
    cycle: Cycle
    preemption: PreemptionEvaluator | None
    explainer: Explainer
    devices: DynamicResources | None = None
    """If the profile runs it."""

    def rejected_by(self, plugin: str, fit_error: FitError) -> Callable[[int], bool]:
        """Whether the plugin was the first to say no to a row."""
        index = next(at for at, each in enumerate(self.plugins.filters) if each.name == plugin)
        return lambda row: Cycle.plugin_index(int(fit_error.verdicts[row])) == index


def make_runner(profile: Profile, others: Mapping[str, Plugin], state: SharedState) -> ProfileRunner:
    """`others` are other people's plugins, by name."""
    own = make_plugins(
        PluginContext(
            args=profile.args,
            comparison_operators=state.comparison_operators,
            relations=state.cluster.relations,
            workloads=state.workloads,
            preempting=state.preempting,
            cluster=state.cluster,
            devices=state.devices,
        )
    )
    plugins = ProfilePlugins(profile, {**own, **others})
    cycle = Cycle(plugins, state.cluster, state.nominator)
    preemption = None
    if DefaultPreemption.name in profile.post_filters:
        preemption = PreemptionEvaluator(
            state.cluster,
            state.nominator,
            cycle,
            state.budgets,
            candidates_percentage_min=profile.args.min_candidate_nodes_percentage,
            candidates_absolute_min=profile.args.min_candidate_nodes_absolute,
        )
    devices = own[DynamicResources.name] if DynamicResources.name in profile.filters else None
    assert devices is None or isinstance(devices, DynamicResources), "it is our own plugin of that name"
    return ProfileRunner(profile, plugins, cycle, preemption, Explainer(plugins, state.cluster, cycle), devices)
