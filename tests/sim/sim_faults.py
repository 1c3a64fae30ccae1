"""What goes wrong in a simulation: one thing after the other, at moments that the seed chooses."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sim.sim_cluster import SimCluster

if TYPE_CHECKING:
    from sim.simulation import Simulation

KINDS = (
    "kill-server", "kill-writer", "kill-front", "kill-all", "power", "die-at-disk", "power-at-disk", "sync", "full",
    "write", "garbage", "slow-disk", "slow-network", "cut", "clock", "restart", "stop", "die-then-power",
)  # fmt: skip
PAUSE_SECONDS_MEAN = 3.0


class Faults:
    pause_seconds_mean = PAUSE_SECONDS_MEAN
    stops_seconds: tuple[float, ...] = (0.5, 5.0, 15.0)
    jumps_seconds: tuple[float, ...] = (-30.0, -5.0, -0.5, 0.5, 5.0, 60.0, 3600.0)
    lulls_seconds: Mapping[str, float] = MappingProxyType({})
    """How long nothing else happens after some kinds: what comes of them shows only then."""

    def __init__(self, simulation: "Simulation", kinds: tuple[str, ...]) -> None:
        self._simulation = simulation
        self._kinds = kinds
        self.counts: dict[str, int] = {}
        self.are_on = False

    def begin(self) -> None:
        self.are_on = True
        self._plan_after(0.0)

    def end(self) -> None:
        simulation = self._simulation
        self.are_on = False
        simulation.disk.faults.armed.clear()
        for cluster in simulation.machines.clusters:
            cluster.on_ready = lambda: None
        self._calm_disk()
        self._calm_network()
        for loop in [loop for loop in simulation.world.loops if loop not in simulation.elections.loops]:
            loop.stopped_until = min(loop.stopped_until, simulation.world.now())

    def _plan_after(self, lull_seconds: float) -> None:
        world = self._simulation.world
        world.after(lull_seconds + world.rng.expovariate(1 / self.pause_seconds_mean), self._happen)

    def _happen(self) -> None:
        if not self.are_on or not self._kinds:
            return
        simulation, rng = self._simulation, self._simulation.world.rng
        kind = rng.choice(self._kinds)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        simulation.world.note(f"fault {kind}")
        simulation.pods.well_since = None
        self._actions()[kind]()
        self._plan_after(self.lulls_seconds.get(kind, 0.0))

    def _actions(self) -> dict[str, Callable[[], None]]:
        cluster, disk = self._simulation.machines.clusters[0], self._simulation.disk
        within = self._simulation.world.rng.randrange(60)
        return {
            "kill-server": lambda: self._kill("server"),
            "kill-writer": lambda: self._kill("writer"),
            "kill-front": lambda: self._kill("front"),
            "kill-all": lambda: [self._kill(name) for name in ("server", "front", "writer")] and None,
            "power": cluster.lose_power,
            "die-at-disk": lambda: disk.faults.arm("death", within),
            "power-at-disk": lambda: self._lose_power_at_disk(within),
            "die-then-power": lambda: self._die_then_lose_power(within),
            "sync": lambda: disk.faults.arm("sync", within // 4),
            "full": lambda: disk.faults.arm("full", within),
            "write": lambda: disk.faults.arm("write", within),
            "garbage": lambda: self._read_garbage(within),
            "slow-disk": self._slow_disk,
            "slow-network": self._slow_network,
            "cut": self._cut,
            "clock": self._jump,
            "restart": cluster.stop,
            "stop": self._stop,
        }

    def _kill(self, name: str, cluster: SimCluster | None = None) -> None:
        cluster = cluster or self._simulation.machines.clusters[0]
        loops = {"server": [cluster.server], "front": [cluster.front], "writer": list(cluster.writers)}[name]
        for loop in loops:
            if loop is not None:
                cluster.kill(loop)

    def _lose_power_at_disk(self, within: int) -> None:
        """In the middle of a write: the writer dies there, and at the same moment everything else."""
        cluster, disk = self._simulation.machines.clusters[0], self._simulation.disk
        disk.faults.arm("death", within)
        usual = disk.on_death

        def die() -> None:
            disk.on_death = usual
            usual()
            self._simulation.world.after(0.0, cluster.lose_power)

        disk.on_death = die

    def _die_then_lose_power(self, within: int) -> None:
        """The writer dies in the middle of a write, and power is lost when the next server has just begun."""
        cluster, world = self._simulation.machines.clusters[0], self._simulation.world
        self._simulation.disk.faults.arm("death", within % 12)

        def is_ready() -> None:
            cluster.on_ready = lambda: None
            world.after(world.rng.uniform(0, 0.1), cluster.lose_power)

        def begin() -> None:
            cluster.on_ready = is_ready

        world.after(0.5, begin)

    def _read_garbage(self, within: int) -> None:
        if self._simulation.machines.clusters[0].is_mark_old:
            return
        self._kill("server")
        self._kill("writer")
        self._simulation.disk.faults.arm("garbage", within)

    def _slow_disk(self) -> None:
        world = self._simulation.world
        self._simulation.machines.clusters[0].disk_delay_seconds = world.rng.choice((0.05, 0.5, 4.0))
        world.after(world.rng.uniform(1, 20), self._calm_disk)

    def _calm_disk(self) -> None:
        self._simulation.machines.clusters[0].disk_delay_seconds = 0.0

    def _slow_network(self) -> None:
        world = self._simulation.world
        delay = world.rng.choice((0.1, 1.0, 3.0))
        for cluster in self._simulation.machines.clusters:
            cluster.conditions.delay_seconds_max, cluster.conditions.splits = delay, 0.5
        world.after(world.rng.uniform(1, 20), self._calm_network)

    def _calm_network(self) -> None:
        for cluster in self._simulation.machines.clusters:
            cluster.conditions.delay_seconds_max, cluster.conditions.splits = 0.002, 0.05

    def _cut(self) -> None:
        rng = self._simulation.world.rng
        for socket in self._simulation.machines.client_sockets():
            if rng.random() < 0.5:
                socket.cut()

    def _jump(self) -> None:
        rng = self._simulation.world.rng
        clocks = [
            *(cluster.clock for cluster in self._simulation.machines.clusters),
            *self._simulation.elections.clocks,
        ]
        for clock in clocks:
            if rng.random() < 0.5:
                clock.ahead_seconds += rng.choice(self.jumps_seconds)

    def _stop(self) -> None:
        """A process does nothing for a while, and then goes on as if nothing had been."""
        simulation, rng = self._simulation, self._simulation.world.rng
        loops = [loop for loop in simulation.world.loops if loop.name != "clients"]
        loop = rng.choice(loops)
        loop.stopped_until = simulation.world.now() + rng.choice(self.stops_seconds)
        simulation.world.note(f"{loop.name} stops until {loop.stopped_until:.3f}")
