"""A custom kind `Knob` of several versions, and a webhook that converts it."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from doorman.base.clock import SystemClock
from doorman.runtime.access.credentials import load_or_make
from support.api import Api, running_api

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "knobs.example.com"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def version(name: str, *, storage: bool = False, **members: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": members}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {}}}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


def definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    names = {"plural": "knobs", "singular": "knob", "kind": "Knob", "listKind": "KnobList"}
    body = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions), **spec}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": NAME}, "spec": body}  # fmt: skip


def path(version_name: str, name: str = "") -> str:
    return f"/apis/example.com/{version_name}/namespaces/default/knobs" + (f"/{name}" if name else "")


def knob(version_name: str, name: str = "k", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version_name}", "kind": "Knob", "metadata": {"name": name}, "spec": spec}


async def define(api: Api, body: dict[str, Any]) -> None:
    """As the controller does that is not running here."""
    status, made = await api.call("POST", DEFINITIONS, body)
    assert status == 201, made
    conditions = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
    said = {"status": {"acceptedNames": body["spec"]["names"], "conditions": conditions}}
    status, answer = await api.call("PATCH", f"{DEFINITIONS}/{NAME}/status", said, headers=MERGE)
    assert status == 200, answer


async def redefine(api: Api, **spec: Any) -> None:
    status, answer = await api.call("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": spec}, headers=MERGE)
    assert status == 200, answer


STRING, INTEGER = {"type": "string"}, {"type": "integer"}


class Converter:
    """v1 says `text: "a b"`, v2 says `first: a` and `last: b`."""

    def __init__(self, port: int, ca: bytes) -> None:
        self.reviews: list[dict[str, Any]] = []
        self.fault = ""
        service = {"url": f"https://127.0.0.1:{port}/convert", "caBundle": base64.b64encode(ca).decode()}
        self.conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": service, "conversionReviewVersions": ["v1"]},
        }

    def answer(self, review: dict[str, Any]) -> dict[str, Any]:
        request = review["request"]
        self.reviews.append(request)
        if self.fault:
            result: dict[str, Any] = {"status": "Failure", "message": self.fault}
            return {"response": {"uid": request["uid"], "result": result, "convertedObjects": []}}
        converted = [self._converted(one, request["desiredAPIVersion"]) for one in request["objects"]]
        done = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": done}

    @staticmethod
    def _converted(doc: dict[str, Any], wanted: str) -> dict[str, Any]:
        spec = doc["spec"]
        if wanted.endswith("/v2"):
            first, _, last = spec["text"].partition(" ")
            spec = {"first": first, "last": last}
        else:
            spec = {"text": f"{spec['first']} {spec['last']}"}
        metadata = {**doc["metadata"], "name": "changed", "labels": {"via": "webhook"}}
        return {**doc, "apiVersion": wanted, "spec": spec, "metadata": metadata}


@asynccontextmanager
async def converting(scratch: Path) -> AsyncIterator[tuple[Api, Converter]]:
    made = load_or_make(None, "127.0.0.1", datetime.fromtimestamp(SystemClock().now(), UTC))
    (scratch / "crt").write_bytes(made.server_certificate)
    (scratch / "key").write_bytes(made.server_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(scratch / "crt", scratch / "key")
    found: list[Converter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split()[0])
        body = json.dumps(found[0].answer(json.loads(await reader.readexactly(length)))).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    found.append(Converter(server.sockets[0].getsockname()[1], made.ca_certificate))
    old, new = version("v1", storage=True, text=STRING), version("v2", first=STRING, last=STRING)
    try:
        async with running_api() as api:
            await define(api, definition(old, new, conversion=found[0].conversion))
            yield api, found[0]
    finally:
        server.close()
