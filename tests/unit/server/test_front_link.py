"""Requests that arrive as frames, answers that leave as frames."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from doorman.front.frames import FrameHandler, FrameReader, FrameType, frame, pack_certificates, pack_headers, parts_of
from doorman.server.front_link import FrontLink, header_lines
from doorman.server.request import PeerCertificates, Request, Response

Handle = Callable[[Request], Awaitable[Response]]


def _no_fault(frame_type: int, number: int, error: Exception) -> None:
    raise AssertionError((frame_type, number)) from error


class _Link(asyncio.Transport):
    """What the front would hear."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[FrameType, int, bytes]] = []
        self._reader = FrameReader({frame_type: self._handler(frame_type) for frame_type in FrameType}, _no_fault)

    def _handler(self, frame_type: FrameType) -> FrameHandler:
        return lambda number, payload: self.received.append((frame_type, number, bytes(payload)))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: Any) -> None:
        self._reader.feed(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    @property
    def frame_types(self) -> list[FrameType]:
        return [frame_type for frame_type, _, _ in self.received]


class _Pipeline:
    def __init__(self, handle: Handle) -> None:
        self.handle = handle


class _Stream:
    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self._closed = asyncio.Event()

    async def lines(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        await self._closed.wait()

    def close(self) -> None:
        self._closed.set()

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()


def opened(handle: Handle, shown: list[bytes] | None = None) -> tuple[FrontLink, _Link]:
    front_link, link = FrontLink(_Pipeline(handle)), _Link()  # type: ignore[arg-type]  # the part of it that is used
    front_link.connection_made(link)
    front_link.data_received(frame(FrameType.OPENED, 1, b"192.0.2.1", pack_certificates(shown)))
    return front_link, link


def asks(front_link: FrontLink, method: bytes = b"GET", body: bytes = b"") -> None:
    headers = pack_headers([b"accept", b"application/json"])
    front_link.data_received(frame(FrameType.REQUEST, 1, method, b"/api/\xc3\xa9", b"a=b", headers, body))


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_request_says_what_and_who() -> None:
    seen = []

    async def handle(request: Request) -> Response:
        seen.append(request)
        return Response(status=201, body=b"{}", headers=[("Audit-Id", "1")])

    front_link, link = opened(handle, [b"leaf", b"between"])
    asks(front_link, b"POST", b"body")
    await settled()
    [request] = seen
    assert (request.method, request.path, request.query.get("a"), request.body) == ("POST", "/api/é", "b", b"body")
    assert (request.headers, request.client) == ({"accept": "application/json"}, "192.0.2.1")
    assert request.peer_certificates == PeerCertificates.of(b"leaf", (b"between",))
    [(frame_type, number, payload)] = link.received
    assert (frame_type, number) == (FrameType.RESPONSE, 1)
    status, lines, body = map(bytes, parts_of(memoryview(payload), 3))
    assert (status, body) == (b"201", b"{}")
    wanted = (b"content-type: application/json", b"cache-control: no-cache, private", b"audit-id: 1", b"")
    assert tuple(lines.split(b"\r\n")) == wanted


async def test_bug_is_an_answer() -> None:
    async def handle(_: Request) -> Response:
        raise RuntimeError("a bug")

    front_link, link = opened(handle)
    asks(front_link)
    await settled()
    assert link.frame_types == [FrameType.RESPONSE]
    assert bytes(parts_of(memoryview(link.received[0][2]), 3)[0]) == b"500"


async def test_answer_that_breaks_off_is_not_taken_for_whole() -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise RuntimeError("a bug")

    async def handle(_: Request) -> Response:
        return Response(chunks=broken())

    front_link, link = opened(handle)
    asks(front_link)
    await settled()
    assert link.frame_types == [FrameType.RESPONSE_HEAD, FrameType.BODY_CHUNK, FrameType.ABORT]


@pytest.mark.parametrize("what", ["client", "link"])
async def test_pieces_wait_for_who_does_not_keep_up(what: str) -> None:
    async def handle(_: Request) -> Response:
        return Response(chunks=[b"a", b"b"], length=2)

    front_link, link = opened(handle)
    if what == "client":
        front_link.data_received(frame(FrameType.PAUSED, 1))
    else:
        front_link.pause_writing()
    asks(front_link)
    await settled()
    assert link.frame_types == [FrameType.RESPONSE_HEAD]
    if what == "client":
        front_link.data_received(frame(FrameType.RESUMED, 1))
    else:
        front_link.resume_writing()
    await settled()
    assert link.frame_types == [FrameType.RESPONSE_HEAD, FrameType.BODY_CHUNK, FrameType.BODY_CHUNK, FrameType.BODY_END]


async def test_nobody_writes_for_a_client_that_has_left() -> None:
    written = []

    def chunks() -> Iterator[bytes]:
        for number in range(100):
            written.append(number)
            yield b"a"

    async def handle(_: Request) -> Response:
        return Response(chunks=chunks())

    front_link, _ = opened(handle)
    front_link.data_received(frame(FrameType.PAUSED, 1))
    asks(front_link)
    await settled()
    front_link.data_received(frame(FrameType.CLOSED, 1))
    await settled()
    assert written == [0]


@pytest.mark.parametrize("how", ["client-leaves", "front-dies", "server-stops"])
async def test_stream_is_closed_when_nobody_listens(how: str) -> None:
    stream = _Stream(b"one\n")

    async def handle(_: Request) -> Response:
        return Response(stream=stream)

    front_link, link = opened(handle)
    asks(front_link)
    await settled()
    assert link.frame_types == [FrameType.RESPONSE_HEAD, FrameType.BODY_CHUNK]
    match how:
        case "client-leaves":
            front_link.data_received(frame(FrameType.CLOSED, 1))
        case "front-dies":
            front_link.connection_lost(None)
            assert front_link.is_lost.is_set()
        case _:
            await front_link.stop()
            assert link.frame_types[2:] == [FrameType.BODY_END, FrameType.SHUTDOWN]
    await settled()
    assert stream.is_closed


async def test_head_of_a_stream_is_its_head() -> None:
    stream = _Stream(b"one\n")

    async def handle(_: Request) -> Response:
        return Response(stream=stream)

    front_link, link = opened(handle)
    asks(front_link, b"HEAD")
    await settled()
    assert link.frame_types == [FrameType.RESPONSE_HEAD, FrameType.BODY_END]
    assert stream.is_closed


@pytest.mark.parametrize("text", ["a\r\nSet-Cookie: b", "a\nb", "a\rb", "a\0b"])
def test_what_was_sent_becomes_no_line_of_ours(text: str) -> None:
    lines = header_lines(Response(headers=[("Audit-Id", text)]))
    assert lines.count(b"\r\n") == 3
    assert lines.count(b"\n") == 3
    assert b"\0" not in lines


async def test_frame_that_cannot_be_read_is_answered_and_the_link_goes_on() -> None:
    async def handle(_: Request) -> Response:
        return Response(body=b"{}")

    front_link, link = opened(handle)
    odd = pack_headers([b"accept", b"a", b"left over"])
    front_link.data_received(frame(FrameType.REQUEST, 1, b"GET", b"/", b"", odd, b"") + frame(FrameType.CLOSED, 99))
    asks(front_link)
    await settled()
    assert link.frame_types == [FrameType.RESPONSE, FrameType.RESPONSE]
    statuses = [bytes(parts_of(memoryview(payload), 3)[0]) for _, _, payload in link.received]
    assert statuses == [b"400", b"200"]
