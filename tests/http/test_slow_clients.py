"""Clients that take their time, over real connections: cut off, and nobody else waits for them.

The limits are lowered, so that nobody waits for the tests either.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from doorman.front.connection_limits import ConnectionLimits
from doorman.runtime.access.credentials import Credentials
from support.api import running_api
from support.front import listening as front_listening

LIMITS = ConnectionLimits(head_seconds=0.3, request_seconds=0.6, sweep_seconds=0.05)
PATIENCE_SECONDS = 10.0


@asynccontextmanager
async def listening(scratch: Path) -> AsyncIterator["Client"]:
    async with running_api() as api, front_listening(api.pipeline, api.credentials, scratch, LIMITS) as port:
        yield Client(port, api.credentials)


class Client:
    def __init__(self, port: int, found: Credentials) -> None:
        self._port = port
        self._context = ssl.create_default_context(cadata=found.ca_certificate.decode())
        self.authorization = f"Authorization: Bearer {found.admin_token}\r\n"

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context)

    async def is_served(self) -> bool:
        """Somebody else's request, meanwhile."""
        reader, writer = await self.connect()
        head = f"GET /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{self.authorization}\r\n"
        writer.write(head.encode())
        answer = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        await closed(writer)
        return answer.startswith(b"HTTP/1.1 200")


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()


async def is_cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, trickle: bytes) -> bool:
    """Send a byte now and then until the other side closes."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    at = 0
    while asyncio.get_running_loop().time() < deadline:
        try:
            if await asyncio.wait_for(reader.read(1), 0.05) == b"":
                return True
        except TimeoutError:
            if trickle:
                writer.write(trickle[at : at + 1])
                at = (at + 1) % len(trickle)
        except (ConnectionError, ssl.SSLError):
            return True
    return False


@pytest.mark.parametrize(
    ("sent", "trickle"),
    [
        pytest.param("", b"", id="says-nothing"),
        pytest.param("GET /api HTTP/1.1\r\n", b"X-A: b\r\n", id="head-a-byte-at-a-time"),
        pytest.param("GET /api HTTP/1.1\r\nHost: a\r\n", b"", id="head-without-end"),
        pytest.param(
            "POST /api/v1/pods HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n"
            "{authorization}\r\n{{",
            b" ",
            id="body-a-byte-at-a-time",
        ),
        pytest.param(
            "POST /api/v1/pods HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n{authorization}\r\n1\r\n{{\r\n",
            b"",
            id="chunks-without-end",
        ),
    ],
)
async def test_slow_client_is_cut_off(sent: str, trickle: bytes, tmp_path: Path) -> None:
    async with listening(tmp_path) as client:
        reader, writer = await client.connect()
        writer.write(sent.format(authorization=client.authorization).encode())
        assert await client.is_served()
        assert await is_cut_off(reader, writer, trickle)
        await closed(writer)
        assert await client.is_served()


async def test_many_slow_clients_at_once(tmp_path: Path) -> None:
    async with listening(tmp_path) as client:
        slow = [await client.connect() for _ in range(50)]
        for _, writer in slow:
            writer.write(b"GET /api HTTP/1.1\r\nX-A: ")
        assert await client.is_served()
        assert all(await asyncio.gather(*(is_cut_off(reader, writer, b"a") for reader, writer in slow)))
        for _, writer in slow:
            await closed(writer)
