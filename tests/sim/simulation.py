"""One simulation: a world, a server in it, clients that use it, faults that happen to it; and what must hold all along.

It goes in rounds. While faults happen everything that anybody is told is checked. Then they end, and within a bounded
time everything must be as it is wanted; and the next round begins.
"""

import asyncio
import gc
import logging
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from sim.sim_clients import PATH, PREFIX, KeyClient, SimClient, WatchClient
from sim.sim_cluster import SimCluster
from sim.sim_disk import SimDisk
from sim.sim_elections import CONTENDERS, Elections
from sim.sim_elections import FAULTS as ELECTION_FAULTS
from sim.sim_etcd_faults import ETCD_KINDS, EtcdFaults
from sim.sim_faults import KINDS, Faults
from sim.sim_machine import Machines, installed
from sim.sim_servers import SimulatedEtcd, settings_of
from sim.sim_truth import Truth
from sim.sim_workload import WORKLOADS, Disturber, PodWatch
from sim.sim_world import World

ROUND_STEPS = {"sqlite": 5_000, "etcd": 15_000}
"""By the store: with etcd more happens at a time."""
READY_SECONDS_MAX = 30.0
TAINTED_SECONDS = 60.0
REST_SECONDS = 150.0
"""Longer than a pod stays on a node that fails, and than a controller waits before it tries again."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated; one plan gives one run."""

    seed: int
    steps: int = 50_000
    store: str = "sqlite"
    servers: int = 2
    """With etcd; a directory has one."""
    faults: tuple[str, ...] = (*KINDS, *ELECTION_FAULTS)
    clients: int = 4
    watchers: int = 3
    keys: int = 8
    disturbs: bool = True
    contenders: int = CONTENDERS


def plan_of(store: str, seed: int, steps: int) -> Plan:
    """All that can happen."""
    kinds = ETCD_KINDS if store == "etcd" else KINDS
    return Plan(seed=seed, steps=steps, store=store, faults=(*kinds, *ELECTION_FAULTS))


class Report(msgspec.Struct, frozen=True, kw_only=True):
    digest: str
    steps: int
    virtual_seconds: float
    starts: int
    revisions: int
    answers: dict[str, int]
    watched: int
    gone: int
    evictions: int
    leaders: int
    faults: dict[str, int]


