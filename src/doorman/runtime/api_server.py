"""The API server: store, registry, access rules and the pipeline of requests, put together.

What it needs from the components that run beside it (explanations, zones, their metrics) it is given as functions.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doorman.admission.chain import AdmissionSettings, build_chain
from doorman.admission.plugin_contract import VersionedResource
from doorman.admission.policies.mutating_policies import MutatingPolicies
from doorman.admission.webhooks.webhook_dispatch import Webhooks
from doorman.api.identity import AUTHENTICATED, MASTERS, User
from doorman.api.patch.server_side_apply import Applier
from doorman.api.scheme import Scheme, builtin_scheme
from doorman.api.views.view_types import VIEWS
from doorman.api.well_known import API_SERVER_USER, LEASES, NODE_USER_PREFIX, NODES_GROUP, SERVICES
from doorman.base.clock import Clock
from doorman.base.generated_names import NameGenerator
from doorman.base.histograms import MetricsSource
from doorman.base.json_types import Document
from doorman.base.reader_faults import ReaderFaults
from doorman.client.webhooks.webhook_client import WebhookCaller
from doorman.registry.cache.stored_object import Unreadable
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.custom.custom_kinds import CustomKinds
from doorman.registry.fastpath.create_cache import WEBHOOKS
from doorman.registry.kinds.node_port_repair import NodePortRepair
from doorman.registry.kinds.service_claims import NodePortAllocation, ServiceClaims
from doorman.registry.pod_operations import PodOperations
from doorman.registry.registry import Registry
from doorman.runtime.access.credentials import Credentials
from doorman.runtime.defaults.default_objects import api_service, bootstrap, until_answered
from doorman.runtime.defaults.default_roles import ensure_roles
from doorman.runtime.defaults.role_table import node_rules
from doorman.runtime.in_process.component_requests import ComponentRequests
from doorman.runtime.in_process.loopback_client import LoopbackClient
from doorman.runtime.presence.advertised_address import advertised_address
from doorman.runtime.presence.endpoint_reconciler import MASTER_LEASES, EndpointReconciler
from doorman.runtime.presence.identity_lease import IdentityLease
from doorman.runtime.settings import Settings
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.library.authorizer import AuthorizerAnswer, AuthorizerQuestion
from doorman.semantics.service_addresses import RESOURCE as ADDRESSES
from doorman.server.audit import AuditLog
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
from doorman.server.auth_services import AuthServices
from doorman.server.flowcontrol.flow_control import FlowControl
from doorman.server.handlers import Compute
from doorman.server.health_checks import HealthCheck, HealthChecks
from doorman.server.metrics import Metrics, flow_source, reader_source, storage_source
from doorman.server.pipeline import Pipeline, PlainHandler
from doorman.server.request_metrics import RequestMetrics
from doorman.server.subresources.certificate_requests import CertificateRequests
from doorman.server.subresources.pod_logs import LogsOf
from doorman.server.subresources.reviews import Reviews
from doorman.server.subresources.token_requests import TokenRequests
from doorman.store.store_contract import Store


class ApiServer:
    def __init__(self, store: Store, settings: Settings, clock: Clock, scheme: Scheme | None = None) -> None:
        scheme = scheme or builtin_scheme()
        self._store = store
        self.is_new = not any(True for _ in store.entries())
        """Nothing was stored before it."""
        self._is_prepared = False
        self._settings = settings
        self._tasks: list[asyncio.Task[None]] = []
        self._endpoints: EndpointReconciler | None = None
        self._address = settings.advertise_address
        """Empty: nobody but this machine reaches it."""
        if store.is_shared:
            self._address = advertised_address(settings.bind_address, settings.advertise_address)
        self._clock = clock
        self._rng = random.Random(_seed_at(settings.seed, store.revision))
        self._names = NameGenerator(random.Random(self._rng.random()))
        self.kinds = scheme.kinds
        self.cache = WatchCache(store, VIEWS)
        schema = scheme.schema
        self._rbac = RbacAuthorizer(self.cache)
        self.authorizer = Authorizer((NodeAuthorizer(self.cache, node_rules()), self._rbac))
        self._applier = Applier(schema, self.kinds)
        self._webhook_caller = WebhookCaller(self._published)
        webhooks = Webhooks(
            [self.cache.collection(one) for one in WEBHOOKS],
            self._webhook_caller.post,
            self._names.uid,
            disabled=settings.disable_admission_plugins,
            authorize=self.authorize,
            policies=MutatingPolicies(self._merged, self.authorize),
        )
        self.registry = Registry(
            store,
            self.cache,
            kinds=self.kinds,
            schema=schema,
            admission=build_chain(
                self._admission_settings(),
                enabled=settings.enable_admission_plugins,
                disabled=settings.disable_admission_plugins,
            ),
            webhooks=webhooks,
            post=self._webhook_caller.post,
            clock=clock,
            names=self._names,
            comparison_operators=settings.gates.comparison_operators,
            takes_shortcuts=settings.takes_shortcuts,
        )
        self._node_ports = self._share_numbers() if store.is_shared else None
        self.custom_kinds = CustomKinds(self.cache, self.kinds, schema)
        self._guard = EscalationGuard(self.authorizer, self._rbac)
        self._pods = PodOperations(self.registry, clock)
        self.request_metrics = RequestMetrics(self.kinds)

    def authorize(self, user: User, question: AuthorizerQuestion) -> AuthorizerAnswer:
        """For expressions that ask who may do what."""
        return answer(self.authorizer, user, question)

    def client_as(self, name: str, manager: str, *groups: str) -> LoopbackClient:
        """A client in process that acts as a user."""
        user = User(name=name, groups=(*groups, *account_groups(name), AUTHENTICATED))
        requests = ComponentRequests(user, self.authorizer, self._rbac, self.request_metrics, self._clock)
        return LoopbackClient(self.registry, self._pods, requests, self._guard, self._clock, user, manager)

    def system_client(self) -> LoopbackClient:
        """As the API server itself."""
        return self.client_as(API_SERVER_USER, "kube-apiserver", MASTERS)

    def kubelet_client(self, node: str) -> LoopbackClient:
        return self.client_as(f"{NODE_USER_PREFIX}{node}", "kubelet", NODES_GROUP)

    def newest(self, resource: str, namespace: str, name: str) -> Document | None:
        """The newest document, or None when there is none that can be read."""
        try:
            return self.registry.newest(self.kinds.named(resource), namespace, name)
        except Unreadable:
            return None

    @property
    def awaits_others(self) -> bool:
        """Whether the store's writer or a webhook has yet to answer."""
        is_writing = self._store.is_well and any(True for _ in self._store.pending())
        return is_writing or self._webhook_caller.in_flight > 0

    def own_service(self, port: int) -> Mapping[str, Document]:
        """The API's own service and, if it leads to this server, where it leads, by resource."""
        settings = self._settings
        found = api_service(self._address or settings.bind_address, port)
        is_behind = settings.etcd is None or settings.etcd.reconciles_endpoints
        return found if is_behind else {"services": found["services"]}

    async def prepare(self, *, port: int, ca_certificate: bytes) -> None:
        """What must be there before the first request is answered, if it was not made before."""
        if self._is_prepared:
            return
        client = self.system_client()
        await until_answered(lambda: self._bootstrap(client, port, ca_certificate))
        if self._node_ports is not None:
            self._tasks.append(asyncio.create_task(self._node_ports.run()))
            self._appear(client, port)
        self._is_prepared = True

    async def _bootstrap(self, client: LoopbackClient, port: int, ca_certificate: bytes) -> None:
        """Each part is made where it is absent: tried again, it goes on where it was."""
        if self._node_ports is not None:
            await self._node_ports.run_once()
        await bootstrap(
            client,
            self.newest,
            own_service=self.own_service(port),
            ca_certificate=ca_certificate,
            is_alone=not self._store.is_shared,
        )
        await ensure_roles(client, self.newest)

    def _appear(self, client: LoopbackClient, port: int) -> None:
        """Let the other servers of the same store know of this one."""
        settings = self._settings
        address = self._address
        identity = IdentityLease(
            client,
            self.newest,
            self.cache.collection(LEASES),
            self._clock,
            address=address or settings.bind_address,
            port=port,
            uid=self._names.uid(),
        )
        self._tasks.append(asyncio.create_task(identity.run()))
        if address and settings.etcd is not None and settings.etcd.reconciles_endpoints:
            leases = self.cache.collection(MASTER_LEASES)
            self._endpoints = EndpointReconciler(self._store, leases, client, self.newest, address=address, port=port)
            self._tasks.append(asyncio.create_task(self._endpoints.run()))

    def pipeline(
        self,
        credentials: Credentials,
        audit: AuditLog | None,
        *,
        computed: Mapping[str, Compute],
        sources: Iterable[MetricsSource],
        plain: Mapping[str, PlainHandler],
        logs_of: LogsOf,
    ) -> Pipeline:
        """`computed` are resources made when asked for; `sources` add to `/metrics`; `plain` are further paths;
        `logs_of` tells what containers wrote.
        """
        tokens = ServiceAccountTokens(credentials.service_account_key, self.cache, self._clock, self._names)
        authenticator = ClusterAuthenticator(
            credentials.admin_token,
            tokens,
            others=(BootstrapTokens(self.cache, self._clock, audiences=tokens.audiences),),
            certificates=ClientCertificates(self._clock, credentials.ca_certificate),
        )
        flow = FlowControl(
            self.cache,
            mutating_max=self._settings.max_mutating_requests_inflight,
            read_only_max=self._settings.max_requests_inflight,
        )
        faults = self.cache.faults
        requests = self.request_metrics
        own_sources = (
            requests.collect,
            flow_source(flow),
            storage_source(self.cache, self.kinds),
            reader_source(faults),
        )
        return Pipeline(
            self.registry,
            authenticator=authenticator,
            authorizer=self.authorizer,
            access=AuthServices(
                reviews=Reviews(self.authorizer, self._rbac, authenticator, self._clock),
                guard=self._guard,
                token_requests=TokenRequests(self.registry, tokens, self._clock),
                certificate_requests=CertificateRequests(self.registry, self.authorizer),
                issuer=OpenIdDiscovery(tokens),
            ),
            computed=computed,
            flow=flow,
            metrics=Metrics(*own_sources, *sources, faults=faults),
            requests=requests,
            audit=audit,
            health=self._health(faults),
            clock=self._clock,
            names=self._names,
            rng=random.Random(self._rng.random()),
            plain=plain,
            logs_of=logs_of,
        )

    def _health(self, faults: ReaderFaults) -> HealthChecks:
        etcd, store = self._settings.etcd, self._store
        checks: dict[str, HealthCheck] = {"ping": lambda: True, "log": lambda: True, "etcd": store.answers}
        if etcd is not None:
            checks["etcd"] = lambda: store.answers(etcd.healthcheck_seconds)
            checks["etcd-readiness"] = lambda: store.answers(etcd.readycheck_seconds)
        return HealthChecks({**checks, **self._start_hooks()}, faults, ready_only=("etcd-readiness",))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._endpoints is not None:
            await self._endpoints.stop()
        self.custom_kinds.close()
        self.cache.close_streams()
        await self._webhook_caller.close()
        await self._store.close()

    def _share_numbers(self) -> NodePortRepair:
        """Other servers of the same store give out addresses and ports of services, too."""
        user = User(name=API_SERVER_USER, groups=(MASTERS, AUTHENTICATED))
        caller = Caller(user=user, manager="kube-apiserver")
        node_ports = NodePortAllocation(self._store, self._names.uid)
        self.registry.share_numbers(ServiceClaims(self.registry, self.kinds.named(ADDRESSES), node_ports, caller))
        return NodePortRepair(self._store, self.cache.collection(SERVICES), node_ports)

    def _admission_settings(self) -> AdmissionSettings:
        settings = self._settings
        return AdmissionSettings(
            default_not_ready_toleration_seconds=settings.default_not_ready_toleration_seconds,
            default_unreachable_toleration_seconds=settings.default_unreachable_toleration_seconds,
            suffix=self._names.suffix,
            default_tolerations=settings.toleration_restriction.default,
            toleration_whitelist=settings.toleration_restriction.whitelist,
            limited_resources=settings.quota_limits.limited_resources,
            authorize=self.authorize,
        )

    def _published(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:  # a document
        found = self.cache.collection(resource).get(f"{namespace}/{name}" if namespace else name)
        return found.document() if found is not None else None

    def _merged(self, resource: VersionedResource, obj: Document, config: Document) -> Document:
        """For mutating policies: the object with a configuration, merged as server-side apply does."""
        kind = self.kinds.at(resource.group, resource.version, resource.resource)
        if kind is None:
            raise CelError(f"{resource.kind_version}, Kind={resource.kind} is no longer served")
        if path := self._applier.atomic_path(kind.type_name, config):
            raise CelError(f"error applying patch: may not mutate atomic arrays, maps or structs: {path}")
        return self._applier.merge(kind.type_name, obj, config)

    def _start_hooks(self) -> dict[str, Callable[[], bool]]:
        """What is done before the first request, as the checks Kubernetes names after it."""

        def has(resource: str) -> Callable[[], bool]:
            return lambda: bool(self.cache.collection(resource).objects)

        return {
            "poststarthook/start-system-namespaces-controller": has("namespaces"),
            "poststarthook/rbac/bootstrap-roles": has("clusterroles.rbac.authorization.k8s.io"),
            "poststarthook/scheduling/bootstrap-system-priority-classes": has("priorityclasses.scheduling.k8s.io"),
        }


def _seed_at(seed: int | None, revision: int) -> int | str | None:
    """A fixed seed goes on where a kept store has come to: the same one again would give uids a second time."""
    return seed if seed is None or revision == 0 else f"{seed}@{revision}"
