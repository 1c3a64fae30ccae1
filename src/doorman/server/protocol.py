"""uvicorn's HTTP protocol with some differences.

A client of HTTP/1.0 that asks for it keeps its connection, as with Go's server: without that every request pays for a
TLS handshake. The head of an answer leaves together with its first bytes: one record, one system call. The
certificates a client showed go along with each of its requests. And a client can neither send a head without end nor
take forever: `sweep` closes connections whose request does not arrive or whose answer is not taken.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from doorman.server.asgi import PEER_CERTIFICATES
from doorman.server.handshake import shown_by
from doorman.server.request import PeerCertificates

HEAD_BYTES_MAX: Final = 256 * 1024
"""Of a request line and its headers."""
URL_BYTES_MAX: Final = 64 * 1024
HEAD_SECONDS_MAX: Final = 30.0
"""From the connection, or the first byte of a request, to the end of its headers."""
REQUEST_SECONDS_MAX: Final = 60.0
"""The same to the end of its body."""
UNREAD_SECONDS_MAX: Final = 60.0
"""How long an answer may wait for a client that does not read."""
SWEEP_SECONDS: Final = 5.0


class ApiProtocol(HttpToolsProtocol):
    _certificates: PeerCertificates | None = None
    _head_bytes = 0
    _reads_head = True
    _since: float | None = None
    """Since when something is awaited from the client; None: nothing is."""
    _unread_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._since = self.loop.time()
        tls = transport.get_extra_info("ssl_object")
        self._certificates = shown_by(tls) if tls is not None else None

    def data_received(self, data: bytes) -> None:
        if self._reads_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(b"431 Request Header Fields Too Large")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._reads_head = False
        if self.transport.is_closing():
            return  # refused already: what was sent along with it is not looked at
        if len(self.url) > URL_BYTES_MAX:
            self._refuse(b"414 URI Too Long")
            return
        if self._certificates is not None:
            self.scope["extensions"] = {PEER_CERTIFICATES: self._certificates}  # type: ignore[dict-item]  # ours
        before = self.cycle
        super().on_headers_complete()
        cycle = self.cycle
        if cycle is before or cycle is None:
            return  # an upgrade: nothing of ours
        if self.parser.get_http_version() == "1.0":
            cycle.keep_alive = self.parser.should_keep_alive()
        if self.parser.get_method() != b"HEAD":  # whose answer has no bytes to wait for
            cycle.transport = _JoiningTransport(self.transport)  # type: ignore[assignment]  # the part a cycle uses

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._since = None
        self._reads_head = True
        self._head_bytes = 0
        if not self.transport.is_closing():
            super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = None

    def is_stuck(self, now: float) -> bool:
        """Whether the client has kept us waiting for too long."""
        if self._since is not None:
            limit = HEAD_SECONDS_MAX if self._reads_head else REQUEST_SECONDS_MAX
            if now - self._since > limit:
                return True
        return self._unread_since is not None and now - self._unread_since > UNREAD_SECONDS_MAX

    def _refuse(self, status: bytes) -> None:
        """Before there is a request that could be answered in the API's own way."""
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
                % (status, len(status), status)
            )
            self.transport.close()


def sweep(connections: Iterable[object], now: float) -> int:
    """Cut off clients that keep us waiting; gives how many."""
    stuck = [c for c in connections if isinstance(c, ApiProtocol) and c.is_stuck(now)]
    for connection in stuck:
        connection.transport.abort()
    return len(stuck)


class _JoiningTransport:
    """Holds the first write back until the second, which follows at once."""

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = b""

    def write(self, data: bytes) -> None:
        if self._head is None:
            self._transport.write(data)
        elif not self._head:
            self._head = data
        else:
            head, self._head = self._head, None
            self._transport.write(head + data)

    def close(self) -> None:
        if self._head:
            head, self._head = self._head, None
            self._transport.write(head)
        self._transport.close()

    def __getattr__(self, name: str) -> Any:  # whatever else uvicorn asks a transport for
        return getattr(self._transport, name)
