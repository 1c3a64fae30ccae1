"""Leases of leader election, read and written over HTTP."""

from doorman.api.well_known import LEASES
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.client.actions import Create, Update
from doorman.client.http.remote_client import RemoteClient


class HttpLeases:
    def __init__(self, client: RemoteClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def get(self, name: str) -> Document | None:
        try:
            return await self._client.get(LEASES, self._namespace, name)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def known(self, name: str) -> Document | None:  # noqa: ARG002  the protocol gives it
        return None

    async def create(self, lease: Document) -> Document:
        body = {**lease, "metadata": {**lease["metadata"], "namespace": self._namespace}}
        made: Document = await self._client.create(Create(resource=LEASES, namespace=self._namespace, body=body))
        return made

    async def update(self, lease: Document) -> Document:
        name = lease["metadata"]["name"]
        action = Update(resource=LEASES, namespace=self._namespace, name=name, body=lease)
        written: Document = await self._client.update(action)
        return written
