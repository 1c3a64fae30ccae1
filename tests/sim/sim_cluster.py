"""A whole server in a simulated world: its process, its front and its writer, put together as by `doorman up`.

The code is the real one, from `running_server` down: what is simulated is what it asks of the machine, which is
processes, sockets, the clock and the disk. TLS is left out: the front hands on what clients send in plain text.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from greenlet import GreenletExit, getcurrent, greenlet

import doorman.front.__main__ as front_main
from doorman.front.client_connection import Connection
from doorman.front.connection_limits import ConnectionLimits
from doorman.front.connections import Connections
from doorman.front.frames import FrameType
from doorman.runtime.access.credentials import Credentials
from doorman.runtime.real_time import running_server
from doorman.runtime.real_time.front_process import Front
from doorman.runtime.settings import Settings
from doorman.store import writer_process
from doorman.store.database import MARK
from doorman.store.store_contract import Store, Unusable
from sim.sim_disk import SimDisk
from sim.sim_grpc import EtcdLink, SimChannel
from sim.sim_network import LinkConditions, SimSocket, socket_pair
from sim.sim_world import SimClock, SimLoop, World

TOKEN = "the-token-of-the-administrator"
CHECKPOINT_PAGES = 60
"""Less than in reality: what happens after thousands of writes there happens all the time here."""
STOP_SECONDS_MAX = 20.0
"""Within which a server that is asked to stop must have ended."""


def _credentials() -> Credentials:
    """The same in every run, to the byte."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "simulated")])
    authority = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, None)
    )
    return Credentials(
        ca_certificate=authority.public_bytes(Encoding.PEM), ca_key=_pem(key), server_certificate=b"", server_key=b"",
        service_account_key=_pem(ec.derive_private_key(7, ec.SECP256R1())), admin_token=TOKEN,
    )  # fmt: skip


def _pem(key: Any) -> bytes:  # a private key of any kind
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


class _Process:
    """What `subprocess.Popen` gives."""

    def __init__(self, cluster: "SimCluster", loop: SimLoop) -> None:
        self._cluster = cluster
        self.loop = loop
        self.pid = 1

    def kill(self) -> None:
        self._cluster.kill(self.loop)

    def poll(self) -> int | None:
        return None if self.loop.is_alive else -9

    def wait(self, *_: Any) -> int:
        return -9


