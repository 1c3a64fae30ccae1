"""The server's end of the stream of frames to the front: requests become tasks, responses become frames.

The front (`doorman.front`) has read HTTP and TLS in a process of its own; what arrives here is a request and whose
connection it came over, and what leaves is a response, whole or in chunks.
"""

import asyncio
import logging
import re
from collections.abc import Coroutine, Iterable
from typing import Any, Final

from doorman.base.loop_turns import Turn
from doorman.front.frames import HEAD, FrameReader, FrameType, frame, parts_of, unpack_certificates, unpack_headers
from doorman.server.pipeline import Pipeline, server_fault, unreadable
from doorman.server.request import NO_QUERY, EventStream, PeerCertificates, Query, Request, Response

AHEAD_BYTES: Final = 1024 * 1024
"""So much may wait for the front before responses in chunks wait too."""
KNOWN_HEADERS_MAX: Final = 1000
KNOWN_HEADERS_BYTES_MAX: Final = 2048
STOP_SECONDS_MAX: Final = 1.0
"""How long requests that are being handled may take when the server stops."""

_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f]")

_log: Final = logging.getLogger("doorman.server")


class _Peer:
    """A connection the front holds."""

    __slots__ = ("certificates", "client", "is_closed", "is_paused", "number", "resumed", "stream")

    def __init__(self, number: int, client: str, certificates: PeerCertificates | None) -> None:
        self.number = number
        self.client = client
        self.certificates = certificates
        self.is_closed = False
        self.is_paused = False
        self.resumed: asyncio.Future[None] | None = None
        """Somebody waits until it is no longer paused, or closed."""
        self.stream: EventStream | None = None

    def wake(self) -> None:
        if self.resumed is not None and not self.resumed.done():
            self.resumed.set_result(None)


