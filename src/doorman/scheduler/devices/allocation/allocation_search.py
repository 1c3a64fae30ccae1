"""The search for devices: tries candidates in order, goes on, and takes back what leads nowhere.

All combinations of devices are tried for a request, never the same ones in another order. Since there may be more
combinations than anybody can wait for, a search ends after so many steps, which the searches for one pod on all nodes
share. One that takes long is looked at once: there may be fewer devices than are asked for, whichever are chosen.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from doorman.api.views.resource.devices import DeviceId
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices, PoolId
from doorman.scheduler.devices.allocation.capacity_consumption import Consumption, has_room
from doorman.scheduler.devices.allocation.device_constraints import ConstraintState
from doorman.scheduler.devices.allocation.device_counters import PoolCounters
from doorman.scheduler.devices.device_pools import NodePool
from doorman.scheduler.devices.device_requests import (
    RESULTS_MAX,
    AllocationError,
    ChosenDevice,
    NodeAllocation,
    RequestForDevices,
    is_selected,
    requested_consumption,
)
from doorman.scheduler.devices.published_devices import PublishedDevice
from doorman.semantics.devices.device_taints import untolerated_taint

STEPS_MAX: Final = 20_000
"""Devices tried for one pod: a tenth of a second, in the loop that serves everybody."""
STEPS_PER_NODE_MIN: Final = 256
"""Whatever the searches on other nodes took: enough for most."""
STEPS_LONG: Final = 16
"""So many more than devices are asked for: then it is worth to count how many there are."""


class SearchTooLong(Exception):
    """There are more combinations than can be tried."""


class _TooManyDevices(Exception):
    """The claim would get more devices than an allocation can hold; another alternative may need fewer."""


class _Hopeless(Exception):
    """There are fewer devices than are asked for."""


class SearchSteps:
    """How many devices may still be tried for one pod."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = STEPS_MAX


class AllocationSearch:
    """The state of one search: what was chosen so far, and what that leaves."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        requests: Sequence[Sequence[Sequence[RequestForDevices]]],
        pools: Sequence[NodePool],
        taken: AllocatedDevices,
        steps: SearchSteps,
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
        self._shared_steps = steps
        devices = sum(max(option.count for option in options) for each in requests for options in each)
        self._steps_long = devices + STEPS_LONG
        self._steps_max = max(steps.left, STEPS_PER_NODE_MIN, self._steps_long)
        self._steps = 0

    def run(self) -> bool:
        """Raises SearchTooLong, AllocationError."""
        try:
            return self._next(0, 0)
        except (_TooManyDevices, _Hopeless):
            return False
        finally:
            self._shared_steps.left -= self._steps

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
        self._steps += 1
        if self._steps == self._steps_long and self._is_hopeless():
            raise _Hopeless
        if self._steps > self._steps_max:
            raise SearchTooLong
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

    def _is_hopeless(self) -> bool:
        """Whether requests that must have devices of their own want more than there are for them."""
        wanted_devices = 0
        found: set[DeviceId] = set()
        for claim, requests in enumerate(self._requests):
            for options in requests:
                wanted = options[0]
                if len(options) > 1 or wanted.is_for_all or wanted.wanted.admin_access:
                    continue
                usable = [device for _, device in self._candidates if self._may_ever_be_used(claim, wanted, device)]
                if any(device.device.allow_multiple_allocations for device in usable):
                    return False
                wanted_devices += wanted.count
                found.update(device.id for device in usable)
                if len(usable) < wanted.count:
                    return True
        return wanted_devices > len(found)

    def _may_ever_be_used(self, claim: int, wanted: RequestForDevices, device: PublishedDevice) -> bool:
        """Whatever else is chosen."""
        if self._taken.is_taken(device.id) or untolerated_taint(device.taints, wanted.wanted.tolerations) is not None:
            return False
        try:
            return is_selected(self._claims[claim], wanted, device)
        except AllocationError:
            return True

    def _take(
        self, claim: int, wanted: RequestForDevices, pool: NodePool, device: PublishedDevice, *, must: bool
    ) -> bool:
        if must and not self._is_free(claim, wanted, device):
            return False
        consumption = requested_consumption(wanted, device)
        has_room = consumption is not None and self._has_room(consumption, device)
        if not has_room and not must:
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
        if consumption is None or not has_room:
            # Of a device that must be had, a constraint that is not satisfied is told first: it is an error.
            self._release(claim, wanted, pool, device, counts=counts)
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
        self._release(claim, wanted, pool, device, counts=self._counts(device))

    def _release(
        self, claim: int, wanted: RequestForDevices, pool: NodePool, device: PublishedDevice, *, counts: bool
    ) -> None:
        for constraint in self._constraints[claim]:
            constraint.take_back(wanted.name, wanted.alternative)
        if counts:
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
        added: list[ConstraintState] = []
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
