"""An API server in process, without HTTP and without controllers, on a clock that stands still until it is moved."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from doorman.base.clock import VIRTUAL_START, ManualClock
from doorman.client.actions import Create
from doorman.runtime.access.credentials import Credentials, load_or_make
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.server.audit import AuditLog
from doorman.server.request import PeerCertificates, Query, Request, Response
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import Store

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@cache
def credentials() -> Credentials:
    return load_or_make(None, "127.0.0.1", datetime.fromtimestamp(VIRTUAL_START, UTC))


class Api:
    def __init__(self, cluster: ControlPlane, clock: ManualClock, audit: AuditLog | None = None) -> None:
        self.cluster = cluster
        self.clock = clock
        self.credentials = credentials()
        self.pipeline = cluster.pipeline(self.credentials, audit)
        self.admin = cluster.client_as("admin", "test", "system:masters")

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "",
        groups: Sequence[str] = (),
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        certificate: bytes | None = None,
    ) -> tuple[int, Any]:
        """As the administrator, as somebody he impersonates, or with a token or certificate of one's own."""
        response = await self.answer(
            method, path, body, user=user, groups=groups, token=token, headers=headers, certificate=certificate
        )
        if response.stream is not None:
            response.stream.close()
            return response.status, None
        raw = response.body if response.chunks is None else b"".join(response.chunks)
        try:
            return response.status, json.loads(raw)
        except ValueError:
            return response.status, raw.decode()

    async def answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "",
        groups: Sequence[str] = (),
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        certificate: bytes | None = None,
    ) -> Response:
        """The same, as it is given: whoever takes a stream closes it."""
        sent = {"content-type": "application/json", **(headers or {})}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        elif certificate is None:
            sent["authorization"] = f"Bearer {self.credentials.admin_token}"
        if user:
            sent["impersonate-user"] = user
        if groups:
            sent["impersonate-group"] = "\n".join(groups)
        plain, _, query = path.partition("?")
        request = Request(
            method=method,
            path=plain,
            query=Query(query),
            headers=sent,
            body=b"" if body is None else json.dumps(body).encode(),
            peer_certificates=None if certificate is None else PeerCertificates.of(certificate),
        )
        return await self.pipeline.handle(request)

    async def given(self, resource: str, body: dict[str, Any], *, namespace: str = "") -> Any:
        """An object that is simply there."""
        own = json.loads(json.dumps(body))  # what is created belongs to the server
        return (await self.admin.create(Create(resource=resource, namespace=namespace, body=own))).document()

    async def given_account(self, name: str, *, namespace: str = "default") -> Any:
        return await self.given("serviceaccounts", {"metadata": {"name": name}}, namespace=namespace)

    async def given_role(self, name: str, user: str, rules: Sequence[dict[str, Any]], *, namespace: str = "") -> None:
        """A role and its binding to one user, for a namespace or for the cluster."""
        prefix = "" if namespace else "Cluster"
        group = "rbac.authorization.k8s.io"
        role = {"metadata": {"name": name}, "rules": list(rules)}
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": f"{prefix}Role", "name": name},
            "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
        }
        await self.given(f"{prefix.lower()}roles.{group}", role, namespace=namespace)
        await self.given(f"{prefix.lower()}rolebindings.{group}", binding, namespace=namespace)

    async def given_token(self, name: str, *, namespace: str = "default", **spec: Any) -> str:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        status, answer = await self.call("POST", path, {**kind, "spec": spec})
        assert status == 201, answer
        token: str = answer["status"]["token"]
        return token

    @property
    def revision(self) -> int:
        """What a request that has no effect leaves as it is."""
        return self.cluster.cache.revision


@asynccontextmanager
async def running_api(
    *, audit_log: Path | None = None, store: Store | None = None, **settings: Any
) -> AsyncIterator[Api]:
    clock = ManualClock()
    chosen = Settings(**{"seed": 7, "nodes": 0, **settings})
    cluster = ControlPlane(ApiServer(store or MemoryStore(), chosen, clock), chosen, clock)
    await cluster.prepare(port=6443, ca_certificate=credentials().ca_certificate)
    audit = AuditLog(audit_log, clock, lambda _, flush: flush()) if audit_log is not None else None
    try:
        yield Api(cluster, clock, audit)
    finally:
        await cluster.stop()
        if audit is not None:
            audit.close()
