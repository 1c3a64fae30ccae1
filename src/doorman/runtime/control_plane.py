"""A cluster: store, registry, API pipeline, controllers, scheduler and simulated nodes, put together.

The same in real and in virtual time: it runs on whatever event loop it is started on, by the clock it is given.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from doorman.admission.chain import AdmissionSettings as AdmissionSettings
from doorman.admission.chain import build_chain
from doorman.admission.plugin_contract import GroupVersionForm
from doorman.admission.plugins.quota_admission import total_in_scope
from doorman.admission.policies.mutating_policies import MutatingPolicies
from doorman.admission.webhooks.webhook_dispatch import Webhooks
from doorman.api.identity import AUTHENTICATED, MASTERS, User
from doorman.api.kinds import Kinds, builtin_kinds, type_table
from doorman.api.machinery.schema import Document, Schema
from doorman.api.patch.server_side_apply import Applier
from doorman.api.views.admissionregistration import MUTATING, MUTATING_BINDINGS, MUTATING_POLICIES, VALIDATING
from doorman.api.views.apiextensions import RESOURCE as DEFINITIONS
from doorman.api.views.meta import Object
from doorman.api.views.view_types import VIEWS
from doorman.api.well_known import NODE_USER_PREFIX, NODES_GROUP
from doorman.base.clock import Clock
from doorman.base.generated_names import NameGenerator
from doorman.client.actions import Create
from doorman.client.client import Client, Renewer
from doorman.client.controller_contract import Controller
from doorman.client.controller_runner import ControllerRunner
from doorman.client.executor import Executor
from doorman.client.recorder import EventRecorder
from doorman.client.webhook_client import WebhookCaller
from doorman.controllers.cluster.api_services import RESOURCE as API_SERVICES
from doorman.controllers.cluster.api_services import ApiServiceController
from doorman.controllers.cluster.crd_controller import CustomResourceDefinitionController
from doorman.controllers.cluster.event_ttl import EventTtlController
from doorman.controllers.cluster.garbage_collector import GarbageCollector
from doorman.controllers.cluster.namespace_controller import NamespaceController
from doorman.controllers.cluster.resource_quota_controller import ResourceQuotaController
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from doorman.controllers.service.ip_addresses import RESOURCE as ADDRESSES
from doorman.controllers.service.ip_addresses import ServiceAddressController
from doorman.controllers.service.kubernetes_service import RESOURCES as API_SERVICE_RESOURCES
from doorman.controllers.service.kubernetes_service import KubernetesServiceController
from doorman.nodes.agent import SimulatedNodes, agent_settings_for
from doorman.nodes.fleet import fleet_manifests
from doorman.nodes.profile import simulated_node
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Unreadable
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.custom.custom_kinds import CustomKinds
from doorman.registry.fastpath.lease_renewal import LeaseRenewals
from doorman.registry.registry import Registry
from doorman.runtime.bootstrap import api_service, attempt, bootstrap
from doorman.runtime.component_statuses import RESOURCE as COMPONENTS
from doorman.runtime.component_statuses import component_statuses
from doorman.runtime.components.component_metrics import controller_source, scheduler_source
from doorman.runtime.components.extender_client import ExtenderCaller
from doorman.runtime.components.informers import Informers
from doorman.runtime.components.kubelet_client import KubeletClient
from doorman.runtime.components.loopback_client import LoopbackClient
from doorman.runtime.components.pod_explainer import EXPLANATIONS, PodExplainer
from doorman.runtime.components.scheduler_runner import WATCHED, SchedulerRunner
from doorman.runtime.components.workqueue_names import QUEUE_NAMES
from doorman.runtime.controller_registry import Parts, builds_of, identity_of
from doorman.runtime.credentials import Credentials
from doorman.runtime.default_roles import ensure_roles, node_rules
from doorman.runtime.settings import Settings
from doorman.scheduler.devices.device_state import DeviceGates
from doorman.scheduler.out_of_tree_plugins import find_plugins
from doorman.scheduler.scheduler import Scheduler
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion
from doorman.server.audit import AuditLog
from doorman.server.auth.auth_services import AuthServices
from doorman.server.auth.authentication import ClusterAuthenticator
from doorman.server.auth.authorization import Authorizer
from doorman.server.auth.bootstrap_tokens import BootstrapTokens
from doorman.server.auth.cel_authorizer import answer
from doorman.server.auth.client_certificates import ClientCertificates
from doorman.server.auth.escalation import EscalationGuard
from doorman.server.auth.impersonation import account_groups
from doorman.server.auth.node_authorizer import NodeAuthorizer
from doorman.server.auth.openid_discovery import OpenIdDiscovery
from doorman.server.auth.rbac_authorizer import RbacAuthorizer
from doorman.server.auth.service_account_tokens import ServiceAccountTokens
from doorman.server.flow_control import FlowControl
from doorman.server.health_checks import HealthChecks
from doorman.server.metrics import Metrics, flow_source, reader_source, storage_source
from doorman.server.pipeline import Pipeline
from doorman.server.subresources.certificate_requests import CertificateRequests
from doorman.server.subresources.pod_subresources import PodOperations
from doorman.server.subresources.reviews import Reviews
from doorman.server.subresources.token_requests import TokenRequests
from doorman.store.store_contract import Store

ZONES: Final = "zones.doorman.dev"
HOST: Final = "doorman"
NODES_AT_ONCE: Final = 100
"""Simulated nodes that are made together when a cluster starts: they share the way to the disk."""
_SYSTEM: Final = "system:apiserver"
_SERVERS_OWN: Final = (
    CustomResourceDefinitionController,
    ApiServiceController,
    ServiceAddressController,
    KubernetesServiceController,
    EventTtlController,
)
"""Upstream these are the API server's own work."""


