"""TLS over one TCP connection: what asyncio's own layer does, with a fraction of its memory.

asyncio and uvloop keep a buffer of 256 KiB for each connection of TLS, of which at least a page is touched. Thousands
of clients that only watch pay for it. Here all connections read into one buffer, since bytes are handed on before
anybody else reads, and go through OpenSSL in pieces of one record, since its buffers never shrink again.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, Final

RECORD_BYTES: Final = 16 * 1024
"""The largest record of TLS."""
READ_BYTES: Final = 64 * 1024
HANDSHAKE_SECONDS_MAX: Final = 60.0
"""asyncio's figure."""
FAREWELL_SECONDS_MAX: Final = 1.0
"""How long a client that was told the end may take to end as well. Who closes at once resets the connection when
something is unread, and the client may never see the answer.
"""
UNREAD_SECONDS_MAX: Final = 60.0
"""How long a client may take to read what was written before the end."""
_PLAIN_REQUESTS: Final = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")
_PLAIN_ANSWER: Final = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
"""As Go's server says it."""

_buffer: Final = memoryview(bytearray(READ_BYTES))


class TlsTransport(asyncio.Transport, asyncio.BufferedProtocol):
    """The protocol of a TCP transport, and the transport of `protocol`, which hears nothing before the handshake."""

    __slots__ = (
        "_incoming",
        "_is_closing",
        "_is_open",
        "_is_paused",
        "_outgoing",
        "_protocol",
        "_tcp",
        "_timer",
        "_tls",
    )

    def __init__(self, context: ssl.SSLContext, protocol: asyncio.Protocol) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._protocol = protocol
        self._tcp: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_open = False
        """The handshake is done, and the protocol knows of the connection."""
        self._is_closing = False
        self._is_paused = False

    # The TCP transport's calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a stream
        self._tcp = transport
        self._after(HANDSHAKE_SECONDS_MAX, self.abort)

    def get_buffer(self, _: int) -> memoryview:
        return _buffer

    def buffer_updated(self, size: int) -> None:
        if self._is_closing:
            return
        if not self._is_open and bytes(_buffer[:5]) in _PLAIN_REQUESTS:
            self._end(_PLAIN_ANSWER)
            return
        for start in range(0, size, RECORD_BYTES):
            self._incoming.write(_buffer[start : min(start + RECORD_BYTES, size)])
            self._take()

    def eof_received(self) -> bool:
        self._is_closing = True
        return False  # the TCP transport closes

    def connection_lost(self, error: Exception | None) -> None:
        self._is_closing = True
        self._cancel_timer()
        self._tcp = None
        if self._is_open:
            self._protocol.connection_lost(error)

    def pause_writing(self) -> None:
        if self._is_open:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._is_open:
            self._protocol.resume_writing()

    # The protocol's calls.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._tls
        return default if self._tcp is None else self._tcp.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._tcp is not None:
            self._tcp.set_write_buffer_limits(high, low)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or self._tcp is None:
            return
        try:
            if len(data) <= RECORD_BYTES:
                self._tls.write(data)
                self._tcp.write(self._outgoing.read())
                return
            encrypt, encrypted, view = self._tls.write, self._outgoing.read, memoryview(data)
            records = []
            for start in range(0, len(view), RECORD_BYTES):
                encrypt(view[start : start + RECORD_BYTES])
                records.append(encrypted())
            self._tcp.writelines(records)
        except ssl.SSLError:
            self.abort()

    def pause_reading(self) -> None:
        self._is_paused = True
        if self._tcp is not None:
            self._tcp.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_paused or self._tcp is None:
            return
        self._is_paused = False
        self._tcp.resume_reading()
        asyncio.get_running_loop().call_soon(self._take)  # what came before the pause

    def is_reading(self) -> bool:
        return not (self._is_paused or self._is_closing)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        """When everything is written: the end, and a moment for the client to end as well."""
        if self._is_closing:
            return
        with contextlib.suppress(ssl.SSLError):  # the client's word is not waited for
            self._tls.unwrap()
        self._end(self._outgoing.read())

    def abort(self) -> None:
        self._is_closing = True
        if self._tcp is not None:
            self._tcp.abort()

    # Its own.

    def _take(self) -> None:
        """What has arrived, through the handshake or to the protocol."""
        try:
            if not self._is_closing and not self._is_open:
                self._tls.do_handshake()
                self._open()
            while not self._is_closing and not self._is_paused:
                data = self._tls.read(RECORD_BYTES)
                if not data:
                    self.close()
                    return
                self._protocol.data_received(data)
                if not self._incoming.pending and not self._tls.pending():
                    return  # which OpenSSL would say by an exception
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError:
            self._end(self._outgoing.read())  # OpenSSL's alert

    def _open(self) -> None:
        self._cancel_timer()
        self._flush()
        self._is_open = True
        self._protocol.connection_made(self)

    def _flush(self) -> None:
        if self._outgoing.pending and self._tcp is not None:
            self._tcp.write(self._outgoing.read())

    def _end(self, last: bytes) -> None:
        self._is_closing = True
        if self._tcp is None:
            return
        self._tcp.resume_reading()  # the client's end is awaited
        if last:
            self._tcp.write(last)
        self._tcp.write_eof()
        self._farewell(UNREAD_SECONDS_MAX)

    def _farewell(self, seconds: float) -> None:
        """`seconds` are left to a client that has not read everything."""
        if seconds > 0 and self._tcp is not None and self._tcp.get_write_buffer_size():
            self._after(FAREWELL_SECONDS_MAX, self._farewell, seconds - FAREWELL_SECONDS_MAX)
        else:
            self._after(FAREWELL_SECONDS_MAX, self.abort)

    def _after(self, seconds: float, act: Callable[..., None], *given: float) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, act, *given)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
