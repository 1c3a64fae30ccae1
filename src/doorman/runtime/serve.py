"""Serving a cluster over HTTPS in real time, from the first byte of the data directory to the last open watch."""

import asyncio
import contextlib
import errno
import gc
import logging
import resource
import signal
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import uvicorn
import uvloop

from doorman.base.clock import Clock, SystemClock
from doorman.runtime.cluster import Cluster
from doorman.runtime.credentials import Credentials, kubeconfig, load_or_make, write_private
from doorman.runtime.settings import Settings
from doorman.server.asgi import Application
from doorman.server.audit import AuditLog
from doorman.server.handshake import leave_judgement_to_requests
from doorman.server.pipeline import Pipeline
from doorman.server.protocol import SWEEP_SECONDS, ApiProtocol, sweep
from doorman.store.contract import Store, Unusable
from doorman.store.memory import MemoryStore
from doorman.store.sqlite import SqliteStore

BACKLOG: Final = 4096
KEEP_ALIVE_SECONDS: Final = 120
FILES_MAX: Final = 65_536
STOP_SECONDS_MAX: Final = 1
SWITCH_SECONDS: Final = 0.001
"""How long the event loop may keep the interpreter from the store's writer thread."""

GC_THRESHOLDS: Final = (50_000, 50, 100)
"""Almost everything that is made lives for long or is freed by its count: the collector need not look often."""

Announce = Callable[[str, Path], None]
"""Told the address and the kubeconfig when requests are answered."""


def serve(settings: Settings, announce: Announce) -> None:
    """Run until SIGTERM or SIGINT. Raises `Unusable` when something is in the way."""
    _allow_many_files()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GC_THRESHOLDS)
    with tempfile.TemporaryDirectory(prefix="doorman-") as scratch:
        uvloop.run(_serve(settings, announce, Path(scratch)))


def _allow_many_files() -> None:
    """As many connections as the system allows a process: the usual limit is a user's, not a server's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _serve(settings: Settings, announce: Announce, scratch: Path) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    store = await _open_store(settings)
    listener = _listen(settings.bind_address, settings.secure_port)
    port = listener.getsockname()[1]
    clock = SystemClock()
    credentials = load_or_make(settings.data_dir, settings.bind_address, datetime.fromtimestamp(clock.now(), UTC))
    cluster = Cluster(store, settings, clock)
    await cluster.prepare(port=port, ca_certificate=credentials.ca_certificate, ca_key=credentials.ca_key)
    cluster.start()
    await cluster.add_nodes()
    audit = _open_audit_log(settings, clock, loop)
    server = _Server(_config(cluster.pipeline(credentials, audit), credentials, scratch))
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    await server.is_started.wait()
    address = f"https://{_host(settings.bind_address)}:{port}"
    file = settings.kubeconfig_out or (settings.data_dir or scratch) / "kubeconfig"
    _write_kubeconfig(file, kubeconfig(credentials, address))
    gc.freeze()
    announce(address, file)
    try:
        await stop.wait()
    finally:
        server.should_exit = True
        await cluster.stop()
        await serving
        if audit is not None:
            audit.close()


def _open_audit_log(settings: Settings, clock: Clock, loop: asyncio.AbstractEventLoop) -> AuditLog | None:
    if settings.audit_log_path is None:
        return None
    try:
        return AuditLog(settings.audit_log_path, clock, loop.call_later)
    except OSError as error:
        raise Unusable(
            f"cannot write the audit log {settings.audit_log_path}: {error.strerror}",
            "give another place with --audit-log-path",
        ) from error


async def _open_store(settings: Settings) -> Store:
    if settings.data_dir is None:
        return MemoryStore()
    return await SqliteStore.open(settings.data_dir)


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "give an address of this machine with --bind-address, such as 127.0.0.1"
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            hint = "give another port with --secure-port, or 0 for a free one"
        raise Unusable(f"cannot listen on {address}:{port}: {error.strerror}", hint) from error
    return listener


def _config(pipeline: Pipeline, credentials: Credentials, scratch: Path) -> uvicorn.Config:
    certificate, key = scratch / "server.crt", scratch / "server.key"
    write_private(certificate, credentials.server_certificate)
    write_private(key, credentials.server_key)
    authority = scratch / "ca.crt"
    write_private(authority, credentials.ca_certificate)
    config = uvicorn.Config(
        Application(pipeline),
        http=ApiProtocol,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
        ssl_ca_certs=str(authority),
        ssl_cert_reqs=ssl.CERT_OPTIONAL,
    )
    config.load()
    assert config.ssl is not None, "a certificate was given"
    config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
    # Who a connection belongs to is read once, when it is made.
    config.ssl.options |= ssl.OP_NO_RENEGOTIATION
    leave_judgement_to_requests(config.ssl)
    # An upgrade that is refused is answered, a client that keeps its connection while we stop is cut off: no news.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    return config


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handling: the process stops in one place."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_started = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> Any:  # uvicorn's signature
        await super().startup(sockets=sockets)
        self._sweep()
        self.is_started.set()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        sweep(list(self.server_state.connections), loop.time())
        if not self.should_exit:
            loop.call_later(SWEEP_SECONDS, self._sweep)


def _host(address: str) -> str:
    if address in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{address}]" if ":" in address else address


def _write_kubeconfig(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_private(file, text.encode())
    except OSError as error:
        raise Unusable(
            f"cannot write the kubeconfig {file}: {error.strerror}", "give another place with --kubeconfig-out"
        ) from error
