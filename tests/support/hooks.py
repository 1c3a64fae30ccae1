"""Admission webhooks over real HTTPS: a server of them, and what they may answer."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from doorman.base.clock import SystemClock
from doorman.runtime.access.credentials import load_or_make
from support.api import Api, running_api

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
Answer = Callable[[dict[str, Any]], Any]


class Raw(msgspec.Struct, frozen=True):
    """Sent as it is, whatever HTTP would have it be."""

    answer: bytes


def allowed(request: dict[str, Any], patch: Any = None, **more: Any) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": request["uid"], "allowed": True, **more}
    if patch is not None:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def labelled(name: str, value: str) -> Answer:
    def answer(request: dict[str, Any]) -> Any:
        has_labels = "labels" in request["object"]["metadata"]
        start = [] if has_labels else [{"op": "add", "path": "/metadata/labels", "value": {}}]
        return allowed(request, [*start, {"op": "add", "path": f"/metadata/labels/{name}", "value": value}])

    return answer


class Hooks:
    """A server of webhooks: a path each."""

    def __init__(self, api: Api, port: int, ca: bytes) -> None:
        self.api = api
        self.answers: dict[str, Answer] = {}
        self.asked: list[dict[str, Any]] = []
        self._port = port
        self._ca = base64.b64encode(ca).decode()
        self._serving: list[asyncio.Task[None]] = []

    async def given(self, kind: str, *names: str, **more: Any) -> None:
        webhooks = [
            {
                "name": f"{name}.example.com",
                "clientConfig": {"url": f"https://127.0.0.1:{self._port}/{name}", "caBundle": self._ca},
                "rules": [RULE],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                **more,
            }
            for name in names
        ]
        body = {"metadata": {"name": names[0]}, "webhooks": webhooks}
        status, answer = await self.api.call("POST", f"{GROUP}/{kind}webhookconfigurations", body)
        assert status == 201, answer

    async def create(self, name: str = "c", query: str = "", **labels: str) -> tuple[int, Any]:
        body = {"metadata": {"name": name, **({"labels": labels} if labels else {})}}
        return await self.api.call("POST", f"/api/v1/namespaces/default/configmaps{query}", body)

    async def stop(self) -> None:
        """Those that are still asked give up."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a connection is served by a task"
        self._serving.append(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split()[1].partition("?")[0].strip("/")
            lines = [line.lower().split(":") for line in head.split("\r\n")]
            length = next(int(line[1]) for line in lines if line[0] == "content-length")
            request = json.loads(await reader.readexactly(length))["request"]
            self.asked.append({"path": path, **request})
            found = self.answers[path](request)
            if found is None:
                await reader.read()  # hangs until the caller goes
                return
            if isinstance(found, Raw):
                writer.write(found.answer)
                await writer.drain()
                return
            if isinstance(found, Awaitable):
                found = await found
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
            await writer.drain()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


CLOSING_TURNS = 200


@asynccontextmanager
async def hooks(scratch: Path) -> AsyncIterator[Hooks]:
    made = load_or_make(None, "127.0.0.1", datetime.fromtimestamp(SystemClock().now(), UTC))
    (scratch / "crt").write_bytes(made.server_certificate)
    (scratch / "key").write_bytes(made.server_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(scratch / "crt", scratch / "key")
    async with running_api() as api:
        found: list[Hooks] = []
        server = await asyncio.start_server(lambda r, w: found[0].serve(r, w), "127.0.0.1", 0, ssl=context)
        found.append(Hooks(api, server.sockets[0].getsockname()[1], made.ca_certificate))
        try:
            yield found[0]
        finally:
            server.close()
            await found[0].stop()
            for _ in range(CLOSING_TURNS):  # both ends of what was given up are closed, before the loop is
                await asyncio.sleep(0)
