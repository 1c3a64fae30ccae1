"""uvicorn's HTTP protocol with three differences.

A client of HTTP/1.0 that asks for it keeps its connection, as with Go's server: without that every request pays for a
TLS handshake. The head of an answer leaves together with its first bytes: one record, one system call. And a client's
certificate, which TLS has verified, goes along with each of its requests.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from doorman.server.asgi import PEER_CERTIFICATE


class ApiProtocol(HttpToolsProtocol):
    _certificate: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        self._certificate = tls.getpeercert(binary_form=True) if tls is not None else None

    def on_headers_complete(self) -> None:
        if self._certificate is not None:
            self.scope["extensions"] = {PEER_CERTIFICATE: self._certificate}  # type: ignore[dict-item]  # bytes, not a dict
        before = self.cycle
        super().on_headers_complete()
        cycle = self.cycle
        if cycle is before or cycle is None:
            return  # an upgrade: nothing of ours
        if self.parser.get_http_version() == "1.0":
            cycle.keep_alive = self.parser.should_keep_alive()
        cycle.transport = _JoiningTransport(self.transport)  # type: ignore[assignment]  # the part a cycle uses


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
