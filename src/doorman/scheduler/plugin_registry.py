"""All plugins, written out: the index of what the scheduler can do.

Plugins of kube-scheduler that do nothing here, and why:

    NodeDeclaredFeatures          no pod field here requires a feature
    PrioritySort, DefaultBinder   built into the queue and the outcomes
"""

from collections.abc import Callable, Container, Mapping
from typing import Final

import msgspec

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_relations import Relations
from doorman.scheduler.cache.workload_selectors import WorkloadSelectors
from doorman.scheduler.config.scheduler_config import PluginArgs
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.framework import Plugin
from doorman.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from doorman.scheduler.plugins.default_preemption import DefaultPreemption
from doorman.scheduler.plugins.dynamic_resources import DynamicResources
from doorman.scheduler.plugins.image_locality import ImageLocality
from doorman.scheduler.plugins.node_affinity import NodeAffinityPlugin
from doorman.scheduler.plugins.node_name import NodeName
from doorman.scheduler.plugins.node_ports import NodePorts
from doorman.scheduler.plugins.node_unschedulable import NodeUnschedulable
from doorman.scheduler.plugins.pod_affinity import InterPodAffinity
from doorman.scheduler.plugins.resources_fit import NodeResourcesFit
from doorman.scheduler.plugins.scheduling_gates import SchedulingGates
from doorman.scheduler.plugins.taint_toleration import TaintToleration
from doorman.scheduler.plugins.topology_spread import PodTopologySpread
from doorman.scheduler.plugins.volumes.node_volume_limits import NodeVolumeLimits
from doorman.scheduler.plugins.volumes.volume_binding import VolumeBinding
from doorman.scheduler.plugins.volumes.volume_restrictions import VolumeRestrictions
from doorman.scheduler.plugins.volumes.volume_zone import VolumeZone
from doorman.scheduler.volumes.volume_state import VolumeState


class PluginContext(msgspec.Struct, frozen=True, kw_only=True):
    """What plugins are made from: a profile's arguments and the scheduler's own state."""

    args: PluginArgs
    comparison_operators: bool
    relations: Relations
    workloads: WorkloadSelectors
    preempting: Container[str]
    cluster: ClusterState
    devices: DeviceState
    volumes: VolumeState


PluginFactory = Callable[[PluginContext], Plugin]

INERT: Final = frozenset({"PrioritySort", "DefaultBinder", "NodeDeclaredFeatures"})

PLUGINS: Final[Mapping[str, PluginFactory]] = {
    "SchedulingGates": lambda _context: SchedulingGates(),
    "NodeName": lambda _context: NodeName(),
    "NodeUnschedulable": lambda context: NodeUnschedulable(comparison_operators=context.comparison_operators),
    "TaintToleration": lambda context: TaintToleration(comparison_operators=context.comparison_operators),
    "NodeAffinity": lambda context: NodeAffinityPlugin(added=context.args.added_affinity),
    "NodePorts": lambda _context: NodePorts(),
    "NodeResourcesFit": lambda context: NodeResourcesFit(
        strategy=context.args.scoring_strategy,
        ignored=context.args.ignored_resources,
        ignored_groups=context.args.ignored_resource_groups,
    ),
    "VolumeRestrictions": lambda context: VolumeRestrictions(context.volumes),
    "NodeVolumeLimits": lambda context: NodeVolumeLimits(context.volumes, context.cluster),
    "VolumeBinding": lambda context: VolumeBinding(
        context.volumes,
        context.cluster,
        shape=context.args.storage_shape,
        timeout_seconds=context.args.binding_timeout_seconds,
    ),
    "VolumeZone": lambda context: VolumeZone(context.volumes),
    "PodTopologySpread": lambda context: PodTopologySpread(
        context.workloads,
        defaults=context.args.spread_constraints,
        is_system_default=context.args.spread_is_system_default,
        comparison_operators=context.comparison_operators,
    ),
    "InterPodAffinity": lambda context: InterPodAffinity(
        context.relations,
        hard_weight=context.args.hard_pod_affinity_weight,
        ignores_others_preferences=context.args.ignore_preferred_terms_of_existing_pods,
    ),
    "DynamicResources": lambda context: DynamicResources(
        context.devices, context.cluster, binding_timeout_seconds=context.args.device_binding_timeout_seconds
    ),
    "DefaultPreemption": lambda context: DefaultPreemption(context.preempting),
    "NodeResourcesBalancedAllocation": lambda context: NodeResourcesBalancedAllocation(
        resources=context.args.balanced_resources
    ),
    "ImageLocality": lambda _context: ImageLocality(),
}


def make_plugins(context: PluginContext) -> dict[str, Plugin]:
    """One of each, for a profile."""
    return {name: factory(context) for name, factory in PLUGINS.items()}
