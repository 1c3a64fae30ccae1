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
from fractions import Fraction
from typing import Final

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import DeviceClass, DeviceId, DeviceSelector
from doorman.api.views.resource.resource_claims import ExactDeviceRequest, ResourceClaim
from doorman.scheduler.devices.allocated_devices import AllocatedDevices, PoolId
from doorman.scheduler.devices.device_capacity import Consumption, consumption_or_none, has_room
from doorman.scheduler.devices.device_constraints import ConstraintState
from doorman.scheduler.devices.device_counters import PoolCounters
from doorman.scheduler.devices.device_pools import NodePool
from doorman.scheduler.devices.published_devices import PublishedDevice, SelectorError
from doorman.semantics.devices.device_taints import untolerated_taint

RESULTS_MAX: Final = 32
"""Devices in one allocation."""


class AllocationError(Exception):
    """Something is wrong with the claim or its class: looking at other nodes would not help."""


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
        """As results name it."""
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


class Allocator:
    """Bound to the classes and to what is allocated already."""

    def __init__(self, classes: Mapping[str, DeviceClass], taken: AllocatedDevices) -> None:
        self._classes = classes
        self._taken = taken

    def allocate(
        self, claims: Sequence[ResourceClaim], node: Node, pools: Sequence[NodePool]
    ) -> list[NodeAllocation] | None:
        """One allocation for each claim; None when there is no solution. Raises AllocationError, ContradictoryPool."""
        requests = [self._requests(claim, pools) for claim in claims]
        search = _Search(claims, requests, pools, self._taken)
        if search.run():
            return search.allocations()
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
                consumption = _consumption(request, device)
                if consumption is not None and has_room(consumption, device.device):
                    found.append((pool, device))
    return tuple(found)


def _consumption(request: RequestForDevices, device: PublishedDevice) -> Consumption | None:
    """What the request consumes of the device; None when the device cannot meet it."""
    requests = request.wanted.capacity.requests if request.wanted.capacity is not None else {}
    if not requests and not device.device.allow_multiple_allocations:
        return {}
    return consumption_or_none(requests, device.device)


class _TooManyDevices(Exception):
    """The claim would get more devices than an allocation can hold; another alternative may need fewer."""


