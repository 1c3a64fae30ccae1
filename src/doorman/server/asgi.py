"""HTTP: the ASGI application around the pipeline. Bodies are read up to a limit, lists are written piece by piece."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from doorman.server.bodies import BODY_BYTES_MAX
from doorman.server.pipeline import Pipeline, server_fault
from doorman.server.request import EventStream, Query, Request, Response

Scope = MutableMapping[str, Any]  # ASGI's own loose types
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PEER_CERTIFICATES: Final = "doorman.peer_certificates"
"""The ASGI extension that carries the certificates a client showed."""

READING_BYTES_MAX: Final = 512 * 1024 * 1024

_log: Final = logging.getLogger("doorman.server")


class Application:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._reading_bytes = 0
        """In bodies that are still arriving."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = await self._read(scope, receive)
        if request is None:
            return  # the client went away before it had said all: nothing is done on half a word
        try:
            response = await self._pipeline.handle(request)
        except Exception as error:  # noqa: BLE001  a bug must not take the connection down
            _log.exception("bug while handling %s %s", request.method, request.path)
            response = server_fault(error)
        if scope.get("http_version") == "1.0":
            _for_http_1_0(request, response)
        await _write(response, receive, send, is_head=request.method == "HEAD")

    async def _read(self, scope: Scope, receive: Receive) -> Request | None:
        message = await receive()
        body = message.get("body", b"")
        if message.get("more_body"):
            whole = await self._read_on(body, receive)
            if whole is None:
                return None
            body = whole
        elif message["type"] == "http.disconnect":
            return None
        return _request(scope, body)

    async def _read_on(self, first: bytes, receive: Receive) -> bytes | None:
        """The rest of a long body. All of them together may take only so much memory."""
        parts = [first]
        size = len(first)
        self._reading_bytes += size
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece = message.get("body", b"")
                size += len(piece)
                self._reading_bytes += len(piece)
                if size > BODY_BYTES_MAX or self._reading_bytes > READING_BYTES_MAX:
                    # What is over the limit is not kept, so that the answer can say so.
                    return b"\0" * (BODY_BYTES_MAX + 1)
                parts.append(piece)
                if not message.get("more_body"):
                    return b"".join(parts)
        finally:
            self._reading_bytes -= size


def _request(scope: Scope, body: bytes) -> Request:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}\n{value}" if name in headers else value
    client = scope.get("client")
    return Request(
        method=scope["method"],
        path=scope["path"],
        query=Query(scope["query_string"].decode("latin-1")),
        headers=headers,
        body=body,
        client=client[0] if client else "",
        peer_certificates=scope["extensions"][PEER_CERTIFICATES] if "extensions" in scope else None,
    )


def _for_http_1_0(request: Request, response: Response) -> None:
    """No chunks, and a word about the connection."""
    if response.chunks is not None:
        response.body, response.chunks = b"".join(response.chunks), None
    if response.stream is None and request.headers.get("connection", "").lower() == "keep-alive":
        response.headers.append(("Connection", "keep-alive"))


async def _write(response: Response, receive: Receive, send: Send, *, is_head: bool) -> None:
    headers = [(b"content-type", response.content_type.encode())]
    headers += [(name.lower().encode(), value.encode("utf-8", "replace")) for name, value in response.headers]
    if response.chunks is None and response.stream is None:
        headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if is_head:
        if response.stream is not None:
            response.stream.close()
        await send({"type": "http.response.body", "body": b""})
        return
    if response.stream is not None:
        await _write_stream(response.stream, receive, send)
    elif response.chunks is not None:
        for piece in response.chunks:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            # A client that reads as fast as we write would keep the loop to itself.
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})
    else:
        await send({"type": "http.response.body", "body": response.body})


async def _write_stream(stream: EventStream, receive: Receive, send: Send) -> None:
    """A watch, until it ends or the client goes away."""
    gone = asyncio.ensure_future(_until_disconnected(receive))
    gone.add_done_callback(lambda _: stream.close())
    try:
        # Headers go out before the first event does.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        async for piece in stream.lines():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
