"""Processes that elect a leader by a lease of the simulated server: never may two act at once."""

import asyncio
import random
from typing import Any

from doorman.base.errors import ApiError
from doorman.client.leader_election import LeaderElector
from sim.sim_clients import Lost, SimClient
from sim.sim_cluster import SimCluster
from sim.sim_world import SimClock, SimLoop, World

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
CONTENDERS = 3


class _Leases:
    """Reads and writes leases over the simulated network."""

    def __init__(self, client: SimClient) -> None:
        self._client = client

    async def get(self, name: str) -> dict[str, Any] | None:
        status, lease = await self._ask("GET", f"{PATH}/{name}")
        return None if status == 404 else lease

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
    def __init__(self, world: World, cluster: SimCluster, contenders: int) -> None:
        self._world = world
        self.loops = [world.process(f"contender{number}") for number in range(contenders)]
        self.clocks = [SimClock(world) for _ in self.loops]
        self.changes = 0
        self._electors: list[LeaderElector] = []
        for number, (loop, clock) in enumerate(zip(self.loops, self.clocks, strict=True)):
            leases = _Leases(SimClient(world, cluster, loop, f"contender{number}"))
            rng = random.Random(world.rng.random())
            self._electors.append(LeaderElector(leases, "simulated", f"contender{number}", clock, rng))

    def begin(self) -> None:
        for loop, elector in zip(self.loops, self._electors, strict=True):
            self._spawn(loop, self._contend(elector))
            self._spawn(loop, self._act(elector))

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
