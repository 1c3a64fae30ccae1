"""Calls of gRPC to one server: the one module that knows how gRPC is spoken.

There is one connection, made when it is needed. While none can be made calls fail at once; it is tried again after a
while, which doubles. A call that was not answered may have been done, unless the error says that it was never sent.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from doorman.base.clock import CommonDelay
from doorman.store.etcd.http2_connection import Http2Connection, Http2Stream
from doorman.store.etcd.http2_frames import header_block

CONNECT_SECONDS_MAX: Final = 10.0
BACKOFF_SECONDS: Final = (0.1, 1.0)
"""The first and the longest."""

_CODES: Final = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
_PREFIX_BYTES: Final = 5
"""Before a message: whether it is compressed, and how long it is."""


class GrpcError(Exception):
    """What there was instead of an answer, by gRPC's name for it."""

    def __init__(self, code: str, text: str, *, is_unsent: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.is_unsent = is_unsent
        """It was not done for certain: there was nobody to send it to."""


class GrpcChannel:
    def __init__(self, address: str, make_tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        """`make_tls` reads the files anew for each connection: they may have been renewed."""
        self._address = address
        self._make_tls = make_tls
        self._connection: Http2Connection | None = None
        self._connecting: asyncio.Task[Http2Connection] | None = None
        self._backoff = BACKOFF_SECONDS[0]
        self._again_at = 0.0
        self._why = ""
        self._heads: dict[tuple[str, float], bytes] = {}
        self._delays: dict[float, CommonDelay] = {}
        """By seconds: calls may take one of a few."""

    async def call(self, path: str, request: bytes, seconds: float) -> bytes:
        """One message for another. Raises GrpcError."""
        answer = _Answer(asyncio.get_running_loop().create_future())
        delay = self._delays.get(seconds)
        if delay is None:
            delay = self._delays[seconds] = CommonDelay(seconds)
        alarm = delay.call(answer.expire)
        try:
            connection = self._connection
            if connection is None or not connection.is_open:
                connection = await self._connected(answer.answered)
            stream = connection.begin(self._head(path, seconds), answer, _prefixed(request), ends=True)
            try:
                return await answer.answered
            finally:
                if not answer.is_over:
                    connection.cancel(stream)
        finally:
            delay.cancel(alarm)

    async def stream(self, path: str, metadata: Mapping[str, str], first: bytes, seconds: float) -> "GrpcStream":
        """Messages in both directions, beginning with one of ours, once there is a connection. Raises GrpcError."""
        connection = self._connection
        if connection is None or not connection.is_open:
            loop = asyncio.get_running_loop()
            waits = _Answer(loop.create_future())
            alarm = loop.call_later(seconds, waits.expire)
            try:
                connection = await self._connected(waits.answered)
            finally:
                alarm.cancel()
        return GrpcStream(connection, {**self._fields(path), **metadata}, first)

    async def close(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None:
            self._connection.close()

    def _fields(self, path: str) -> dict[str, str]:
        scheme = "http" if self._make_tls is None else "https"
        pseudo = {":method": "POST", ":scheme": scheme, ":path": path, ":authority": self._address}
        return {**pseudo, "te": "trailers", "content-type": "application/grpc", "user-agent": "doorman"}

    def _head(self, path: str, seconds: float) -> bytes:
        head = self._heads.get((path, seconds))
        if head is None:
            fields = self._fields(path) | {"grpc-timeout": f"{int(seconds * 1000)}m"}
            head = self._heads[path, seconds] = header_block(fields)
        return head

    async def _connected(self, ends: "asyncio.Future[bytes]") -> Http2Connection:
        """The connection that is being made, unless something else ends before: it is made all the same."""
        connecting = self._connecting
        if connecting is None:
            if asyncio.get_running_loop().time() < self._again_at:
                raise GrpcError("UNAVAILABLE", self._why, is_unsent=True)
            connecting = self._connecting = asyncio.create_task(self._connect())
            connecting.add_done_callback(_hear)
        waited: tuple[asyncio.Future[Any], ...] = (connecting, ends)
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if ends.done():
            ends.exception()
            raise GrpcError("DEADLINE_EXCEEDED", f"no connection to {self._address} in time", is_unsent=True)
        return connecting.result()

    async def _connect(self) -> Http2Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                connection = await self._open()
        except (OSError, TimeoutError, ValueError) as error:
            told = str(error) or ("it does not answer" if isinstance(error, TimeoutError) else "the connection ended")
            self._why = f"failed to connect to {self._address}: {told}"
            self._again_at = loop.time() + self._backoff
            self._backoff = min(self._backoff * 2, BACKOFF_SECONDS[1])
            raise GrpcError("UNAVAILABLE", self._why, is_unsent=True) from error
        finally:
            self._connecting = None
        self._backoff = BACKOFF_SECONDS[0]
        self._connection = connection
        return connection

    async def _open(self) -> Http2Connection:
        loop = asyncio.get_running_loop()
        host, _, port = self._address.rpartition(":")
        tls = None
        if self._make_tls is not None:
            tls = self._make_tls()
            tls.set_alpn_protocols(["h2"])
        _, connection = await loop.create_connection(Http2Connection, host.strip("[]"), int(port), ssl=tls)
        try:
            await connection.ready
        except BaseException:
            connection.close()
            raise
        return connection


class _Answer:
    """To a call."""

    __slots__ = ("_pieces", "answered", "is_over")

    def __init__(self, answered: "asyncio.Future[bytes]") -> None:
        self.answered = answered
        self.is_over = False
        self._pieces: list[bytes] = []

    def take(self, data: bytes) -> None:
        self._pieces.append(data)

    def end(self, fields: Mapping[str, str]) -> None:
        self.is_over = True
        if self.answered.done():
            return
        error = error_of(fields)
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        if error is None and (len(data) < _PREFIX_BYTES or data[0] or _length(data) != len(data) - _PREFIX_BYTES):
            error = GrpcError("UNAVAILABLE", "the answer is not one message")
        if error is not None:
            self.answered.set_exception(error)
        else:
            self.answered.set_result(data[_PREFIX_BYTES:])

    def lose(self, why: str, *, is_unsent: bool) -> None:
        self.is_over = True
        if not self.answered.done():
            self.answered.set_exception(GrpcError("UNAVAILABLE", why, is_unsent=is_unsent))

    def expire(self) -> None:
        if not self.answered.done():
            self.answered.set_exception(GrpcError("DEADLINE_EXCEEDED", "Deadline Exceeded"))


class GrpcStream:
    def __init__(self, connection: Http2Connection, fields: Mapping[str, str], first: bytes) -> None:
        self._connection = connection
        self._messages: list[bytes] = []
        self._pieces: list[bytes] = []
        """Of a message that has not come whole."""
        self._missing = _PREFIX_BYTES
        self._error: GrpcError | None = None
        self._reading: asyncio.Future[None] | None = None
        self._stream: Http2Stream = connection.begin(header_block(fields), self, _prefixed(first), ends=False)

    def write(self, message: bytes) -> None:
        if self._error is None:
            self._connection.send(self._stream, _prefixed(message))

    async def read(self) -> list[bytes]:
        """The next messages, all that have come. Raises GrpcError when there is none any more."""
        while not self._messages:
            if self._error is not None:
                raise self._error
            self._connection.acknowledge(self._stream)
            self._reading = asyncio.get_running_loop().create_future()
            try:
                await self._reading
            finally:
                self._reading = None
        messages, self._messages = self._messages, []
        return messages

    async def rest(self, seconds: float) -> None:
        """Nothing is read for a moment: what comes in small pieces is then read together. For who has the connection
        to himself.
        """
        self._connection.pause_reading()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._connection.resume_reading()

    def cancel(self) -> None:
        self.give_up("it was cancelled")

    def give_up(self, why: str) -> None:
        """Whoever reads is told."""
        if self._error is None:
            self._connection.cancel(self._stream)
            self.lose(why, is_unsent=False)

    def take(self, data: bytes) -> None:
        if not self._pieces and len(data) >= _PREFIX_BYTES and len(data) == _PREFIX_BYTES + _length(data):
            self._messages.append(data[_PREFIX_BYTES:])  # one whole message, as most are
            self._wake()
            return
        self._pieces.append(data)
        self._missing -= len(data)
        if self._missing > 0:
            return
        data = b"".join(self._pieces)
        at, wanted = 0, _PREFIX_BYTES
        while len(data) - at >= wanted:
            wanted = _PREFIX_BYTES + _length(data, at) if len(data) - at >= _PREFIX_BYTES else _PREFIX_BYTES
            if len(data) - at < wanted:
                break
            self._messages.append(data[at + _PREFIX_BYTES : at + wanted])
            at, wanted = at + wanted, _PREFIX_BYTES
        self._pieces = [data[at:]] if at < len(data) else []
        self._missing = wanted - (len(data) - at)
        if self._messages:
            self._wake()

    def end(self, fields: Mapping[str, str]) -> None:
        self._error = error_of(fields) or GrpcError("UNAVAILABLE", "the stream was ended")
        self._wake()

    def lose(self, why: str, *, is_unsent: bool) -> None:
        self._error = GrpcError("UNAVAILABLE", why, is_unsent=is_unsent)
        self._wake()

    def _wake(self) -> None:
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(None)


def _hear(connecting: "asyncio.Task[Http2Connection]") -> None:
    """Whoever wanted the connection may have gone before it failed: then nobody is to be told of it."""
    if not connecting.cancelled():
        connecting.exception()


def _prefixed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def _length(data: bytes, at: int = 0) -> int:
    return int.from_bytes(data[at + 1 : at + _PREFIX_BYTES], "big")


def error_of(fields: Mapping[str, str]) -> GrpcError | None:
    """What the headers at the end of an answer say.

    >>> error_of({"grpc-status": "0"})
    >>> error_of({"grpc-status": "5", "grpc-message": "100%25 gone"})
    GrpcError('100% gone')
    """
    status = fields.get("grpc-status", "")
    if status == "0":
        return None
    if status.isdigit():
        code = _CODES[int(status)] if int(status) < len(_CODES) else "UNKNOWN"
        return GrpcError(code, unquote(fields.get("grpc-message", "")))
    return GrpcError("UNAVAILABLE", f"the answer is not gRPC's: HTTP status {fields.get(':status', 'unknown')}")
