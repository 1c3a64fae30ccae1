"""What decides for one profile: its plugins, its cycle, its preemption."""

from collections.abc import Container, Mapping

import msgspec

from doorman.scheduler.cluster import Cluster
from doorman.scheduler.config import Profile
from doorman.scheduler.cycle import Cycle
from doorman.scheduler.explain import Explainer
from doorman.scheduler.framework import Plugin
from doorman.scheduler.nominator import Nominator
from doorman.scheduler.plugins.default_preemption import DefaultPreemption
from doorman.scheduler.preemption import Budgets, Preemption
from doorman.scheduler.profile_plugins import ProfilePlugins
from doorman.scheduler.registry import PluginContext, make_plugins
from doorman.scheduler.workloads import Workloads


class SharedState(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduler's state that all profiles see."""

    cluster: Cluster
    workloads: Workloads
    nominator: Nominator
    budgets: Budgets
    preempting: Container[str]
    comparison_operators: bool


class ProfileRunner(msgspec.Struct, frozen=True):
    profile: Profile
    plugins: ProfilePlugins
    cycle: Cycle
    preemption: Preemption | None
    explainer: Explainer


def make_runner(profile: Profile, others: Mapping[str, Plugin], state: SharedState) -> ProfileRunner:
    """`others` are other people's plugins, by name."""
    own = make_plugins(
        PluginContext(
            args=profile.args,
            comparison_operators=state.comparison_operators,
            relations=state.cluster.relations,
            workloads=state.workloads,
            preempting=state.preempting,
        )
    )
    plugins = ProfilePlugins(profile, {**own, **others})
    cycle = Cycle(plugins, state.cluster, state.nominator)
    preemption = None
    if DefaultPreemption.name in profile.post_filters:
        preemption = Preemption(
            state.cluster,
            state.nominator,
            cycle,
            state.budgets,
            candidates_percentage_min=profile.args.min_candidate_nodes_percentage,
            candidates_absolute_min=profile.args.min_candidate_nodes_absolute,
        )
    return ProfileRunner(profile, plugins, cycle, preemption, Explainer(plugins, state.cluster, cycle))
