"""All plugins, written out: the index of what the scheduler can do.

Plugins of kube-scheduler that do nothing here, and why:

    VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone   volumes count as satisfiable everywhere
    DynamicResources                                                  devices are not scheduled yet; its place is here
    NodeDeclaredFeatures                                              no pod field here requires a feature
    PrioritySort, DefaultBinder                                       built into the queue and the outcomes
"""

from collections.abc import Callable, Mapping
from typing import Final

from doorman.scheduler.config import PluginArgs
from doorman.scheduler.framework import Plugin
from doorman.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from doorman.scheduler.plugins.image_locality import ImageLocality
from doorman.scheduler.plugins.node_affinity import NodeAffinity
from doorman.scheduler.plugins.node_name import NodeName
from doorman.scheduler.plugins.node_ports import NodePorts
from doorman.scheduler.plugins.node_unschedulable import NodeUnschedulable
from doorman.scheduler.plugins.resources_fit import NodeResourcesFit
from doorman.scheduler.plugins.scheduling_gates import SchedulingGates
from doorman.scheduler.plugins.taint_toleration import TaintToleration

PluginFactory = Callable[[PluginArgs, bool], Plugin]
"""Makes a plugin from a profile's arguments and the gate of the comparison operators."""

INERT: Final = frozenset(
    {
        "PrioritySort", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "DynamicResources",
        "DefaultBinder", "NodeDeclaredFeatures", "PodTopologySpread", "InterPodAffinity",
    }
)  # fmt: skip

PLUGINS: Final[Mapping[str, PluginFactory]] = {
    "SchedulingGates": lambda _args, _operators: SchedulingGates(),
    "NodeName": lambda _args, _operators: NodeName(),
    "NodeUnschedulable": lambda _args, operators: NodeUnschedulable(comparison_operators=operators),
    "TaintToleration": lambda _args, operators: TaintToleration(comparison_operators=operators),
    "NodeAffinity": lambda args, _operators: NodeAffinity(added=args.added_affinity),
    "NodePorts": lambda _args, _operators: NodePorts(),
    "NodeResourcesFit": lambda args, _operators: NodeResourcesFit(
        strategy=args.scoring_strategy, ignored=args.ignored_resources, ignored_groups=args.ignored_resource_groups
    ),
    "NodeResourcesBalancedAllocation": lambda args, _operators: NodeResourcesBalancedAllocation(
        resources=args.balanced_resources
    ),
    "ImageLocality": lambda _args, _operators: ImageLocality(),
}


def make_plugins(args: PluginArgs, *, comparison_operators: bool) -> dict[str, Plugin]:
    """One of each, for a profile."""
    return {name: factory(args, comparison_operators) for name, factory in PLUGINS.items()}
