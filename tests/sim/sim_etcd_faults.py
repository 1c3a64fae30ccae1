"""What goes wrong where etcd is the store: to its members, to the ways between, and to the servers that ask them."""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from sim.sim_cluster import SimCluster
from sim.sim_etcd_members import USUAL_DELAY_SECONDS_MAX, SimMember
from sim.sim_faults import Faults
from sim.sim_grpc import EtcdLink

if TYPE_CHECKING:
    from sim.simulation import Simulation

ETCD_KINDS = (
    "kill-server", "kill-front", "restart", "stop", "slow-network", "cut", "clock",
    "kill-member", "kill-member", "stop-member", "stop-member", "cut-member", "cut-member", "slow-member",
    "no-quorum", "cut-link", "cut-link", "cut-from-all", "lost-answers", "lost-answers", "compact", "compact",
    "no-space", "busy", "stop-leader", "cut-leader", "forget-and-hang", "hang-in-read", "stall", "restart-in-stall",
)  # fmt: skip


SLOW_READ_SECONDS_MAX = 0.5
HANG_SECONDS = 25.0
LOOK_SECONDS, LOOKS_MAX = 0.05, 60
"""How often it is looked whether some member reads much."""


class EtcdFaults(Faults):
    pause_seconds_mean = 1.5
    stops_seconds = (0.5, 5.0, 15.0, 25.0)
    lulls_seconds = MappingProxyType({"hang-in-read": 15.0, "restart-in-stall": 25.0})

    def __init__(self, simulation: "Simulation", kinds: tuple[str, ...]) -> None:
        super().__init__(simulation, kinds)
        assert simulation.etcd is not None, "there is etcd"
        self._servers = simulation.etcd
        self._etcd = simulation.etcd.etcd
        self._all_kinds = kinds
        self._held: dict[SimMember, float] = {}
        """Members that are not mended sooner, whatever else was done to them before."""

    def begin(self) -> None:
        """Some kinds in each round, now few and now many: where everything happens at once little comes of each."""
        rng, kinds = self._simulation.world.rng, self._all_kinds
        self._kinds = tuple(rng.sample(kinds, rng.randint((len(kinds) + 3) // 4, len(kinds))))
        super().begin()

    def end(self) -> None:
        super().end()
        self._mend_all()

    def _mend_all(self) -> None:
        self._held.clear()
        for member in self._etcd.members:
            self._mend_member(member)
        for cluster in self._servers.clusters:
            self._mend_links(cluster)
        self._mend_etcd()

    def _actions(self) -> dict[str, Callable[[], None]]:
        rng = self._simulation.world.rng
        cluster = rng.choice(self._servers.clusters)
        member = rng.choice(self._etcd.members)
        return {
            "kill-server": lambda: self._kill("server", cluster),
            "kill-front": lambda: self._kill("front", cluster),
            "restart": cluster.stop,
            "stop": self._stop,
            "slow-network": self._slow_network,
            "cut": self._cut,
            "clock": self._jump,
            "kill-member": lambda: self._for_a_while(member, member.kill),
            "stop-member": lambda: self._for_a_while(member, member.stop),
            "cut-member": lambda: self._for_a_while(member, member.cut_off),
            "slow-member": lambda: self._for_a_while(member, lambda: self._slow(member)),
            "no-quorum": self._lose_quorum,
            "cut-link": lambda: self._cut_links(cluster, [member]),
            "cut-from-all": lambda: self._cut_links(cluster, self._etcd.members),
            "lost-answers": lambda: self._lose_answers(cluster),
            "compact": self._compact,
            "stop-leader": self._stop_leader,
            "cut-leader": lambda: self._cut_links(self._leading(), self._etcd.members, (5.0, 12.0, 25.0)),
            "forget-and-hang": lambda: self._forget(member),
            "hang-in-read": lambda: self._hang_in_read(cluster),
            "stall": lambda: self._stall((1.0, 6.0, 12.0, 30.0)),
            "restart-in-stall": self._restart_in_stall,
            "no-space": self._fill,
            "busy": self._be_busy,
        }

    def _leading(self) -> SimCluster:
        return self._servers.leading or self._simulation.world.rng.choice(self._servers.clusters)

    def _stop_leader(self) -> None:
        world, leading = self._simulation.world, self._leading()
        if leading.server is not None:
            leading.server.stopped_until = world.now() + world.rng.choice((8.0, 17.0, 25.0))
            world.note(f"{leading.server.name} stops until {leading.server.stopped_until:.3f}")

    def _forget(self, member: SimMember) -> None:
        """All watches end, and what came since is compacted: everything is read anew, though one member hangs."""
        self._end_watches(self._servers.links)
        self._compact()
        self._for_a_while(member, member.stop)

    def _end_watches(self, links: Iterable[EtcdLink]) -> None:
        for link in links:
            for stream in list(link.streams):
                stream.lose("Socket closed")

    def _hang_in_read(self, cluster: SimCluster) -> None:
        """A server must read everything anew, there is much to read, and who is asked for it hangs before it has
        answered. Nothing else is the matter: the others could be asked.
        """
        world, members = self._simulation.world, self._etcd.members
        self._mend_all()
        if cluster.server is not None:
            cluster.server.stopped_until = min(cluster.server.stopped_until, world.now())

        def forget() -> None:
            self._compact_up_to(self._etcd.history.revision)
            for member in members:
                member.read_seconds_max = SLOW_READ_SECONDS_MAX
            self._mend_links(cluster)
            look(0)

        def look(looks: int) -> None:
            reading = [member for member in members if member.reads and not member.is_stopped]
            if reading and world.rng.random() < 0.3:
                self._hold(reading[0], reading[0].stop)
            elif looks < LOOKS_MAX and self.are_on:
                world.after(LOOK_SECONDS, lambda: look(looks + 1))

        for member in members:
            cluster.links[member.address].cut()
        self._end_watches(cluster.links.values())
        world.after(world.rng.uniform(1.0, 4.0), forget)

    def _stall(self, lasting: tuple[float, ...]) -> None:
        """Disks stand still: nothing new is agreed upon for a while, and then all that was asked for at once."""
        world = self._simulation.world
        self._etcd.stall()
        stalls = self._etcd.stalls

        def go_on() -> None:
            if stalls == self._etcd.stalls:
                self._etcd.go_on()

        world.after(world.rng.choice(lasting), go_on)

    def _restart_in_stall(self) -> None:
        """Whoever leads is to end, and can read what it holds, and not give it back."""
        self._leading().stop()
        self._stall((30.0,))

    def _for_a_while(self, member: SimMember, happen: Callable[[], None], seconds: float = 0.0) -> None:
        world = self._simulation.world
        world.note(f"member {member.number}")
        happen()

        def mend() -> None:
            if world.now() >= self._held.get(member, 0.0):
                self._mend_member(member)

        world.after(seconds or world.rng.choice((0.5, 3.0, 10.0, 25.0)), mend)

    def _hold(self, member: SimMember, happen: Callable[[], None]) -> None:
        """For a while, and whatever mends it meanwhile does not."""
        if self.are_on:
            self._held[member] = self._simulation.world.now() + HANG_SECONDS
            self._for_a_while(member, happen, HANG_SECONDS)

    def _mend_member(self, member: SimMember) -> None:
        member.delay(USUAL_DELAY_SECONDS_MAX)
        member.read_seconds_max = 0.0
        member.start()
        member.go_on()
        member.mend()

    def _slow(self, member: SimMember) -> None:
        member.delay(self._simulation.world.rng.choice((0.1, 1.0, 5.0)))

    def _lose_quorum(self) -> None:
        rng = self._simulation.world.rng
        seconds = rng.choice((1.0, 5.0, 12.0, 20.0))
        for member in rng.sample(self._etcd.members, 2):
            self._for_a_while(member, rng.choice((member.kill, member.stop, member.cut_off)), seconds)

    def _cut_links(
        self, cluster: SimCluster, members: list[SimMember], lasting: tuple[float, ...] = (0.5, 3.0, 12.0, 25.0)
    ) -> None:
        world = self._simulation.world
        world.note(f"server{cluster.name} and {[member.number for member in members]}")
        for member in members:
            cluster.links[member.address].cut()
        world.after(world.rng.choice(lasting), lambda: self._mend_links(cluster))

    def _lose_answers(self, cluster: SimCluster) -> None:
        world = self._simulation.world
        for link in cluster.links.values():
            link.lose_answers(world.rng.choice((0.05, 0.3)))
        world.after(world.rng.uniform(1, 20), lambda: self._mend_links(cluster))

    def _mend_links(self, cluster: SimCluster) -> None:
        for link in cluster.links.values():
            link.mend()

    def _compact(self) -> None:
        """By somebody else, and up to the newest revision: nobody is spared."""
        back = self._simulation.world.rng.choice((0, 0, 5, 50))
        self._compact_up_to(self._etcd.history.revision - back)

    def _compact_up_to(self, upto: int) -> None:
        history = self._etcd.history
        if self._etcd.leader is not None and upto > history.compacted_at(history.revision):
            history.compactions.append((history.revision, upto))
            self._etcd.note_state()

    def _fill(self) -> None:
        world = self._simulation.world
        self._etcd.history.is_full = True
        self._etcd.note_state()
        world.after(world.rng.uniform(0.5, 15), self._mend_etcd)

    def _be_busy(self) -> None:
        world = self._simulation.world
        self._etcd.busy = world.rng.choice((0.1, 0.5, 1.0))
        self._etcd.note_state()
        world.after(world.rng.uniform(0.5, 10), self._mend_etcd)

    def _mend_etcd(self) -> None:
        self._etcd.history.is_full = False
        self._etcd.busy = 0.0
        self._etcd.go_on()
        self._etcd.note_state()
