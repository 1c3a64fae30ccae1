"""The copy of a cluster on which a plan is made: the real control plane, in memory, on a virtual clock.

It begins at the snapshot's instant, with everything as it was then. Controllers that cannot change where pods are
(endpoints, certificates, roles) are left out.
"""

import asyncio
from typing import Final

import msgspec

from doorman.api.identity import MASTERS
from doorman.base.clock import ManualClock
from doorman.plan.trails.event_trail import EventTrail
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.runtime.virtual_time import VirtualLoop
from doorman.snapshot.object_restoration import Restored
from doorman.store.key_index import KeyIndex
from doorman.store.memory_store import MemoryStore

WITHOUT: Final = (
    "endpoints-controller",
    "endpointslice-controller",
    "service-lb-controller",
    "horizontal-pod-autoscaler-controller",
    "certificatesigningrequest-signing-controller",
    "certificatesigningrequest-approving-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
    "root-ca-certificate-publisher-controller",
)
USER: Final = "doorman-plan"


class ClusterCopy:
    """Made inside a running `VirtualLoop` whose clock stands at the snapshot's instant."""

    def __init__(
        self,
        restored: Restored,
        settings: Settings,
        clock: ManualClock,
        *,
        seed: int,
        may_begin_rollouts: bool = True,
    ) -> None:
        """`may_begin_rollouts`: whether Deployments may get other templates on the way."""
        self.clock = clock
        self.events = EventTrail()
        store = MemoryStore(KeyIndex(restored.entries, revision=restored.revision))
        settings = _settings_of(settings, restored, seed, may_begin_rollouts=may_begin_rollouts)
        self.plane = ControlPlane(ApiServer(store, settings, clock), settings, clock, recorder=self.events)
        self.client = self.plane.client_as(USER, USER, MASTERS)

    async def prepare(self) -> None:
        await self.plane.prepare(port=6443, ca_certificate=b"plan")

    async def settle(self) -> None:
        """Until nothing more happens at this instant."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop), "a copy runs in virtual time"
        await loop.until_idle()

    async def sleep_until(self, instant: float) -> None:
        await asyncio.sleep(max(0.0, instant - self.clock.now()))
        await self.settle()


def _settings_of(settings: Settings, restored: Restored, seed: int, *, may_begin_rollouts: bool) -> Settings:
    lives = settings.pod_lives
    if restored.had_real_nodes:
        lives = msgspec.structs.replace(lives, job_run_seconds=None)
    return msgspec.structs.replace(
        settings,
        nodes=0,
        fleet=None,
        plays_provisioners=True,
        data_dir=None,
        controllers=(*(f"-{name}" for name in WITHOUT), *settings.controllers),
        pod_lives=lives,
        writes_leases=False,
        writes_replica_counts=may_begin_rollouts,
        resumed_at=restored.resumed_at,
        seed=seed,
    )
