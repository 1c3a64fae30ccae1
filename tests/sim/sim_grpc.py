"""Channels to members of a simulated etcd, with the methods that `grpc_channel.py` has.

A call that a member does not answer ends at its deadline, one whose connection ends is told so: whether it was done
nobody knows then. What was on its way when a connection is cut arrives when it is mended, or never.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from doorman.store.etcd.etcd_messages import MESSAGES
from doorman.store.etcd.grpc_channel import GrpcError
from sim.sim_etcd import Message, Refused
from sim.sim_etcd_members import NEVER, USUAL_DELAY_SECONDS_MAX, Sent, SimEtcd, SimMember
from sim.sim_etcd_watcher import Watcher
from sim.sim_world import SimLoop

REQUESTS = {
    "KV/Range": "RangeRequest", "KV/Txn": "TxnRequest", "KV/Compact": "CompactionRequest",
    "Lease/LeaseGrant": "LeaseGrantRequest", "Maintenance/Status": "StatusRequest",
}  # fmt: skip
NOBODY = "failed to connect: Connection refused"
KEEPALIVE_SECONDS = (10.0, 15.0)
TIMED_OUT = "etcdserver: request timed out"
TIMED_OUT_SECONDS = (5.0, 8.0)
"""After which a member gives up what it could not do."""


def error_of(refused: Refused) -> GrpcError:
    return GrpcError(refused.code, refused.text, is_unsent=refused.text == NOBODY)


class EtcdLink:
    """The way between one server and one member, in both directions."""

    def __init__(self, etcd: SimEtcd, member: SimMember) -> None:
        self.etcd = etcd
        self.member = member
        self.is_cut = False
        self.lost_answers = 0.0
        """How many of the answers do not arrive."""
        self.usual_since = 0.0
        """Since when everything arrives; infinity: it does not."""
        self.streams: list[SimStream] = []
        self.calls: list[Call] = []
        self._cuts = 0
        self._held: list[Callable[[], None]] = []
        member.links.append(self)

    def delay(self) -> float:
        return self.etcd.world.rng.random() ** 3 * USUAL_DELAY_SECONDS_MAX

    def carry(self, work: Callable[[], None], lost: Callable[[], None] | None = None) -> None:
        """`lost` is done when it was lost after all: without that it arrives sooner or later, unless the connection is
        given up before.
        """
        world = self.etcd.world
        if not self.is_cut:
            world.after(self.delay(), work)
        else:
            self._held.append(work if lost is None or world.rng.random() < 0.5 else lost)

    def cut(self) -> None:
        if not self.is_cut:
            self.is_cut = True
            self.usual_since = NEVER
            self._cuts += 1
            self.expect_keepalive()

    def lose_answers(self, share: float) -> None:
        self.lost_answers = share
        self.usual_since = NEVER

    def mend(self) -> None:
        if self.is_cut or self.lost_answers:
            self.usual_since = self.etcd.world.now()
        self.is_cut = False
        self.lost_answers = 0.0
        held, self._held = self._held, []
        for work in held:
            self.carry(work)
        for stream in self.streams:
            stream.flush()

    def expect_keepalive(self) -> None:
        """A member that is not heard of ends what is open to it."""
        cuts, world = self._cuts, self.etcd.world

        def look() -> None:
            if (self.is_cut and cuts == self._cuts) or self.member.is_stopped:
                self._held.clear()
                self._lose("keepalive watchdog timeout")

        world.after(world.rng.uniform(*KEEPALIVE_SECONDS), look)

    def member_died(self) -> None:
        self._lose("Socket closed")

    def _lose(self, why: str) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            self.etcd.world.after(self.delay(), partial(call.settle, Refused("UNAVAILABLE", why)))
        for stream in list(self.streams):
            stream.lose(why)

    def client_died(self) -> None:
        self.calls.clear()
        for stream in list(self.streams):
            stream.cancel()


class Call:
    """One that is answered once, or not at all."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self.answered: asyncio.Future[bytes] = loop.create_future()

    def settle(self, told: bytes | Refused) -> None:
        self._loop.call_soon(self._settle, told)

    def _settle(self, told: bytes | Refused) -> None:
        if self.answered.done():
            return
        if isinstance(told, Refused):
            self.answered.set_exception(error_of(told))
        else:
            self.answered.set_result(told)


