"""The views of what pods ask for and were given: ResourceClaims and the templates they are made from."""

from typing import Any, Final

import msgspec

from doorman.api.views.meta import Condition, ObjectMeta, View
from doorman.api.views.pods import NodeSelector
from doorman.api.views.resource.devices import DeviceId, DeviceSelector, DeviceToleration

CLAIMS: Final = "resourceclaims.resource.k8s.io"
CLAIM_TEMPLATES: Final = "resourceclaimtemplates.resource.k8s.io"

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
EXTENDED_RESOURCE_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"


class CapacityRequirements(View, frozen=True, kw_only=True):
    requests: dict[str, str] = {}


class ExactDeviceRequest(View, frozen=True, kw_only=True):
    """Also the shape of a sub-request, which has a name besides and never admin access."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(View, frozen=True, kw_only=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] = ()


class DeviceConstraint(View, frozen=True, kw_only=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(View, frozen=True, kw_only=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[dict[str, Any], ...] = ()  # JSON that only drivers read


class ResourceClaimSpec(View, frozen=True, kw_only=True):
    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(View, frozen=True, kw_only=True):
    """One result of an allocation."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    share_id: str = msgspec.field(default="", name="shareID")
    consumed_capacity: dict[str, str] = {}
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()

    @property
    def id(self) -> DeviceId:
        return self.driver, self.pool, self.device


class DeviceAllocation(View, frozen=True, kw_only=True):
    results: tuple[AllocatedDevice, ...] = ()


class ClaimAllocation(View, frozen=True, kw_only=True):
    devices: DeviceAllocation = DeviceAllocation()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str = ""


class ClaimConsumer(View, frozen=True, kw_only=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(View, frozen=True, kw_only=True):
    """What a driver reports of a device it gave."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = msgspec.field(default="", name="shareID")
    conditions: tuple[Condition, ...] = ()


class ResourceClaimStatus(View, frozen=True, kw_only=True):
    allocation: ClaimAllocation | None = None
    reserved_for: tuple[ClaimConsumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: dict[str, Any] = {}  # a ResourceClaimSpec as JSON: copied, never read


class ResourceClaimTemplate(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