class _Search:
    """The state of one search: what was chosen so far, and what that leaves."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        requests: Sequence[Sequence[Sequence[RequestForDevices]]],
        pools: Sequence[NodePool],
        taken: AllocatedDevices,
    ) -> None:
        self._claims = claims
        self._requests = requests
        self._taken = taken
        self._candidates = [
            (pool, device)
            for pool in pools
            if not pool.is_incomplete and not pool.contradiction
            for device in pool.devices
        ]
        self._constraints = [
            [ConstraintState(constraint) for constraint in claim.spec.devices.constraints] for claim in claims
        ]
        self._chosen: list[list[ChosenDevice]] = [[] for _ in claims]
        self._alternatives: dict[tuple[int, int], int] = {}
        self._users: dict[DeviceId, list[int]] = {}
        """Claims of this search by the devices they take whole."""
        self._shares: dict[DeviceId, list[Consumption]] = {}
        self._counters: dict[PoolId, PoolCounters] = {}

    def run(self) -> bool:
        try:
            return self._next(0, 0)
        except _TooManyDevices:
            return False

    def allocations(self) -> list[NodeAllocation]:
        return [
            NodeAllocation(
                claim,
                tuple(self._chosen[number]),
                tuple(options[self._alternatives.get((number, at), 0)] for at, options in enumerate(requests)),
            )
            for number, (claim, requests) in enumerate(zip(self._claims, self._requests, strict=True))
        ]

    def _next(self, claim: int, request: int) -> bool:
        """Everything from this request on."""
        if claim >= len(self._claims):
            return True
        if request >= len(self._requests[claim]):
            try:
                return self._next(claim + 1, 0)
            except _TooManyDevices:
                return False  # with other devices for this claim the next one may need fewer
        options = self._requests[claim][request]
        if not options[0].alternative:
            return self._fill(claim, request, options[0], 0, 0)
        is_beyond = True
        for number, option in enumerate(options):
            try:
                if self._fill(claim, request, option, 0, 0):
                    self._alternatives[claim, request] = number
                    return True
                is_beyond = False
            except _TooManyDevices:
                continue
        if is_beyond:
            raise _TooManyDevices
        return False

    def _fill(self, claim: int, request: int, wanted: RequestForDevices, have: int, start: int) -> bool:
        """The rest of a request of which `have` devices were found, from candidate `start` on; then what follows."""
        if wanted.is_for_all and not wanted.all_devices:
            return False
        if have >= wanted.count:
            return self._next(claim, request + 1)
        if len(self._chosen[claim]) + wanted.count - have > RESULTS_MAX:
            raise _TooManyDevices
        if wanted.is_for_all:
            pool, device = wanted.all_devices[have]
            return self._with(claim, request, wanted, have, pool, device, 0, must=True)
        for at in range(start, len(self._candidates)):
            pool, device = self._candidates[at]
            if self._is_usable(claim, wanted, device) and self._with(
                claim, request, wanted, have, pool, device, at + 1
            ):
                return True
        return False

    def _is_usable(self, claim: int, wanted: RequestForDevices, device: PublishedDevice) -> bool:
        """What is cheap comes first: whether it is in use, then the selectors."""
        if wanted.wanted.admin_access:
            if claim in self._users.get(device.id, ()):
                return False
        elif self._taken.is_taken(device.id) or self._users.get(device.id):
            return False
        return is_selected(self._claims[claim], wanted, device)

    def _with(
        self,
        claim: int,
        request: int,
        wanted: RequestForDevices,
        have: int,
        pool: NodePool,
        device: PublishedDevice,
        start: int,
        *,
        must: bool = False,
    ) -> bool:
        """Take the device and go on; take it back if that leads nowhere."""
        if not self._take(claim, wanted, pool, device, must=must):
            return False
        try:
            is_done = self._fill(claim, request, wanted, have + 1, start)
        except _TooManyDevices:
            self._give_back(claim, wanted, pool, device)
            raise
        if not is_done:
            self._give_back(claim, wanted, pool, device)
        return is_done

    def _take(
        self, claim: int, wanted: RequestForDevices, pool: NodePool, device: PublishedDevice, *, must: bool
    ) -> bool:
        if must and not self._is_free(claim, wanted, device):
            return False
        consumption = _consumption(wanted, device)
        if consumption is None or not self._has_room(consumption, device):
            return False
        counts = self._counts(device)
        if counts and not self._pool_counters(pool).take(device):
            return False
        if untolerated_taint(device.taints, wanted.wanted.tolerations) is not None or not self._constrain(
            claim, wanted, device, must=must
        ):
            if counts:
                self._pool_counters(pool).give_back(device)
            return False
        is_share = device.device.allow_multiple_allocations
        if is_share:
            self._shares.setdefault(device.id, []).append(consumption)
        else:
            self._users.setdefault(device.id, []).append(claim)
        self._chosen[claim].append(ChosenDevice(wanted, device, consumption if is_share else None))
        return True

    def _give_back(self, claim: int, wanted: RequestForDevices, pool: NodePool, device: PublishedDevice) -> None:
        self._chosen[claim].pop()
        if device.device.allow_multiple_allocations:
            shares = self._shares[device.id]
            shares.pop()
            if not shares:
                del self._shares[device.id]
        else:
            self._users[device.id].pop()
        for constraint in self._constraints[claim]:
            constraint.take_back(wanted.name, wanted.alternative)
        if self._counts(device):
            self._pool_counters(pool).give_back(device)

    def _is_free(self, claim: int, wanted: RequestForDevices, device: PublishedDevice) -> bool:
        if wanted.wanted.admin_access:
            return device.device.allow_multiple_allocations or claim not in self._users.get(device.id, ())
        return not self._taken.is_taken(device.id) and not self._users.get(device.id)

    def _has_room(self, consumption: Consumption, device: PublishedDevice) -> bool:
        if not consumption:
            return True
        trying: dict[str, Fraction] = {}
        for share in self._shares.get(device.id, ()):
            for name, (amount, _) in share.items():
                trying[name] = trying.get(name, Fraction(0)) + amount
        return has_room(consumption, device.device, self._taken.consumed(device.id), trying)

    def _counts(self, device: PublishedDevice) -> bool:
        """Whether the device's counters are to be counted: the first share of a device has done so for all."""
        if not device.device.consumes_counters:
            return False
        return not (
            device.device.allow_multiple_allocations and (self._taken.is_shared(device.id) or device.id in self._shares)
        )

    def _pool_counters(self, pool: NodePool) -> PoolCounters:
        found = self._counters.get(pool.id)
        if found is None:
            found = self._counters[pool.id] = PoolCounters(pool, self._taken.in_pool(pool.id))
        return found

    def _constrain(self, claim: int, wanted: RequestForDevices, device: PublishedDevice, *, must: bool) -> bool:
        added = []
        for constraint in self._constraints[claim]:
            if not constraint.add(wanted.name, wanted.alternative, device):
                for other in reversed(added):
                    other.take_back(wanted.name, wanted.alternative)
                if must:
                    key, name = self._claims[claim].metadata.key, wanted.wanted.name or wanted.name
                    text = f"cannot add device {'/'.join(device.id)} because a claim constraint would not be satisfied"
                    raise AllocationError(f"claim {key}, request {name}: {text}")
                return False
            added.append(constraint)
        return True
