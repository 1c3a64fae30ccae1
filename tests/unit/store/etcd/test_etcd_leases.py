"""Leases are shared as long as what they are for lives long enough, and not by too many."""

from typing import Any

from doorman.base.clock import ManualClock
from doorman.store.etcd.etcd_client import EtcdClient
from doorman.store.etcd.etcd_leases import OBJECTS_MAX, EtcdLeases
from support.etcd import EtcdMember


async def test_lease_is_shared_until_too_little_of_it_is_left(member: EtcdMember) -> None:
    client, clock = EtcdClient([member.url]), ManualClock(0.0)
    leases = EtcdLeases(client, clock)
    first = await leases.for_seconds(3600)
    clock.advance_to(clock.now() + 60)
    assert await leases.for_seconds(3600) == first, "an hour and a minute were asked for"
    clock.advance_to(clock.now() + 1)
    assert await leases.for_seconds(3600) != first
    assert await leases.for_seconds(100) != await leases.for_seconds(3600)
    await client.close()


class SetClock(ManualClock):
    """Somebody has set it back by ten minutes."""

    def now(self) -> float:
        return super().now() - 600


async def test_lease_is_as_old_as_the_time_that_has_passed(member: EtcdMember) -> None:
    """By the time of day it would be shared for ten minutes too long."""
    client, clock = EtcdClient([member.url]), ManualClock(0.0)
    leases = EtcdLeases(client, clock)
    first = await leases.for_seconds(3600)
    leases._clock = SetClock(61.0)
    assert await leases.for_seconds(3600) != first
    await client.close()


async def test_lease_is_shared_by_so_many_only(member: EtcdMember) -> None:
    client = EtcdClient([member.url])
    leases = EtcdLeases(client, ManualClock(0.0))
    numbers: dict[Any, int] = {}
    for _ in range(OBJECTS_MAX + 1):
        number = await leases.for_seconds(3600)
        numbers[number] = numbers.get(number, 0) + 1
    assert sorted(numbers.values()) == [1, OBJECTS_MAX]
    leases.forget()
    assert await leases.for_seconds(3600) not in numbers
    await client.close()
