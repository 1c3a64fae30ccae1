"""Keeps the bitmap of node ports that servers share in step with the services: at the start, and every three minutes.

As in kube-apiserver: a port of a service that is not in it is put in; one that no service uses is freed when it was
seen so three times. Nobody can claim a port before the bitmap is there.
"""

import asyncio
import logging
from typing import Final

from doorman.base.errors import ApiError
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.stored_object import Stored, Unreadable
from doorman.registry.commit import swap
from doorman.registry.kinds.service_allocators import numbers_of
from doorman.registry.kinds.service_claims import NODE_PORTS_KEY, NodePortAllocation, bitmap_of
from doorman.semantics.node_port_bitmap import PortBitmap, decide_repair
from doorman.store.store_contract import Entry, Store

PERIOD_SECONDS: Final = 180.0

_log: Final = logging.getLogger("doorman.registry")


class NodePortRepair:
    def __init__(self, store: Store, services: Collection, node_ports: NodePortAllocation) -> None:
        self._store = store
        self._services = services
        self._node_ports = node_ports
        self._unused: dict[int, int] = {}
        """How often a port in use was seen without a service."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            try:
                await self.run_once()
            except ApiError as error:
                _log.warning("node ports were not repaired: %s", error)

    async def run_once(self) -> None:
        """Raises the refusal of the store."""
        leaked: frozenset[int] = frozenset()
        unused: dict[int, int] = {}

        async def repaired(entry: Entry | None) -> bytes | None:
            # First the bitmap, then the services: of a claim that is in the one the service may be in the other.
            nonlocal leaked, unused
            await self._store.catch_up()
            stored = bitmap_of(entry) if entry is not None else PortBitmap()
            repaired, unused = decide_repair(stored, self._ports_of_services(), self._unused)
            leaked = stored.used - repaired.used
            return self._node_ports.kept(repaired) if entry is None or repaired != stored else None

        await swap(self._store, NODE_PORTS_KEY, await self._store.refresh(NODE_PORTS_KEY), repaired)
        for port in sorted(leaked):
            _log.warning("the node port %d appears to have leaked: cleaning up", port)
        self._unused = unused

    def _ports_of_services(self) -> set[int]:
        return {port for stored in self._services.objects.values() for port in _ports(stored)}


def _ports(stored: Stored) -> set[int]:
    try:
        spec = stored.document().get("spec") or {}
    except Unreadable:
        return set()
    return {number for number in numbers_of(spec) if isinstance(number, int)}
