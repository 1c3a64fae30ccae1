"""An HTTP server that answers what a test tells it to, byte for byte."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from doorman.client.http.server_access import FixedCredentials, ServerAccess


class Asked(msgspec.Struct, frozen=True):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script = Callable[[Asked], bytes]
"""What is sent; nothing ends the connection."""


class ScriptedHttp:
    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self._script = script

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                first, *lines = head.strip().split("\r\n")
                method, target, _ = first.split(" ")
                headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                parts = urlsplit(target)
                asked = Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body)
                self.asked.append(asked)
                answer = self._script(asked)
                writer.write(answer)
                if not answer or b"Connection: close" in answer:
                    return
        except EOFError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[tuple[ScriptedHttp, ServerAccess]]:
    told = ScriptedHttp(script)
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    access = ServerAccess(
        url=f"http://127.0.0.1:{port}",
        host="127.0.0.1",
        port=port,
        prefix="",
        tls=None,
        server_name="",
        credentials=FixedCredentials("Bearer word"),
    )
    try:
        yield told, access
    finally:
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for _ in range(3):
            await asyncio.sleep(0)  # transports close in turns of the loop


def answer(code: int, document: Any, *headers: str) -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    head = (f"HTTP/1.1 {code} Word", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(head).encode() + body


def refusal(code: int, reason: str, **more: Any) -> bytes:
    return answer(code, {"kind": "Status", "code": code, "reason": reason, "message": reason, **more})


def events(*documents: Any) -> bytes:
    """A watch that says all of it and ends."""
    body = b"".join(json.dumps(document).encode() + b"\n" for document in documents)
    chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk + b"0\r\n\r\n"
