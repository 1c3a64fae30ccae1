"""A control plane in memory on a clock that is moved, and its HTTPS endpoint when somebody wants one."""

from datetime import UTC, datetime
from pathlib import Path

from doorman.base.clock import Instant, SystemClock
from doorman.runtime.access.credentials import load_or_make
from doorman.runtime.access.kubeconfig_file import own_config, write_kubeconfig
from doorman.runtime.api_server import ApiServer
from doorman.runtime.clock.clock_driver import ClockDriver
from doorman.runtime.clock.clock_service import ClockService
from doorman.runtime.clock.idle_loop import IdleLoop
from doorman.runtime.clock.movable_clock import MovableClock
from doorman.runtime.clock.quiet_time import QuietTime
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.real_time.front_process import Front
from doorman.runtime.real_time.serve import listen
from doorman.runtime.settings import Settings
from doorman.server.pipeline import Pipeline
from doorman.snapshot.cluster_capture import captured
from doorman.snapshot.snapshot_format import Snapshot
from doorman.store.memory_store import MemoryStore

ADDRESS = "127.0.0.1"


class HostedControlPlane:
    """Made and used on the loop."""

    def __init__(self, settings: Settings, start: Instant, loop: IdleLoop) -> None:
        self.clock = MovableClock(start)
        store = MemoryStore()
        self.cluster = ControlPlane(ApiServer(store, settings, self.clock), settings, self.clock)
        self.driver = ClockDriver(self.clock, loop, lambda: self.cluster.awaits_others)
        self.quiet = QuietTime(store, self.clock, self.cluster.last_wake)
        # Certificates are looked at by clients, which live in real time.
        self.credentials = load_or_make(None, ADDRESS, datetime.fromtimestamp(SystemClock().now(), UTC))
        self._listener = listen(ADDRESS, 0)
        self._front: Front | None = None
        self.pipeline: Pipeline

    async def start(self) -> None:
        port = self._listener.getsockname()[1]
        credentials = self.credentials
        await self.cluster.prepare(port=port, ca_certificate=credentials.ca_certificate, ca_key=credentials.ca_key)
        self.cluster.start()
        await self.cluster.add_nodes()
        self.pipeline = self.cluster.pipeline(credentials, clock=ClockService(self.clock, self.driver, self.quiet))
        await self.driver.settle()

    async def captured(self) -> Snapshot:
        """Everything that decides, as it is now."""
        return captured(self.cluster.cache, self.clock.now())

    async def serve(self, folder: Path) -> Path:
        """Over HTTPS, from now on. Gives the kubeconfig."""
        file = folder / "kubeconfig"
        if self._front is None:
            self._front = Front(self._listener)
            await self._front.begin(self.pipeline, self.credentials, folder)
            address = f"https://{ADDRESS}:{self._listener.getsockname()[1]}"
            write_kubeconfig(file, own_config(self.credentials, address), takes_over=True)
        return file

    async def stop(self) -> None:
        if self._front is not None:
            await self._front.stop()
        else:
            self._listener.close()
        await self.cluster.stop()
