"""A server that is running, from the first byte of the data directory to the last open watch."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from doorman.api.scheme import builtin_scheme
from doorman.base.clock import Clock, SystemClock
from doorman.base.loop_faults import tell_in_one_line
from doorman.runtime.access.credentials import Credentials, load_or_make
from doorman.runtime.access.kubeconfig_file import WrittenKubeconfig, check_kubeconfig, own_config, write_kubeconfig
from doorman.runtime.api_server import ApiServer
from doorman.runtime.clock.clock_driver import ClockDriver
from doorman.runtime.clock.clock_file import ClockFile, check_clock, open_clock
from doorman.runtime.clock.clock_service import ClockService
from doorman.runtime.clock.idle_loop import IdleLoop
from doorman.runtime.clock.movable_clock import MovableClock
from doorman.runtime.clock.quiet_time import QuietTime
from doorman.runtime.open_store import open_store
from doorman.runtime.real_time.component_loading import load_components
from doorman.runtime.real_time.front_process import Front
from doorman.runtime.settings import Settings
from doorman.server.audit import AuditLog
from doorman.store.store_contract import ABSENT, Entry, Failed, Store, Unusable, Write

if TYPE_CHECKING:
    from doorman.runtime.control_plane import ControlPlane
    from doorman.runtime.leadership import Leadership

INTERNAL: Final = "Internal error occurred: "
T = TypeVar("T")

ENTRIES_AT_ONCE: Final = 1000

Announce = Callable[[str, WrittenKubeconfig], None]
"""Told the address and the kubeconfig when requests are answered."""


async def run(
    settings: Settings, announce: Announce, scratch: Path, front: Front, port: int, initial: Sequence[Entry]
) -> None:
    """Until SIGTERM or SIGINT. Raises `Unusable`."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(tell_in_one_line)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if settings.kubeconfig_out is not None:
        check_kubeconfig(settings.kubeconfig_out)
    wall = SystemClock()
    clock, clock_file = _open_clock(settings, wall)
    scheme = builtin_scheme()
    store = await _unless(stop, open_store(settings, scheme, wall))
    if store is None:
        return
    try:
        await fill(store, initial)
        # Clients look at certificates, and live in real time.
        credentials = load_or_make(
            settings.data_dir,
            settings.bind_address,
            datetime.fromtimestamp(wall.now(), UTC),
            more_names=settings.tls_names,
        )
        api = ApiServer(store, settings, clock, scheme)
    except BaseException:
        await store.close()
        raise
    audit = _open_audit_log(settings, wall, loop)
    running = _Running(api, store, settings, clock)
    try:
        is_started = await _unless(stop, running.start(credentials, audit, scratch, front, port))
        if is_started:
            address = f"https://{_host(settings.bind_address)}:{port}"
            file = settings.kubeconfig_out or (settings.data_dir or scratch) / "kubeconfig"
            own = own_config(credentials, address, settings.kubeconfig_name)
            written = write_kubeconfig(file, own, takes_over=settings.kubeconfig_out is not None)
            gc.freeze()
            announce(address, written)
            await stop.wait()
    except Failed as error:  # whoever waited for a write that every server makes when it starts
        raise Unusable(
            f"the server cannot start: {error.message.removeprefix(INTERNAL)}", "look after the disk of --data-dir"
        ) from error
    finally:
        await front.stop()
        await running.stop()
        if audit is not None:
            audit.close()
        if clock_file is not None:
            clock_file.note(clock.now())
            clock_file.close()


class _Running:
    """A server's API, and its components from when they are loaded."""

    def __init__(self, api: ApiServer, store: Store, settings: Settings, clock: SystemClock | MovableClock) -> None:
        self._api = api
        self._store = store
        self._settings = settings
        self._clock = clock
        self._cluster: ControlPlane | None = None
        self._leadership: Leadership | None = None

    async def start(
        self, credentials: Credentials, audit: AuditLog | None, scratch: Path, front: Front, port: int
    ) -> bool:
        api, settings, clock = self._api, self._settings, self._clock
        preparation = api.prepare(port=port, ca_certificate=credentials.ca_certificate)
        _, control_plane = await asyncio.gather(preparation, load_components())
        cluster = self._cluster = control_plane(api, settings, clock)
        await cluster.prepare(port=port, ca_certificate=credentials.ca_certificate, ca_key=credentials.ca_key)
        cluster.start()
        if self._store.is_shared and settings.components:
            # Loaded with the components.
            from doorman.runtime.leadership import Leadership

            self._leadership = Leadership(cluster, clock)
            self._leadership.start()
        else:
            await cluster.add_nodes()
        service = _clock_service(clock, cluster, self._store)
        await front.begin(cluster.pipeline(credentials, audit, service), credentials, scratch)
        return True

    async def stop(self) -> None:
        if self._leadership is not None:
            await self._leadership.stop()
        await (self._cluster.stop() if self._cluster is not None else self._api.close())


def _open_clock(settings: Settings, wall: SystemClock) -> tuple[SystemClock | MovableClock, ClockFile | None]:
    rate, directory = settings.clock_rate, settings.data_dir
    check_clock(directory, is_movable=rate is not None)
    if rate is None:
        return wall, None
    try:
        return open_clock(directory, rate, settings.resumed_at or wall.now())
    except OSError as error:
        raise Unusable(
            f"cannot use the data directory {directory}: {error.strerror}",
            "give a directory you may write to with --data-dir, or use --in-memory",
        ) from error


def _clock_service(clock: Clock, cluster: "ControlPlane", store: Store) -> ClockService:
    loop = asyncio.get_running_loop()
    if not isinstance(clock, MovableClock) or not isinstance(loop, IdleLoop):
        return ClockService(clock)
    driver = ClockDriver(clock, loop, lambda: cluster.awaits_others)
    return ClockService(clock, driver, QuietTime(store, clock, cluster.last_wake))


async def _unless(stop: asyncio.Event, work: Coroutine[object, object, T]) -> T | None:
    """What the work gives, unless it is stopped: a disk that does not answer must not keep a server from ending."""
    doing, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait((doing, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not doing.done():
        doing.cancel()
        await asyncio.wait((doing,))
        return None
    return doing.result()


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


async def fill(store: Store, initial: Sequence[Entry]) -> None:
    """Give an empty store what it begins with. Raises `Unusable` when it is not empty."""
    if initial and any(True for _ in store.entries()):
        raise Unusable("the store holds a cluster already", "give another --data-dir, or --in-memory, with --from")
    for start in range(0, len(initial), ENTRIES_AT_ONCE):
        some = initial[start : start + ENTRIES_AT_ONCE]
        await store.commit_all([Write(entry.key, entry.value, ABSENT) for entry in some])


def _host(address: str) -> str:
    if address in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{address}]" if ":" in address else address
