"""Where the service `kubernetes` leads when several servers serve one etcd: kube-apiserver's lease reconciler.

Each server puts a key of its address, which etcd forgets after 15 seconds, and puts it again every ten. Whose keys are
there, those addresses are the endpoints. All have this server's port: servers that are advertised have the same.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any, Final

from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Create, Patch, PatchType
from doorman.client.client import Client
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.commit import swap
from doorman.runtime.defaults.default_objects import API_SERVICE, Existing, api_endpoints
from doorman.store.store_contract import Conflict, Entry, Store, Write

MASTER_LEASES: Final = "masterleases"
PERIOD_SECONDS: Final = 10.0
STOP_SECONDS_MAX: Final = 2.0
_PARTS: Final = {"endpoints": ("subsets",), "endpointslices.discovery.k8s.io": ("endpoints", "ports")}

_log: Final = logging.getLogger("doorman.runtime")


class EndpointReconciler:
    def __init__(
        self, store: Store, leases: Collection, client: Client, existing: Existing, *, address: str, port: int
    ) -> None:
        self._store = store
        self._leases = leases
        self._client = client
        self._existing = existing
        self._address = address
        self._port = port

    async def run(self) -> None:
        while True:
            try:
                await self._renew()
                await self.reconcile()
            except ApiError as error:
                _log.warning("the endpoints of the service %s are not up to date: %s", API_SERVICE, error)
            await asyncio.sleep(PERIOD_SECONDS)

    async def stop(self) -> None:
        """This server is reached no more. Bounded: whoever stops may do so because etcd does not answer."""
        with contextlib.suppress(ApiError, Conflict, TimeoutError):
            async with asyncio.timeout(STOP_SECONDS_MAX):
                entry = self._store.peek(self._key)
                if entry is not None:
                    await self._store.commit(Write(self._key, None, entry.revision))
                await self.reconcile()

    async def reconcile(self) -> None:
        """Have the endpoints say which servers there are."""
        wanted = api_endpoints(self._addresses(), self._port)
        for resource, parts in _PARTS.items():
            found = self._existing(resource, "default", API_SERVICE)
            if found is None:
                create = Create(resource=resource, namespace="default", body=wanted[resource])
                await self._client.create(create)
            elif change := decide_change(found, wanted[resource], parts):
                patch = Patch(
                    resource=resource, namespace="default", name=API_SERVICE, body=change, type=PatchType.MERGE
                )
                await self._client.patch(patch)

    @property
    def _key(self) -> str:
        return f"{MASTER_LEASES}/{self._address}"

    async def _renew(self) -> None:
        """Put the key once more: every time with another number, or nothing would be written."""

        async def renewed(entry: Entry | None) -> bytes:
            stored = self._leases.get(self._address) if entry is not None else None
            generation = stored.view.metadata.generation if stored is not None else 0
            doc: Document = {
                "metadata": {"name": self._address, "generation": generation + 1},
                "subsets": [{"addresses": [{"ip": self._address}]}],
            }
            return to_kept_bytes(doc)

        await swap(self._store, self._key, self._store.peek(self._key), renewed)

    def _addresses(self) -> list[str]:
        return sorted({one for stored in self._leases.objects.values() for one in _address_of(stored.document())})


def decide_change(
    found: Document,
    wanted: Document,
    parts: Sequence[str],
) -> dict[str, Any]:  # a merge patch
    """What to change; empty: nothing."""
    labels = found["metadata"].get("labels") or {}
    lacks = {name: value for name, value in wanted["metadata"]["labels"].items() if labels.get(name) != value}
    change: dict[str, Any] = {part: wanted[part] for part in parts if (found.get(part) or []) != wanted[part]}
    return {"metadata": {"labels": lacks}, **change} if lacks else change


def _address_of(doc: Document) -> list[str]:
    subsets = doc.get("subsets") or [{}]
    addresses = subsets[0].get("addresses") or [{}]
    address = addresses[0].get("ip")
    return [address] if address else []
