"""HTTP as the front reads and writes it, without sockets."""

import asyncio
from typing import Any

import pytest

from doorman.front import connections as connections
from doorman.front.client_connection import Connection
from doorman.front.connection_limits import ConnectionLimits
from doorman.front.frames import FrameType, unpack_headers

DATE = b"date: now\r\n"


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.state = "open"
        self.is_read = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


class _Connections:
    """The part of `Connections` that a connection sees, written down."""

    ahead_bytes = 1000

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.time = 0.0
        self.sent: list[tuple[FrameType, tuple[bytes, ...]]] = []
        self.held = 0

    def now(self) -> float:
        return self.time

    def add(self, _: Connection) -> int:
        return 1

    def remove(self, _: int) -> None:
        self.sent.append((FrameType.CLOSED, ()))

    def send(self, frame_type: FrameType, _: int, *parts: bytes) -> None:
        self.sent.append((frame_type, parts))

    def hold(self, size: int) -> bool:
        if self.held + size > self.limits.all_bodies_bytes:
            return False
        self.held += size
        return True

    def release(self, size: int) -> None:
        self.held -= size

    def date_line(self) -> bytes:
        return DATE


class Client:
    def __init__(self, **limits: Any) -> None:
        self.connections = _Connections(ConnectionLimits(**limits))
        self.transport = _Transport()
        self.connection = Connection(self.connections)  # type: ignore[arg-type]  # the part of it that is seen
        self.connection.connection_made(self.transport)

    def sends(self, data: bytes) -> None:
        self.connection.data_received(data)

    def answered(self, body: bytes = b"ok", status: bytes = b"200") -> None:
        self.connection.write_response(status, memoryview(b"a: b\r\n"), memoryview(body))

    @property
    def asked(self) -> list[tuple[bytes, ...]]:
        return [parts for frame_type, parts in self.connections.sent if frame_type is FrameType.REQUEST]

    @property
    def got(self) -> bytes:
        written, self.transport.written = self.transport.written, b""
        return written


def test_request_is_handed_in_whole() -> None:
    client = Client()
    client.sends(b"POST /api/v1/a%2Fb?x=%20y HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nContent-Le")
    client.sends(b"ngth: 5\r\n\r\nab")
    assert not client.asked
    client.sends(b"cde")
    [(method, path, query, headers, body)] = client.asked
    assert (method, path, query, body) == (b"POST", b"/api/v1/a/b", b"x=%20y", b"abcde")
    assert unpack_headers(headers) == {"host": "h", "x-a": "1\n2", "content-length": "5"}


@pytest.mark.parametrize(
    ("request_line", "extra", "state"),
    [
        pytest.param(b"GET / HTTP/1.1\r\n", b"", "open", id="http-1.1"),
        pytest.param(b"GET / HTTP/1.1\r\nConnection: close\r\n", b"connection: close\r\n", "closed", id="close"),
        pytest.param(b"GET / HTTP/1.0\r\n", b"connection: close\r\n", "closed", id="http-1.0"),
        pytest.param(
            b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", b"connection: keep-alive\r\n", "open", id="http-1.0-kept"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
            b"connection: close\r\n",
            "closed",
            id="upgrade-is-a-plain-request",
        ),
    ],
)
def test_answer_is_written_whole(request_line: bytes, extra: bytes, state: str) -> None:
    client = Client()
    client.sends(request_line + b"\r\n")
    client.answered()
    assert client.got == b"HTTP/1.1 200 OK\r\n" + DATE + b"a: b\r\n" + extra + b"content-length: 2\r\n\r\nok"
    assert client.transport.state == state


@pytest.mark.parametrize(
    ("line", "status", "end"),
    [
        pytest.param(b"HEAD / HTTP/1.1", b"200", b"content-length: 2\r\n\r\n", id="head-has-no-body"),
        pytest.param(b"GET / HTTP/1.1", b"204", b"a: b\r\n\r\n", id="no-content-has-no-length"),
    ],
)
def test_answers_without_a_body(line: bytes, status: bytes, end: bytes) -> None:
    client = Client()
    client.sends(line + b"\r\n\r\n")
    client.answered(b"" if status == b"204" else b"ok", status)
    assert client.got.endswith(end)


@pytest.mark.parametrize(
    ("line", "length", "written", "state"),
    [
        pytest.param(
            b"GET / HTTP/1.1",
            b"",
            b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            "open",
            id="chunks",
        ),
        pytest.param(b"GET / HTTP/1.1", b"3", b"content-length: 3\r\n\r\nabc", "open", id="length-is-known"),
        pytest.param(b"GET / HTTP/1.0", b"", b"connection: close\r\n\r\nabc", "closed", id="http-1.0"),
        pytest.param(b"HEAD / HTTP/1.1", b"", b"transfer-encoding: chunked\r\n\r\n", "open", id="head"),
    ],
)
def test_answer_in_pieces(line: bytes, length: bytes, written: bytes, state: str) -> None:
    client = Client()
    client.sends(line + b"\r\n\r\n")
    client.connection.write_response_head(b"200", memoryview(b"a: b\r\n"), length)
    for piece in (b"ab", b"", b"c"):
        client.connection.write_body_chunk(memoryview(piece))
    client.connection.write_body_end()
    assert client.got.endswith(b"a: b\r\n" + written)
    assert client.transport.state == state


