"""Claims on addresses and node ports where several servers give them out: the store they share decides.

An address is claimed by creating its IPAddress, before the service is written: whoever finds one there takes another
address. Node ports are claimed in the bitmap that kube-apiserver keeps under `ranges/servicenodeports`, all ports of a
service by one compare-and-swap. What a server that died had claimed and not used is found by the repair of each
(`controllers/service/ip_addresses.py`, `node_port_repair.py`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Protocol

import msgspec

from doorman.api.kinds import Kind
from doorman.base.errors import ApiError, internal
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.caller import Caller
from doorman.registry.commit import swap
from doorman.registry.deletion import DeleteOptions, Preconditions
from doorman.registry.write_target import WriteTarget
from doorman.semantics.node_port_bitmap import PortBitmap, parse_bitmap
from doorman.semantics.service_addresses import MANAGED_BY, MANAGER, address_manifest
from doorman.store.store_contract import Entry, Store

NODE_PORTS_KEY: Final = "rangeallocations/servicenodeports"
_NO_BITMAP: Final = (
    "failed to allocate a nodePort: cannot allocate resources of type servicenodeportallocations at this time"
)
_HEAD: Final = b'{"metadata":{'

_log: Final = logging.getLogger("doorman.registry")

Number = str | int
"""An address or a port."""
BitmapChange = Callable[[PortBitmap], PortBitmap | None]
"""From what is stored to what is to be; None: nothing is written."""


class Objects(Protocol):
    """What claims need of the registry."""

    def newest(self, kind: Kind, namespace: str, name: str) -> Document | None: ...

    def create(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> Awaitable[Any]: ...  # what is stored

    def delete(
        self, target: WriteTarget, options: DeleteOptions, caller: Caller
    ) -> Awaitable[Any]: ...  # what was stored


class NodePortAllocation:
    """The bitmap of node ports in the store."""

    def __init__(self, store: Store, new_uid: Callable[[], str]) -> None:
        self._store = store
        self._new_uid = new_uid
        self._lock = asyncio.Lock()

    async def change(self, decide: BitmapChange) -> bool:
        """Store what is decided upon the newest bitmap. False: there is none."""
        async with self._lock:  # who waits here would only be told of a conflict there
            entry = self._store.peek(NODE_PORTS_KEY) or await self._store.refresh(NODE_PORTS_KEY)
            is_there = True

            async def decided(entry: Entry | None) -> bytes | None:
                nonlocal is_there
                is_there = entry is not None
                new = decide(bitmap_of(entry)) if entry is not None else None
                return self.kept(new) if new is not None else None

            await swap(self._store, NODE_PORTS_KEY, entry, decided)
            return is_there

    def kept(self, bitmap: PortBitmap) -> bytes:
        # Another uid every time: a write of which nobody knows whether it was done is told from another server's same.
        metadata = {"name": "servicenodeports", "uid": self._new_uid()}
        return to_kept_bytes({"metadata": metadata, "range": bitmap.range_text, "data": bitmap.data()})


class ServiceClaims:
    def __init__(self, objects: Objects, addresses: Kind, node_ports: NodePortAllocation, caller: Caller) -> None:
        self._objects = objects
        self._addresses = addresses
        self._node_ports = node_ports
        self._caller = caller

    def is_known(self, address: str) -> bool:
        """Whether it is claimed, as far as is known here."""
        return self._objects.newest(self._addresses, "", address) is not None

    async def claim(self, namespace: str, name: str, numbers: Iterable[Number]) -> set[Number]:
        """Claim all of them for a service, or none: then those that others have.

        Addresses first, as kube-apiserver does: of two who want the same of both kinds, one gets them.
        """
        addresses: list[str] = []
        ports: set[int] = set()
        for number in numbers:
            if isinstance(number, int):
                ports.add(number)
            elif await self._claim_address(number, namespace, name):
                addresses.append(number)
            else:
                await self.release(namespace, name, addresses)
                return {number}
        refused = await self._claim_ports(ports) if ports else set()
        if refused:
            await self.release(namespace, name, addresses)
        return set(refused)

    async def release(self, namespace: str, name: str, numbers: Iterable[Number]) -> None:
        """Give back what a service no longer needs. What cannot be given back now is found by the repair."""
        ports: set[int] = set()
        for number in numbers:
            if isinstance(number, int):
                ports.add(number)
            else:
                await _tried(self._release_address(number, namespace, name))
        if ports:
            await _tried(self._node_ports.change(lambda bitmap: _without(bitmap, ports)))

    async def _claim_address(self, address: str, namespace: str, name: str) -> bool:
        doc = address_manifest(address, namespace, name)
        try:
            await self._objects.create(self._addresses, "", doc, self._caller)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return False
        return True

    async def _release_address(self, address: str, namespace: str, name: str) -> None:
        found = self._objects.newest(self._addresses, "", address)
        if found is None or (found["metadata"].get("labels") or {}).get(MANAGED_BY) != MANAGER:
            return
        parent = (found.get("spec") or {}).get("parentRef") or {}
        if (parent.get("namespace"), parent.get("name")) == (namespace, name):
            options = DeleteOptions(preconditions=Preconditions(uid=found["metadata"]["uid"]))
            await self._objects.delete(WriteTarget(self._addresses, "", address), options, self._caller)

    async def _claim_ports(self, ports: set[int]) -> set[int]:
        """Those that others have; if there are none, all are claimed."""
        refused: set[int] = set()

        def decide(bitmap: PortBitmap) -> PortBitmap | None:
            refused.clear()
            refused.update(ports & bitmap.used, (port for port in ports if port not in bitmap.ports))
            return None if refused else msgspec.structs.replace(bitmap, used=bitmap.used | ports)

        if not await self._node_ports.change(decide):
            raise internal(_NO_BITMAP)
        return refused


def bitmap_of(entry: Entry) -> PortBitmap:
    """Raises the refusal when it cannot be read."""
    try:
        doc = msgspec.json.decode(_HEAD + entry.value)
        return parse_bitmap(doc["range"], doc.get("data") or "")
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise internal(f"failed to allocate a nodePort: the bitmap of node ports cannot be read: {error}") from error


def _without(bitmap: PortBitmap, ports: set[int]) -> PortBitmap | None:
    return msgspec.structs.replace(bitmap, used=bitmap.used - ports) if ports & bitmap.used else None


async def _tried(work: Awaitable[object]) -> None:
    try:
        await work
    except ApiError as error:
        if not isinstance(error, ApiError) or error.reason != "NotFound":
            _log.warning("a number of a service was not given back, and will be found: %s", error)