class SimCluster:
    """One machine with a server, its front and its writer; with etcd there is no writer, and may be other machines."""

    def __init__(self, world: World, disk: SimDisk, folder: Path, settings: Settings, name: str = "") -> None:
        self.world = world
        self.disk = disk
        self.name = name
        self.conditions = LinkConditions()
        self.clock = SimClock(world)
        self.on_opened: Callable[[Store], None] = lambda _: None
        self.on_plane: Callable[[Any], None] = lambda _: None
        self.on_server_death: Callable[[], None] = lambda: None
        self.on_ready: Callable[[], None] = lambda: None
        self.disk_delay_seconds = 0.0
        self.server: SimLoop | None = None
        self.front: SimLoop | None = None
        self.writers: list[SimLoop] = []
        self.accepting: Connections | None = None
        self.is_announced = False
        self.announced_at = 0.0
        self.plane: Any = None
        """The control plane of the server that is there."""
        self.is_mark_old = False
        """Since a power cut: until the writer has opened the file nothing would tell that some of it is not read."""
        self.front_deaths = 0
        self.store: Store | None = None
        self.refusals: list[str] = []
        """Why the server did not start."""
        self._sockets: list[SimSocket] = []
        self._settings = settings
        self._folder = folder
        self.credentials = _credentials()
        self._pending: dict[int, SimSocket] = {}
        self.links: dict[str, EtcdLink] = {}
        """To the members of etcd, by their addresses."""
        disk.on_death = self._worker_dies

    # Life and death.

    def start(self) -> None:
        assert self.server is None, "one at a time"
        if any(loop.is_alive for loop in self.writers):
            self.world.note("the writer of the last server is still there")
            return
        loop = self.server = self.process("server")
        self.is_announced = False
        self.store = None
        self.world.note("server starts")

        async def main() -> None:
            front = Front(cast(Any, SimpleNamespace(fileno=lambda: 0, close=lambda: None)))
            try:
                await running_server.run(self._settings, self.announce, self._folder, front, 6443, ())
            finally:
                front.end()

        def ended(task: "asyncio.Task[None]") -> None:
            error = None if task.cancelled() else task.exception()
            self.world.note(f"server has ended: {error!r}")
            if isinstance(error, Unusable):
                self.refusals.append(str(error))
            elif error is not None:
                self.world.unhandled.append(f"server: {error!r}")
            self.kill(loop)

        loop.inside(lambda: loop.create_task(main()).add_done_callback(ended))

    def process(self, name: str) -> SimLoop:
        loop = self.world.process(name + self.name)
        loop.machine = self
        return loop

    def stop(self) -> None:
        """As SIGTERM does."""
        if self.server is not None and signal.SIGTERM in self.server.signals:
            self.world.note("SIGTERM")
            stopping = self.server
            stopping.signals[signal.SIGTERM]()

            def must_be_over() -> None:
                over_at = stopping.stopped_until + STOP_SECONDS_MAX  # a process that does nothing cannot end
                if stopping.is_alive and over_at > self.world.now():
                    self.world.at(over_at, must_be_over)
                elif stopping.is_alive:
                    self.world.fail(f"server{self.name} has not ended {STOP_SECONDS_MAX} s after SIGTERM")

            self.world.after(STOP_SECONDS_MAX + self.disk_delay_seconds, must_be_over)

    def kill(self, loop: SimLoop) -> None:
        if not loop.is_alive or self.world.is_inert:
            return
        self.world.note(f"{loop.name} is gone")
        if loop is self.server:
            self.on_server_death()
            self.server = self.plane = None
            for link in self.links.values():
                link.client_died()
            self.is_announced = False
        if loop is self.front:
            self.front = None
            self.front_deaths += 1
        if self.accepting is not None and self.accepting._loop is loop:
            self.accepting = None
        writer = getattr(loop, "writer", None)
        if writer is not None:
            self.disk.let_die()
        self.world.end(loop)
        if writer is not None:
            writer.end()
            self.writers.remove(loop)
        for socket in [each for each in self._sockets if loop in (each._loop, each.owner)]:
            socket.process_died()
            self._sockets.remove(socket)

    def lose_power(self) -> None:
        self.world.note("power is lost")
        for loop in [self.server, self.front, *self.writers]:
            if loop is not None:
                self.kill(loop)
        self.disk.lose_power()
        self.is_mark_old = True
        mark = self._folder / MARK
        if mark.exists() and self.world.rng.random() < 0.5:  # it is not synced: it may be an older one
            number = int(mark.read_text() or 0)
            mark.write_text(f"{max(number - self.world.rng.randrange(50), 0):020d}\n")

    def connect(self, protocol: asyncio.Protocol, loop: SimLoop) -> SimSocket:
        """A client's connection. Raises ConnectionRefusedError."""
        if self.accepting is None:
            raise ConnectionRefusedError
        ours, theirs = socket_pair(self.world, self.conditions, "client")
        self._sockets.append(theirs)
        # Who accepts may be the front of a server that is gone, until it hears of that: what it accepts ends with it.
        theirs.attach(Connection(self.accepting), cast(SimLoop, self.accepting._loop))
        ours.attach(protocol, loop)
        return ours

    @property
    def stopped_until(self) -> float:
        """Until when something that answers clients did nothing, or will."""
        return max((loop.stopped_until for loop in (self.server, self.front) if loop is not None), default=0.0)

    def channel(self, address: str) -> SimChannel:
        return SimChannel(self.links[address], cast(SimLoop, asyncio.get_running_loop()), self.name)

    def client_sockets(self) -> list[SimSocket]:
        return [socket for socket in self._sockets if socket.name == "client" and not socket._is_closed]

    # What the real code asks of the machine.

    def announce(self, *_: object) -> None:
        self.is_announced = True
        self.announced_at = self.world.now()
        self.world.note("server is ready")
        self.on_ready()

    def hold(self, _directory: Path) -> int:
        return os.open(os.devnull, os.O_RDONLY)

    def sync_files(self, directory: Path) -> None:
        if not self.disk.sync_all():
            raise Unusable(f"{directory} cannot be made durable", "")

    def socket_pair(self) -> tuple[SimSocket, SimSocket]:
        pair = socket_pair(self.world, self.conditions, "link")
        for end in pair:
            self._sockets.append(end)
            self._pending[end.number] = end
        return pair

    def spawn(self, command: list[str], **_: Any) -> _Process:
        link = self._pending.pop(int(command[3]))
        link.is_inherited = True
        name = "writer" if "writer" in command[2] else "front"
        link.owner = loop = self.process(name)
        begin = self._begin_writer if name == "writer" else self._begin_front
        if name == "writer":
            self.writers.append(loop)
            loop.writer = _WriterLife(self, loop, link)  # type: ignore[attr-defined]  # what this process is
        else:
            self.front = loop
        self.world.after(self.world.rng.uniform(0.005, 0.2), lambda: begin(loop, link) if loop.is_alive else None)
        return _Process(self, loop)

    def _begin_front(self, loop: SimLoop, link: SimSocket) -> None:
        async def main() -> None:
            await front_main.attend(cast(Any, link), cast(Any, None), ConnectionLimits())

        loop.inside(lambda: loop.create_task(main()).add_done_callback(lambda _: self.kill(loop)))

    def _begin_writer(self, loop: SimLoop, _link: SimSocket) -> None:
        loop.call_soon(loop.writer.begin)  # type: ignore[attr-defined]  # what this process is

    def connections(self, listener: Any, limits: ConnectionLimits) -> Connections:
        cluster = self

        class SimConnections(Connections):
            """Accepts connections of the simulated network."""

            async def _listen(self, folder: Path) -> None:
                # One whose server is gone may hear this late: nobody finds the socket that it listens on any more.
                if self._loop is cluster.front:
                    cluster.accepting = self
                self._sweep()
                self.send(FrameType.READY, 0)

            async def _shut_down(self) -> None:
                if cluster.accepting is self:
                    cluster.accepting = None
                await super()._shut_down()

        return SimConnections(listener, limits)

    def connect_database(self, file: str) -> Any:
        connection = _real_connect(file)
        connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        self.is_mark_old = False
        for loop in self.writers:
            if loop.writer.life is getcurrent():  # type: ignore[attr-defined]  # what this process is
                loop.writer.connection = connection  # type: ignore[attr-defined]
        return connection

    def _worker_dies(self) -> None:
        """Whoever is at the disk."""
        current = getcurrent()
        for loop in self.writers:
            if loop.writer.life is current:  # type: ignore[attr-defined]  # what this process is
                loop.writer.is_dead = True  # type: ignore[attr-defined]
                self.world.after(0.0, partial(self.kill, loop))
                return
        if self.server is not None:
            self.world.after(0.0, partial(self.kill, self.server))


