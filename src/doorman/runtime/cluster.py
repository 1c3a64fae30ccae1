"""A cluster: store, registry, API pipeline, controllers, scheduler and simulated nodes, put together.

The same in real and in virtual time: it runs on whatever event loop it is started on, by the clock it is given.
"""

import random
from collections.abc import Iterable
from typing import Final

from doorman.admission.chain import Settings as AdmissionSettings
from doorman.admission.chain import build_chain
from doorman.api.identity import AUTHENTICATED, MASTERS, User
from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.schema import Schema
from doorman.api.views import VIEWS
from doorman.base.clock import Clock
from doorman.base.errors import ApiError
from doorman.base.names import Names
from doorman.client.actions import Create
from doorman.client.controller import Controller
from doorman.client.executor import Executor
from doorman.client.recorder import EventRecorder
from doorman.client.runner import ControllerRunner
from doorman.nodes.agent import AgentSettings, SimulatedNodes
from doorman.nodes.profile import simulated_node
from doorman.registry.registry import Registry
from doorman.registry.watchcache import WatchCache
from doorman.runtime.bootstrap import bootstrap
from doorman.runtime.controllers import CONTROLLERS, Parts, identity_of
from doorman.runtime.informers import Informers
from doorman.runtime.loopback import LoopbackClient
from doorman.runtime.scheduling import WATCHED, SchedulerRunner
from doorman.runtime.settings import Settings, is_enabled
from doorman.scheduler.config import SchedulerConfig
from doorman.scheduler.scheduler import Scheduler
from doorman.server.authentication import Authenticator
from doorman.server.authorization import MastersAuthorizer, Unrestricted
from doorman.server.health import Health
from doorman.server.pipeline import Pipeline
from doorman.server.pods import PodOperations
from doorman.store.contract import Store

HOST: Final = "doorman"
_SYSTEM: Final = User(name="system:apiserver", groups=(MASTERS, AUTHENTICATED))


class Cluster:
    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._rng = random.Random(settings.seed)
        names = Names(random.Random(self._rng.random()))
        self.kinds = builtin_kinds()
        self.cache = WatchCache(store, VIEWS)
        admission = build_chain(
            AdmissionSettings(
                default_not_ready_toleration_seconds=settings.default_not_ready_toleration_seconds,
                default_unreachable_toleration_seconds=settings.default_unreachable_toleration_seconds,
                suffix=names.suffix,
            ),
            enabled=settings.enable_admission_plugins,
            disabled=settings.disable_admission_plugins,
        )
        self.registry = Registry(
            store,
            self.cache,
            kinds=self.kinds,
            schema=Schema(type_table()),
            admission=admission,
            clock=clock,
            names=names,
            comparison_operators=settings.gates.comparison_operators,
        )
        self._names = names
        self._ca_certificate = b""
        self._pods = PodOperations(self.registry, clock)
        self.informers = Informers(self.cache, self.kinds)
        self.runners: list[ControllerRunner] = []
        self.scheduler: SchedulerRunner | None = None

    def client_as(self, name: str, manager: str, *groups: str) -> LoopbackClient:
        user = User(name=name, groups=(*groups, AUTHENTICATED))
        return LoopbackClient(self.registry, self._pods, Unrestricted(), user, manager)

    def pipeline(self, authenticator: Authenticator) -> Pipeline:
        return Pipeline(
            self.registry,
            authenticator=authenticator,
            authorizer=MastersAuthorizer(),
            health=Health({"ping": lambda: True, "log": lambda: True, "etcd": lambda: True}),
            clock=self._clock,
            names=self._names,
            rng=random.Random(self._rng.random()),
        )

    async def prepare(self, *, port: int, ca_certificate: bytes) -> None:
        """What must be there before the first request is answered."""
        client = LoopbackClient(self.registry, self._pods, Unrestricted(), _SYSTEM, "kube-apiserver")
        await bootstrap(client, port=port, ca_certificate=ca_certificate)
        self._ca_certificate = ca_certificate

    def start(self) -> None:
        """Start controllers, scheduler and simulated nodes."""
        settings = self._settings
        for controller in self._controllers():
            self._add(controller)
        scheduler = Scheduler(
            SchedulerConfig(), comparison_operators=settings.gates.comparison_operators, hostname=HOST
        )
        client = self.client_as("system:kube-scheduler", "kube-scheduler")
        recorder = EventRecorder(client, self._clock, host=HOST)
        self.scheduler = SchedulerRunner(scheduler, client, recorder, self._clock)
        for resource in ("nodes", *WATCHED, "pods"):
            self.informers.of(resource).listen(self.scheduler.changed)
        for informer in self.informers.all():
            informer.start()
        for informer in self.informers.all():
            informer.announce()
        for runner in self.runners:
            runner.start()

    async def add_nodes(self, count: int) -> None:
        """The simulated nodes `node-1` to `node-<count>` that are not there yet."""
        client = self.client_as("system:apiserver", "doorman", MASTERS)
        now = self._clock.now()
        for number in range(1, count + 1):
            try:
                await client.create(Create(resource="nodes", body=simulated_node(f"node-{number}", now=now)))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def stop(self) -> None:
        if self.scheduler is not None:
            self.scheduler.stop()
        for runner in self.runners:
            runner.stop()
        for informer in self.informers.all():
            informer.stop()
        self.cache.close_streams()
        await self._store.close()

    def _controllers(self) -> Iterable[Controller]:
        parts = Parts(
            informers=self.informers, kinds=self.kinds, settings=self._settings, ca_certificate=self._ca_certificate
        )
        for name, build in CONTROLLERS.items():
            if is_enabled(name, self._settings.controllers):
                yield build(parts)
        lister = self.informers.lister
        agent_settings = AgentSettings(comparison_operators=self._settings.gates.comparison_operators)
        yield SimulatedNodes(lister("nodes"), lister("pods"), lister("leases.coordination.k8s.io"), agent_settings)

    def _add(self, controller: Controller) -> None:
        manager = "kubelet" if isinstance(controller, SimulatedNodes) else "kube-controller-manager"
        client = self.client_as(identity_of(controller.name), manager, "system:serviceaccounts")
        recorder = EventRecorder(client, self._clock, host=HOST)
        runner = ControllerRunner(controller, Executor(client, recorder), self._clock)
        for resource in dict.fromkeys(source.resource for source in controller.sources):
            self.informers.of(resource).listen(runner.changed)
        self.runners.append(runner)
