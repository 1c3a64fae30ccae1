"""Faults planted in what speaks to etcd, and in who acts where there are several servers; see mutants.py."""

import asyncio
from typing import Any

from doorman.client.leader_election import LeaderElector
from doorman.runtime import api_server, control_plane, leadership
from doorman.store.etcd.etcd_client import EtcdClient, _Member
from doorman.store.etcd.etcd_leases import EtcdLeases
from doorman.store.etcd.etcd_messages import MESSAGES
from doorman.store.etcd.etcd_reader import EtcdReader
from doorman.store.etcd.etcd_store import EtcdStore
from sim.mutant_patches import Patch, both, every, kept_after_all, replacing


def _without_compare(real: Any) -> Any:
    calls = 0

    async def once(self: EtcdClient, method: str, request: bytes, answer: str, seconds: float) -> Any:
        nonlocal calls
        asked = MESSAGES["TxnRequest"].FromString(request) if method == "KV/Txn" else None
        if asked is not None and asked.success[0].HasField("request_put"):
            calls += 1
            if calls % 10 == 0:
                asked.ClearField("compare")
                request = asked.SerializeToString()
        return await real(self, method, request, answer, seconds)

    return once


def _answered_twice(real: Any) -> Any:
    """Every so often the answer to the transaction before is taken for the answer to this one."""
    answers: list[Any] = []

    async def call(self: _Member, method: str, request: Any, answer: str, seconds: float) -> Any:
        if method != "KV/Txn":
            return await real(self, method, request, answer, seconds)
        if len(answers) == 40:
            return (
                answers.pop()
                if answers[-1].succeeded
                else answers.clear() or await real(self, method, request, answer, seconds)
            )
        found = await real(self, method, request, answer, seconds)
        answers.append(found)
        if len(answers) > 40:
            answers.clear()
        return found

    return call


def _one_late(real: Any) -> Any:
    """A watch that goes on somewhere begins one revision too late."""
    watches = 0

    def watch(self: EtcdClient, key: bytes, end: bytes, start: int, opened: Any) -> Any:
        nonlocal watches
        watches += 1
        return real(self, key, end, start + 1 if watches > 4 else start, opened)

    return watch


def _serializable(real: Any) -> Any:
    """Asks one member for what it knows, which may be behind."""

    async def repeated(self: EtcdClient, method: str, request: bytes, answer: str, seconds: float) -> Any:
        asked = MESSAGES["RangeRequest"].FromString(request)
        asked.serializable = True
        return await real(self, method, asked.SerializeToString(), answer, seconds)

    return repeated


def _fragments_dropped(real: Any) -> Any:
    async def watch(self: EtcdClient, *arguments: Any) -> Any:
        async for answers in real(self, *arguments):
            yield [answer for answer in answers if not answer.fragment]

    return watch


def _goes_on_after_compaction(real: Any) -> Any:
    """What was compacted under a watch is passed over."""

    async def watch(self: EtcdClient, *arguments: Any) -> Any:
        async for answers in real(self, *arguments):
            for answer in answers:
                if answer.canceled:
                    yield [MESSAGES["WatchResponse"](header=answer.header)]
                    return
            yield answers

    return watch


async def _any_lease(self: EtcdLeases, seconds: int) -> int:
    """However little of it is left."""
    lease = self._leases.get(seconds)
    if lease is not None:
        return lease.number
    found: int = await _REAL_LEASE(self, seconds)
    return found


_REAL_LEASE = EtcdLeases.for_seconds


class _SetClock:
    """Takes the time of day for time that passes."""

    def __init__(self, clock: Any) -> None:
        self.steady = clock.now
        self.now = clock.now


def _by_the_time_of_day(real: Any) -> Any:
    def begin(self: EtcdLeases, client: EtcdClient, clock: Any, reused_seconds_max: int) -> None:
        real(self, client, _SetClock(clock), reused_seconds_max)

    return begin


async def _never_done(_self: EtcdStore, _mine: Any, _revision: int) -> bool:
    return False


def _created_again(_real: Any) -> Any:
    """A creation that nobody answered is tried again."""

    async def created(self: EtcdStore, mine: Any, key: bytes) -> Any:
        await asyncio.sleep(0.1)
        return await self._swapped(mine)

    return created


def _of_servers_that_slept(real: Any) -> Any:
    """Of those that lead the built-in components: the simulator's own contenders are left alone."""

    def may_act(self: LeaderElector) -> bool:
        is_believed = self._renewed_at != float("-inf")
        return is_believed if self.name.startswith("kube-") else bool(real.fget(self))

    return property(may_act)


async def _waited_for(_self: EtcdClient, _member: Any, asked: Any) -> Any:
    return await asked


async def _goes_back(self: EtcdReader, answer: Any) -> bool:
    return bool(answer.created and answer.header.revision < self._index.revision)


async def _nothing(_self: EtcdReader) -> None: ...


async def _once(work: Any) -> None:
    await work()


ETCD_MUTANTS: dict[str, Patch] = {
    "etcd-answer-taken-twice": replacing(_Member, "call", _answered_twice),
    "etcd-change-tried-again-blindly": replacing(EtcdStore, "_was_done", lambda _real: _never_done),
    "etcd-compaction-passed-over": replacing(EtcdClient, "watch", _goes_on_after_compaction),
    "etcd-compare-left-out": replacing(EtcdClient, "_once", _without_compare),
    "etcd-creation-tried-again": replacing(EtcdStore, "_created", _created_again),
    "etcd-fragment-dropped": replacing(EtcdClient, "watch", _fragments_dropped),
    "etcd-hanging-member-waited-for": replacing(EtcdClient, "_attended", lambda _real: _waited_for),
    "etcd-leader-that-slept-acts": replacing(LeaderElector, "may_act", _of_servers_that_slept),
    "etcd-lease-by-a-clock-that-is-set": replacing(EtcdLeases, "__init__", _by_the_time_of_day),
    "etcd-lease-never-granted-anew": replacing(EtcdLeases, "for_seconds", lambda _real: _any_lease),
    "etcd-member-behind-taken-for-a-backup": replacing(EtcdReader, "_is_another", lambda _real: _goes_back),
    "etcd-read-without-catching-up": replacing(EtcdReader, "catch_up", every(10, _nothing)),
    "etcd-renewal-too-late-keeps-the-lease": replacing(LeaderElector, "renew", lambda _real: kept_after_all),
    "etcd-serializable-reads": replacing(EtcdClient, "_repeated", _serializable),
    "etcd-start-waits-for-nobody": both(
        replacing(api_server, "until_answered", lambda _real: _once),
        replacing(control_plane, "until_answered", lambda _real: _once),
    ),
    "etcd-stop-waits-for-etcd": replacing(leadership, "RELEASE_SECONDS_MAX", lambda _real: 3600.0),
    "etcd-watch-resumed-one-late": replacing(EtcdClient, "watch", _one_late),
}
