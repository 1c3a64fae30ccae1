"""Simulated nodes as a process of their own: `doorman nodes`."""

import asyncio
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

from doorman.api.scheme import builtin_scheme
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE
from doorman.attached.component_process import ComponentParts
from doorman.attached.managed_component import ManagedComponent
from doorman.attached.remote_kubelets import RemoteKubelets, impersonating
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.remote_client import RemoteClient
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.agent_settings import AgentSettings

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


class NodesComponent(ManagedComponent):
    def __init__(
        self,
        around: ComponentParts,
        manifests: Sequence[dict[str, Any]],
        settings: AgentSettings,
        identity: NodeIdentity,
    ) -> None:
        """`manifests` are nodes to create, where they are not there."""
        super().__init__(around, selectors={"pods": WITH_NODE, LEASES: NODE_LEASES}, documents=(LEASES,))
        self._manifests = manifests
        self._identity = identity
        lister = self.informers.lister
        self._agent = SimulatedNodes(lister("nodes"), lister("pods"), lister(LEASES), settings)

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
