"""A watcher that does not read, over a real socket: writers do not wait for it, and what is kept for it is bounded."""

import asyncio
import contextlib
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from doorman.registry.cache import streams
from support.api import Api, running_api
from support.front import listening as front_listening
from support.server import Server, authority_of

MERGE = {"content-type": "application/merge-patch+json"}
MAP = "/api/v1/namespaces/default/configmaps/m"
WRITES = 200
TEXT = "x" * 64 * 1024
PATIENCE_SECONDS = 30.0


class Watcher:
    """A connection on which a watch was asked for."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def rest(self) -> list[dict[str, Any]]:
        """Everything that still comes, up to the end; the last line may be cut."""
        raw = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            raw = await asyncio.wait_for(self._reader.read(), PATIENCE_SECONDS)
        found = []
        for line in raw.split(b"\n"):
            if line.startswith(b'{"type"'):
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found

    async def events(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(found) < count:
                line = await self._reader.readline()
                assert line, "the stream has ended"
                if line.startswith(b'{"type"'):
                    found.append(json.loads(line))
        return found

    async def close(self) -> None:
        self._writer.transport.abort()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self._writer.wait_closed()


@asynccontextmanager
async def listening(scratch: Path) -> AsyncIterator[tuple[Api, int]]:
    async with running_api() as api, front_listening(api.pipeline, api.credentials, scratch) as port:
        yield api, port


async def watch(api: Api, port: int, revision: int, *, ahead_bytes: int = 1024 * 1024) -> Watcher:
    """Ask for changes, and read the head of the answer only. `ahead_bytes` are read without being asked for."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
    plain.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", port))
    context = ssl.create_default_context(cadata=api.credentials.ca_certificate.decode())
    reader, writer = await asyncio.open_connection(
        sock=plain, ssl=context, server_hostname="127.0.0.1", limit=ahead_bytes
    )
    path = f"/api/v1/configmaps?watch=true&resourceVersion={revision}"
    # HTTP/1.0: no chunks between the lines.
    head = f"GET {path} HTTP/1.0\r\nHost: a\r\nAuthorization: Bearer {api.credentials.admin_token}\r\n\r\n"
    writer.write(head.encode())
    while (line := await reader.readline()) not in (b"\r\n", b""):
        assert b"HTTP/1" not in line or b" 200 " in line
    return Watcher(reader, writer)


async def write(api: Api, number: int) -> None:
    data = {"data": {"number": str(number), "text": TEXT}}
    status, answer = await api.call("PATCH", MAP, data, headers=MERGE)
    assert status == 200, answer


def numbers(events: list[dict[str, Any]]) -> list[int]:
    return [int(event["object"]["data"]["number"]) for event in events if event["type"] == "MODIFIED"]


async def test_watcher_that_does_not_read_loses_its_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAM_BYTES_MAX", 1024 * 1024)
    async with listening(tmp_path) as (api, port):
        await api.given("configmaps", {"metadata": {"name": "m"}}, namespace="default")
        collection = api.cluster.cache.collection("configmaps")
        others = collection.stream_count
        slow = await watch(api, port, api.revision, ahead_bytes=1024)
        quick = await watch(api, port, api.revision)
        assert collection.stream_count == others + 2
        for number in range(WRITES):
            await write(api, number)
            # Somebody who reads gets every change as it comes about, however slow others are.
            assert numbers(await quick.events(1)) == [number]
        assert collection.stream_count == others + 1, "the slow one's stream has ended"
        await quick.close()
        seen = numbers(await slow.rest())
        assert seen == list(range(len(seen))), "in order and without a gap, as far as it goes"
        assert len(seen) < WRITES
        await slow.close()


async def test_watcher_goes_on_from_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAM_BYTES_MAX", 1024 * 1024)
    async with listening(tmp_path) as (api, port):
        await api.given("configmaps", {"metadata": {"name": "m"}}, namespace="default")
        slow = await watch(api, port, api.revision, ahead_bytes=1024)
        quick = await watch(api, port, api.revision)
        for number in range(WRITES):
            await write(api, number)
            await quick.events(1)
        await quick.close()
        seen = await slow.rest()
        assert 0 < len(seen) < WRITES
        await slow.close()
        monkeypatch.undo()
        last = seen[-1]["object"]["metadata"]["resourceVersion"]
        again = await watch(api, port, int(last))
        missed = WRITES - len(seen)
        assert numbers(await again.events(missed)) == list(range(len(seen), WRITES))
        await again.close()


def test_process_does_not_grow_with_what_a_watcher_leaves_unread(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as server:
        config = yaml.safe_load(server.kubeconfig.read_text())
        token = config["users"][0]["user"]["token"]
        context = ssl.create_default_context(cadata=authority_of(config))
        place = urlsplit(server.address)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection = HTTPSConnection(place.hostname or "", place.port, context=context, timeout=PATIENCE_SECONDS)

        def send(method: str, path: str, body: Any, kind: str = "application/json") -> None:
            connection.request(method, path, json.dumps(body), {**headers, "Content-Type": kind})
            answer = connection.getresponse()
            answer.read()
            assert answer.status < 300

        send("POST", MAP.removesuffix("/m"), {"metadata": {"name": "m"}})
        watching = HTTPSConnection(place.hostname or "", place.port, context=context, timeout=PATIENCE_SECONDS)
        watching.request("GET", "/api/v1/configmaps?watch=true", headers=headers)
        assert watching.getresponse().status == 200  # and no more of it is read
        before = _resident_bytes(server)
        sent = 0
        big = "y" * 512 * 1024
        while sent < 300 * 1024 * 1024:
            send("PATCH", MAP, {"data": {"text": big, "at": str(sent)}}, MERGE["content-type"])
            sent += len(big)
        grown = _resident_bytes(server) - before
        assert grown < sent / 2, f"{grown / 1e6:.0f} MB more after {sent / 1e6:.0f} MB were written"
        watching.close()
        connection.close()


def _resident_bytes(server: Server) -> int:
    """Of the server and its front."""
    pids = (server.process.pid, *server.children())
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")
