"""Leases of etcd, by which objects go after a time: one is shared by many objects, as kube-apiserver does it."""

from typing import Final

from doorman.base.clock import Clock
from doorman.store.etcd.etcd_client import EtcdClient

OBJECTS_MAX: Final = 1000
REUSED_SECONDS_MAX: Final = 60
REUSED_SHARE: Final = 0.05
"""Of the time to live: nothing lives longer than it should by more than that."""


class _Lease:
    __slots__ = ("ends", "number", "objects")

    def __init__(self, number: int, ends: float) -> None:
        self.number = number
        self.ends = ends
        self.objects = 0


class EtcdLeases:
    def __init__(self, client: EtcdClient, clock: Clock, reused_seconds_max: int = REUSED_SECONDS_MAX) -> None:
        self._client = client
        self._clock = clock
        self._reused_seconds_max = reused_seconds_max
        self._leases: dict[int, _Lease] = {}
        """By the time to live that is asked for."""

    async def for_seconds(self, seconds: int) -> int:
        """A lease that ends no sooner."""
        lease = self._leases.get(seconds)
        if lease is None or lease.ends < self._clock.steady() + seconds or lease.objects >= OBJECTS_MAX:
            wanted = seconds + min(self._reused_seconds_max, int(seconds * REUSED_SHARE))
            began = self._clock.steady()
            answer = await self._client.grant(wanted)
            lease = self._leases[seconds] = _Lease(answer.ID, began + wanted)
        lease.objects += 1
        return lease.number

    def forget(self) -> None:
        """etcd no longer knows them."""
        self._leases.clear()
