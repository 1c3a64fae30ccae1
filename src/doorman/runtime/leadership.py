"""Where others serve the same store: which of them runs the controllers, and which the scheduler.

Each is led where its Lease is held, under upstream's names, so that a kube-controller-manager or a kube-scheduler takes
part in it as well. Who loses a lease stops acting at once, and stands by again: the API goes on being served.
"""

import asyncio
import contextlib
import random
import socket
from typing import Final

from doorman.api.well_known import KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from doorman.base.clock import Clock
from doorman.base.generated_names import NameGenerator
from doorman.client.leader_election import LeaderElector
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.in_process.in_process_leases import InProcessLeases

RELEASE_SECONDS_MAX: Final = 5.0


class Leadership:
    def __init__(self, cluster: ControlPlane, clock: Clock) -> None:
        rng = random.Random()
        identity = f"{socket.gethostname()}_{NameGenerator(rng).uid()}"
        api = cluster.api
        leases = InProcessLeases(api.system_client(), api.newest, api.registry.catch_up)
        self._cluster = cluster
        self.electors = {
            name: LeaderElector(leases, name, identity, clock, rng)
            for name in (KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)
        }
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._lead(elector)) for elector in self.electors.values()]

    async def _lead(self, elector: LeaderElector) -> None:
        cluster = self._cluster
        while True:
            await elector.acquire()
            if elector.name == KUBE_SCHEDULER:
                cluster.lead_scheduling(lambda: elector.may_act)
                await elector.renew()
                cluster.resign_scheduling()
            else:
                cluster.lead_controllers(lambda: elector.may_act)
                renewing = asyncio.create_task(elector.renew())
                await cluster.add_nodes()
                await renewing
                cluster.resign_controllers()

    async def stop(self) -> None:
        """Nothing more is done under these leases; they are given back, unless the store does not answer: then they
        expire.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._cluster.resign_scheduling()
        self._cluster.resign_controllers()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS_MAX):
                await asyncio.gather(*(elector.release() for elector in self.electors.values()))
