"""Which devices are taken, by which claims.

A device that allows several allocations is taken by shares, each with the capacity it consumes; any other device is
taken whole. Admin access takes nothing. What is counted twice (a claim seen allocated whose allocation was also made
here) is one and the same: entries are kept by the claim's uid.

>>> taken = AllocatedDevices()
>>> gpu = AllocatedDevice(driver="gpu.example.com", pool="node-1", device="gpu-0")
>>> taken.add("uid-1", "default/training", [gpu])
>>> taken.is_taken(gpu.id), taken.holders(gpu.id)
(True, ('default/training',))
>>> taken.remove("uid-1", [gpu]); taken.is_taken(gpu.id)
False
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from doorman.api.machinery.quantity import QuantityError, parse_quantity
from doorman.api.views.resource.devices import DeviceId
from doorman.api.views.resource.resource_claims import AllocatedDevice

PoolId = tuple[str, str]
"""Driver and pool."""


class AllocatedDevices:
    def __init__(self) -> None:
        self._whole: dict[DeviceId, dict[str, str]] = {}
        """Keys of claims by their uids."""
        self._shares: dict[DeviceId, dict[tuple[str, str], tuple[str, Mapping[str, Fraction]]]] = {}
        """By the claim's uid and the share: the claim's key, and what it consumes."""
        self._pools: dict[PoolId, dict[DeviceId, None]] = {}

    def add(self, uid: str, claim_key: str, results: Iterable[AllocatedDevice]) -> None:
        for result in results:
            if result.admin_access:
                continue
            device = result.id
            if result.share_id:
                amounts = _amounts(result.consumed_capacity)
                self._shares.setdefault(device, {})[uid, result.share_id] = (claim_key, amounts)
            else:
                self._whole.setdefault(device, {})[uid] = claim_key
            self._pools.setdefault(device[:2], {})[device] = None

    def remove(self, uid: str, results: Iterable[AllocatedDevice]) -> None:
        for result in results:
            device = result.id
            if result.share_id:
                shares = self._shares.get(device)
                if shares is not None and shares.pop((uid, result.share_id), None) is not None and not shares:
                    del self._shares[device]
            else:
                held = self._whole.get(device)
                if held is not None and held.pop(uid, None) is not None and not held:
                    del self._whole[device]
            if device not in self._shares and device not in self._whole:
                self._pools.get(device[:2], {}).pop(device, None)

    def is_taken(self, device: DeviceId) -> bool:
        """Whole: nobody else can have it."""
        return device in self._whole

    def is_shared(self, device: DeviceId) -> bool:
        return device in self._shares

    def consumed(self, device: DeviceId) -> dict[str, Fraction]:
        """What all shares of a device consume together."""
        total: dict[str, Fraction] = {}
        for _, amounts in self._shares.get(device, {}).values():
            for name, amount in amounts.items():
                total[name] = total.get(name, Fraction(0)) + amount
        return total

    def in_pool(self, pool: PoolId) -> Iterable[DeviceId]:
        """All devices of a pool that are taken, whole or in part."""
        return self._pools.get(pool, {})

    def holders(self, device: DeviceId) -> tuple[str, ...]:
        """`namespace/name` of the claims that have the device or a share of it."""
        shares = self._shares.get(device, {}).values()
        return tuple(sorted({*self._whole.get(device, {}).values(), *(key for key, _ in shares)}))


def _amounts(texts: Mapping[str, str]) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for name, text in texts.items():
        try:
            found[name] = parse_quantity(text)
        except QuantityError:
            continue
    return found
