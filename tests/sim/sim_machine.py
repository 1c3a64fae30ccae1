"""Gives the real code simulated machines instead of the real one: sockets, processes, files and clocks."""

import asyncio
import contextlib
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import doorman.front.__main__ as front_main
from doorman.base import loop_turns
from doorman.front import connections as front_connections
from doorman.runtime import control_plane, leadership
from doorman.runtime.presence import identity_lease
from doorman.runtime.real_time import front_process, running_server
from doorman.store import sqlite_store, writer_process
from doorman.store.etcd import etcd_client, etcd_reader
from doorman.store.store_contract import Store
from sim.sim_cluster import SimCluster
from sim.sim_network import SimSocket
from sim.sim_world import SimLoop, World

GARBAGE_ROWS, PAGE_KEYS = 40, 25
"""Less than in reality: what happens after thousands of writes there happens all the time here."""


def machine() -> SimCluster:
    """Where the process that runs is."""
    found: SimCluster = cast(SimLoop, asyncio.get_running_loop()).machine
    return found


class Machines:
    """All that serve one store: a client comes to any of them."""

    def __init__(self, world: World, clusters: list[SimCluster]) -> None:
        self._world = world
        self.clusters = clusters

    @property
    def are_several(self) -> bool:
        return len(self.clusters) > 1

    def connect(self, protocol: asyncio.Protocol, loop: SimLoop) -> SimSocket:
        """Raises ConnectionRefusedError."""
        if not self.are_several:
            return self.clusters[0].connect(protocol, loop)
        accepting = [cluster for cluster in self.clusters if cluster.accepting is not None]
        if not accepting:
            raise ConnectionRefusedError
        return self._world.rng.choice(accepting).connect(protocol, loop)

    def at_the_other_end(self, socket: SimSocket) -> SimCluster:
        """Of a client's connection."""
        loop = socket.peer._loop
        assert loop is not None, "somebody has accepted it"
        found: SimCluster = loop.machine
        return found

    def client_sockets(self) -> list[SimSocket]:
        return [socket for cluster in self.clusters for socket in cluster.client_sockets()]


@contextlib.contextmanager
def installed(world: World) -> Iterator[None]:
    """For as long as the block takes."""
    sockets = SimpleNamespace(socketpair=lambda: machine().socket_pair(), SOL_SOCKET=0, SO_SNDBUF=0)
    processes = SimpleNamespace(Popen=lambda *args, **options: machine().spawn(*args, **options), DEVNULL=0)
    names = SimpleNamespace(gethostname=lambda: f"machine{machine().name}")
    real_open, real_plane = running_server.open_store, control_plane.ControlPlane

    async def open_store(*arguments: Any) -> Store:
        here = machine()
        store = here.store = await real_open(*arguments)
        here.on_opened(store)
        return store

    def make_plane(*arguments: Any, **options: Any) -> Any:
        plane = machine().plane = real_plane(*arguments, **options)
        machine().on_plane(plane)
        return plane

    with contextlib.ExitStack() as stack:
        for module, name, value in (
            (sqlite_store, "socket", sockets), (sqlite_store, "subprocess", processes),
            (front_process, "socket", sockets), (front_process, "subprocess", processes),
            (front_process, "write_private", lambda *_: None), (sqlite_store, "hold", lambda at: machine().hold(at)),
            (running_server, "SystemClock", lambda: machine().clock),
            (running_server, "gc", SimpleNamespace(freeze=lambda: None)),
            (running_server, "load_or_make", lambda *_, **__: machine().credentials),
            (running_server, "write_kubeconfig", lambda *_, **__: None),
            (running_server, "own_config", lambda *_, **__: None),
            (running_server, "open_store", open_store), (control_plane, "ControlPlane", make_plane),
            (front_connections, "SystemClock", lambda: machine().clock), (front_connections, "give_back", lambda: None),
            (front_main, "Connections", lambda *args: machine().connections(*args)),
            (loop_turns, "spent", world.spent),
            (writer_process, "connect", lambda file: machine().connect_database(file)),
            (sqlite_store, "sync_files", lambda at: machine().sync_files(at)),
            (sqlite_store, "GARBAGE_ROWS_PER_GROUP", GARBAGE_ROWS),
            (leadership, "random", SimpleNamespace(Random=lambda: random.Random(world.rng.random()))),
            (leadership, "socket", names), (identity_lease, "socket", names),
            (etcd_client, "GrpcChannel", lambda address, _: machine().channel(address)),
            (etcd_reader, "PAGE_KEYS", PAGE_KEYS),
        ):  # fmt: skip
            stack.enter_context(mock.patch.object(module, name, value))
        yield
