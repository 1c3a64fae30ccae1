"""The simulated kubelets' client: each action is taken as the node it is about, with a kubelet's rights and no more."""

import contextlib
from collections.abc import Callable
from typing import Final

from doorman.api.well_known import EVENTS, LEASES, NODE_LEASE_NAMESPACE, PODS
from doorman.base.errors import ApiError
from doorman.base.instants import to_micro_time
from doorman.client.actions import Bind, Create, Delete, Patch, PatchType, Renew, Update
from doorman.nodes.kubelet_actions import node_of_changed, node_of_created
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.fastpath.lease_renewal import LeaseRenewals
from doorman.runtime.in_process.loopback_client import LoopbackClient

GONE_MIN: Final = 64
"""Fewer nodes that are gone are not worth looking for."""

LoopbackClientOf = Callable[[str], LoopbackClient]
"""The client that acts as `system:node:<name>`."""


class KubeletClient:
    def __init__(self, cache: WatchCache, client_of: LoopbackClientOf, renewals: LeaseRenewals) -> None:
        self._cache = cache
        self._renewals = renewals
        self._client_of = client_of
        self._clients: dict[str, LoopbackClient] = {}

    async def create(self, action: Create) -> Stored:
        return await self._as(node_of_created(action)).create(action)

    async def update(self, action: Update) -> Stored:
        return await self._as(self._node_of(action)).update(action)

    async def patch(self, action: Patch) -> Stored:
        return await self._as(self._node_of(action)).patch(action)

    async def delete(self, action: Delete) -> None:
        await self._as(self._node_of(action)).delete(action)

    async def bind(self, action: Bind) -> None:
        await self._as(action.node).bind(action)

    async def renew(self, action: Renew) -> None:
        kubelets = {node: self._as(node) for node in action.nodes}
        others = await self._renewals.renew({node: kubelet.user for node, kubelet in kubelets.items()}, action.at)
        if len(others) < len(kubelets):
            kubelets[action.nodes[0]].count_renewals(len(kubelets) - len(others), 0.0)
        body = {"spec": {"renewTime": to_micro_time(action.at)}}
        for node in others:
            patch = Patch(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, name=node, body=body, type=PatchType.MERGE)
            with contextlib.suppress(ApiError):  # its next turn mends it
                await self._as(node).patch(patch)

    def _as(self, node: str) -> LoopbackClient:
        found = self._clients.get(node)
        if found is None:
            self._forget_those_gone()
            found = self._clients[node] = self._client_of(node)
        return found

    def _forget_those_gone(self) -> None:
        """Once they outnumber the nodes there are. Late words about a node that has just gone may still need one."""
        nodes = self._cache.collection("nodes")
        if len(self._clients) >= 2 * len(nodes.objects) + GONE_MIN:
            self._clients = {node: client for node, client in self._clients.items() if nodes.get(node) is not None}

    def _node_of(self, action: Patch | Update | Delete) -> str:
        return node_of_changed(action, pod_node=self._node_of_pod, event_node=self._node_of_event)

    def _node_of_pod(self, key: str) -> str | None:
        stored = self._cache.collection(PODS).get(key)
        return None if stored is None else str(stored.view.spec.node_name)

    def _node_of_event(self, key: str) -> str | None:
        """Whose event it was is in the event, as long as it is there."""
        stored = self._cache.collection(EVENTS).get(key)
        return None if stored is None else str((stored.document().get("source") or {}).get("host", ""))
