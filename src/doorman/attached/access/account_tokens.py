"""`--use-service-account-credentials`: each controller acts as its own service account, by a token asked for it."""

import asyncio
from typing import Final

import msgspec

from doorman.api.well_known import SYSTEM_NAMESPACE
from doorman.base.clock import Clock
from doorman.base.errors import ApiError
from doorman.client.http.api_requests import ApiRequests

TOKEN_SECONDS: Final = 3600
RENEWED_AT: Final = 0.8
"""Of its life a token is used, then there is a new one."""


class AccountCredentials:
    def __init__(self, requests: ApiRequests, account: str, clock: Clock) -> None:
        """`requests` as whoever may make accounts and tokens for them; `account` is in kube-system."""
        self._requests = requests
        self._account = account
        self._clock = clock
        self._header = ""
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def authorization(self) -> str:
        if self._header and self._clock.now() < self._until:
            return self._header
        async with self._lock:
            if not self._header or self._clock.now() >= self._until:
                self._header = f"Bearer {await self._token()}"
                self._until = self._clock.now() + TOKEN_SECONDS * RENEWED_AT
            return self._header

    def refused(self) -> None:
        self._header = ""

    async def _token(self) -> str:
        try:
            return await self._asked()
        except ApiError as error:
            if error.code != 404:
                raise
        account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": self._account}}
        path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts"
        try:
            await self._requests.request("POST", path, body=msgspec.json.encode(account))
        except ApiError as error:
            if error.code != 409:
                raise
        return await self._asked()

    async def _asked(self) -> str:
        path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/serviceaccounts/{self._account}/token"
        spec = {"expirationSeconds": TOKEN_SECONDS, "audiences": []}
        body = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec}
        answer = await self._requests.document("POST", path, body=msgspec.json.encode(body))
        return str(answer["status"]["token"])
