"""The simulated kubelets' client over HTTP: each action is taken as the node it is about."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import msgspec

from doorman.api.well_known import EVENTS, LEASES, NODE_LEASE_NAMESPACE, NODE_USER_PREFIX, NODES_GROUP, PODS
from doorman.base.errors import ApiError
from doorman.base.instants import to_micro_time
from doorman.client.actions import Bind, Create, Delete, Patch, Renew, Update
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.remote_client import RemoteClient
from doorman.nodes.kubelet_actions import node_of_changed, node_of_created

EVENTS_REMEMBERED_MAX: Final = 10_000

_log: Final = logging.getLogger("doorman.nodes")

RemoteClientOf = Callable[[str], RemoteClient]
"""The client that acts as a node."""


def node_headers(node: str) -> dict[str, str]:
    """Impersonation: the user of kubeconfig speaks as the node."""
    return {"Impersonate-User": f"{NODE_USER_PREFIX}{node}", "Impersonate-Group": NODES_GROUP}


def impersonating(base: RemoteClient, requests: ApiRequests) -> RemoteClientOf:
    return lambda node: base.with_requests(requests.variant(headers=node_headers(node)))


class RemoteKubelets:
    def __init__(self, client_of: RemoteClientOf, informers: HttpInformers) -> None:
        self._client_of = client_of
        self._informers = informers
        self._events: OrderedDict[str, str] = OrderedDict()
        """Whose events they are, of those written last."""

    async def create(self, action: Create) -> Any:
        node = node_of_created(action)
        if action.resource == EVENTS:
            self._events[f"{action.namespace}/{action.body['metadata']['name']}"] = node
            if len(self._events) > EVENTS_REMEMBERED_MAX:
                self._events.popitem(last=False)
        return await self._client_of(node).create(action)

    async def update(self, action: Update) -> Any:
        return await self._client_of(self._node_of(action)).update(action)

    async def patch(self, action: Patch) -> Any:
        return await self._client_of(self._node_of(action)).patch(action)

    async def delete(self, action: Delete) -> None:
        await self._client_of(self._node_of(action)).delete(action)

    async def bind(self, action: Bind) -> None:
        await self._client_of(action.node).bind(action)

    async def renew(self, action: Renew) -> None:
        time = to_micro_time(action.at)
        await asyncio.gather(*(self._renew(node, time) for node in action.nodes))

    async def _renew(self, node: str, time: str) -> None:
        """As kubelets do: the whole lease, upon the version that is known; once more when that is not the newest."""
        client = self._client_of(node)
        documents = self._informers.of(LEASES).documents or {}
        kept = documents.get(f"{NODE_LEASE_NAMESPACE}/{node}")
        try:
            if kept is not None:
                try:
                    await client.update(_renewal(node, msgspec.json.decode(kept), time))
                except ApiError as error:
                    if error.code != 409:
                        raise
                else:
                    return
            await client.update(_renewal(node, await client.get(LEASES, NODE_LEASE_NAMESPACE, node), time))
        except ApiError as error:  # its next turn mends it
            _log.info("the lease of %s was not renewed: %s", node, error)

    def _node_of(self, action: Patch | Update | Delete) -> str:
        return node_of_changed(action, pod_node=self._node_of_pod, event_node=self._events.get)

    def _node_of_pod(self, key: str) -> str | None:
        pod = self._informers.lister(PODS).get(key)
        return None if pod is None else str(pod.spec.node_name)


def _renewal(node: str, lease: dict[str, Any], time: str) -> Update:  # a Lease as JSON
    body = {**lease, "spec": {**(lease.get("spec") or {}), "renewTime": time}}
    return Update(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, name=node, body=body)
