"""Of several who want a lease one has it: by the rules of client-go, in virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from doorman.base.clock import ManualClock, sleep
from doorman.base.errors import ApiError, GroupResource, already_exists, conflict
from doorman.client.leader_election import ElectionTimes, LeaderElector
from doorman.runtime.virtual_time import run_virtual

LEASE = "kube-scheduler"
_GROUP = GroupResource("coordination.k8s.io", "leases")


class OneLease:
    """What an API server says to whoever reads and writes one lease."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.is_away = False
        self.arrives = False
        """What is written arrives by itself where others look at it."""

    def known(self, name: str) -> dict[str, Any] | None:
        return self.lease if self.arrives else None

    async def get(self, name: str) -> dict[str, Any] | None:
        self._check()
        return self.lease

    async def create(self, lease: dict[str, Any]) -> dict[str, Any]:
        self._check()
        if self.lease is not None:
            raise already_exists(_GROUP, LEASE)
        return self._put(lease)

    async def update(self, lease: dict[str, Any]) -> dict[str, Any]:
        self._check()
        assert self.lease is not None
        if lease["metadata"].get("resourceVersion") != self.lease["metadata"]["resourceVersion"]:
            raise conflict(_GROUP, LEASE, "the object has been modified")
        return self._put(lease)

    def _check(self) -> None:
        if self.is_away:
            raise ApiError(504, "Timeout", "nobody answers")

    def _put(self, lease: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": str(self.version)}}
        return self.lease

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec


def in_virtual_time(story: Callable[[ManualClock, OneLease], Awaitable[None]]) -> None:
    clock = ManualClock()

    async def run() -> None:
        await story(clock, OneLease())

    run_virtual(run(), clock=clock)


def elector(clock: ManualClock, leases: OneLease, identity: str, told: list[str] | None = None) -> LeaderElector:
    heard = told if told is not None else []
    return LeaderElector(leases, LEASE, identity, clock, random.Random(identity), told=heard.append)


def test_first_takes_it_and_the_second_waits_until_it_expires() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        told: list[str] = []
        first, second = elector(clock, leases, "a", told), elector(clock, leases, "b", told)
        await first.acquire()
        assert (leases.spec["holderIdentity"], leases.spec["leaseTransitions"]) == ("a", 0)
        began = clock.now()
        await second.acquire()  # the first never renews
        assert 15 <= clock.now() - began <= 20
        assert (leases.spec["holderIdentity"], leases.spec["leaseTransitions"]) == ("b", 1)
        assert told == ["a became leader", "b became leader"]
        assert not first.may_act
        assert second.may_act

    in_virtual_time(story)


@pytest.mark.parametrize(
    ("arrives", "seconds_max"),
    [pytest.param(True, 15.6, id="it-hears-of-renewals"), pytest.param(False, 19.5, id="it-has-to-ask")],
)
@pytest.mark.parametrize("held", [0.1, 1.9, 2.0, 7.3, 31.9])
def test_lease_of_a_holder_who_is_gone_is_taken_as_it_expires(arrives: bool, seconds_max: float, held: float) -> None:
    """Fifteen seconds after it was last seen to be renewed, which who asks every 4.4 seconds sees that much later."""

    async def story(clock: ManualClock, leases: OneLease) -> None:
        leases.arrives = arrives
        first = elector(clock, leases, "a")
        await first.acquire()
        waiting = [asyncio.ensure_future(elector(clock, leases, f"b{number}").acquire()) for number in range(20)]
        renewing = asyncio.ensure_future(first.renew())
        await sleep(clock, held)
        renewing.cancel()
        ended = clock.now()
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert 12.9 <= clock.now() - ended <= seconds_max, "it was renewed two seconds before at the latest"
        for task in waiting:
            task.cancel()

    in_virtual_time(story)


def test_one_who_stands_by_alone_is_in_time() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        for number in range(100):
            first = elector(clock, leases, f"a{number}")
            await first.acquire()
            ended = clock.now()
            second = elector(clock, leases, f"b{number}")
            await second.acquire()
            assert 15 <= clock.now() - ended <= 15.1
            await second.release()

    in_virtual_time(story)


def test_lease_that_was_given_back_is_taken_at_once_by_who_hears_of_it() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        leases.arrives = True
        first, second = elector(clock, leases, "a"), elector(clock, leases, "b")
        await first.acquire()
        waiting = asyncio.ensure_future(second.acquire())
        await sleep(clock, 3)
        await first.release()
        began = clock.now()
        await waiting
        assert clock.now() - began <= 0.5

    in_virtual_time(story)


def test_who_is_not_answered_does_not_ask_all_the_time() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        first, second = elector(clock, leases, "a"), elector(clock, leases, "b")
        await first.acquire()
        asked = 0

        async def get(_: str) -> dict[str, Any] | None:
            nonlocal asked
            asked += 1
            raise ApiError(504, "Timeout", "nobody answers")

        assert not await second._try()
        leases.get = get  # type: ignore[method-assign]
        waiting = asyncio.ensure_future(second.acquire())
        await sleep(clock, 60)
        assert 60 / 4.4 - 1 <= asked <= 60 / 2 + 1
        waiting.cancel()

    in_virtual_time(story)


def test_holder_who_renews_keeps_it() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        first, second = elector(clock, leases, "a"), elector(clock, leases, "b")
        await first.acquire()
        renewing, waiting = asyncio.ensure_future(first.renew()), asyncio.ensure_future(second.acquire())
        await sleep(clock, 120)
        assert not renewing.done()
        assert not waiting.done()
        assert first.may_act
        assert leases.spec["leaseTransitions"] == 0
        for task in (renewing, waiting):
            task.cancel()

    in_virtual_time(story)


def test_holder_whom_nobody_answers_stops_after_ten_seconds() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        told: list[str] = []
        first = elector(clock, leases, "a", told)
        await first.acquire()
        leases.is_away = True
        began = clock.now()
        await first.renew()
        assert 10 <= clock.now() - began <= 12
        assert not first.may_act
        assert told[-1] == "a stopped leading"

    in_virtual_time(story)


def test_holder_who_slept_may_not_act() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        first = elector(clock, leases, "a")
        await first.acquire()
        assert first.may_act
        await sleep(clock, 10)
        assert not first.may_act

    in_virtual_time(story)


class LateLease(OneLease):
    """Renewals take some time, as where the store does not answer."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self.seconds = 0.0

    async def update(self, lease: dict[str, Any]) -> dict[str, Any]:
        await sleep(self._clock, self.seconds)
        return await super().update(lease)


@pytest.mark.parametrize(("seconds", "is_lost"), [(7.0, False), (9.0, True), (30.0, True)])
def test_holder_whose_renewal_came_too_late_has_lost_it(seconds: float, is_lost: bool) -> None:
    """It was not allowed to act for a while: whoever acts for it begins anew. The last renewal is two seconds old."""

    async def story(clock: ManualClock, _: OneLease) -> None:
        leases = LateLease(clock)
        first = elector(clock, leases, "a")
        await first.acquire()
        renewing = asyncio.ensure_future(first.renew())
        leases.seconds = seconds
        await sleep(clock, 2.5)
        leases.seconds = 0.0
        await sleep(clock, 40)
        assert renewing.done() == is_lost
        assert leases.spec["holderIdentity"] == "a"
        renewing.cancel()

    in_virtual_time(story)


def test_lease_that_was_given_back_is_taken_at_the_next_try() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        first, second = elector(clock, leases, "a"), elector(clock, leases, "b")
        await first.acquire()
        waiting = asyncio.ensure_future(second.acquire())
        await sleep(clock, 3)
        await first.release()
        assert (leases.spec["holderIdentity"], leases.spec["leaseDurationSeconds"]) == ("", 1)
        began = clock.now()
        await waiting
        assert clock.now() - began < 4.5
        assert leases.spec["holderIdentity"] == "b"
        await first.release()
        assert leases.spec["holderIdentity"] == "b", "what is another's is not given back"

    in_virtual_time(story)


class SlowLease(OneLease):
    """A read that takes long shows what there is when it ends."""

    seconds = 0.0

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock

    async def get(self, name: str) -> dict[str, Any] | None:
        if self.seconds:
            await sleep(self._clock, self.seconds)
        return await super().get(name)


def test_lease_is_as_old_as_the_answer_and_not_as_the_question() -> None:
    """Who slept while it asked has seen a lease that was renewed meanwhile; it does not take it before its time."""

    async def story(clock: ManualClock, _: OneLease) -> None:
        leases = SlowLease(clock)
        first, second = elector(clock, leases, "a"), elector(clock, leases, "b")
        await first.acquire()
        leases.seconds = 20.0
        asking = asyncio.create_task(second._try())
        await sleep(clock, 19.0)
        leases.seconds = 0.0
        assert await first._try(), "it is renewed while the other waits for its answer"
        assert not await asking
        await sleep(clock, 4.0)
        assert first.may_act
        assert not await second._try(), "it was renewed five seconds ago"
        assert leases.spec["holderIdentity"] == "a"

    in_virtual_time(story)


def test_holder_who_sees_another_stops_at_once() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        first = elector(clock, leases, "a")
        await first.acquire()
        assert leases.lease is not None
        leases._put({**leases.lease, "spec": {**leases.spec, "holderIdentity": "b"}})
        assert first.may_act, "it cannot know"
        assert not await first._try()
        assert not first.may_act

    in_virtual_time(story)


def test_clocks_of_others_are_not_believed() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        long_ago = {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"}
        await leases.create({"metadata": {"name": LEASE}, "spec": long_ago})
        began = clock.now()
        await elector(clock, leases, "a").acquire()
        assert clock.now() - began >= 15, "it was not seen to be old, it only says so"

    in_virtual_time(story)


def test_of_two_who_try_at_once_one_is_told() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        await leases.create({"metadata": {"name": LEASE}, "spec": {"holderIdentity": ""}})
        both = [elector(clock, leases, name) for name in "ab"]
        assert sorted(await asyncio.gather(*(one._try() for one in both))) == [False, True]

    in_virtual_time(story)


def test_lease_of_coordinated_election_is_left_alone() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        spec = {"holderIdentity": "", "strategy": "OldestEmulationVersion"}
        await leases.create({"metadata": {"name": LEASE}, "spec": spec})
        assert not await elector(clock, leases, "a")._try()

    in_virtual_time(story)


@pytest.mark.parametrize(
    ("times", "is_fine"),
    [
        (ElectionTimes(), True),
        (ElectionTimes(lease_seconds=10), False),
        (ElectionTimes(renew_seconds=2.4), False),
        (ElectionTimes(retry_seconds=0), False),
    ],
)
def test_times_must_leave_room_for_each_other(times: ElectionTimes, is_fine: bool) -> None:
    assert (times.fault() == "") is is_fine


def test_leader_whose_lease_is_long_past_is_unwell() -> None:
    async def story(clock: ManualClock, leases: OneLease) -> None:
        leader, other = elector(clock, leases, "a"), elector(clock, leases, "b")
        assert leader.is_well(35.0), "nobody expects renewals of one who stands by"
        await leader.acquire()
        await sleep(clock, 34.0)
        assert leader.is_well(35.0)
        await sleep(clock, 2.0)
        assert not leader.is_well(35.0)
        await other.acquire()
        await leader.renew()
        assert leader.is_well(35.0), "it knows that it is not the leader"

    in_virtual_time(story)
