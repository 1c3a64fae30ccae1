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
from doorman.front.connection_limits import ConnectionLimits
from doorman.front.frames import FrameReader, Word, frame, parts_of
from doorman.front.tls import tls_context
from doorman.front.tls_transport import TlsTransport

BACKLOG: Final = 4096
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
        self._beginning: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._reader = FrameReader(
            {
                Word.BEGIN: self._hear_begin,
                Word.LAST: self._hear_last,
                Word.ANSWER: self._hear_answer,
                Word.START: self._hear_start,
                Word.PIECE: self._hear_piece,
                Word.END: self._hear_end,
                Word.CUT: self._hear_cut,
            },
            self._hear_fault,
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

    def enter(self, connection: Connection) -> int:
        number = next(self._numbers)
        self._moves += 1
        self._is_empty.clear()
        self._connections[number] = connection
        return number

    def leave(self, number: int) -> None:
        del self._connections[number]
        self._moves += 1
        if not self._connections:
            self._is_empty.set()
        self.tell(Word.GONE, number)

    def tell(self, word: Word, number: int, *parts: bytes) -> None:
        if self._link is not None:
            self._link.write(frame(word, number, *parts))

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

    # The server's words.

    def _hear_begin(self, _: int, folder: memoryview) -> None:
        self._beginning = self._loop.create_task(self._begin(Path(str(folder, "utf-8"))))

    def _hear_last(self, _number: int, _payload: memoryview) -> None:
        self._ending = self._loop.create_task(self._end())

    def _hear_answer(self, number: int, payload: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            status, lines, body = parts_of(payload, 3)
            connection.answer(bytes(status), lines, body)

    def _hear_start(self, number: int, payload: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            status, lines, length = parts_of(payload, 3)
            connection.start(bytes(status), lines, bytes(length))

    def _hear_piece(self, number: int, piece: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            connection.piece(piece)

    def _hear_end(self, number: int, _: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            connection.end()

    def _hear_cut(self, number: int, _: memoryview) -> None:
        if (connection := self._connections.get(number)) is not None:
            connection.abort()

    def _hear_fault(self, word: int, number: int, error: Exception) -> None:
        """An answer that cannot be written ends its connection, and no other."""
        _log.error("connection %d is cut off: word %d could not be followed: %r", number, word, error)
        self._hear_cut(number, memoryview(b""))

    # Its own.

    async def _begin(self, folder: Path) -> None:
        context = tls_context(folder)
        self._server = await self._loop.create_server(
            lambda: TlsTransport(context, Connection(self)), sock=self._listener, backlog=BACKLOG
        )
        self._sweep()
        self.tell(Word.READY, 0)

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

    async def _end(self) -> None:
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
