"""One connection to an HTTP/1.1 server: a request at a time, its answer whole or piece by piece.

Our own, because components send thousands of small requests a second to one server, and a general client costs several
times of what the request does (a GET of a kilobyte: 38 µs of CPU with both ends, with httpx2 565).
"""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from doorman.client.http.server_access import ServerAccess

CONNECT_SECONDS: Final = 10.0
KEEPALIVE_SECONDS: Final = 30
HEAD_BYTES_MAX: Final = 1 << 18
PIECE_BYTES: Final = 1 << 16


class BrokenConnection(Exception):
    """There was no connection, or it ended in the middle of an answer."""


class Answer(msgspec.Struct, frozen=True):
    code: int
    headers: Mapping[str, str]
    body: bytes = b""


class HttpConnection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.is_reusable = True

    @property
    def is_open(self) -> bool:
        return self.is_reusable and not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        self.is_reusable = False
        self._writer.close()

    async def ask(self, request: bytes) -> Answer:
        """Send it and read the whole answer."""
        answer = await self.begin(request)
        pieces = [piece async for piece in self.pieces(answer)]
        body = b"".join(pieces)
        if answer.headers.get("content-encoding") == "gzip":
            body = zlib.decompress(body, wbits=31)
        return Answer(answer.code, answer.headers, body)

    async def begin(self, request: bytes) -> Answer:
        """Send it and read how the answer begins; `pieces` reads the rest."""
        try:
            self._writer.write(request)
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                answer = parse_head(head)
                if answer.code >= 200:
                    break
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            self.close()
            raise BrokenConnection(str(error) or "it ended before the answer") from error
        if answer.headers.get("connection", "").lower() == "close":
            self.is_reusable = False
        return answer

    async def pieces(self, answer: Answer) -> AsyncIterator[bytes]:
        is_whole = False
        try:
            if answer.code in (204, 304):
                pass
            elif "chunked" in answer.headers.get("transfer-encoding", "").lower():
                async for piece in self._chunks():
                    yield piece
            elif "content-length" in answer.headers:
                yield await self._reader.readexactly(int(answer.headers["content-length"]))
            else:
                self.is_reusable = False
                while piece := await self._reader.read(PIECE_BYTES):
                    yield piece
            is_whole = True
        except (OSError, EOFError, ValueError) as error:
            raise BrokenConnection(str(error) or "it ended in the middle of an answer") from error
        finally:
            if not is_whole:
                self.close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            line = await self._reader.readuntil(b"\r\n")
            size = int(line.partition(b";")[0], 16)
            if size == 0:
                while await self._reader.readuntil(b"\r\n") != b"\r\n":
                    pass  # trailers say nothing that is needed
                return
            yield (await self._reader.readexactly(size + 2))[:size]


def parse_head(head: bytes) -> Answer:
    """
    >>> parse_head(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n")
    Answer(code=200, headers={'content-length': '2'}, body=b'')
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(f"no answer of HTTP/1.1: {first[:40]!r}")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
    return Answer(int(rest[:3]), headers)


async def connect(access: ServerAccess) -> HttpConnection:
    """Raises `BrokenConnection` when there is none to be had."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                access.host,
                access.port,
                ssl=access.tls,
                server_hostname=access.server_name if access.tls is not None else None,
                limit=HEAD_BYTES_MAX,
            )
    except (OSError, TimeoutError) as error:
        raise BrokenConnection(f"{access.host}:{access.port}: {error or 'no answer'}") from error
    found: socket.socket = writer.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
        if hasattr(socket, option):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), KEEPALIVE_SECONDS)
    return HttpConnection(reader, writer)
