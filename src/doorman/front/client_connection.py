"""One client's connection: HTTP/1.1, read with httptools. Requests are handed in one after the other, each with its
whole body; responses are written as they come.

Where it is more than the protocol asks for: a client of HTTP/1.0 that wants to keep its connection may, as with Go's
server (load generators would otherwise pay for a TLS handshake a request); and a client can neither send a head without
end nor take forever.
"""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

import httptools

from doorman.front.frames import FrameType, pack_certificates, pack_headers
from doorman.front.tls_handshake import shown_by

if TYPE_CHECKING:
    from doorman.front.connections import Connections

_STATUS_LINES: Final = {
    b"%d" % status: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus
}
_BODILESS: Final = (b"204", b"304")
_MALFORMED: Final = b"400 Bad Request"
_HEAD_TOO_LARGE: Final = b"431 Request Header Fields Too Large"
_URL_TOO_LONG: Final = b"414 URI Too Long"
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class _HttpRequest:
    """A request, from its first byte to the end of its answer."""

    __slots__ = (
        "body",
        "body_bytes",
        "expects",
        "headers",
        "is_chunked",
        "is_head",
        "is_http_1_0",
        "is_too_long",
        "keeps_alive",
        "method",
        "path",
        "query",
        "url",
    )

    def __init__(self) -> None:
        self.url = b""
        self.method = self.path = self.query = b""
        self.headers: list[bytes] = []
        """Names and values in turn."""
        self.body: list[bytes] = []
        self.body_bytes = 0
        self.expects = b""
        """What the client waits for before it sends the body."""
        self.is_head = False
        self.is_http_1_0 = False
        """HTTP/1.0: knows no chunks."""
        self.is_too_long = False
        """The body: nothing of it is kept."""
        self.is_chunked = False
        """Whether the answer comes in chunks."""
        self.keeps_alive = True
        """Whether the connection outlives it."""