_real_connect = writer_process.connect


class _WriterLife(asyncio.Protocol):
    """The writer's process: `writer_process.serve` in a greenlet, which waits when it reads what is not there yet."""

    def __init__(self, cluster: SimCluster, loop: SimLoop, link: SimSocket) -> None:
        self._cluster = cluster
        self._loop = loop
        self._link = link
        self._received = bytearray()
        self._is_over = False
        self._wanted: int | None = None
        self.is_dead = False
        self.connection: Any = None
        self.life = greenlet(self._live)

    def begin(self) -> None:
        self._link.attach(self, self._loop)
        self.life.switch()

    def end(self) -> None:
        """It was killed: nothing that it still does has any effect."""
        self.is_dead = True
        if not self.life.dead and self.life is not getcurrent() and self.life:
            self.life.throw(GreenletExit)
        if self.connection is not None:
            with contextlib.suppress(Exception):
                self.connection.close()
            self.connection = None

    def _live(self) -> None:
        with contextlib.suppress(BrokenPipeError, GreenletExit):
            writer_process.serve(cast(Any, self), cast(Any, self))
        self.connection = None
        if not self.is_dead:
            self._loop.call_soon(lambda: self._cluster.kill(self._loop))

    # What the real code reads from and writes to.

    def read(self, size: int) -> bytes:
        self._wait_until(lambda: len(self._received) >= size or self._is_over)
        data = bytes(self._received[:size])
        del self._received[:size]
        if size != writer_process.LENGTH.size and self._cluster.disk_delay_seconds:
            self._pause(self._cluster.disk_delay_seconds * self._cluster.world.rng.random())
        return data

    def sendall(self, data: bytes) -> None:
        if self.is_dead:
            raise GreenletExit
        if self._link._is_closed:
            raise BrokenPipeError
        self._link.write(data)

    def _wait_until(self, is_there: Callable[[], bool]) -> None:
        while not is_there():
            self._switch()

    def _pause(self, seconds: float) -> None:
        is_over: list[bool] = []

        def go_on() -> None:
            is_over.append(True)
            self._resume()

        self._loop.call_later(seconds, go_on)
        self._wait_until(lambda: bool(is_over))

    def _switch(self) -> None:
        hub = self.life.parent
        assert hub is not None
        hub.switch()
        if self.is_dead:
            raise GreenletExit

    def _resume(self) -> None:
        if not self.life.dead and not self.is_dead:
            self.life.switch()

    # What the link tells.

    def connection_made(self, transport: Any) -> None: ...

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._resume()

    def connection_lost(self, _: Exception | None) -> None:
        self._is_over = True
        self._resume()

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...
