"""No bytes of one client end the stream between front and server, on which all clients are."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from doorman.front.client_connection import Connection
from doorman.front.connection_limits import ConnectionLimits
from doorman.front.connections import Connections
from doorman.front.frames import FrameType, frame, pack_headers
from doorman.server.front_link import FrontLink
from doorman.server.pipeline import Pipeline
from support.api import running_api

GOOD = b"GET /version HTTP/1.1\r\nHost: h\r\n\r\n"
QUIET = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), max_examples=150)

RAW = st.binary(max_size=30)
TARGET = st.one_of(
    RAW,
    st.builds(lambda path, query: b"/" + path + b"?" + query, RAW, RAW),
    st.builds(lambda path: b"/version?" + path, st.lists(st.sampled_from((b"a", b"%", b"%zz", b"=", b"&", b";", b"+")))
              .map(b"".join)),
    st.integers(0, 3000).map(lambda count: b"/version?" + b"a&" * count),
    st.integers(0, 3000).map(lambda count: b"/api/v1/pods?fieldSelector=" + b"%5C," * count),
)  # fmt: skip
METHOD = st.sampled_from((b"GET", b"POST", b"HEAD", b"PATCH", b"M-SEARCH", b"SOURCE", b"PRI", b"CONNECT", b"get", b""))
NAME = st.sampled_from(
    (b"accept", b"authorization", b"content-type", b"user-agent", b"audit-id", b"impersonate-user", b"x", b"expect")
)
HEADERS = st.one_of(
    st.lists(st.tuples(NAME, RAW), max_size=6), st.integers(0, 2000).map(lambda count: [(b"x", b"y")] * count)
)


class _Wire(asyncio.Transport):
    """To the other end, in the next turn; an exception there would end the real one."""

    def __init__(self) -> None:
        super().__init__()
        self.hear: Callable[[bytes], None] = lambda _: None
        self.written = b""
        self.is_cut = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: Any) -> None:
        self.written += bytes(data)
        try:
            self.hear(bytes(data))
        except Exception:
            self.is_cut = True
            raise

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


def linked(connections: Connections, front_link: FrontLink) -> tuple[_Wire, _Wire]:
    to_server, to_front = _Wire(), _Wire()
    to_server.hear, to_front.hear = front_link.data_received, connections.data_received
    connections.connection_made(to_server)
    front_link.connection_made(to_front)
    return to_server, to_front


def client(connections: Connections) -> tuple[Connection, _Wire]:
    connection, wire = Connection(connections), _Wire()
    connection.connection_made(wire)
    return connection, wire


class _Api:
    """One server for all examples, and the loop it lives in."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pipeline: Pipeline) -> None:
        self.loop = loop
        self.pipeline = pipeline


@pytest.fixture(scope="module")
def api() -> Iterator[_Api]:
    with asyncio.Runner() as runner:
        started = running_api()
        found = runner.run(started.__aenter__())
        yield _Api(runner.get_loop(), found.pipeline)
        runner.run(started.__aexit__(None, None, None))


async def rest() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


def survives(api: _Api, sent: bytes) -> None:
    async def story() -> None:
        connections, front_link = Connections(None, ConnectionLimits()), FrontLink(api.pipeline)  # type: ignore[arg-type]  # nobody connects
        wires = linked(connections, front_link)
        bad, _ = client(connections)
        bad.data_received(sent)
        await rest()
        good, got = client(connections)
        good.data_received(GOOD)
        await rest()
        assert got.written.startswith(b"HTTP/1.1 200 ")
        assert not any(wire.is_cut for wire in wires)
        await front_link.stop()

    api.loop.run_until_complete(story())


@QUIET
@given(METHOD, TARGET, HEADERS, st.binary(max_size=50))
@example(b"GET", b"/version?" + b"a=1&" * 101, [], b"")
def test_no_request_ends_the_link(
    api: _Api, method: bytes, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: h", b"Content-Length: %d" % len(body)]
    lines += [name + b": " + value for name, value in headers]
    survives(api, b"\r\n".join(lines) + b"\r\n\r\n" + body)


@QUIET
@given(st.binary(max_size=300))
def test_no_bytes_end_the_link(api: _Api, sent: bytes) -> None:
    survives(api, sent)


@QUIET
@given(RAW, RAW, RAW, st.lists(RAW, max_size=5), RAW)
def test_no_frame_ends_the_link(
    api: _Api, method: bytes, path: bytes, query: bytes, headers: list[bytes], body: bytes
) -> None:
    """Whatever the front lets through."""

    async def story() -> None:
        front_link, wire = FrontLink(api.pipeline), _Wire()
        front_link.connection_made(wire)
        front_link.data_received(frame(FrameType.OPENED, 1, b"192.0.2.1", b""))
        front_link.data_received(frame(FrameType.REQUEST, 1, method, path, query, pack_headers(headers), body))
        await rest()
        assert wire.written[4] in (FrameType.RESPONSE, FrameType.RESPONSE_HEAD)
        await front_link.stop()

    api.loop.run_until_complete(story())


def test_answer_with_a_code_nobody_knows_is_written() -> None:
    async def story() -> None:
        connections, wire = Connections(None, ConnectionLimits()), _Wire()  # type: ignore[arg-type]  # nobody connects
        connections.connection_made(wire)
        asking, got = client(connections)
        asking.data_received(GOOD)
        connections.data_received(frame(FrameType.RESPONSE, asking.number, b"599", b"", b"{}"))
        assert got.written.startswith(b"HTTP/1.1 599 ")

    asyncio.run(story())
