"""Simulated nodes as a process of their own: `doorman nodes`."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

from doorman.api.scheme import builtin_scheme
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.api.views.storage.csi import CSI_DRIVERS
from doorman.api.views.storage.persistent_volumes import CLAIMS as VOLUME_CLAIMS
from doorman.api.views.storage.persistent_volumes import VOLUMES
from doorman.api.well_known import KUBELET, LEASES, NODE_LEASE_NAMESPACE
from doorman.attached.access.access_check import Needed, Right, in_order, rights_of_election, rights_of_informers
from doorman.attached.component_process import ComponentParts
from doorman.attached.component_settings import ElectionSettings
from doorman.attached.managed_component import ManagedComponent
from doorman.attached.remote_kubelets import RemoteKubelets, impersonating
from doorman.attached.serving_port import Configuration
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.remote_client import RemoteClient
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.agent_settings import AgentSettings
from doorman.nodes.pods.pod_configuration import PodConfiguration
from doorman.nodes.pods.start_requirements import StartRequirements
from doorman.nodes.volumes.node_volumes import NodeVolumes

NODES_AT_ONCE: Final = 32
WITH_NODE: Final = {"fieldSelector": "spec.nodeName!="}
NODE_LEASES: Final = {"fieldSelector": f"metadata.namespace={NODE_LEASE_NAMESPACE}"}
WAITED_FOR: Final = ("configmaps", "secrets", VOLUME_CLAIMS, VOLUMES, CSI_DRIVERS, CLAIMS)

_AS_NODES: Final = (
    ("nodes/status", "patch"),
    ("pods/status", "patch"),
    ("pods", "delete"),
    ("events", "create"),
    ("events", "patch"),
)
"""What nodes do, for who speaks for them as himself."""

_log: Final = logging.getLogger("doorman.nodes")


class NodeIdentity(StrEnum):
    """As whom simulated nodes speak."""

    IMPERSONATE = "impersonate"
    """Each as its own node, which whoever the kubeconfig names must be allowed to be."""
    SELF = "self"
    """As the kubeconfig's user."""


def start_requirements(informers: HttpInformers) -> StartRequirements:
    """What pods wait for, as far as it may be read: of the rest nobody knows whether it is there."""
    unread = [resource for resource in WAITED_FOR if not informers.of(resource).is_read]
    if unread:
        _log.warning("pods do not wait for %s, which cannot be read", ", ".join(unread))

    def is_read(*resources: str) -> bool:
        return not set(resources) & set(unread)

    lister = informers.lister
    return StartRequirements(
        PodConfiguration(lister("configmaps"), lister("secrets")) if is_read("configmaps", "secrets") else None,
        lister(VOLUME_CLAIMS) if is_read(VOLUME_CLAIMS) else None,
        lister(CLAIMS) if is_read(CLAIMS) else None,
        NodeVolumes(lister("nodes"), lister("pods"), lister(VOLUME_CLAIMS), lister(VOLUMES), lister(CSI_DRIVERS))
        if is_read(VOLUME_CLAIMS, VOLUMES, CSI_DRIVERS)
        else None,
    )


def nodes_client(requests: ApiRequests) -> RemoteClient:
    return RemoteClient(requests, builtin_scheme(), KUBELET)


class NodesComponent(ManagedComponent):
    def __init__(
        self,
        around: ComponentParts,
        manifests: Sequence[dict[str, Any]],
        settings: AgentSettings,
        identity: NodeIdentity,
    ) -> None:
        """`manifests` are nodes to create, where they are not there."""
        super().__init__(
            around, selectors={"pods": WITH_NODE, LEASES: NODE_LEASES}, documents=(LEASES,), optional=WAITED_FOR
        )
        self._manifests = manifests
        self._settings = settings
        self._identity = identity
        for resource in ("nodes", "pods", LEASES, *WAITED_FOR):
            self.informers.of(resource)

    @property
    def configuration(self) -> Configuration:
        names = [manifest["metadata"]["name"] for manifest in self._manifests]
        return {"doorman.dev": {"nodes": names, "nodeIdentity": self._identity.value}}

    def needed(self, election: ElectionSettings) -> Iterable[Needed]:
        requests = self._around.requests.variant(qps=0.0)
        rights = [*rights_of_informers(self.informers, WAITED_FOR), *rights_of_election(election)]
        rights.append(Right("", "nodes", "create"))
        if self._identity is NodeIdentity.IMPERSONATE:
            rights += [Right("", resource, "impersonate") for resource in ("users", "groups")]
        else:
            rights += [Right("", *pair) for pair in _AS_NODES]
            group = LEASES.partition(".")[2]
            rights += [Right(group, "leases", verb, "", NODE_LEASE_NAMESPACE) for verb in ("create", "get", "update")]
        yield Needed("nodes", requests, in_order(rights))

    async def lead(self, may_act: Callable[[], bool]) -> None:
        requests = self._around.requests.only_while(may_act)
        own = RemoteClient(requests, self._scheme, KUBELET)
        client_of = impersonating(own, requests) if self._identity is NodeIdentity.IMPERSONATE else lambda _: own
        kubelets = RemoteKubelets(client_of, self.informers)
        lister = self.informers.lister
        agent = SimulatedNodes(
            lister("nodes"), lister("pods"), lister(LEASES), self._settings, start_requirements(self.informers)
        )
        self._manager.join(agent, kubelets, kubelets)
        places = asyncio.Semaphore(NODES_AT_ONCE)

        async def create(manifest: dict[str, Any]) -> None:
            async with places:
                try:
                    await own.create(Create(resource="nodes", body=manifest))
                except ApiError as error:
                    if error.code != 409:
                        raise

        await asyncio.gather(*(create(manifest) for manifest in self._manifests))
