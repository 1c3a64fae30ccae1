"""The scheduler's configuration, resolved: which plugins run at which point, in which order, with which arguments.

`doorman.scheduler.config.config_file` reads a KubeSchedulerConfiguration into this; the defaults here are
kube-scheduler's.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.views.pods import NodeAffinity, TopologySpreadConstraint
from doorman.scheduler.extenders.extender import Extender

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

DEFAULT_ORDER: Final = (
    "SchedulingGates",
    "PrioritySort",
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
)
"""Every default plugin of kube-scheduler, in the order that all extension points use."""

DEFAULT_WEIGHTS: Final = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "VolumeBinding": 1,
}


class ShapePoint(msgspec.Struct, frozen=True):
    utilization: int
    score: int
    """0 to 10, as written in the configuration."""


class ResourceWeight(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    weight: int = 1


class ScoringStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """How NodeResourcesFit scores."""

    type: str = "LeastAllocated"
    resources: tuple[ResourceWeight, ...] = (ResourceWeight(name="cpu"), ResourceWeight(name="memory"))
    shape: tuple[ShapePoint, ...] = ()
    """The broken line of RequestedToCapacityRatio."""


SYSTEM_SPREAD: Final = (
    TopologySpreadConstraint(
        topology_key="kubernetes.io/hostname", when_unsatisfiable="ScheduleAnyway", max_skew=3
    ),
    TopologySpreadConstraint(
        topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway", max_skew=5
    ),
)  # fmt: skip
"""For pods without constraints of their own that a service or a workload selects."""


STORAGE_SHAPE: Final = (ShapePoint(0, 10), ShapePoint(100, 0))
"""The less of a node's storage a pod takes, the better."""
BINDING_TIMEOUT_SECONDS: Final = 600
"""How long a pod waits for its volumes, and for devices that must be got ready, before it is bound."""


class PluginArgs(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of all plugins that take some."""

    scoring_strategy: ScoringStrategy = ScoringStrategy()
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    balanced_resources: tuple[ResourceWeight, ...] = (ResourceWeight(name="cpu"), ResourceWeight(name="memory"))
    added_affinity: NodeAffinity | None = None
    spread_constraints: tuple[TopologySpreadConstraint, ...] = SYSTEM_SPREAD
    spread_is_system_default: bool = True
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100
    storage_shape: tuple[ShapePoint, ...] = STORAGE_SHAPE
    binding_timeout_seconds: int = BINDING_TIMEOUT_SECONDS
    """Of VolumeBinding."""
    device_binding_timeout_seconds: float = BINDING_TIMEOUT_SECONDS
    """Of DynamicResources."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One scheduler by name. Names that no known plugin has are other people's (see `out_of_tree_plugins.py`)."""

    name: str = DEFAULT_SCHEDULER_NAME
    pre_enqueue: tuple[str, ...] = DEFAULT_ORDER
    pre_filters: tuple[str, ...] = DEFAULT_ORDER
    """Those that may name the only nodes worth a look."""
    filters: tuple[str, ...] = DEFAULT_ORDER
    post_filters: tuple[str, ...] = DEFAULT_ORDER
    scores: tuple[tuple[str, int], ...] = tuple(
        (name, DEFAULT_WEIGHTS[name]) for name in DEFAULT_ORDER if name in DEFAULT_WEIGHTS
    )
    """Plugins and their weights."""
    args: PluginArgs = PluginArgs()
    other_args: Mapping[str, Mapping[str, Any]] = {}  # as written, for plugins of others
    percentage_of_nodes_to_score: int = 0
    """Read and checked, but all nodes are always looked at: with columns that costs no more than finding a sample."""


class SchedulerConfig(msgspec.Struct, frozen=True, kw_only=True):
    profiles: tuple[Profile, ...] = (Profile(),)
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    pod_max_in_unschedulable_seconds: float = 300.0
    percentage_of_nodes_to_score: int = 0
    parallelism: int = 16
    """Read and checked, but a cycle runs on one core."""
    extenders: tuple[Extender, ...] = ()
    """In the order in which they are asked."""