class Connection(asyncio.Protocol):
    """Also what httptools calls back: `on_*`.

    There may be thousands that say nothing, so it is kept small: no dictionary, and what a request needs is made when
    one begins.
    """

    __slots__ = (
        "_connections",
        "_current",
        "_head_bytes",
        "_idle_since",
        "_is_closing",
        "_limits",
        "_parser",
        "_reading_or_none",
        "_reads_head",
        "_refusal",
        "_since",
        "_transport",
        "_unread_since",
        "_waiting",
        "number",
    )

    def __init__(self, connections: "Connections") -> None:
        self._connections = connections
        self._limits = connections.limits
        self.number = 0
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._reading_or_none: _HttpRequest | None = None
        self._reads_head = True
        self._head_bytes = 0
        self._waiting: list[_HttpRequest] = []
        """Complete, and behind the one that is being answered."""
        self._current: _HttpRequest | None = None
        """The one that is being answered."""
        self._refusal: bytes | None = None
        """Nothing more is read; this is said when what was asked before is answered."""
        self._is_closing = False
        """Nothing more is answered."""
        self._since: float | None = None
        """Since when something is awaited from the client; None: nothing is."""
        self._idle_since: float | None = None
        self._unread_since: float | None = None

    # The transport's calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a stream
        self._transport = transport
        transport.set_write_buffer_limits(high=self._connections.ahead_bytes)
        self._since = self._connections.now()
        self.number = self._connections.add(self)
        peer = transport.get_extra_info("peername")
        tls = transport.get_extra_info("ssl_object")
        shown, is_resumed = shown_by(tls) if tls is not None else ([], False)
        client = peer[0].encode() if isinstance(peer, tuple) else b""
        self._connections.send(FrameType.OPENED, self.number, client, pack_certificates(shown, is_resumed=is_resumed))

    def connection_lost(self, _: Exception | None) -> None:
        self._is_closing = True
        for request in (self._reading_or_none, self._current, *self._waiting):
            if request is not None:
                self._connections.release(request.body_bytes)
        self._reading_or_none = self._current = None
        self._waiting.clear()
        self._connections.remove(self.number)
        del self._parser  # which refers back
        self._transport = None

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None or self._is_closing:
            return
        if self._reads_head:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.head_bytes:
                self._refuse(_HEAD_TOO_LARGE)
                return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # not spoken here: answered as a plain request, after which the connection ends
        except httptools.HttpParserError:
            self._refuse(_MALFORMED)

    def pause_writing(self) -> None:
        self._unread_since = self._connections.now()
        self._connections.send(FrameType.PAUSED, self.number)

    def resume_writing(self) -> None:
        self._unread_since = None
        self._connections.send(FrameType.RESUMED, self.number)

    # The parser's calls.

    def on_message_begin(self) -> None:
        self._since = self._connections.now()
        self._idle_since = None

    def on_url(self, url: bytes) -> None:
        self._reading.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._reads_head:
            return  # a trailer
        name = name.lower()
        self._reading.headers += (name, value)
        if name == b"expect":
            self._reading.expects = value.lower()

    def on_headers_complete(self) -> None:
        self._reads_head = False
        request, parser = self._reading, self._parser
        if len(request.url) > self._limits.url_bytes:
            self._refuse(_URL_TOO_LONG)
            return
        try:
            url = httptools.parse_url(request.url)
        except httptools.HttpParserInvalidURLError:
            self._refuse(_MALFORMED)
            return
        request.method = parser.get_method()
        path = url.path or b""
        if not path.isascii():
            self._refuse(_MALFORMED)
            return
        request.path = unquote_to_bytes(path) if b"%" in path else path
        request.query = url.query or b""
        request.is_head = request.method == b"HEAD"
        request.is_http_1_0 = parser.get_http_version() == "1.0"
        request.keeps_alive = parser.should_keep_alive() and not parser.should_upgrade()
        if request.expects == b"100-continue" and not request.is_http_1_0 and self._current is None:
            self._write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        request, limits = self._reading, self._limits
        if self._refusal is not None or request.is_too_long:
            return
        if request.body_bytes + len(body) > limits.body_bytes or not self._connections.hold(len(body)):
            self._connections.release(request.body_bytes)
            request.body_bytes = 0
            request.body.clear()
            request.is_too_long = True
        else:
            request.body_bytes += len(body)
            request.body.append(body)

    def on_message_complete(self) -> None:
        request, self._reading_or_none = self._reading, None
        self._since = None
        self._reads_head = True
        self._head_bytes = 0
        if self._refusal is not None or self._is_closing:
            self._connections.release(request.body_bytes)
            return
        self._waiting.append(request)
        if self._current is None:
            self._next()
        elif len(self._waiting) == 1 and self._transport is not None:
            self._transport.pause_reading()  # who asks ahead is read when there is an answer

    # What the server answers.

    def write_response(self, status: bytes, lines: memoryview, body: memoryview) -> None:
        request = self._current
        if request is None or self._is_closing:
            return
        ending = b"\r\n" if status in _BODILESS else b"content-length: %d\r\n\r\n" % len(body)
        head = (_status_line(status), self._connections.date_line(), lines, _connection_line(request), ending)
        self._write(b"".join(head) if request.is_head else b"".join((*head, body)))
        self._response_written(request)

    def write_response_head(self, status: bytes, lines: memoryview, length: bytes) -> None:
        request = self._current
        if request is None or self._is_closing:
            return
        if length:
            ending = b"content-length: %s\r\n\r\n" % length
        elif request.is_http_1_0:
            request.keeps_alive = False  # the end of the connection is the end of the answer
            ending = b"\r\n"
        else:
            request.is_chunked = not request.is_head
            ending = b"transfer-encoding: chunked\r\n\r\n"
        head = (_status_line(status), self._connections.date_line(), lines, _connection_line(request), ending)
        self._write(b"".join(head))

    def write_body_chunk(self, chunk: memoryview) -> None:
        request = self._current
        if request is None or request.is_head or not chunk or self._is_closing:
            return
        self._write(b"".join((b"%x\r\n" % len(chunk), chunk, b"\r\n")) if request.is_chunked else chunk)

    def write_body_end(self) -> None:
        request = self._current
        if request is None or self._is_closing:
            return
        if request.is_chunked:
            self._write(b"0\r\n\r\n")
        self._response_written(request)

    # For the sweep, and the end (`Connections`).

    def is_stuck(self, now: float) -> bool:
        """Whether the client has kept us waiting for too long."""
        limits = self._limits
        if self._since is not None:
            limit = limits.head_seconds if self._reads_head else limits.request_seconds
            if now - self._since > limit:
                return True
        return self._unread_since is not None and now - self._unread_since > limits.unread_seconds

    def is_idle(self, now: float) -> bool:
        """Whether nothing came for so long that nothing is expected."""
        return self._idle_since is not None and now - self._idle_since > self._limits.idle_seconds

    def close(self) -> None:
        """When what was given out is written."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    # Its own.

    @property
    def _reading(self) -> _HttpRequest:
        """The request whose bytes arrive."""
        if self._reading_or_none is None:
            self._reading_or_none = _HttpRequest()
        return self._reading_or_none

    def _next(self) -> None:
        """The next request that waits; or the refusal; or nothing, and the connection is idle."""
        if self._waiting:
            request = self._current = self._waiting.pop(0)
            body = request.body[0] if len(request.body) == 1 else b"".join(request.body)
            request.body.clear()
            if request.is_too_long:
                body = bytes(
                    self._limits.body_bytes + 1
                )  # what it was is not kept; the server says that it was too much
            headers = pack_headers(request.headers)
            self._connections.send(
                FrameType.REQUEST, self.number, request.method, request.path, request.query, headers, body
            )
        elif self._refusal is not None:
            status = self._refusal
            head = b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"
            self._write(head % (status, len(status), status))
            self.close()
        else:
            self._idle_since = self._connections.now()
            if self._transport is not None:
                self._transport.resume_reading()

    def _response_written(self, request: _HttpRequest) -> None:
        self._connections.release(request.body_bytes)
        request.body_bytes = 0
        self._current = None
        if request.keeps_alive:
            self._next()
        else:
            self.close()

    def _refuse(self, status: bytes) -> None:
        """Before there is a request that the server could answer in the API's own way."""
        if self._refusal is None:
            self._refusal = status
            if self._current is None:
                self._next()

    def _write(self, data: bytes | memoryview) -> None:
        if self._transport is not None:
            self._transport.write(data)


def _status_line(status: bytes) -> bytes:
    """Also of a code that has no name: an admission webhook chooses the code of its refusal."""
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %s status code %s\r\n" % (status, status)


def _connection_line(request: _HttpRequest) -> bytes:
    if not request.keeps_alive:
        return b"connection: close\r\n"
    return b"connection: keep-alive\r\n" if request.is_http_1_0 else b""
