"""All connections, and the stream of frames to the server. When that ends, everything ends."""

import asyncio
import contextlib
import itertools
import logging
import socket
from email.utils import formatdate
from pathlib import Path
from typing import Final

from doorman.base.clock import SystemClock
from doorman.base.process_memory import give_back
from doorman.front.client_connection import Connection
from doorman.front.connection_limits import BACKLOG, ConnectionLimits
from doorman.front.frames import FrameReader, FrameType, frame, parts_of
from doorman.front.tls import tls_context
from doorman.front.tls_transport import TlsTransport

AHEAD_BYTES: Final = 512 * 1024
"""So much may wait for a client before the server is asked to stop."""
MOVES_MIN: Final = 200
"""When so many connections have come and gone, the memory that handshakes and connections leave behind is worth while
to be given back.
"""
FAREWELL_SECONDS_MAX: Final = 0.5
"""How long clients have to take what was given out before the end."""

_log: Final = logging.getLogger("doorman.front")


class Connections(asyncio.Protocol):
    def __init__(self, listener: socket.socket, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.ahead_bytes = AHEAD_BYTES
        self.is_over = asyncio.Event()
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self._server: asyncio.Server | None = None
        self._link: asyncio.WriteTransport | None = None
        self._connections: dict[int, Connection] = {}
        self._is_empty = asyncio.Event()
        self._is_empty.set()
        self._numbers = itertools.count(1)
        self._held_bytes = 0
        self._moves = 0
        """Connections that came or went since memory was last given back."""
        self._clock = SystemClock()
        self._date = (0, b"")
        self._listening: asyncio.Task[None] | None = None
        self._shutting_down: asyncio.Task[None] | None = None
        self._reader = FrameReader(
            {
                FrameType.LISTEN: self._on_listen,
                FrameType.SHUTDOWN: self._on_shutdown,
                FrameType.RESPONSE: self._on_response,
                FrameType.RESPONSE_HEAD: self._on_response_head,
                FrameType.BODY_CHUNK: self._on_body_chunk,
                FrameType.BODY_END: self._on_body_end,
                FrameType.ABORT: self._on_abort,
            },
            self._on_error,
        )

    # The link's calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a stream
        self._link = transport

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._link = None
        for connection in list(self._connections.values()):
            connection.abort()
        self.is_over.set()

    # For connections.

    def add(self, connection: Connection) -> int:
        number = next(self._numbers)
        self._moves += 1
        self._is_empty.clear()
        self._connections[number] = connection
        return number

    def remove(self, number: int) -> None:
        del self._connections[number]
        self._moves += 1
        if not self._connections:
            self._is_empty.set()
        self.send(FrameType.CLOSED, number)

    def send(self, frame_type: FrameType, number: int, *parts: bytes) -> None:
        if self._link is not None:
            self._link.write(frame(frame_type, number, *parts))

    def hold(self, size: int) -> bool:
        """Bodies of requests take memory until they are answered, and all together only so much."""
        if self._held_bytes + size > self.limits.all_bodies_bytes:
            return False
        self._held_bytes += size
        return True

    def release(self, size: int) -> None:
        self._held_bytes -= size

    def date_line(self) -> bytes:
        now = int(self._clock.now())
        if self._date[0] != now:
            self._date = (now, b"date: %s\r\n" % formatdate(now, usegmt=True).encode())
        return self._date[1]

    # Frames from the server.

    def _on_listen(self, _: int, folder: memoryview) -> None:
        self._listening = self._loop.create_task(self._listen(Path(str(folder, "utf-8"))))

    def _on_shutdown(self, _number: int, _payload: memoryview) -> None:
        self._shutting_down = self._loop.create_task(self._shut_down())

    def _on_response(self, number: int, payload: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            status, lines, body = parts_of(payload, 3)
            connection.write_response(bytes(status), lines, body)

    def _on_response_head(self, number: int, payload: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            status, lines, length = parts_of(payload, 3)
            connection.write_response_head(bytes(status), lines, bytes(length))

    def _on_body_chunk(self, number: int, chunk: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            connection.write_body_chunk(chunk)

    def _on_body_end(self, number: int, _: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            connection.write_body_end()

    def _on_abort(self, number: int, _: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            connection.abort()

    def _on_error(self, frame_type: int, number: int, error: Exception) -> None:
        """A response that cannot be written ends its connection, and no other."""
        _log.error("connection %d is aborted: a frame of type %d could not be handled: %r", number, frame_type, error)
        self._on_abort(number, memoryview(b""))

    # Its own.

    async def _listen(self, folder: Path) -> None:
        context = tls_context(folder)
        self._server = await self._loop.create_server(
            lambda: TlsTransport(context, Connection(self)), sock=self._listener, backlog=BACKLOG
        )
        self._sweep()
        self.send(FrameType.READY, 0)

    def _sweep(self) -> None:
        """Cut off clients that keep us waiting, and let go those that want nothing."""
        now = self.now()
        for connection in list(self._connections.values()):
            if connection.is_stuck(now):
                connection.abort()
            elif connection.is_idle(now):
                connection.close()
        if self._moves >= MOVES_MIN:
            self._moves = 0
            give_back()
        self._loop.call_later(self.limits.sweep_seconds, self._sweep)

    async def _shut_down(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections.values()):
            connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS_MAX):
                await self._is_empty.wait()
        for connection in list(self._connections.values()):
            connection.abort()
        await self._is_empty.wait()
        if self._link is not None:
            self._link.close()
