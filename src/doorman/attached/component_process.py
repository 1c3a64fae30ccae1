"""One component as a process: it fills its informers, stands by, acts while it holds the lease, and goes when told.

fill ──► ready ──► stand by ──► (the lease) ──► act ──► SIGTERM: stop, give the lease back, 0
                                                   └──► lost: stop at once, 1
"""

import asyncio
import contextlib
import logging
import random
import signal
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from doorman.attached.access.access_check import Needed, in_words, missing_rights_of
from doorman.attached.access.delegated_access import DelegatedAccess
from doorman.attached.access.serving_certificate import serving_context
from doorman.attached.component_settings import ComponentSettings, ElectionSettings
from doorman.attached.http_leases import HttpLeases
from doorman.attached.serving_port import (
    Check,
    Configuration,
    ConfigurationPage,
    Health,
    MetricsPage,
    ServingPort,
)
from doorman.base.clock import Clock, SystemClock
from doorman.base.errors import ApiError
from doorman.base.generated_names import NameGenerator
from doorman.base.histograms import MetricsSource
from doorman.base.loop_faults import tell_in_one_line
from doorman.base.reader_faults import ReaderFaults
from doorman.client.actions import ObjectReference, RecordEvent
from doorman.client.client import Disconnected
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.remote_client import RemoteClient
from doorman.client.http.server_access import server_access
from doorman.client.leader_election import LeaderElector
from doorman.client.recorder import EventRecorder

STALE_SECONDS: Final = 20.0
"""So much longer than the lease may a renewal be ago before the leader counts as unwell."""
WAITING_SECONDS: Final = 5.0
NAMED_MAX: Final = 3
RELEASE_SECONDS_MAX: Final = 10.0

_log: Final = logging.getLogger("doorman.component")


class Component(Protocol):
    """What runs: built before it may act."""

    @property
    def informers(self) -> HttpInformers: ...

    @property
    def checks(self) -> Mapping[str, Check]:
        """Whether it is ready, besides that its informers are filled."""
        ...

    @property
    def sources(self) -> Iterable[MetricsSource]: ...

    @property
    def configuration(self) -> Configuration:
        """What it was told besides, for `/configz`: by the group of its kind of configuration."""
        ...

    def needed(self, election: ElectionSettings) -> Iterable[Needed]:
        """The rights it needs."""
        ...

    async def lead(self, may_act: Callable[[], bool]) -> None:
        """Begin to act, as long as it may."""
        ...

    async def resign(self) -> None:
        """Act no more."""
        ...


