"""Finds devices for claims on one node.

Claims are allocated one after the other, their requests in order, and for each device that a request needs the
candidates are tried in order. The first complete solution is taken; what does not lead to one is taken back. So what
comes out depends on nothing but what went in:

>>> from doorman.api.views.meta import ObjectMeta
>>> from doorman.api.views.resource.devices import (
...     Device, DeviceAttribute, DeviceClass, DeviceTaint, ResourcePool, ResourceSlice, ResourceSliceSpec)
>>> from doorman.api.views.resource.resource_claims import DeviceClaim, DeviceRequest, ResourceClaimSpec
>>> from doorman.scheduler.devices.device_pools import DevicePools

A driver publishes two cards on a node; one of them is tainted:

>>> broken = DeviceTaint(key="broken", effect="NoSchedule")
>>> pools = DevicePools()
>>> _ = pools.put(ResourceSlice(metadata=ObjectMeta(name="cards"), spec=ResourceSliceSpec(
...     driver="gpu.example.com", node_name="node-1", pool=ResourcePool(name="node-1", resource_slice_count=1),
...     devices=(Device(name="gpu-0", taints=(broken,)), Device(name="gpu-1")))))

A claim asks for one card of the class "gpu", and gets the one that is not tainted:

>>> gpu = ExactDeviceRequest(device_class_name="gpu")
>>> claim = ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=(DeviceRequest(name="r", exactly=gpu),))))
>>> node = Node(metadata=ObjectMeta(name="node-1"))
>>> allocator = Allocator({"gpu": DeviceClass(metadata=ObjectMeta(name="gpu"))}, AllocatedDevices())
>>> [[chosen.device.id for chosen in each.devices] for each in allocator.allocate([claim], node, pools.reached_by(node))]
[[('gpu.example.com', 'node-1', 'gpu-1')]]

Two at once are more than there are, as long as nobody tolerates the taint:

>>> allocator.allocate([claim, claim], node, pools.reached_by(node)) is None
True
"""  # noqa: E501

from collections.abc import Mapping, Sequence

from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import DeviceClass
from doorman.api.views.resource.resource_claims import ExactDeviceRequest, ResourceClaim
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.allocation.allocation_search import AllocationSearch, SearchSteps, SearchTooLong
from doorman.scheduler.devices.allocation.capacity_consumption import has_room
from doorman.scheduler.devices.device_pools import NodePool
from doorman.scheduler.devices.device_requests import (
    RESULTS_MAX,
    AllocationError,
    AllocationTimeout,
    ContradictoryPool,
    NodeAllocation,
    RequestForDevices,
    is_selected,
    requested_consumption,
)
from doorman.scheduler.devices.published_devices import PublishedDevice


class Allocator:
    """Bound to the classes and to what is allocated already."""

    def __init__(self, classes: Mapping[str, DeviceClass], taken: AllocatedDevices) -> None:
        self._classes = classes
        self._taken = taken

    def allocate(
        self,
        claims: Sequence[ResourceClaim],
        node: Node,
        pools: Sequence[NodePool],
        steps: SearchSteps | None = None,
    ) -> list[NodeAllocation] | None:
        """One allocation for each claim; None when there is no solution. `steps` are shared with searches on other
        nodes. Raises AllocationError, ContradictoryPool.
        """
        requests = [self._requests(claim, pools) for claim in claims]
        search = AllocationSearch(claims, requests, pools, self._taken, steps or SearchSteps())
        try:
            if search.run():
                return search.allocations()
        except SearchTooLong as error:
            name = node.metadata.name
            raise AllocationTimeout(f"node {name}: timed out trying to allocate devices") from error
        if any(pool.contradiction for pool in pools):
            raise ContradictoryPool("invalid resource pools were encountered")
        return None

    def _requests(self, claim: ResourceClaim, pools: Sequence[NodePool]) -> list[list[RequestForDevices]]:
        """The alternatives of each request."""
        found: list[list[RequestForDevices]] = []
        least = 0
        for request in claim.spec.devices.requests:
            if request.exactly is not None:
                options = [self._request(claim, request.name, "", request.exactly, pools)]
            else:
                options = [
                    self._request(claim, request.name, each.name, each, pools) for each in request.first_available
                ]
            if not options:
                raise AllocationError(f"claim {claim.metadata.key}, request {request.name}: unknown request type")
            least += min(option.count for option in options)
            found.append(options)
        if least > RESULTS_MAX:
            text = f"number of requested devices {least} exceeds the claim limit of {RESULTS_MAX}"
            raise AllocationError(f"claim {claim.metadata.key}: {text}")
        return found

    def _request(
        self,
        claim: ResourceClaim,
        name: str,
        alternative: str,
        wanted: ExactDeviceRequest,
        pools: Sequence[NodePool],
    ) -> RequestForDevices:
        who = f"claim {claim.metadata.key}, request {alternative or name}"
        for number, selector in enumerate(wanted.selectors):
            if selector.cel is None:
                text = "CEL expression empty (unsupported selector type?)"
                raise AllocationError(f"{who}, selector #{number}: {text}")
        device_class = self._classes.get(wanted.device_class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{wanted.device_class_name}" not found'
            raise AllocationError(f"{who}: could not retrieve device class {wanted.device_class_name}: {missing}")
        request = RequestForDevices(name, alternative, wanted, device_class, wanted.count)
        if wanted.allocation_mode == "ExactCount":
            return request
        if wanted.allocation_mode != "All":
            raise AllocationError(f"{who}: unsupported count mode {wanted.allocation_mode}")
        every = _all_devices(claim, who, request, pools)
        return RequestForDevices(name, alternative, wanted, device_class, len(every), every)


def _all_devices(
    claim: ResourceClaim, who: str, request: RequestForDevices, pools: Sequence[NodePool]
) -> tuple[tuple[NodePool, PublishedDevice], ...]:
    found: list[tuple[NodePool, PublishedDevice]] = []
    for pool in pools:
        if pool.is_incomplete or pool.contradiction:
            state = "being updated" if pool.is_incomplete else "invalid"
            raise AllocationError(
                f"{who}: asks for all devices, but resource pool {'/'.join(pool.id)} is currently {state}"
            )
        for device in pool.devices:
            if is_selected(claim, request, device):
                consumption = requested_consumption(request, device)
                if consumption is not None and has_room(consumption, device.device):
                    found.append((pool, device))
    return tuple(found)
