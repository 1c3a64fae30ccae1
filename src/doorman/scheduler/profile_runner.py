"""What decides for one profile: its plugins, its cycle, its preemption."""

from collections.abc import Callable, Mapping

import msgspec

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from doorman.scheduler.claim_states import ClaimStates
from doorman.scheduler.config.scheduler_config import Profile
from doorman.scheduler.cycle.attempts import Fit, FitError
from doorman.scheduler.cycle.profile_plugins import ProfilePlugins
from doorman.scheduler.cycle.scheduling_cycle import SchedulingCycle
from doorman.scheduler.devices.claim_binding import ClaimBinding
from doorman.scheduler.explain.explainer import Explainer
from doorman.scheduler.framework import Plugin
from doorman.scheduler.plugin_registry import PluginContext, make_plugins
from doorman.scheduler.plugins.default_preemption import DefaultPreemption
from doorman.scheduler.plugins.dynamic_resources import DynamicResources
from doorman.scheduler.plugins.volumes.volume_binding import VolumeBinding
from doorman.scheduler.preemption.budgets import Budgets
from doorman.scheduler.preemption.pending_preemptions import PendingPreemptions
from doorman.scheduler.preemption.preemption_evaluator import PreemptionEvaluator
from doorman.scheduler.queue.nominator import Nominator
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings


class SharedState(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduler's state that all profiles see."""

    cluster: ClusterState
    workloads: WorkloadSelectors
    nominator: Nominator
    budgets: Budgets
    preempting: PendingPreemptions
    claims: ClaimStates
    comparison_operators: bool


class ProfileRunner(msgspec.Struct, frozen=True):
    profile: Profile
    plugins: ProfilePlugins
    cycle: SchedulingCycle
    preemption: PreemptionEvaluator | None
    explainer: Explainer
    devices: DynamicResources | None = None
    """If the profile runs it."""
    volumes: VolumeBinding | None = None
    """Likewise."""

    def concerns_claims(self, queued: QueuedPod) -> bool:
        """Whether claims that are the pod's own have a say in where it goes."""
        if queued.shape.demand.uses_volumes:
            return True
        return self.devices is not None and self.devices.concerns(queued.pod)

    def reserve(self, queued: QueuedPod, fit: Fit) -> tuple[tuple[ClaimBinding, ...], PodVolumeBindings | None]:
        """Take devices and volumes for the pod: what is to be written before it is bound."""
        claims = self.devices.reserve(queued.pod, fit.row) if self.devices is not None else ()
        if self.volumes is None or not queued.shape.demand.uses_volumes:
            return claims, None
        return claims, self.volumes.reserve(queued.pod, fit.row)

    def rejected_by(self, plugin: str, fit_error: FitError) -> Callable[[int], bool]:
        """Whether the plugin was the first to say no to a row."""
        index = next(at for at, each in enumerate(self.plugins.filters) if each.name == plugin)
        return lambda row: SchedulingCycle.plugin_index(int(fit_error.verdicts[row])) == index


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
            devices=state.claims.devices,
            volumes=state.claims.volumes,
        )
    )
    plugins = ProfilePlugins(profile, {**own, **others})
    cycle = SchedulingCycle(plugins, state.cluster, state.nominator)
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
    volumes = own[VolumeBinding.name] if VolumeBinding.name in profile.filters else None
    assert volumes is None or isinstance(volumes, VolumeBinding), "it is our own plugin of that name"
    explainer = Explainer(plugins, state.cluster, cycle)
    return ProfileRunner(profile, plugins, cycle, preemption, explainer, devices, volumes)