class ComponentParts:
    """What every component is given."""

    def __init__(self, settings: ComponentSettings, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.faults = ReaderFaults()
        access = server_access(settings.kubeconfig, self.clock, settings.context, settings.master)
        self.url = access.url
        self.requests = ApiRequests(access, self.clock, component=settings.name, qps=settings.qps, burst=settings.burst)


Make = Callable[[ComponentParts], Component]
WriteLine = Callable[[str], None]
"""Shows a line to whoever started the component."""


class PortTaken(Exception):
    """The serving port cannot be opened."""


async def run_component(
    settings: ComponentSettings, clients: Callable[[ApiRequests], RemoteClient], make: Make, announce: WriteLine
) -> int:
    """Run until SIGTERM or SIGINT; the exit code. `clients` makes the client of who holds the lease."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(tell_in_one_line)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    around = ComponentParts(settings)
    component = make(around)
    elector = _elector(settings, around, clients)
    port = _port(settings, around, component, elector, stop)
    await _open(settings, port, around.clock)
    work = asyncio.create_task(_work(settings, around, component, elector, announce))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((work, stopping), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
            return 1
        return 0
    finally:
        stopping.cancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await component.resign()
        if elector is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RELEASE_SECONDS_MAX):
                    await elector.release()
        component.informers.stop()
        port.close()
        around.requests.close()


async def check_access(settings: ComponentSettings, make: Make, say: WriteLine) -> int:
    """Tell which rights are missing; the exit code. Nothing is started."""
    around = ComponentParts(settings)
    is_missing = False
    try:
        for needed in make(around).needed(settings.election):
            try:
                lines = list(in_words(needed.who, await missing_rights_of(needed)))
            except (ApiError, Disconnected) as error:
                lines = [f"{needed.who}: cannot be asked for: {error}"]
            for line in lines:
                say(f"missing {line}")
            is_missing = is_missing or bool(lines)
    finally:
        around.requests.close()
    if not is_missing:
        say(f"{settings.name}: all rights are there")
    return 1 if is_missing else 0


async def _work(
    settings: ComponentSettings,
    around: ComponentParts,
    component: Component,
    elector: LeaderElector | None,
    announce: WriteLine,
) -> None:
    """Return when the lease is lost."""
    component.informers.start()
    await _filled(component.informers, around)
    serving = settings.serving
    where = f" serving={serving.bind_address}:{serving.secure_port}" if serving.secure_port else ""
    announce(f"ready {settings.name} server={around.url}{where}")
    if elector is None:
        await component.lead(lambda: True)
        await asyncio.Event().wait()
        return
    await elector.acquire()
    await component.lead(lambda: elector.may_act)
    await elector.renew()
    _log.error("leaderelection lost")


async def _filled(informers: HttpInformers, around: ComponentParts) -> None:
    """When all are filled; what is missing is told meanwhile."""
    filling = asyncio.ensure_future(informers.filled())
    try:
        while not filling.done():
            await asyncio.wait((filling,), timeout=WAITING_SECONDS)
            if not filling.done():
                missing = informers.missing
                names = ", ".join(missing[:NAMED_MAX]) + (" and others" if len(missing) > NAMED_MAX else "")
                why = f": {informers.trouble}" if informers.trouble else ""
                _log.warning("%s has not told of %s yet%s", around.url, names, why)
    finally:
        filling.cancel()


def _elector(
    settings: ComponentSettings, around: ComponentParts, clients: Callable[[ApiRequests], RemoteClient]
) -> LeaderElector | None:
    election = settings.election
    if not election.is_on:
        return None
    rng = random.Random()
    identity = f"{socket.gethostname()}_{NameGenerator(rng).uid()}"
    # A client of its own: who waits for others' requests loses the lease.
    own = around.requests.variant(qps=0.0, timeout_seconds=election.times.renew_seconds / 2, retries_max=0)
    client = clients(own)
    recorder = EventRecorder(client, around.clock, host=socket.gethostname(), faults=around.faults)

    def told(message: str) -> None:
        about = ObjectReference(
            kind="Lease", api_version="coordination.k8s.io/v1", namespace=election.namespace, name=election.name
        )
        recorder.record(RecordEvent(regarding=about, reason="LeaderElection", message=message, component=identity))

    leases = HttpLeases(client, election.namespace)
    return LeaderElector(leases, election.name, identity, around.clock, rng, election.times, told=told)


def _port(
    settings: ComponentSettings,
    around: ComponentParts,
    component: Component,
    elector: LeaderElector | None,
    stop: asyncio.Event,
) -> ServingPort:
    stale = settings.election.times.lease_seconds + STALE_SECONDS
    alive: dict[str, Check] = {}
    if elector is not None:
        alive["leaderElection"] = lambda: elector.is_well(stale)
    ready: dict[str, Check] = {
        "informer-sync": lambda: not component.informers.missing,
        "shutdown": lambda: not stop.is_set(),
        **component.checks,
    }
    serving = settings.serving
    sources = (*component.sources, _requests_source(around.requests), _leader_source(settings, elector))
    reviews = around.requests.variant(qps=0.0) if serving.asks_server else None
    return ServingPort(
        Health(alive, ready),
        MetricsPage(sources, around.faults),
        ConfigurationPage(
            {group: {**settings.configuration(), **own} for group, own in component.configuration.items()}
        ),
        DelegatedAccess(reviews, serving.always_allowed, around.clock),
    )


async def _open(settings: ComponentSettings, port: ServingPort, clock: Clock) -> None:
    serving = settings.serving
    if not serving.secure_port:
        return
    try:
        await port.open(serving.bind_address, serving.secure_port, serving_context(serving, clock.now()))
    except (OSError, ValueError) as error:
        raise PortTaken(f"cannot serve on {serving.bind_address}:{serving.secure_port}: {error}") from error


def _leader_source(settings: ComponentSettings, elector: LeaderElector | None) -> MetricsSource:
    def collect() -> Iterable[Metric]:
        if elector is None:
            return ()
        family = GaugeMetricFamily("leader_election_master_status", "Whether the lease is held.", labels=("name",))
        family.add_metric((settings.election.name,), 1.0 if elector.may_act else 0.0)
        return (family,)

    return collect


def _requests_source(requests: ApiRequests) -> MetricsSource:
    counts = requests.counts

    def collect() -> Iterable[Metric]:
        total = CounterMetricFamily(
            "rest_client_requests_total", "Requests, by what became of them.", labels=("code", "host", "method")
        )
        for (method, code), number in sorted(counts.codes.items()):
            total.add_metric((code, counts.host, method), number)
        seconds = HistogramMetricFamily(
            "rest_client_request_duration_seconds", "How long requests took.", labels=("host", "verb")
        )
        for method, histogram in sorted(counts.seconds.items()):
            seconds.add_metric((counts.host, method), histogram.cumulated(), histogram.total)
        return (total, seconds)

    return collect
