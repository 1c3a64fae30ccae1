"""Servers of one simulated etcd: two or more, each on a machine of its own, of which one leads."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorman.api.well_known import KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from doorman.runtime.settings import Settings
from doorman.store.etcd.etcd_settings import EtcdSettings
from sim.sim_cluster import SimCluster
from sim.sim_disk import SimDisk
from sim.sim_etcd_members import SimEtcd
from sim.sim_etcd_progress import EtcdProgress
from sim.sim_etcd_truth import EVENT_SECONDS, EtcdTruth
from sim.sim_grpc import EtcdLink
from sim.sim_truth import Truth
from sim.sim_workload import NODES
from sim.sim_world import World

if TYPE_CHECKING:
    from sim.simulation import Plan

COMPONENTS = ((KUBE_CONTROLLER_MANAGER, "controllers"), (KUBE_SCHEDULER, "scheduler"))
"""By the lease under which each acts."""
AFTER_STOP_SECONDS = 1.0
COMPACTION_SECONDS = 20.0
VERSIONS = ("3.7.0", "3.7.0", "3.5.13", "3.5.1")
"""The last one cannot be asked how far a watch is."""


def settings_of(seed: int, **more: Any) -> Settings:  # of what the store needs
    return Settings(
        seed=seed, nodes=NODES, default_not_ready_toleration_seconds=20, default_unreachable_toleration_seconds=20,
        **more,
    )  # fmt: skip


class _Looks(dict[str, Callable[[], bool]]):
    """What a server's components ask before they act: whoever is told yes holds the lease, by what is written."""

    def __init__(self, servers: "SimulatedEtcd", cluster: SimCluster) -> None:
        super().__init__()
        self._servers = servers
        self._cluster = cluster

    def __setitem__(self, component: str, may_act: Callable[[], bool]) -> None:
        was_refused = False

        def look() -> bool:
            nonlocal was_refused
            is_told = may_act()
            if is_told:
                self._servers.check_holder(self._cluster, component)
                if was_refused:
                    self._servers.fail_renewed(self._cluster, component)
            was_refused = not is_told
            return is_told

        super().__setitem__(component, look)


class SimulatedEtcd:
    """The members, and the machines whose servers ask them."""

    def __init__(self, world: World, disk: SimDisk, folder: Path, plan: "Plan", truth: Truth) -> None:
        self._world = world
        self.etcd = SimEtcd(world, world.rng.choice(VERSIONS))
        self.truth = EtcdTruth(world, self.etcd, truth)
        self.clusters = [self._machine(disk, folder, plan.seed, number) for number in range(plan.servers)]
        self.truth.may_be_late = self._may_be_late
        self.progress = EtcdProgress(world, self.etcd, self.clusters, truth)

    def _machine(self, disk: SimDisk, folder: Path, seed: int, number: int) -> SimCluster:
        name = f"-{number + 1}"
        addresses = [member.address for member in self.etcd.members]
        etcd = EtcdSettings(
            servers=tuple(f"http://{address}" for address in addresses[number:] + addresses[:number]),
            compaction_seconds=COMPACTION_SECONDS, event_seconds=EVENT_SECONDS,
        )  # fmt: skip
        # Each machine gives other names: of two that began alike, each would give the same uids.
        settings = settings_of(seed * 10 + number, etcd=etcd, advertise_address=f"192.0.2.{number + 1}")
        cluster = SimCluster(self._world, disk, folder, settings, name)
        cluster.links = {member.address: EtcdLink(self.etcd, member) for member in self.etcd.members}
        cluster.on_opened = lambda store: self.truth.follow(store, name)
        cluster.on_plane = lambda plane: setattr(plane, "_may_act", _Looks(self, cluster))
        return cluster

    def _may_be_late(self, name: str, at: float) -> bool:
        server = next(each.server for each in self.clusters if each.name == name)
        return server is not None and 0 <= at - server.stopped_until < AFTER_STOP_SECONDS

    @property
    def links(self) -> list[EtcdLink]:
        return [link for cluster in self.clusters for link in cluster.links.values()]

    @property
    def is_well(self) -> bool:
        is_whole = self.etcd.is_whole and not any(link.is_cut or link.lost_answers for link in self.links)
        return is_whole and all(self._acts(*each) for each in COMPONENTS)

    def check_holder(self, cluster: SimCluster, component: str) -> None:
        lease = next(lease for lease, acting in COMPONENTS if acting == component)
        if self._holds(lease) is not cluster:
            holder = self.truth.holders.get(lease, "")
            self._world.fail(f"the {component} of server{cluster.name} may act, and {holder!r} holds {lease}")

    def fail_renewed(self, cluster: SimCluster, component: str) -> None:
        """Who was refused did not do what it had to: it must begin anew, also when it has renewed the lease since."""
        self._world.fail(f"the {component} of server{cluster.name} may act again, having lost the lease")

    @property
    def holders(self) -> tuple[str, ...]:
        """Who leads the built-in components, by what is written."""
        return tuple(self.truth.holders.get(lease, "") for lease, _ in COMPONENTS)

    @property
    def leading(self) -> SimCluster | None:
        """Whose controllers act."""
        return self._holds(KUBE_CONTROLLER_MANAGER)

    def _holds(self, lease: str) -> SimCluster | None:
        holder = self.truth.holders.get(lease, "")
        return next((each for each in self.clusters if holder.startswith(f"machine{each.name}_")), None)

    def _acts(self, lease: str, component: str) -> bool:
        """Whether who holds a lease is there, and knows of it."""
        cluster = self._holds(lease)
        may_act = cluster.plane._may_act.get(component) if cluster is not None and cluster.plane is not None else None
        return may_act is not None and may_act()
