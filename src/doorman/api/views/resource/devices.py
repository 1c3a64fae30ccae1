"""The views of what there is: ResourceSlices as drivers publish them, DeviceClasses, DeviceTaintRules."""

from typing import Any, Final

import msgspec

from doorman.api.views.meta import Condition, ObjectMeta, View
from doorman.api.views.pods import NodeSelector

SLICES: Final = "resourceslices.resource.k8s.io"
CLASSES: Final = "deviceclasses.resource.k8s.io"
TAINT_RULES: Final = "devicetaintrules.resource.k8s.io"
RESOURCE_VERSION: Final = "resource.k8s.io/v1"

DeviceId = tuple[str, str, str]
"""Driver, pool and name: what tells a device from all others."""


class DeviceTaint(View, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class DeviceToleration(View, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class DeviceAttribute(View, frozen=True, kw_only=True):
    """Exactly one of them is set."""

    int_: int | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None

    def value(self) -> int | bool | str | None:
        for found in (self.int_, self.bool_, self.string, self.version):
            if found is not None:
                return found
        return None


class CapacityRange(View, frozen=True, kw_only=True):
    min: str | None = None
    max: str | None = None
    step: str | None = None


class CapacityPolicy(View, frozen=True, kw_only=True):
    default: str | None = None
    valid_values: tuple[str, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(View, frozen=True, kw_only=True):
    value: str = "0"
    request_policy: CapacityPolicy | None = None


class DeviceCounter(View, frozen=True, kw_only=True):
    value: str = "0"


class CounterSet(View, frozen=True, kw_only=True):
    name: str = ""
    counters: dict[str, DeviceCounter] = {}


class CounterConsumption(View, frozen=True, kw_only=True):
    counter_set: str = ""
    counters: dict[str, DeviceCounter] = {}


class Device(View, frozen=True, kw_only=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    taints: tuple[DeviceTaint, ...] = ()
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    allow_multiple_allocations: bool = False
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()


class ResourcePool(View, frozen=True, kw_only=True):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(View, frozen=True, kw_only=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()


class CelSelector(View, frozen=True, kw_only=True):
    expression: str = ""


class DeviceSelector(View, frozen=True, kw_only=True):
    cel: CelSelector | None = None


class DeviceClassSpec(View, frozen=True, kw_only=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[dict[str, Any], ...] = ()  # JSON that only drivers read
    extended_resource_name: str = ""


class DeviceClass(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(View, frozen=True, kw_only=True):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(View, frozen=True, kw_only=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRuleStatus(View, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class DeviceTaintRule(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
    status: DeviceTaintRuleStatus = DeviceTaintRuleStatus()
