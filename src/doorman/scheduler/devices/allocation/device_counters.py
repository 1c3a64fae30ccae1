"""Counters that devices of a pool share: parts of one card, of which not all can be had at once.

>>> from doorman.api.views.resource.devices import (
...     CounterConsumption, CounterSet, Device, DeviceCounter, ResourceSlice, ResourceSliceSpec)
>>> slice_ = ResourceSlice(spec=ResourceSliceSpec(driver="gpu.example.com"))
>>> def part(name, memory):
...     used = CounterConsumption(counter_set="card", counters={"memory": DeviceCounter(value=memory)})
...     return PublishedDevice(slice_, Device(name=name, consumes_counters=(used,)))
>>> pool = NodePool(("gpu.example.com", ""), counter_sets=(
...     CounterSet(name="card", counters={"memory": DeviceCounter(value="40Gi")}),))
>>> counters = PoolCounters(pool, taken=())
>>> counters.take(part("half", "20Gi")), counters.take(part("whole", "40Gi")), counters.take(part("other", "20Gi"))
(True, False, True)
"""

from collections.abc import Iterable
from fractions import Fraction

from doorman.api.machinery.quantity import QuantityError, parse_quantity
from doorman.api.views.resource.devices import DeviceId
from doorman.scheduler.devices.device_pools import NodePool
from doorman.scheduler.devices.published_devices import PublishedDevice


class PoolCounters:
    """What is left of a pool's counters while devices are tried."""

    def __init__(self, pool: NodePool, taken: Iterable[DeviceId]) -> None:
        """`taken`: devices of the pool that are allocated already, here or elsewhere."""
        self._left: dict[tuple[str, str], Fraction] = {
            (one.name, name): _amount(counter.value)
            for one in pool.counter_sets
            for name, counter in one.counters.items()
        }
        for device in taken:
            published = pool.everywhere.get(device[2])
            if published is not None:
                for counter, amount in _consumption(published):
                    self._left[counter] = self._left.get(counter, Fraction(0)) - amount

    def take(self, device: PublishedDevice) -> bool:
        """Whether there is enough for the device; if so it is counted."""
        wanted = list(_consumption(device))
        if any(self._left.get(counter, Fraction(0)) < amount for counter, amount in wanted) or any(
            left < 0 for left in self._left.values()
        ):
            return False
        for counter, amount in wanted:
            self._left[counter] -= amount
        return True

    def give_back(self, device: PublishedDevice) -> None:
        for counter, amount in _consumption(device):
            self._left[counter] += amount


def _consumption(device: PublishedDevice) -> Iterable[tuple[tuple[str, str], Fraction]]:
    for consumption in device.device.consumes_counters:
        for name, counter in consumption.counters.items():
            yield (consumption.counter_set, name), _amount(counter.value)


def _amount(text: str) -> Fraction:
    try:
        return parse_quantity(text)
    except QuantityError:
        return Fraction(0)
