"""Processes that elect a leader by a lease of the simulated server: never may two act at once.

What makes elections hard happens to them all along, also while the server is left alone: whoever leads or waits is
stopped for longer than a lease lasts, is cut off from the server, or has its clock set.
"""

import asyncio
import random
from typing import Any

from doorman.base.errors import ApiError
from doorman.client.leader_election import LeaderElector
from sim.sim_clients import Lost, SimClient
from sim.sim_machine import Machines
from sim.sim_world import SimClock, SimLoop, World

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
CONTENDERS = 3
FAULTS = ("stop-contender", "cut-contender", "set-contender")
PAUSE_SECONDS_MEAN = 6.0


class _Leases:
    """Reads and writes leases over the simulated network."""

    def __init__(self, client: SimClient) -> None:
        self._client = client

    async def get(self, name: str) -> dict[str, Any] | None:
        status, lease = await self._ask("GET", f"{PATH}/{name}")
        return None if status == 404 else lease

    def known(self, name: str) -> dict[str, Any] | None:
        return None

    async def create(self, lease: dict[str, Any]) -> dict[str, Any]:
        return (await self._ask("POST", PATH, lease))[1]

    async def update(self, lease: dict[str, Any]) -> dict[str, Any]:
        return (await self._ask("PUT", f"{PATH}/{lease['metadata']['name']}", lease))[1]

    async def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        try:
            async with asyncio.timeout(5):
                status, answer = await self._client.ask(method, path, body)
        except (Lost, ConnectionRefusedError, TimeoutError) as error:
            raise ApiError(504, "Timeout", "nobody answers") from error
        if status not in (200, 201) and not (method == "GET" and status == 404):
            raise ApiError(status, str(answer.get("reason", "")), str(answer.get("message", "")))
        return status, answer


class Elections:
    def __init__(self, world: World, machines: Machines, contenders: int, faults: tuple[str, ...]) -> None:
        self._world = world
        self._machines = machines
        self._faults = tuple(kind for kind in FAULTS if kind in faults)
        self._clients: list[SimClient] = []
        self.loops = [world.process(f"contender{number}") for number in range(contenders)]
        self.clocks = [SimClock(world) for _ in self.loops]
        self.changes = 0
        self.counts: dict[str, int] = {}
        self._electors: list[LeaderElector] = []
        for number, (loop, clock) in enumerate(zip(self.loops, self.clocks, strict=True)):
            self._clients.append(SimClient(world, machines, loop, f"contender{number}"))
            leases = _Leases(self._clients[-1])
            rng = random.Random(world.rng.random())
            self._electors.append(LeaderElector(leases, "simulated", f"contender{number}", clock, rng))

    def begin(self) -> None:
        for loop, elector in zip(self.loops, self._electors, strict=True):
            self._spawn(loop, self._contend(elector))
            self._spawn(loop, self._act(elector))
        if self._faults:
            self._world.after(PAUSE_SECONDS_MEAN, self._disturb)

    def _disturb(self) -> None:
        """Mostly to whoever leads."""
        rng, world = self._world.rng, self._world
        leading = [number for number, elector in enumerate(self._electors) if elector.may_act]
        number = leading[0] if leading and rng.random() < 0.7 else rng.randrange(len(self._electors))
        kind = rng.choice(self._faults)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        world.note(f"{kind} {number}")
        if kind == "stop-contender":
            self.loops[number].stopped_until = world.now() + rng.choice((4.0, 12.0, 25.0))
        elif kind == "cut-contender":
            self._cut_off(number, rng.choice((4.0, 12.0, 25.0)))
        else:
            self.clocks[number].ahead_seconds += rng.choice((-60.0, -8.0, 8.0, 60.0))
        world.after(rng.expovariate(1 / PAUSE_SECONDS_MEAN), self._disturb)

    def _cut_off(self, number: int, seconds: float) -> None:
        self._clients[number].cut_off_until = self._world.now() + seconds
        for socket in self._machines.client_sockets():
            if socket.peer._loop is self.loops[number]:
                socket.cut()

    def _spawn(self, loop: SimLoop, work: Any) -> None:  # a coroutine
        loop.inside(lambda: loop.create_task(work))

    async def _contend(self, elector: LeaderElector) -> None:
        while True:
            await elector.acquire()
            self.changes += 1
            self._world.note(f"{elector._identity} leads")
            if self._world.rng.random() < 0.3:  # it ends before long, and gives the lease back
                await asyncio.sleep(self._world.rng.uniform(1, 20))
                await elector.release()
            else:
                await elector.renew()

    async def _act(self, elector: LeaderElector) -> None:
        while True:
            await asyncio.sleep(self._world.rng.uniform(0.3, 3.0))
            if elector.may_act:
                acting = [each._identity for each in self._electors if each.may_act]
                if len(acting) > 1:
                    self._world.fail(f"{acting} all may act")