def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    client = Client()
    client.sends(b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n")
    assert [parts[1] for parts in client.asked] == [b"/1"]
    assert not client.transport.is_read, "no more is read than is asked for"
    for number in (b"1", b"2", b"3"):
        client.answered(number)
        assert client.got.endswith(b"\r\n\r\n" + number)
    assert [parts[1] for parts in client.asked] == [b"/1", b"/2", b"/3"]
    assert client.transport.is_read


def test_nonsense_behind_a_request_is_refused_after_its_answer() -> None:
    client = Client()
    client.sends(b"GET /1 HTTP/1.1\r\n\r\nnonsense\r\n\r\n")
    assert client.got == b""
    client.answered()
    assert client.got.count(b"HTTP/1.1 ") == 2
    assert client.transport.state == "closed"


def test_client_that_asks_whether_to_go_on_is_told_so() -> None:
    client = Client()
    client.sends(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
    assert client.got == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.sends(b"a")
    assert client.asked[0][4] == b"a"


@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        pytest.param({"body_bytes": 10}, b"POST / HTTP/1.1\r\nContent-Length: 30\r\n\r\n" + b"x" * 30, id="one"),
        pytest.param(
            {"body_bytes": 10, "all_bodies_bytes": 4},
            b"POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\n" + b"x" * 8,
            id="all-together",
        ),
    ],
)
def test_body_over_the_limit_is_not_kept(limits: dict[str, int], sent: bytes) -> None:
    client = Client(**limits)
    client.sends(sent[:-3])
    assert client.connections.held == 0
    client.sends(sent[-3:])
    assert client.asked[0][4] == bytes(11), "so that the server says what is wrong"
    client.answered()
    assert client.connections.held == 0


def test_memory_is_given_back_however_a_request_ends() -> None:
    client = Client()
    body = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
    client.sends(body + body + body[:-1])
    assert client.connections.held == 8
    client.connection.connection_lost(None)
    assert client.connections.held == 0


def test_trailers_are_no_headers() -> None:
    client = Client()
    client.sends(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nImpersonate-User: root\r\n\r\n")
    assert unpack_headers(client.asked[0][3]) == {"transfer-encoding": "chunked"}


@pytest.mark.parametrize("pieces", [1, 100], ids=["at-once", "in-small-pieces"])
def test_head_is_bounded(pieces: int) -> None:
    client = Client(head_bytes=1000)
    client.sends(b"GET / HTTP/1.1\r\nX-A: ")
    for _ in range(pieces):
        client.sends(b"a" * (1000 // pieces))
    assert client.got.startswith(b"HTTP/1.1 431 ")
    assert client.transport.state == "closed"


def test_each_request_of_a_connection_has_the_whole_head_to_itself() -> None:
    client = Client(head_bytes=100)
    for _ in range(5):
        client.sends(b"GET / HTTP/1.1\r\nX-A: " + b"a" * 60 + b"\r\n\r\n")
        client.answered()
    assert client.got.count(b"HTTP/1.1 200 OK") == 5


@pytest.mark.parametrize(
    ("sent", "seconds", "is_stuck"),
    [
        pytest.param(b"", 29, False, id="silent-for-a-while"),
        pytest.param(b"", 31, True, id="silent"),
        pytest.param(b"GET / HTTP/1.1\r\nX-A: b\r\n", 31, True, id="head-without-end"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", 31, False, id="body-on-its-way"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", 61, True, id="body-without-end"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 1000, False, id="waits-for-us"),
    ],
)
def test_slow_clients_are_stuck(sent: bytes, seconds: float, is_stuck: bool) -> None:
    client = Client()
    if sent:
        client.sends(sent)
    assert client.connection.is_stuck(seconds) is is_stuck


def test_client_that_does_not_take_its_answer_is_stuck() -> None:
    client = Client()
    client.sends(b"GET / HTTP/1.1\r\n\r\n")
    client.connection.pause_writing()
    assert not client.connection.is_stuck(59)
    assert client.connection.is_stuck(61)
    client.connection.resume_writing()
    assert not client.connection.is_stuck(61)
    assert [frame_type for frame_type, _ in client.connections.sent[-2:]] == [FrameType.PAUSED, FrameType.RESUMED]


def test_connection_is_kept_for_a_while() -> None:
    client = Client()
    client.sends(b"GET / HTTP/1.1\r\n\r\n")
    assert not client.connection.is_idle(1000)
    client.answered()
    assert (client.connection.is_idle(119), client.connection.is_idle(121)) == (False, True)


def test_words_that_come_too_late_are_not_written() -> None:
    client = Client()
    client.sends(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    client.answered()
    assert client.got
    client.answered()
    client.connection.write_response_head(b"200", memoryview(b""), b"")
    client.connection.write_body_chunk(memoryview(b"a"))
    client.connection.write_body_end()
    assert client.got == b""


def test_idle_connection_is_small() -> None:
    connection = Client().connection
    assert not hasattr(connection, "__dict__")
    assert connection._reading_or_none is None


async def test_memory_is_given_back_when_many_have_come_and_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[int] = []
    monkeypatch.setattr(connections, "give_back", lambda: given_back.append(1))
    all_of_them = connections.Connections(None, ConnectionLimits())  # type: ignore[arg-type]  # nobody connects
    for _ in range(connections.MOVES_MIN // 2 - 1):
        all_of_them.remove(all_of_them.add(Connection(all_of_them)))
    all_of_them._sweep()
    assert not given_back
    all_of_them.remove(all_of_them.add(Connection(all_of_them)))
    all_of_them._sweep()
    all_of_them._sweep()
    assert given_back == [1]