class Simulation:
    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.world = World(plan.seed)
        self.world.folder = str(folder)
        self.disk = SimDisk(random.Random(f"disk {plan.seed}"))
        self.truth = Truth(self.world)
        self.etcd: SimulatedEtcd | None = None
        if plan.store == "etcd":
            self.etcd = SimulatedEtcd(self.world, self.disk, folder, plan, self.truth)
            clusters = self.etcd.clusters
        else:
            clusters = [SimCluster(self.world, self.disk, folder, settings_of(plan.seed, data_dir=folder))]
            clusters[0].on_opened = self.truth.take_up
        self.machines = Machines(self.world, clusters)
        self.pods = PodWatch(self.world, self.truth)
        kinds = tuple(kind for kind in plan.faults if kind not in ELECTION_FAULTS)
        self.faults = (EtcdFaults if self.etcd is not None else Faults)(self, kinds)
        self.elections = Elections(self.world, self.machines, plan.contenders, plan.faults)
        self._loop = self.world.process("clients")
        self._acting = asyncio.Event()
        self._failure: BaseException | None = None
        self._holders: tuple[str, ...] = ()
        client = self._client
        self._users = [KeyClient(self.world, client(f"user{n}"), self.truth, plan.keys) for n in range(plan.clients)]
        self._watchers = [
            WatchClient(self.world, client(f"watch{n}"), self.truth, path, prefix)
            for n, (path, prefix) in zip(range(plan.watchers), _watched() * plan.watchers, strict=False)
        ]
        self._disturber = Disturber(self.world, client("disturber"), self.pods)
        self.disk.faults.told = lambda kind: self.world.note(f"the disk: {kind}")
        for cluster in clusters:
            cluster.on_server_death = self._server_died

    def run(self) -> Report:
        self.disk.install()
        try:
            with installed(self.world):
                self._run()
        finally:
            self.world.is_over = True
            for loop in list(self.world.loops):
                (loop.machine or self.machines.clusters[0]).kill(loop)
            self.disk.uninstall()
        answers: dict[str, int] = {}
        for user in self._users:
            for what, count in user.done.items():
                answers[what] = answers.get(what, 0) + count
        return Report(
            digest=self.world.digest, steps=self.world.steps, virtual_seconds=self.world.now(),
            starts=self.truth.opened, revisions=self.truth.revision, answers=dict(sorted(answers.items())),
            watched=sum(watcher.events for watcher in self._watchers), gone=sum(w.gone for w in self._watchers),
            evictions=self.pods.evictions, leaders=self.elections.changes,
            faults=dict(sorted({**self.faults.counts, **self.elections.counts}.items())),
        )  # fmt: skip

    def _run(self) -> None:
        for cluster in self.machines.clusters:
            self._keep_running(cluster)
        self._look()
        self._until(lambda: self._is_announced, READY_SECONDS_MAX, "the server is not ready")
        if self.plan.disturbs:
            self._do(self._disturber.begin(), 60)
        for watcher in self._watchers:
            self._spawn(watcher.run())
        for user in self._users:
            self._spawn(self._use(user.act, 0.0, 0.6))
        if self.plan.disturbs:
            self._spawn(self._use(self._disturber.act, 1.0, 8.0))
        self.elections.begin()
        while self.world.steps < self.plan.steps:
            end = min(self.world.steps + ROUND_STEPS[self.plan.store], self.plan.steps)
            self._loop.inside(self._acting.set)
            self.faults.begin()
            self._until(lambda end=end: self.world.steps >= end, float("inf"), "")  # type: ignore[misc]  # bound now
            self.faults.end()
            self._acting.clear()
            self._come_to_rest()

    # Parts of a run.

    def _come_to_rest(self) -> None:
        self.world.note("faults end")
        self._until(lambda: self._is_well, READY_SECONDS_MAX + 60, "the server is not ready after the faults")
        if self.plan.disturbs:
            # Long enough for everybody who must leave to be gone, while nothing else happens.
            self._do(self._disturber.taint_all_but_one(), 200)
            end = self.world.now() + TAINTED_SECONDS
            self._until(lambda until=end: self.world.now() >= until, TAINTED_SECONDS + 1, "")  # type: ignore[misc]
            self._do(self._disturber.mend(), 200)
        end = self.world.now() + REST_SECONDS
        self._until(lambda: self.world.now() >= end, REST_SECONDS + 1, "")
        for watcher in self._watchers:
            watcher.check_at_rest()
        if self.plan.disturbs:
            self._check_workloads()
        for cluster in self.machines.clusters:
            self._check_components(cluster.plane)
        self.world.note(f"at rest at revision {self.truth.revision}")

    def _check_workloads(self) -> None:
        for name, wanted in sorted(self._disturber.replicas.items()):
            mine = [pod for pod in self.pods.pods.values() if pod.metadata.labels.get("app") == name]
            running = [pod for pod in mine if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp]
            if len(running) != wanted:
                self.world.fail(f"{name} wants {wanted} pods at rest and has {len(running)} of {len(mine)}")
        for name, node in sorted(self.pods.nodes.items()):
            if node.spec.taints:
                self.world.fail(f"{name} is tainted at rest: {node.spec.taints}")
        assert set(self._disturber.replicas) == set(WORKLOADS)

    def _check_components(self, plane: Any) -> None:
        """What is kept in memory equals what is stored, and nothing is left over. Who stands by has no informers."""
        informers = {informer.resource: informer for informer in plane.informers.all() if informer.is_following}
        for kind in ("pods", "nodes", "deployments.apps", "replicasets.apps", "configmaps"):
            stored = plane.registry.collection(plane.kinds.named(kind)).objects
            true = {
                key.removeprefix(f"{kind}/"): event.revision
                for key, event in self.truth.current.items()
                if key.startswith(f"{kind}/")
            }
            if {key: kept.revision for key, kept in stored.items()} != true:
                self.world.fail(f"the watch cache of {kind} differs from what is stored")
            if kind != "configmaps" and kind in informers and len(informers[kind].cache) != len(true):
                self.world.fail(f"the informer of {kind} differs from what is stored")
        faults = plane.cache.faults
        if faults.counts:
            self.world.fail(f"readers failed: {faults.counts} {faults.set_aside}")
        for runner in plane.runners:
            if isinstance(runner.controller, TaintEvictionController) and runner.controller.timers_pending:
                self.world.fail("timers of evictions are left over at rest")
            if runner.depth:
                self.world.fail(f"keys of {runner.controller.name} wait at rest")

    # The operator: whoever sees to it that the server runs.

    def _keep_running(self, cluster: SimCluster) -> None:
        rng = self.world.rng
        if cluster.server is None:
            for refusal in cluster.refusals:
                if not self._may_refuse(refusal):
                    self.world.fail(f"the server does not start: {refusal}")
            cluster.refusals.clear()
            self.disk.faults.gone_off.clear()
            cluster.start()
        elif self.etcd is None and cluster.store is not None and not cluster.store.is_well and cluster.is_announced:
            cluster.stop() if rng.random() < 0.5 else cluster.kill(cluster.server)
        self.world.after(rng.uniform(0.1, 1.5), lambda: self._keep_running(cluster))

    def _may_refuse(self, refusal: str) -> bool:
        """Whether a server may not come to start, by what has happened."""
        counts, gone_off = self.faults.counts, self.disk.faults.gone_off
        if "serves connections has ended" in refusal and counts.get("kill-front"):
            return True
        is_killed = any(counts.get(kind) for kind in ("kill-writer", "kill-all", "power"))
        is_disk = "cannot be made durable" in refusal or "cannot start: " in refusal
        return "garbage" in gone_off or (is_disk and bool(gone_off or is_killed))

    @property
    def _is_announced(self) -> bool:
        return all(cluster.is_announced for cluster in self.machines.clusters)

    @property
    def _is_well(self) -> bool:
        return all(
            cluster.is_announced
            and cluster.store is not None
            and cluster.store.is_well
            and cluster.accepting is not None
            for cluster in self.machines.clusters
        ) and (self.etcd is None or self.etcd.is_well)

    def _look(self) -> None:
        """Every now and then: who must have left by now."""
        disturbed = any(
            cluster.disk_delay_seconds or cluster.conditions.delay_seconds_max > 0.1
            for cluster in self.machines.clusters
        )
        holders = self.etcd.holders if self.etcd is not None else ()
        if self.etcd is not None:
            self.etcd.progress.look()
        is_new, self._holders = holders != self._holders, holders
        if not self._is_well or disturbed or self.disk.faults.armed or is_new:
            self.pods.well_since = None
        elif self.pods.well_since is None:
            self.pods.well_since = self.world.now()
        self.pods.check()
        self.world.after(2.0, self._look)

    def _server_died(self) -> None:
        if self.etcd is None:
            self.truth.server_died()
        self.pods.well_since = None

    # Helpers.

    def _client(self, name: str) -> SimClient:
        client = SimClient(self.world, self.machines, self._loop, name)
        if self.etcd is not None:
            client.on_answer = self.etcd.progress.check_wait
        return client

    async def _use(self, act: Callable[[], Any], shortest: float, longest: float) -> None:
        while True:
            await asyncio.sleep(self.world.rng.uniform(shortest, longest))
            await self._acting.wait()
            self.world.steps += 1
            await act()

    def _spawn(self, work: Any) -> "asyncio.Task[Any]":  # a coroutine
        task = self._loop.inside(lambda: self._loop.create_task(work))
        task.add_done_callback(self._ended)
        found: asyncio.Task[Any] = task
        return found

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = error

    def _do(self, work: Any, seconds_max: float) -> None:
        task = self._spawn(work)
        self._until(task.done, seconds_max, "what was asked for is not done")

    def _until(self, holds: Callable[[], bool], seconds_max: float, why: str) -> None:
        def is_over() -> bool:
            if self._failure is not None:
                raise self._failure
            return holds()

        if not self.world.run(is_over, seconds_max):
            self.world.fail(f"{why} within {seconds_max} s")


def _watched() -> list[tuple[str, str]]:
    return [(PATH, PREFIX), ("/api/v1/pods", "pods/"), ("/api/v1/nodes", "nodes/")]


def print_nothing(_: object) -> None:
    """Of what was raised where nobody could catch it."""


def simulate(plan: Plan) -> Report:
    """Raises `SimulationFailed`."""
    logging.disable(logging.CRITICAL)
    try:
        # What the dead leave behind says something when it is collected: nobody is to hear it.
        with (
            tempfile.TemporaryDirectory(prefix="doorman-sim-") as folder,
            mock.patch.object(sys, "unraisablehook", print_nothing),
        ):
            try:
                return Simulation(plan, Path(folder)).run()
            finally:
                gc.collect()
    finally:
        logging.disable(logging.NOTSET)