class ControlPlane:
    def __init__(self, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._rng = random.Random(_seed_at(settings.seed, store.revision))
        names = NameGenerator(random.Random(self._rng.random()))
        self.kinds = Kinds(builtin_kinds().rows)
        self.cache = WatchCache(store, VIEWS)
        admission = build_chain(
            AdmissionSettings(
                default_not_ready_toleration_seconds=settings.default_not_ready_toleration_seconds,
                default_unreachable_toleration_seconds=settings.default_unreachable_toleration_seconds,
                suffix=names.suffix,
                default_tolerations=settings.toleration_restriction.default,
                toleration_whitelist=settings.toleration_restriction.whitelist,
                limited_resources=settings.quota_limits.limited_resources,
                authorize=self._authorize,
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
        self._webhooks = WebhookCaller()
        self.registry.proposer.remote = Webhooks(
            [self.cache.collection(one) for one in (MUTATING, VALIDATING, MUTATING_POLICIES, MUTATING_BINDINGS)],
            self._webhooks.post,
            names.uid,
            disabled=settings.disable_admission_plugins,
            authorize=self._authorize,
            policies=MutatingPolicies(self._merged, self._authorize),
        )
        self._applier = Applier(self.registry.schema, self.kinds)
        self.registry.versions.post = self._webhooks.post
        self._custom = CustomKinds(self.cache, self.kinds, self.registry.schema)
        self._followed: dict[str, None] = {}
        """Custom kinds that controllers were told of."""
        self._names = names
        self._ca_certificate = b""
        self._own_service: Mapping[str, Document] = {}
        self._ca_key = b""
        self._pods = PodOperations(self.registry, clock)
        self._rbac = RbacAuthorizer(self.cache)
        self.authorizer = Authorizer((NodeAuthorizer(self.cache, node_rules()), self._rbac))
        self._guard = EscalationGuard(self.authorizer, self._rbac)
        self.informers = Informers(self.cache, self.kinds)
        self.runners: list[ControllerRunner] = []
        self.scheduler: SchedulerRunner | None = None
        self._extenders: ExtenderCaller | None = None

    def _authorize(self, user: User, question: AuthorizerQuestion) -> AuthorizerAnswer:
        return answer(self.authorizer, user, question)

    def _merged(self, form: GroupVersionForm, obj: Document, config: Document) -> Document:
        """For mutating policies: the object with a configuration, merged as server-side apply does."""
        kind = self.kinds.at(form.group, form.version, form.resource)
        if kind is None:
            raise CelError(f"{form.kind_version}, Kind={form.kind} is no longer served")
        if path := self._applier.atomic_path(kind.type_name, config):
            raise CelError(f"error applying patch: may not mutate atomic arrays, maps or structs: {path}")
        return self._applier.merge(kind.type_name, obj, config)

    def client_as(self, name: str, manager: str, *groups: str) -> LoopbackClient:
        user = User(name=name, groups=(*groups, *account_groups(name), AUTHENTICATED))
        return LoopbackClient(self.registry, self._pods, self.authorizer, self._guard, user, manager)

    def pipeline(self, credentials: Credentials, audit: AuditLog | None = None) -> Pipeline:
        tokens = ServiceAccountTokens(credentials.service_account_key, self.cache, self._clock, self._names)
        authenticator = ClusterAuthenticator(
            credentials.admin_token,
            tokens,
            others=(BootstrapTokens(self.cache, self._clock, audiences=tokens.audiences),),
            certificates=ClientCertificates(self._clock, credentials.ca_certificate),
        )
        access = AuthServices(
            reviews=Reviews(self.authorizer, self._rbac, authenticator, self._clock),
            guard=self._guard,
            token_requests=TokenRequests(self.registry, tokens, self._clock),
            certificate_requests=CertificateRequests(self.registry, self.authorizer),
            issuer=OpenIdDiscovery(tokens),
        )
        flow = FlowControl(
            mutating_max=self._settings.max_mutating_requests_inflight,
            read_only_max=self._settings.max_requests_inflight,
        )
        metrics = Metrics(
            self.kinds,
            flow_source(flow),
            storage_source(self.cache, self.kinds),
            reader_source(self.cache.faults),
            controller_source(self.runners),
            scheduler_source(lambda: self.scheduler),
            faults=self.cache.faults,
        )
        return Pipeline(
            self.registry,
            authenticator=authenticator,
            authorizer=self.authorizer,
            access=access,
            computed={
                EXPLANATIONS: self._explain,
                ZONES: self._list_zones,
                COMPONENTS: lambda _namespace, name, _user: component_statuses(self.kinds, name),
            },
            flow=flow,
            metrics=metrics,
            audit=audit,
            health=HealthChecks(
                {"ping": lambda: True, "log": lambda: True, "etcd": self._store.answers, **self._start_hooks()},
                self.cache.faults,
            ),
            clock=self._clock,
            names=self._names,
            rng=random.Random(self._rng.random()),
        )

    def _start_hooks(self) -> dict[str, Callable[[], bool]]:
        """What is done before the first request, as the checks Kubernetes names after it."""

        def has(resource: str) -> Callable[[], bool]:
            return lambda: bool(self.cache.collection(resource).objects)

        return {
            "poststarthook/start-system-namespaces-controller": has("namespaces"),
            "poststarthook/rbac/bootstrap-roles": has("clusterroles.rbac.authorization.k8s.io"),
            "poststarthook/scheduling/bootstrap-system-priority-classes": has("priorityclasses.scheduling.k8s.io"),
        }

    def _explain(self, namespace: str, name: str, user: User) -> Document:
        explainer = PodExplainer(
            self.registry,
            self.authorizer,
            self.scheduler.scheduler if self.scheduler is not None else None,
            [runner.controller for runner in self.runners],
            self._clock,
        )
        return explainer.explain(namespace, name, user)

    def _list_zones(self, _namespace: str, _name: str, _user: User) -> Document:
        """How the zones are doing, as the node lifecycle controller sees them."""
        found = next((r.controller for r in self.runners if isinstance(r.controller, NodeLifecycleController)), None)
        reports = found.zones() if found is not None else []
        return {
            "items": [
                {
                    "metadata": {"name": report.zone},
                    "state": report.state,
                    "ready": report.nodes - report.unhealthy,
                    "notReady": report.unhealthy,
                    "waiting": list(report.waiting),
                    "nodesPerSecond": report.nodes_per_second,
                    "haltedBecause": report.halted_because,
                }
                for report in reports
            ]
        }

    async def prepare(self, *, port: int, ca_certificate: bytes, ca_key: bytes = b"") -> None:
        """What must be there before the first request is answered."""
        client = self.client_as(_SYSTEM, "kube-apiserver", MASTERS)
        address = self._settings.bind_address
        await bootstrap(client, self._existing, address=address, port=port, ca_certificate=ca_certificate)
        await ensure_roles(client, self._existing)
        self._own_service = api_service(address, port)
        self._ca_certificate = ca_certificate
        self._ca_key = ca_key

    def start(self) -> None:
        """Start controllers, scheduler and simulated nodes."""
        settings = self._settings
        for controller in self._controllers():
            self._add(controller)
        scheduler = Scheduler(
            settings.scheduler,
            comparison_operators=settings.gates.comparison_operators,
            hostname=HOST,
            plugins=find_plugins(),
            stopwatch=time.perf_counter,
            faults=self.cache.faults,
            device_gates=DeviceGates(taints=settings.gates.device_taints, rules=settings.gates.device_taint_rules),
        )
        client = self.client_as("system:kube-scheduler", "kube-scheduler")
        recorder = EventRecorder(client, self._clock, host=HOST, faults=self.cache.faults)
        extenders = settings.scheduler.extenders
        self._extenders = ExtenderCaller(self._existing, scheduler.pod_on) if extenders else None
        self.scheduler = SchedulerRunner(
            scheduler, client, recorder, self._clock, time.perf_counter, extenders=extenders, caller=self._extenders
        )
        for resource in ("nodes", *WATCHED, "pods"):
            self.informers.of(resource).listen(self.scheduler.changed, "scheduler")
        self._custom.listen(self._follow_custom)
        for informer in self.informers.all():
            informer.start()
        for informer in self.informers.all():
            informer.announce()
        for runner in self.runners:
            runner.start()

    async def add_nodes(self) -> None:
        """The simulated nodes of the settings that are not there yet."""
        client = self.client_as(_SYSTEM, "doorman", MASTERS)
        now = self._clock.now()
        fleet = self._settings.fleet
        if fleet is not None:
            manifests = fleet_manifests(fleet, now=now)
        else:
            manifests = [simulated_node(f"node-{number}", now=now) for number in range(1, self._settings.nodes + 1)]
        for start in range(0, len(manifests), NODES_AT_ONCE):
            some = manifests[start : start + NODES_AT_ONCE]
            await asyncio.gather(*(_create_if_absent(client, manifest) for manifest in some))

    async def stop(self) -> None:
        if self.scheduler is not None:
            self.scheduler.stop()
        for runner in self.runners:
            runner.stop()
        for informer in self.informers.all():
            informer.stop()
        self._custom.close()
        self.cache.close_streams()
        await self._webhooks.close()
        if self._extenders is not None:
            await self._extenders.close()
        await self._store.close()

    def _controllers(self) -> Iterable[Controller]:
        parts = Parts(
            informers=self.informers,
            kinds=self.kinds,
            settings=self._settings,
            ca_certificate=self._ca_certificate,
            ca_key=self._ca_key,
            authorize=self._authorize,
            total_of=partial(total_in_scope, self.registry.cluster),
        )
        yield from (build(parts) for build in builds_of(self._settings))
        lister = self.informers.lister
        yield CustomResourceDefinitionController(lister(DEFINITIONS), self._instances)
        yield ApiServiceController(builtin_kinds().group_versions(), lister(DEFINITIONS), lister(API_SERVICES))
        yield ServiceAddressController(lister("services"), lister(ADDRESSES))
        own = {resource: lister(resource) for resource in API_SERVICE_RESOURCES}
        yield KubernetesServiceController(own, self._own_service)
        yield EventTtlController(self.informers.live("events"))
        agent_settings = agent_settings_for(
            self._settings.node_lifecycle.node_monitor_grace_period_seconds,
            comparison_operators=self._settings.gates.comparison_operators,
        )
        yield SimulatedNodes(lister("nodes"), lister("pods"), lister("leases.coordination.k8s.io"), agent_settings)

    def _instances(self, definition: str) -> Sequence[Object]:
        """All objects of a custom kind."""
        return [stored.view for stored in self.cache.collection(definition).select(Selection(storage=definition))]

    def _follow_custom(self, resource: str) -> None:
        """A custom kind is served from now on: its objects are collected with owners and namespaces as all others."""
        informer = self.informers.of(resource)
        kind = self.kinds.named(resource)
        if informer.is_following:
            return
        for runner in self.runners if resource not in self._followed else ():
            controller = runner.controller
            if isinstance(controller, NamespaceController) and kind.namespaced:
                controller.add(resource, informer.cache)
            elif isinstance(controller, GarbageCollector):
                runner.follow(controller.add(resource, informer.cache))
                informer.listen(runner.listener(resource), controller.name)
            elif isinstance(controller, ResourceQuotaController) and kind.namespaced:
                runner.follow(controller.add(resource))
                informer.listen(runner.listener(resource), controller.name)
        self._followed[resource] = None
        informer.start()
        informer.announce()

    def _existing(self, resource: str, namespace: str, name: str) -> Document | None:
        try:
            return self.registry.newest(self.kinds.named(resource), namespace, name)
        except Unreadable:
            return None

    def _kubelet(self, node: str) -> LoopbackClient:
        return self.client_as(f"{NODE_USER_PREFIX}{node}", "kubelet", NODES_GROUP)

    def _add(self, controller: Controller) -> None:
        client: Client
        renewer: Renewer | None = None
        if isinstance(controller, SimulatedNodes):
            client = renewer = KubeletClient(self.cache, self._kubelet, LeaseRenewals(self._store, self.cache))
        elif isinstance(controller, _SERVERS_OWN):
            client = self.client_as(_SYSTEM, "kube-apiserver", MASTERS)
        else:
            client = self.client_as(identity_of(controller.name), "kube-controller-manager")
        recorder = EventRecorder(client, self._clock, host=HOST, faults=self.cache.faults)
        runner = ControllerRunner(
            controller,
            Executor(client, recorder, renewer),
            self._clock,
            lambda resource: self.informers.lister(resource).objects,
            queue_names=QUEUE_NAMES.get(controller.name),
            stopwatch=time.perf_counter,
            faults=self.cache.faults,
        )
        for resource in dict.fromkeys(source.resource for source in controller.sources):
            self.informers.of(resource).listen(runner.listener(resource), controller.name)
        self.runners.append(runner)


async def _create_if_absent(client: Client, manifest: Document) -> None:
    await attempt(client.create(Create(resource="nodes", body=manifest)), f"nodes {manifest['metadata']['name']}")


def _seed_at(seed: int | None, revision: int) -> int | str | None:
    """A fixed seed goes on where a kept store has come to: the same one again would give uids a second time."""
    return seed if seed is None or revision == 0 else f"{seed}@{revision}"
