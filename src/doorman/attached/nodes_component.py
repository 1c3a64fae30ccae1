"""Simulated nodes as a process of their own: `doorman nodes`."""

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from doorman.api.scheme import builtin_scheme
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE
from doorman.attached.component_process import ComponentParts
from doorman.attached.remote_kubelets import RemoteKubelets, impersonating
from doorman.attached.serving_port import Check, MetricsSource
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.remote_client import RemoteClient
from doorman.client.http.unseen_writes import RemoteExecutor
from doorman.client.recorder import REMOTE_QUEUE_EVENTS_MAX
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.agent_settings import AgentSettings
from doorman.runtime.components.component_metrics import controller_source
from doorman.runtime.components.informer_indexes import indexed_cache
from doorman.runtime.controller_manager import ControllerManager

MANAGER: Final = "kubelet"
NODES_AT_ONCE: Final = 32
WITH_NODE: Final = {"fieldSelector": "spec.nodeName!="}
NODE_LEASES: Final = {"fieldSelector": f"metadata.namespace={NODE_LEASE_NAMESPACE}"}


class NodeIdentity(StrEnum):
    """As whom simulated nodes speak."""

    IMPERSONATE = "impersonate"
    """Each as its own node, which whoever the kubeconfig names must be allowed to be."""
    SELF = "self"
    """As the kubeconfig's user."""


def nodes_client(requests: ApiRequests) -> RemoteClient:
    return RemoteClient(requests, builtin_scheme(), MANAGER)


class NodesComponent:
    def __init__(
        self,
        around: ComponentParts,
        manifests: Sequence[dict[str, Any]],
        settings: AgentSettings,
        identity: NodeIdentity,
    ) -> None:
        """`manifests` are nodes to create, where they are not there."""
        self._around = around
        self._manifests = manifests
        self._identity = identity
        self._scheme = builtin_scheme()
        kinds = self._scheme.kinds
        self.informers = HttpInformers(
            around.requests.variant(qps=0.0),
            kinds,
            around.clock,
            around.faults,
            indexed_cache,
            selectors={"pods": WITH_NODE, LEASES: NODE_LEASES},
            documents=(LEASES,),
        )
        self._manager = ControllerManager(
            self.informers,
            kinds,
            around.clock,
            around.faults,
            host=socket.gethostname(),
            events_max=REMOTE_QUEUE_EVENTS_MAX,
            new_executor=lambda client, recorder, renewer: RemoteExecutor(
                client, recorder, renewer, self.informers.seen
            ),
        )
        lister = self.informers.lister
        self._agent = SimulatedNodes(lister("nodes"), lister("pods"), lister(LEASES), settings)

    @property
    def checks(self) -> Mapping[str, Check]:
        return {}

    @property
    def sources(self) -> Iterable[MetricsSource]:
        return (controller_source(self._manager.runners),)

    async def lead(self, may_act: Callable[[], bool]) -> None:
        requests = self._around.requests.while_(may_act)
        own = RemoteClient(requests, self._scheme, MANAGER)
        client_of = impersonating(own, requests) if self._identity is NodeIdentity.IMPERSONATE else lambda _: own
        kubelets = RemoteKubelets(client_of, self.informers)
        self._manager.join(self._agent, kubelets, kubelets)
        places = asyncio.Semaphore(NODES_AT_ONCE)

        async def create(manifest: dict[str, Any]) -> None:
            async with places:
                try:
                    await own.create(Create(resource="nodes", body=manifest))
                except ApiError as error:
                    if error.code != 409:
                        raise

        await asyncio.gather(*(create(manifest) for manifest in self._manifests))

    async def resign(self) -> None:
        for runner in list(self._manager.runners):
            self._manager.leave(runner)
