"""Streams of bytes between simulated processes: in order and whole, but late, in other pieces, and sometimes cut."""

import asyncio
import itertools
from collections import deque
from typing import Any

from sim.sim_world import SimLoop, World

HIGH_BYTES = 64 * 1024


class LinkConditions:
    """How well bytes travel, for all links together; faults change it for a while."""

    def __init__(self) -> None:
        self.delay_seconds_max = 0.002
        self.splits = 0.05
        """How often what was written at once arrives in two parts."""


class SimSocket(asyncio.Transport):
    """One end of a stream; a socket before a protocol is attached, its transport afterwards."""

    _numbers = itertools.count(1000)

    def __init__(self, world: World, conditions: LinkConditions, name: str) -> None:
        super().__init__()
        self.world = world
        self.name = name
        self.number = next(self._numbers)
        self.peer: SimSocket = self
        self._conditions = conditions
        self._protocol: Any = None
        self._loop: SimLoop | None = None
        self._early: deque[bytes | None] = deque()
        """What arrived and was not taken yet; None: the end."""
        self._in_flight_bytes = 0
        self._last_arrival = 0.0
        self._high_bytes = HIGH_BYTES
        self._is_paused = False
        self._is_blocked = False
        self._is_closed = False
        self._is_lost = False
        self.owner: SimLoop | None = None
        """The process that was started with it, before it has begun."""
        self.is_inherited = False
        """A child has it: its parent's own descriptor is still to be closed, which ends nothing."""

    # As a socket.

    def fileno(self) -> int:
        return self.number

    def setsockopt(self, *_: object) -> None: ...

    def attach(self, protocol: Any, loop: SimLoop) -> "SimSocket":
        self._protocol, self._loop = protocol, loop
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(self._take)
        return self

    # As a transport.

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high_bytes = high if high is not None else HIGH_BYTES

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 1) if name == "peername" else default

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def get_write_buffer_size(self) -> int:
        return self._in_flight_bytes

    def is_closing(self) -> bool:
        return self._is_closed

    def write(self, data: Any) -> None:
        if self._is_closed or self._is_lost or not data or self.world.is_inert:
            return
        data = bytes(data)
        rng = self.world.rng
        if len(data) > 1 and rng.random() < self._conditions.splits:
            at = rng.randrange(1, len(data))
            self._send(data[:at])
            data = data[at:]
        self._send(data)
        if not self._is_blocked and self._in_flight_bytes > self._high_bytes and self._protocol is not None:
            self._is_blocked = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        if self._loop is not None:
            self._loop.call_soon(self._take)

    def close(self) -> None:
        """What was written still arrives."""
        if self.world.is_inert:
            return
        if self.is_inherited:
            self.is_inherited = False
        elif not self._is_closed:
            self._is_closed = True
            self._send(None)
            self._lose()

    def abort(self) -> None:
        self.close()

    # For the simulator.

    def cut(self) -> None:
        """The way between the two is gone: what was not there yet never arrives."""
        for end in (self, self.peer):
            end._is_closed = True
            end._early.append(None)
            end._is_paused = False
            if end._loop is not None and end._loop.is_alive:
                end._loop.call_soon(end._take)

    def process_died(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._send(None)

    # Its own.

    def _send(self, data: bytes | None) -> None:
        rng, world = self.world.rng, self.world
        arrival = max(self._last_arrival, world.now() + rng.random() ** 3 * self._conditions.delay_seconds_max)
        self._last_arrival = arrival
        if data is not None:
            self._in_flight_bytes += len(data)
        peer = self.peer

        def arrive() -> None:
            if data is not None:
                self._in_flight_bytes -= len(data)
                if self._is_blocked and self._in_flight_bytes <= self._high_bytes // 4:
                    self._is_blocked = False
                    if self._loop is not None and self._loop.is_alive and not self._is_lost:
                        self._loop.call_soon(self._protocol.resume_writing)
            if peer._is_lost or (peer._loop is not None and not peer._loop.is_alive):
                return
            peer._early.append(data)
            if peer._loop is not None:
                peer._loop.call_soon(peer._take)

        world.at(arrival, arrive)

    def _take(self) -> None:
        while self._early and not self._is_paused and not self._is_lost:
            data = self._early.popleft()
            if data is None:
                self._is_closed = True
                self._lose()
            else:
                self._protocol.data_received(data)

    def _lose(self) -> None:
        if self._is_lost:
            return
        self._is_lost = True
        if self._loop is not None and self._protocol is not None:
            self._loop.call_soon(self._protocol.connection_lost, None)


def socket_pair(world: World, conditions: LinkConditions, name: str) -> tuple[SimSocket, SimSocket]:
    one, other = SimSocket(world, conditions, name), SimSocket(world, conditions, name)
    one.peer, other.peer = other, one
    return one, other
