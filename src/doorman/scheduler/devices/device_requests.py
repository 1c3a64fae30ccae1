"""A request for devices, made ready for a search, and what the search has chosen for it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.api.views.resource.devices import DeviceClass, DeviceSelector
from doorman.api.views.resource.resource_claims import ExactDeviceRequest, ResourceClaim
from doorman.scheduler.devices.allocation.capacity_consumption import Consumption, consumption_or_none
from doorman.scheduler.devices.device_pools import NodePool
from doorman.scheduler.devices.published_devices import PublishedDevice, SelectorError

RESULTS_MAX: Final = 32
"""Devices in one allocation."""


class AllocationError(Exception):
    """Something is wrong with the claim or its class: looking at other nodes would not help."""


class AllocationTimeout(AllocationError):
    """There are more combinations of devices than can be tried."""


class ContradictoryPool(Exception):
    """No devices were found, and some were not looked at because their pool contradicts itself."""


class RequestForDevices(msgspec.Struct, frozen=True, gc=False):
    """A request, or one of the alternatives of a request, with what it asks for."""

    name: str
    """The request's."""
    alternative: str
    """The sub-request's; empty when there are none."""
    wanted: ExactDeviceRequest
    device_class: DeviceClass
    count: int
    all_devices: tuple[tuple[NodePool, PublishedDevice], ...] = ()
    """What "all" comes to on the node."""

    @property
    def reference(self) -> str:
        """As results name it.

        >>> RequestForDevices("gpu", "large", ExactDeviceRequest(), DeviceClass(), 1).reference
        'gpu/large'
        """
        return f"{self.name}/{self.alternative}" if self.alternative else self.name

    @property
    def is_for_all(self) -> bool:
        return self.wanted.allocation_mode == "All"


class ChosenDevice(msgspec.Struct, frozen=True, gc=False):
    request: RequestForDevices
    device: PublishedDevice
    consumption: Consumption | None = None
    """Of a share; None when the device is taken whole."""


class NodeAllocation(msgspec.Struct, frozen=True, gc=False):
    """What one claim gets on a node."""

    claim: ResourceClaim
    devices: tuple[ChosenDevice, ...]
    alternatives: tuple[RequestForDevices, ...]
    """The requests in order, each as the alternative that was taken."""


def is_selected(claim: ResourceClaim, request: RequestForDevices, device: PublishedDevice) -> bool:
    """Whether the selectors of class and request want the device. Raises AllocationError."""
    own = request.device_class
    return _matches(f"class {own.metadata.name}", own.spec.selectors, device) and _matches(
        f"claim {claim.metadata.key}", request.wanted.selectors, device
    )


def _matches(who: str, selectors: Sequence[DeviceSelector], device: PublishedDevice) -> bool:
    for number, selector in enumerate(selectors):
        try:
            if selector.cel is None or not device.matches(selector.cel.expression):
                return False
        except SelectorError as error:
            where = "" if str(error).startswith("CEL compile") else f" on device {'/'.join(device.id)}"
            raise AllocationError(f"{who}: selector #{number}{where}: {error}") from error
    return True


def requested_consumption(request: RequestForDevices, device: PublishedDevice) -> Consumption | None:
    """What the request consumes of the device; None when the device cannot meet it."""
    requests = request.wanted.capacity.requests if request.wanted.capacity is not None else {}
    if not requests and not device.device.allow_multiple_allocations:
        return {}
    return consumption_or_none(requests, device.device)
