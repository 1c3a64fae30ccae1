"""A control plane: the API server, the controllers, the scheduler and simulated nodes, put together.

The same in real and in virtual time: it runs on whatever event loop it is started on, by the clock it is given. Which
controllers there are, what each is built from and who each acts as is data (`controller_registry.py`).
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final, TypeGuard, TypeVar, assert_never

from doorman.admission.plugins.quota_admission import total_in_scope
from doorman.api.identity import MASTERS
from doorman.api.views.meta import Object
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.well_known import API_SERVER_USER, CLOCK_PATH, KUBE_CONTROLLER_MANAGER
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Create
from doorman.client.client import Client, Recorder, Renewer
from doorman.client.controller_runner import ControllerRunner
from doorman.client.recorder import EventRecorder
from doorman.nodes.fleet import NODES_DEFAULT, fleet_manifests
from doorman.nodes.node_annotations import is_simulated
from doorman.nodes.pods.simulated_logs import is_cut_off, simulated_log, unreachable
from doorman.nodes.profile import simulated_node
from doorman.registry.cache.selection import Selection
from doorman.runtime.access.credentials import Credentials
from doorman.runtime.api_server import ApiServer
from doorman.runtime.clock.clock_service import ClockService
from doorman.runtime.component_statuses import RESOURCE as COMPONENTS
from doorman.runtime.component_statuses import component_statuses
from doorman.runtime.controller_context import ControllerContext
from doorman.runtime.controller_manager import ControllerManager
from doorman.runtime.controller_registry import (
    Account,
    BuiltinAccount,
    ServiceAccountUser,
    api_server_controllers,
    elected_controllers,
    enabled_controllers,
)
from doorman.runtime.defaults.default_objects import attempt, standard_class, until_answered
from doorman.runtime.in_process.custom_scales import custom_scales
from doorman.runtime.in_process.kubelet_client import KubeletClient
from doorman.runtime.in_process.loopback_client import LoopbackClient
from doorman.runtime.in_process.pod_explainer import (
    EXPLANATIONS,
    PodExplainer,
    forecasts_device_evictions,
    forecasts_evictions,
)
from doorman.runtime.in_process.watch_cache_informers import WatchCacheInformers
from doorman.runtime.in_process.zone_reports import ZONES, reports_zones, zones_document
from doorman.runtime.metrics.component_metrics import controller_source, scheduler_source
from doorman.runtime.metrics.resource_metrics import NODE_METRICS, POD_METRICS, ResourceMetrics
from doorman.runtime.metrics.usage_readers import simulated_usage
from doorman.runtime.scheduling.extender_client import ExtenderCaller
from doorman.runtime.scheduling.scheduler_runner import SCHEDULED_BY, SchedulerRunner
from doorman.runtime.settings import Settings
from doorman.scheduler.devices.device_state import DeviceGates
from doorman.scheduler.out_of_tree_plugins import find_plugins
from doorman.scheduler.scheduler import Scheduler
from doorman.semantics.pods.run_logs import RunLog
from doorman.server.audit import AuditLog
from doorman.server.pipeline import Pipeline

HOST: Final = "doorman"
T = TypeVar("T")

NODES_AT_ONCE: Final = 100
"""Simulated nodes that are made together when a cluster starts: they share the way to the disk."""


class ControlPlane:
    def __init__(
        self,
        api: ApiServer,
        settings: Settings,
        clock: Clock,
        *,
        recorder: Recorder | None = None,
    ) -> None:
        """`recorder` takes what components have to tell; None: it is written as events."""
        self._settings = settings
        self._clock = clock
        self._recorder = recorder
        self.api = api
        self.cache, self.kinds, self.registry = self.api.cache, self.api.kinds, self.api.registry
        self.authorizer, self.client_as = self.api.authorizer, self.api.client_as
        self.informers = WatchCacheInformers(self.cache, self.kinds)
        self._controllers = ControllerManager(
            self.informers, self.kinds, clock, self.cache.faults, host=HOST, recorder=recorder
        )
        self.runners = self._controllers.runners
        self.scheduler: SchedulerRunner | None = None
        self._extenders: ExtenderCaller | None = None
        self._elects = self.registry.is_shared
        self._kubelets = KubeletClient(
            self.cache,
            lambda node: self.api.kubelet_client(node).only_while(self._while_leading("controllers")),
            self.registry.lease_renewals,
        )
        self._metrics = ResourceMetrics(simulated_usage(self.informers.live), self.informers.live("nodes"), clock)
        self._elected: list[ControllerRunner] = []
        """Controllers that act because the lease is held here."""
        self._context: ControllerContext | None = None
        self._may_act: dict[str, Callable[[], bool]] = {}

    async def prepare(self, *, port: int, ca_certificate: bytes, ca_key: bytes = b"") -> None:
        """What must be there before the first request is answered, and the controllers that will run."""
        await self.api.prepare(port=port, ca_certificate=ca_certificate)
        context = ControllerContext(
            informers=self.informers,
            kinds=self.kinds,
            settings=self._settings,
            ca_certificate=ca_certificate,
            ca_key=ca_key,
            authorize=self.api.authorize,
            total_of=partial(total_in_scope, self.registry.cluster),
            instances=self._instances,
            own_service=self.api.own_service(port),
            now=self._clock.now,
            custom_scales=custom_scales(self.kinds, self.cache),
        )
        self._context = context
        for controller, account in (api_server_controllers if self._elects else enabled_controllers)(context):
            self._controllers.add(controller, *self._client_of(account))

    def start(self) -> None:
        """Start controllers, scheduler and simulated nodes; where others serve the same store, only those whose work
        is every API server's own: the rest act where the leases are (`lead_controllers`, `lead_scheduling`).
        """
        if self._settings.components and not self._elects:
            self.scheduler = self._make_scheduler()
            for resource in SCHEDULED_BY:
                self.informers.of(resource).listen(self.scheduler.changed, "scheduler")
        self.api.custom_kinds.listen(self._controllers.follow_kind)
        self._start_informers()
        for informer in self.informers.all():
            informer.announce()
        self._controllers.start()

    def _start_informers(self) -> None:
        """Those that are new: who stands by follows nothing that it does not need."""
        for informer in self.informers.all():
            if not informer.is_following:
                informer.start()

    def lead_controllers(self, may_act: Callable[[], bool]) -> None:
        """This process holds the lease of controllers: they start, and act as long as it may."""
        assert self._context is not None, "it is prepared"
        self._may_act["controllers"] = may_act
        elected = list(elected_controllers(self._context))
        self._start_informers()
        for controller, account in elected:
            self._controllers.join(controller, *self._client_of(account))
            self._elected.append(self.runners[-1])

    def resign_controllers(self) -> None:
        """Somebody else holds the lease, or may: they stop."""
        for runner in self._elected:
            self._controllers.leave(runner)
        self._elected.clear()

    def lead_scheduling(self, may_act: Callable[[], bool]) -> None:
        """The same for the scheduler."""
        self._may_act["scheduler"] = may_act
        self.scheduler = self._make_scheduler()
        informers = [self.informers.of(resource) for resource in SCHEDULED_BY]
        self._start_informers()
        for informer in informers:
            informer.listen(self.scheduler.changed, "scheduler")
            informer.announce("scheduler")

    def resign_scheduling(self) -> None:
        if self.scheduler is not None:
            self.scheduler.stop()
            self.scheduler = None
        for resource in SCHEDULED_BY:
            self.informers.of(resource).forget("scheduler")

    def pipeline(
        self,
        credentials: Credentials,
        audit: AuditLog | None = None,
        clock: ClockService | None = None,
    ) -> Pipeline:
        return self.api.pipeline(
            credentials,
            audit,
            computed={
                EXPLANATIONS: lambda namespace, name, user: self.explainer().explain(namespace, name, user),
                ZONES: lambda _namespace, name, _user: zones_document(self._controllers.find(reports_zones), name),
                POD_METRICS: lambda namespace, name, _user: self._metrics.pods(namespace, name),
                NODE_METRICS: lambda _namespace, name, _user: self._metrics.nodes(name),
                COMPONENTS: lambda _namespace, name, _user: component_statuses(name),
            },
            sources=(controller_source(self.runners), scheduler_source(lambda: self.scheduler)),
            plain={CLOCK_PATH: (clock or ClockService(self._clock)).answer},
            logs_of=self._logs_of,
        )

    def explainer(self) -> PodExplainer:
        scheduler = self.scheduler.scheduler if self.scheduler is not None else None
        evictions = self._controllers.find(forecasts_evictions)
        devices = self._controllers.find(forecasts_device_evictions)
        return PodExplainer(self.registry, self.authorizer, scheduler, evictions, devices, self._clock)

    @property
    def awaits_others(self) -> bool:
        """Whether another process has yet to answer: the store's writer, a webhook or an extender."""
        extenders = self._extenders.in_flight if self._extenders is not None else 0
        return self.api.awaits_others or extenders > 0

    def last_wake(self) -> Instant:
        """The last instant at which some controller wants to look at something, of those they know of by now."""
        wakes = (runner.last_wake() for runner in self.runners)
        return max((wake for wake in wakes if wake is not None), default=self._clock.now())

    async def add_nodes(self) -> None:
        """The simulated nodes of the settings that are not there yet."""
        if not self._settings.components:
            return
        client = self.client_as(API_SERVER_USER, "doorman", MASTERS)
        now = self._clock.now()
        fleet = self._settings.fleet
        if fleet is not None:
            manifests = fleet_manifests(fleet, now=now)
        else:
            count = self._settings.nodes
            if count is None:
                count = NODES_DEFAULT if self.api.is_new else 0
            manifests = [simulated_node(f"node-{number}", now=now) for number in range(1, count + 1)]
        for start in range(0, len(manifests), NODES_AT_ONCE):
            some = manifests[start : start + NODES_AT_ONCE]
            await asyncio.gather(*(_create_if_absent(client, "nodes", manifest) for manifest in some))
        if manifests and self.api.is_new:
            await _create_if_absent(client, STORAGE_CLASSES, standard_class())

    async def stop(self) -> None:
        if self.scheduler is not None:
            self.scheduler.stop()
        self._controllers.stop()
        for informer in self.informers.all():
            informer.stop()
        if self._extenders is not None:
            await self._extenders.close()
        await self.api.close()

    def find(self, can: Callable[[object], TypeGuard[T]]) -> T | None:
        """The controller that can do something, if one that can runs."""
        return self._controllers.find(can)

    def _make_scheduler(self) -> SchedulerRunner:
        settings, gates = self._settings.scheduler, self._settings.gates
        scheduler = Scheduler(
            settings,
            comparison_operators=gates.comparison_operators,
            hostname=HOST,
            plugins=find_plugins(),
            stopwatch=time.perf_counter,
            faults=self.cache.faults,
            device_gates=DeviceGates(taints=gates.device_taints, rules=gates.device_taint_rules),
        )
        client = self.client_as("system:kube-scheduler", "kube-scheduler").only_while(self._while_leading("scheduler"))
        recorder = self._recorder or EventRecorder(client, self._clock, host=HOST, faults=self.cache.faults)
        extenders = settings.extenders
        self._extenders = ExtenderCaller(self.api.newest, scheduler.pod_on) if extenders else None
        return SchedulerRunner(
            scheduler, client, recorder, self._clock, time.perf_counter, extenders=extenders, caller=self._extenders
        )

    def _client_of(self, account: Account) -> tuple[Client, Renewer | None]:
        """The client of who a controller acts as."""
        match account:
            case BuiltinAccount.KUBELETS:
                return self._kubelets, self._kubelets
            case BuiltinAccount.API_SERVER:
                return self.api.system_client(), None
            case ServiceAccountUser(user):
                client = self.client_as(user, KUBE_CONTROLLER_MANAGER)
                return client.only_while(self._while_leading("controllers")), None
            case _:
                assert_never(account)

    def _while_leading(self, component: str) -> Callable[[], bool] | None:
        """Says whether the component may act, where there is a lease to hold."""
        return (lambda: self._may_act[component]()) if self._elects else None

    def _logs_of(self, pod: Document, container: str, previous: bool) -> RunLog | str | None:
        """What a container wrote that runs in name only."""
        node = self.cache.collection("nodes").get(pod["spec"].get("nodeName", ""))
        if node is None or not is_simulated(node.view.metadata.annotations):
            return None
        if is_cut_off(node.view):
            raise ApiError(500, "", unreachable(pod, container))
        return simulated_log(pod, container, previous=previous)

    def _instances(self, definition: str) -> list[Object]:
        """All objects of a custom kind."""
        return [stored.view for stored in self.cache.collection(definition).select(Selection(storage=definition))]


async def _create_if_absent(client: LoopbackClient, resource: str, manifest: Document) -> None:
    async def create() -> None:
        action = Create(resource=resource, body=manifest)
        await attempt(client.create(action), f"{resource} {manifest['metadata']['name']}")

    await until_answered(create)
