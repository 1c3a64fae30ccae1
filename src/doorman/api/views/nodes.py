"""The view of a node."""

import msgspec

from doorman.api.taints import Taint
from doorman.api.views.meta import Condition, ObjectMeta, View


class NodeSpec(View, frozen=True, kw_only=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    provider_id: str = msgspec.field(default="", name="providerID")


class ContainerImage(View, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeAddress(View, frozen=True, kw_only=True):
    type: str = ""
    address: str = ""


class NodeInfo(View, frozen=True, kw_only=True):
    kubelet_version: str = ""
    operating_system: str = ""
    architecture: str = ""


class NodeFeatures(View, frozen=True, kw_only=True):
    supplemental_groups_policy: bool = False


class AttachedVolume(View, frozen=True, kw_only=True):
    name: str = ""


class NodeStatus(View, frozen=True, kw_only=True):
    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeInfo = NodeInfo()
    images: tuple[ContainerImage, ...] = ()
    features: NodeFeatures | None = None
    declared_features: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    """Unique names of volumes that its kubelet has mounted, or is about to: they are not safe to detach."""

    def condition(self, type_: str) -> Condition | None:
        for condition in self.conditions:
            if condition.type == type_:
                return condition
        return None


class Node(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
