"""Leases of leader election, read and written in process."""

from doorman.api.well_known import LEASES, SYSTEM_NAMESPACE
from doorman.base.json_types import Document
from doorman.client.actions import Create, Update
from doorman.runtime.api_server import ApiServer


class InProcessLeases:
    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._client = api.system_client()

    async def get(self, name: str) -> Document | None:
        await self._api.registry.catch_up()
        return self._api.newest(LEASES, SYSTEM_NAMESPACE, name)

    async def create(self, lease: Document) -> Document:
        stored = await self._client.create(Create(resource=LEASES, namespace=SYSTEM_NAMESPACE, body=lease))
        return stored.document()

    async def update(self, lease: Document) -> Document:
        name = lease["metadata"]["name"]
        stored = await self._client.update(Update(resource=LEASES, namespace=SYSTEM_NAMESPACE, name=name, body=lease))
        return stored.document()
