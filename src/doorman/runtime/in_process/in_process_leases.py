"""Leases of leader election, read and written in process."""

from collections.abc import Awaitable, Callable

from doorman.api.well_known import LEASES, SYSTEM_NAMESPACE
from doorman.base.json_types import Document
from doorman.client.actions import Create, Update
from doorman.runtime.in_process.loopback_client import LoopbackClient

Newest = Callable[[str, str, str], Document | None]
"""The newest document of a resource, namespace and name."""


class InProcessLeases:
    def __init__(self, client: LoopbackClient, newest: Newest, catch_up: Callable[[], Awaitable[None]]) -> None:
        """`catch_up` reads first what others have written to a store that is shared."""
        self._client = client
        self._newest = newest
        self._catch_up = catch_up

    async def get(self, name: str) -> Document | None:
        await self._catch_up()
        return self._newest(LEASES, SYSTEM_NAMESPACE, name)

    def known(self, name: str) -> Document | None:
        return self._newest(LEASES, SYSTEM_NAMESPACE, name)

    async def create(self, lease: Document) -> Document:
        stored = await self._client.create(Create(resource=LEASES, namespace=SYSTEM_NAMESPACE, body=lease))
        return stored.document()

    async def update(self, lease: Document) -> Document:
        name = lease["metadata"]["name"]
        stored = await self._client.update(Update(resource=LEASES, namespace=SYSTEM_NAMESPACE, name=name, body=lease))
        return stored.document()