class FrontLink(asyncio.Protocol):
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._loop = asyncio.get_running_loop()
        self.is_ready = asyncio.Event()
        """Clients are let in; or never will be."""
        self.is_lost = asyncio.Event()
        """The front is gone."""
        self._link: asyncio.WriteTransport | None = None
        self._link_is_free = asyncio.Event()
        self._link_is_free.set()
        self._peers: dict[int, _Peer] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        """In the order in which they came."""
        self._headers = _KnownHeaders()
        self._reader = FrameReader(
            {
                FrameType.READY: self._on_ready,
                FrameType.OPENED: self._on_opened,
                FrameType.REQUEST: self._on_request,
                FrameType.CLOSED: self._on_closed,
                FrameType.PAUSED: self._on_paused,
                FrameType.RESUMED: self._on_resumed,
            },
            self._on_error,
        )

    def listen(self, folder: str) -> None:
        """Let clients in. The folder holds the certificate, its key and the authority."""
        self._send(FrameType.LISTEN, 0, folder.encode())

    async def stop(self) -> None:
        """What is being handled is answered, streams end, and the front is told to leave."""
        for peer in self._peers.values():
            if peer.stream is not None:
                peer.stream.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS_MAX)
        for task in self._tasks:
            task.cancel()
        self._send(FrameType.SHUTDOWN, 0)

    # The link's calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a stream
        transport.set_write_buffer_limits(high=AHEAD_BYTES)
        self._link = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._link = None
        self._link_is_free.set()
        for peer in list(self._peers.values()):
            self._remove(peer)
        self.is_ready.set()
        self.is_lost.set()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)

    def pause_writing(self) -> None:
        self._link_is_free.clear()

    def resume_writing(self) -> None:
        self._link_is_free.set()

    # Frames from the front.

    def _on_ready(self, _number: int, _payload: memoryview) -> None:
        self.is_ready.set()

    def _on_opened(self, number: int, payload: memoryview) -> None:
        client, packed = parts_of(payload, 2)
        shown = unpack_certificates(packed)
        certificates = PeerCertificates.of(*shown) if shown is not None else None
        self._peers[number] = _Peer(number, str(client, "ascii"), certificates)

    def _on_request(self, number: int, payload: memoryview) -> None:
        method, path, query, headers, body = parts_of(payload, 5)
        peer = self._peers[number]
        request = Request(
            method=str(method, "ascii"),
            path=str(path, "utf-8", "replace"),
            query=Query(str(query, "latin-1")) if query else NO_QUERY,
            headers=self._headers.read(bytes(headers)),
            body=bytes(body),
            client=peer.client,
            peer_certificates=peer.certificates,
        )
        self._spawn(self._serve(peer, request))

    def _on_closed(self, number: int, _: memoryview) -> None:
        self._remove(self._peers[number])

    def _on_paused(self, number: int, _: memoryview) -> None:
        self._peers[number].is_paused = True

    def _on_resumed(self, number: int, _: memoryview) -> None:
        peer = self._peers[number]
        peer.is_paused = False
        peer.wake()

    def _on_error(self, frame_type: int, number: int, error: Exception) -> None:
        """A request that could not even be read is answered like any other; its neighbours on the link see nothing."""
        _log.error("a frame of type %d of connection %d could not be handled", frame_type, number, exc_info=error)
        if frame_type == FrameType.REQUEST:
            response = unreadable() if isinstance(error, ValueError) else server_fault(error)
            self._send(FrameType.RESPONSE, number, b"%d" % response.status, header_lines(response), response.body)

    # Its own.

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    def _remove(self, peer: _Peer) -> None:
        del self._peers[peer.number]
        peer.is_closed = True
        if peer.stream is not None:
            peer.stream.close()
        peer.wake()

    def _send(self, frame_type: FrameType, number: int, *parts: bytes) -> None:
        if self._link is not None:
            self._link.write(frame(frame_type, number, *parts))

    async def _serve(self, peer: _Peer, request: Request) -> None:
        try:
            response = await self._pipeline.handle(request)
            lines = header_lines(response)
        except Exception as error:  # noqa: BLE001  a bug must not take the connection down
            _log.exception("bug while handling %s %s", request.method, request.path)
            response = server_fault(error)
            lines = header_lines(response)
        status = b"%d" % response.status
        if response.stream is None and response.chunks is None:
            self._send(FrameType.RESPONSE, peer.number, status, lines, response.body)
            return
        length = b"" if response.length is None else b"%d" % response.length
        self._send(FrameType.RESPONSE_HEAD, peer.number, status, lines, length)
        try:
            if response.stream is not None:
                await self._write_stream(peer, response.stream, is_wanted=request.method != "HEAD")
            elif response.chunks is not None and request.method != "HEAD":
                await self._write_chunks(peer, response.chunks)
            self._send(FrameType.BODY_END, peer.number)
        except Exception:  # noqa: BLE001  nor leave a client waiting for the rest
            _log.exception("bug while answering %s %s", request.method, request.path)
            self._send(FrameType.ABORT, peer.number)

    async def _write_chunks(self, peer: _Peer, chunks: Iterable[bytes]) -> None:
        turn = Turn()
        for chunk in chunks:
            await self._write(peer, chunk)
            if peer.is_closed:
                return
            if turn.is_over():
                # A client that reads as fast as we write would keep the loop to itself.
                await turn.next()

    async def _write_stream(self, peer: _Peer, stream: EventStream, *, is_wanted: bool) -> None:
        """A watch, until it ends or the client goes away."""
        if peer.is_closed or not is_wanted:
            stream.close()
            return
        peer.stream = stream
        try:
            async for chunk in stream.lines():
                await self._write(peer, chunk)
        finally:
            peer.stream = None

    async def _write(self, peer: _Peer, chunk: bytes) -> None:
        """As soon as the client, and the way to it, can take more."""
        while not peer.is_closed and (peer.is_paused or not self._link_is_free.is_set()):
            if peer.is_paused:
                peer.resumed = self._loop.create_future()
                await peer.resumed
                peer.resumed = None
            else:
                await self._link_is_free.wait()
        if self._link is not None and not peer.is_closed:
            # The parts of a frame are not joined: a chunk of a list is large.
            self._link.writelines((HEAD.pack(len(chunk), FrameType.BODY_CHUNK, peer.number), chunk))


class _KnownHeaders:
    """A client sends the same headers with each of its requests: they are read once."""

    def __init__(self) -> None:
        self._known: dict[bytes, dict[str, str]] = {}

    def read(self, packed: bytes) -> dict[str, str]:
        found = self._known.get(packed)
        if found is None:
            found = unpack_headers(packed)
            if len(packed) <= KNOWN_HEADERS_BYTES_MAX:
                if len(self._known) >= KNOWN_HEADERS_MAX:
                    self._known.clear()
                self._known[packed] = found
        return found


def header_lines(response: Response) -> bytes:
    """
    >>> header_lines(Response(headers=[("Warning", '299 - "a"')])).split(b"\\r\\n")
    [b'content-type: application/json', b'cache-control: no-cache, private', b'warning: 299 - "a"', b'']
    """
    lines = [f"content-type: {response.content_type}\r\n", f"cache-control: {response.cache_control}\r\n"]
    lines += [f"{name.lower()}: {value}\r\n" for name, value in response.headers]
    text = "".join(lines)
    if text.count("\n") != len(lines) or text.count("\r") != len(lines) or "\0" in text:
        # What somebody sent must not become a line of ours.
        lines = [f"{_UNPRINTABLE.sub(' ', line.removesuffix(chr(13) + chr(10)))}\r\n" for line in lines]
        text = "".join(lines)
    return text.encode("utf-8", "replace")