class SimChannel:
    def __init__(self, link: EtcdLink, loop: SimLoop, writer: str) -> None:
        self._link = link
        self._loop = loop
        self._writer = writer

    async def call(self, path: str, request: bytes, seconds: float) -> bytes:
        call = Call(self._loop)
        alarm = self._loop.call_later(seconds, call.settle, Refused("DEADLINE_EXCEEDED", "Deadline Exceeded"))
        self._send(path.removeprefix("/etcdserverpb."), request, call)
        try:
            return await call.answered
        finally:
            alarm.cancel()

    async def stream(self, _path: str, metadata: Mapping[str, str], first: bytes, _seconds: float) -> "SimStream":
        assert metadata["hasleader"] == "true", "a member without a leader must not be watched"
        stream = SimStream(self._link, self._loop)
        stream.write(first)
        return stream

    async def close(self) -> None:
        """What is open ends with whoever waits for it."""

    def _send(self, method: str, data: bytes, call: Call) -> None:
        link, member, world = self._link, self._link.member, self._link.etcd.world
        sent = Sent(self._writer, world.now())
        closed = partial(call.settle, Refused("UNAVAILABLE", "Socket closed"))
        link.calls.append(call)

        def answer(found: Any) -> None:  # a message, or Refused
            told = found if isinstance(found, Refused) else found.SerializeToString()
            if call not in link.calls:
                return
            link.calls.remove(call)
            if world.rng.random() >= link.lost_answers:
                link.carry(partial(call.settle, told), closed)
            elif world.rng.random() < 0.5:
                link.carry(closed)
            else:
                slow = Refused("UNAVAILABLE", TIMED_OUT)
                world.after(world.rng.uniform(*TIMED_OUT_SECONDS), partial(call.settle, slow))

        def hear() -> None:
            if not member.is_alive:
                answer(Refused("UNAVAILABLE", NOBODY))
                return
            request = MESSAGES[REQUESTS[method]].FromString(data)
            member.do(lambda: member.hear(method, request, sent, answer))

        link.carry(hear, closed)


class SimStream:
    """An open watch, as gRPC shows it."""

    def __init__(self, link: EtcdLink, loop: SimLoop) -> None:
        self._link = link
        self._loop = loop
        self._watcher: Watcher | None = None
        self._arrived: deque[Any] = deque()
        """Messages in bytes; `Refused` is the end."""
        self._wakes = asyncio.Event()
        self._sent: deque[Any] = deque()
        """What the member has told and the network has not taken."""
        self._last_arrival = 0.0
        self._is_over = False
        link.streams.append(self)

    def write(self, request: bytes) -> None:
        if self._is_over:
            return
        told = MESSAGES["WatchRequest"].FromString(request)
        member = self._link.member
        if member.is_stopped or self._link.is_cut:
            self._link.expect_keepalive()
        self._link.carry(lambda: member.do(lambda: self._hear(told)) if member.is_alive else self.lose(NOBODY))

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def read(self) -> list[bytes]:
        while not self._arrived:
            self._wakes.clear()
            await self._wakes.wait()
        messages: list[bytes] = []
        while self._arrived and not isinstance(self._arrived[0], Refused):
            messages.append(self._arrived.popleft())
        if not messages:
            raise error_of(self._arrived.popleft())
        return messages

    def cancel(self) -> None:
        self._is_over = True
        if self in self._link.streams:
            self._link.streams.remove(self)
        if self._watcher is not None and self._watcher in self._link.member.watchers:
            self._link.member.watchers.remove(self._watcher)

    def give_up(self, why: str) -> None:
        self.lose(why)

    def lose(self, why: str) -> None:
        """What was on its way never arrives."""
        if not self._is_over:
            self.cancel()
            self._sent.clear()
            self._arrive(Refused("UNAVAILABLE", why))

    def flush(self) -> None:
        world = self._link.etcd.world
        while self._sent and not self._link.is_cut:
            self._last_arrival = max(self._last_arrival, world.now() + self._link.delay())
            world.at(self._last_arrival, partial(self._arrive, self._sent.popleft()))

    def _hear(self, request: Message) -> None:
        member = self._link.member
        if self._is_over:
            return
        if request.HasField("create_request"):
            self._watcher = member.watch(request.create_request, self._send)
        elif self._watcher is not None and self._watcher in member.watchers:
            self._watcher.tell_progress()

    def _send(self, found: Any) -> None:  # a message, or Refused
        self._sent.append(found if isinstance(found, Refused) else found.SerializeToString())
        self.flush()

    def _arrive(self, told: Any) -> None:  # bytes, or Refused
        self._arrived.append(told)
        self._loop.call_soon(self._wakes.set)
