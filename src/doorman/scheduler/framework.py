"""The contract of scheduler plugins.

A plugin is asked once for a pod's shape and gives back what is bound to it: a `NodeFilter` and a `NodeScorer`, which
then answer for any rows of the cluster's columns. `Scope` says what an answer depends on, and so when it must be
asked again:

    NODE      only the node: asked again when the node changes
    ROW       the node and the pods on it: asked again when either changes
    CLUSTER   anything: asked in every cycle, for all rows

A filter answers with a code for each row: 0 lets the pod in, anything else is a verdict that `reasons` puts into
words. A code with the bit `FINAL` says that no preemption could change it ("UnschedulableAndUnresolvable").

A plugin that would rather look at one pod on one node is written as `doorman.scheduler.out_of_tree_plugins` says.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum, IntFlag, StrEnum, auto
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec

from doorman.scheduler.cache.node_columns import Column, Rows

if TYPE_CHECKING:
    from doorman.api.views.pods import Pod
    from doorman.scheduler.cache.cluster_state import ClusterState
    from doorman.scheduler.cache.pod_shapes import Shape

SCORE_MAX: Final = 100

FINAL: Final = 1 << 39
"""The verdict stands whatever leaves the node."""

CODE_BITS: Final = 40
PASS: Final = 1 << 62
"""The verdict of all filters together when every one lets the pod in."""

ABSENT: Final = -1
"""The verdict on a row that holds no node."""


class Scope(Enum):
    NODE = auto()
    ROW = auto()
    CLUSTER = auto()


class Detail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One objection of a filter to one node, for people: what stands in the way, by name and amount."""

    reason: str
    """The words Kubernetes uses."""
    what: str = ""
    """What exactly: a taint, a label, an amount, a port."""
    topic: str = ""
    """What it is about, the same for nodes that differ only in amounts; empty when `what` says it."""
    remedy: Mapping[str, Any] | None = None  # a fragment of a pod's spec that would cure it, ready to paste
    shortfall: int = 0
    """How much lacks, in the resource's unit (thousandths for cpu)."""


class NodeFilter(Protocol):
    """One of scope ROW may have an attribute `alike`, hashable: those of a plugin that have it in common say the same
    of every row, and are asked once for all of them. So may a scorer.
    """

    def codes(self, rows: Rows) -> Column: ...

    def reasons(self, code: int) -> Sequence[str]: ...

    def details(self, row: int) -> Sequence[Detail]:
        """All objections to the node in this row, for `explain`; empty exactly when `codes` lets the pod in."""
        ...


class NodeScorer(Protocol):
    def raw(self, rows: Rows) -> Column:
        """Scores before normalising. A scorer of scope CLUSTER is always given all feasible rows at once."""
        ...


@runtime_checkable
class Normaliser(Protocol):
    """Makes scores from 0 to 100 of raw ones, in view of all feasible nodes."""

    def summary(self, raw: Column) -> Hashable:
        """What the result for one node depends on besides its own raw score: a maximum, say."""
        ...

    def normalised(self, raw: Column, summary: Any) -> Column: ...  # what `summary` gave


class PreFilterReject(msgspec.Struct, frozen=True, kw_only=True):
    """No node can be right for this shape."""

    message: str
    final: bool = True


class Plugin(Protocol):
    @property
    def name(self) -> str: ...


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    @property
    def filter_scope(self) -> Scope: ...

    def filter_for(self, shape: "Shape", cluster: "ClusterState") -> NodeFilter | PreFilterReject | None:
        """None when the plugin has nothing to say about this shape."""
        ...


@runtime_checkable
class PodFilterPlugin(Plugin, Protocol):
    """A filter plugin that looks at more of a pod than its shape, at claims that only it has: of scope CLUSTER."""

    def filter_for_pod(self, pod: "Pod", cluster: "ClusterState") -> NodeFilter | PreFilterReject | None: ...


@runtime_checkable
class VolumePlugin(PodFilterPlugin, Protocol):
    """A filter plugin that has nothing to say of pods without claims and disks, and is not asked about them."""

    @property
    def is_for_volumes(self) -> bool: ...


@runtime_checkable
class NamesPlugin(Plugin, Protocol):
    """A filter plugin that can name the only nodes worth a look."""

    def node_names_or_none(self, shape: "Shape") -> frozenset[str] | None: ...


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    @property
    def score_scope(self) -> Scope: ...

    def scorer_for(self, shape: "Shape", cluster: "ClusterState") -> NodeScorer | None:
        """None when the plugin has nothing to say about this shape: it then adds 0 everywhere."""
        ...


@runtime_checkable
class PodScorePlugin(Plugin, Protocol):
    """A score plugin that looks at more of a pod than its shape: of scope CLUSTER."""

    def scorer_for_pod(self, pod: "Pod", cluster: "ClusterState") -> NodeScorer | None: ...


@runtime_checkable
class PreEnqueuePlugin(Plugin, Protocol):
    def waits(self, pod: "Pod") -> str:
        """Why the pod may not be tried yet; empty when it may."""
        ...


class EventResource(StrEnum):
    """What an event is about."""

    NODE = "Node"
    ASSIGNED_POD = "AssignedPod"
    TARGET_POD = "TargetPod"
    """The waiting pod itself."""
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    """Or a rule that taints its devices."""
    DEVICE_CLASS = "DeviceClass"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    WILDCARD = "*"


class ActionType(IntFlag):
    """What happened to it."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_NODE_DECLARED_FEATURE = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_UP = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_GATES_ELIMINATED = auto()
    UPDATE_POD_TOLERATION = auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = auto()
    UPDATE_OTHER = auto()


class ClusterEvent(msgspec.Struct, frozen=True):
    """A change in the cluster that may make waiting pods fit."""

    resource: EventResource
    change: ActionType
    old: Any = None  # Node, Pod …, as the resource says; None for an add
    new: Any = None
    only: frozenset[str] | None = None
    """Keys of the only pods to which it can matter; None when it may be any."""


HintFunction = Callable[["Shape", ClusterEvent], bool]
"""Whether the event may make a pod of this shape fit, as far as this plugin rejected it."""


def always(_shape: "Shape", _event: ClusterEvent) -> bool:
    """Of a hint: whatever the change, it is worth a try."""
    return True


class Hint(msgspec.Struct, frozen=True):
    resource: EventResource
    changes: ActionType
    is_worth_a_try: HintFunction
    is_for_pod: "Callable[[Pod, ClusterEvent], bool] | None" = None
    """Asked instead when the answer depends on more of the pod than its shape: the claims that are its own."""


@runtime_checkable
class HintPlugin(Plugin, Protocol):
    """A plugin that says which events are worth another try. One that rejects and has no hints is woken by none."""

    def hints(self) -> Sequence[Hint]: ...
