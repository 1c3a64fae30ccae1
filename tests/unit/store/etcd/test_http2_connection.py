"""Frames as they come and go: cut anywhere, held back by windows and limits, and connections that end."""

import asyncio
import struct
from collections.abc import Mapping

import pytest
from hpack import Encoder

from doorman.runtime.virtual_time import run_virtual
from doorman.store.etcd.http2_connection import (
    CONNECTION_WINDOW_BYTES,
    PING_SECONDS_MAX,
    SILENCE_SECONDS_MAX,
    WINDOW_BYTES,
    Http2Connection,
)
from doorman.store.etcd.http2_frames import header_block

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
ANSWERED = {":status": "200", "content-type": "application/grpc"}
DONE = {"grpc-status": "0", "grpc-message": ""}


class Wire(asyncio.Transport):
    """What was written, as frames: what it is, flags, stream, content."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.is_aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:  # type: ignore[override]
        self.data += bytes(data)

    def abort(self) -> None:
        self.is_aborted = True

    async def frames(self) -> list[tuple[int, int, int, bytes]]:
        """Since the last time."""
        await asyncio.sleep(0)
        data, self.data = self.data.removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), b""
        found = []
        while data:
            high, low, kind, flags, number = struct.unpack_from(">BHBBL", data)
            length = (high << 16) + low
            found.append((kind, flags, number, data[9 : 9 + length]))
            data = data[9 + length :]
        return found


class Asked:
    """Who asks, with everything that was told."""

    def __init__(self) -> None:
        self.data = b""
        self.ended: Mapping[str, str] | None = None
        self.lost: tuple[str, bool] | None = None

    def take(self, data: bytes) -> None:
        self.data += data

    def end(self, fields: Mapping[str, str]) -> None:
        self.ended = fields

    def lose(self, why: str, *, is_unsent: bool) -> None:
        self.lost = (why, is_unsent)


def frame(kind: int, flags: int, number: int, content: bytes = b"") -> bytes:
    return struct.pack(">BHBBL", len(content) >> 16, len(content) & 0xFFFF, kind, flags, number) + content


def block(fields: Mapping[str, str]) -> bytes:
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode(list(fields.items()), huffman=True)


def answer(number: int, data: bytes) -> bytes:
    return (
        frame(HEADERS, 0x4, number, block(ANSWERED))
        + frame(DATA, 0, number, data)
        + frame(HEADERS, 0x5, number, block(DONE))
    )


def settings(**values: int) -> bytes:
    numbers = {"streams_max": 3, "window": 4, "frame": 5}
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HL", numbers[name], value) for name, value in values.items()))


async def opened(told: bytes = b"") -> tuple[Http2Connection, Wire]:
    connection, wire = Http2Connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(told or settings())
    await connection.ready
    await wire.frames()
    return connection, wire


def begin(connection: Http2Connection, message: bytes = b"question") -> Asked:
    asked = Asked()
    connection.begin(header_block({":path": "/a"}), asked, message, ends=True)
    return asked


@pytest.mark.parametrize("piece", [1, 2, 7, 10_000])
async def test_frames_may_be_cut_anywhere(piece: int) -> None:
    connection, _ = await opened()
    first, second = begin(connection), begin(connection)
    told = answer(3, b"two") + frame(PING, 0, 0, bytes(8)) + answer(1, b"one")
    for at in range(0, len(told), piece):
        connection.data_received(told[at : at + piece])
    assert (first.data, second.data) == (b"one", b"two")
    assert first.ended == second.ended == DONE


async def test_headers_may_be_padded_prioritized_and_continued() -> None:
    connection, _ = await opened()
    asked = begin(connection)
    head = block(DONE)
    connection.data_received(frame(HEADERS, 0x4 | 0x8, 1, b"\x02" + block(ANSWERED) + b"\0\0"))
    connection.data_received(frame(DATA, 0x8, 1, b"\x03data\0\0\0"))
    connection.data_received(frame(HEADERS, 0x1 | 0x20, 1, bytes(5) + head[:4]))
    connection.data_received(frame(CONTINUATION, 0x4, 1, head[4:]))
    assert (asked.data, asked.ended) == (b"data", DONE)


async def test_message_goes_out_as_the_server_takes_it() -> None:
    connection, wire = await opened(settings(window=10, frame=16_384))
    asked = begin(connection, b"x" * 25)
    _, *sent = await wire.frames()
    assert sent == [(DATA, 0, 1, b"x" * 10)]
    connection.data_received(frame(WINDOW_UPDATE, 0, 1, struct.pack(">L", 7)))
    assert await wire.frames() == [(DATA, 0, 1, b"x" * 7)]
    connection.data_received(settings(window=11))  # one more for each stream
    assert (await wire.frames())[-1] == (DATA, 0, 1, b"x")
    connection.data_received(frame(WINDOW_UPDATE, 0, 1, struct.pack(">L", 100)))
    assert await wire.frames() == [(DATA, 0x1, 1, b"x" * 7)]
    connection.data_received(answer(1, b"taken"))
    assert asked.data == b"taken"


async def test_connection_has_a_window_of_all_streams() -> None:
    connection, wire = await opened(settings(window=1 << 20))
    begin(connection, b"x" * 60_000)
    begin(connection, b"y" * 10_000)
    sent = [one for one in await wire.frames() if one[0] == DATA]
    assert sum(len(one[3]) for one in sent) == 65_535
    assert max(len(one[3]) for one in sent) <= 16_384
    connection.data_received(frame(WINDOW_UPDATE, 0, 0, struct.pack(">L", 5_000)))
    assert await wire.frames() == [(DATA, 0x1, 3, b"y" * 4_465)]


async def test_streams_wait_for_the_server_to_take_more() -> None:
    connection, wire = await opened(settings(streams_max=1))
    first, second, third = (begin(connection) for _ in range(3))
    assert [one[2] for one in await wire.frames() if one[0] == HEADERS] == [1]
    connection.data_received(answer(1, b"one"))
    assert [one[2] for one in await wire.frames() if one[0] == HEADERS] == [3]
    connection.connection_lost(None)
    assert first.data == b"one"
    assert second.lost == ("Socket closed", False)
    assert third.lost == ("Socket closed", True)


async def test_server_that_goes_away_ends_what_it_has_begun() -> None:
    connection, wire = await opened()
    first, second = begin(connection), begin(connection)
    connection.data_received(frame(GOAWAY, 0, 0, struct.pack(">LL", 1, 0)))
    assert not connection.is_open
    assert second.lost == ("the server is going away", True)
    connection.data_received(answer(1, b"done"))
    assert (first.data, first.ended) == (b"done", DONE)
    assert wire.is_aborted


async def test_server_that_goes_away_is_sent_nothing_more() -> None:
    connection, wire = await opened(settings(streams_max=2))
    asked = [begin(connection) for _ in range(4)]
    await wire.frames()
    connection.data_received(frame(GOAWAY, 0, 0, struct.pack(">LL", 1, 0)))
    assert [one.lost for one in asked] == [None, *[("the server is going away", True)] * 3]
    assert await wire.frames() == []


@pytest.mark.parametrize(
    ("code", "is_unsent"), [pytest.param(7, True, id="refused"), pytest.param(2, False, id="fault")]
)
async def test_stream_that_is_reset_is_lost(code: int, is_unsent: bool) -> None:
    connection, _ = await opened()
    asked = begin(connection)
    connection.data_received(frame(RESET, 0, 1, struct.pack(">L", code)))
    assert asked.lost == (f"the stream was reset, code {code}", is_unsent)
    assert connection.is_open


async def test_given_up_stream_is_reset_and_what_comes_for_it_passed_over() -> None:
    connection, wire = await opened()
    asked = Asked()
    stream = connection.begin(header_block({}), asked, b"question", ends=True)
    connection.cancel(stream)
    assert (await wire.frames())[-1] == (RESET, 0, 1, struct.pack(">L", 8))
    connection.data_received(answer(1, b"late"))
    assert (asked.data, asked.ended) == (b"", None)


async def test_settings_and_pings_are_acknowledged() -> None:
    connection, wire = await opened()
    connection.data_received(settings(frame=20_000) + frame(PING, 0, 0, b"whoisit?"))
    assert await wire.frames() == [(SETTINGS, 1, 0, b""), (PING, 1, 0, b"whoisit?")]


async def test_server_is_told_what_was_taken() -> None:
    connection, wire = await opened()
    asked = begin(connection)
    follows = connection.begin(header_block({}), Asked(), b"question", ends=False)
    await wire.frames()
    piece = bytes(1 << 17)
    for number in (1, 3):
        for _ in range(WINDOW_BYTES // 2 // len(piece)):
            connection.data_received(frame(DATA, 0, number, piece))
    assert await wire.frames() == [(WINDOW_UPDATE, 0, 1, struct.pack(">L", WINDOW_BYTES // 2))]
    connection.acknowledge(follows)
    assert await wire.frames() == [(WINDOW_UPDATE, 0, 3, struct.pack(">L", WINDOW_BYTES // 2))]
    for _ in range((CONNECTION_WINDOW_BYTES // 2 - WINDOW_BYTES) // len(piece)):
        connection.data_received(frame(DATA, 0, 1, piece))
    assert (WINDOW_UPDATE, 0, 0, struct.pack(">L", CONNECTION_WINDOW_BYTES // 2)) in await wire.frames()
    assert len(asked.data) == CONNECTION_WINDOW_BYTES // 2 - WINDOW_BYTES // 2


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="http1"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x16 TLS", id="tls-alert"),
        pytest.param(frame(PING, 0, 0, bytes(8)), id="no-settings-first"),
    ],
)
async def test_what_does_not_speak_http2_is_noticed(told: bytes) -> None:
    connection, wire = Http2Connection(), Wire()
    connection.connection_made(wire)
    connection.data_received(told)
    with pytest.raises(ConnectionError, match="does not speak HTTP/2"):
        await connection.ready
    assert wire.is_aborted


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(frame(HEADERS, 0x5, 1, b"\xff\xff\xff\xff"), id="headers"),
        pytest.param(frame(CONTINUATION, 0x4, 1, b""), id="continued-nothing"),
        pytest.param(frame(WINDOW_UPDATE, 0, 0, b"\0"), id="short"),
        pytest.param(frame(DATA, 0x8, 1, b""), id="no-padding"),
    ],
)
async def test_broken_frame_ends_the_connection(told: bytes) -> None:
    connection, wire = await opened()
    asked = begin(connection)
    connection.data_received(told)
    assert wire.is_aborted
    assert asked.lost is not None
    assert not asked.lost[1]


def test_silent_server_is_asked_and_then_given_up() -> None:
    async def story() -> None:
        connection, wire = await opened()
        await asyncio.sleep(SILENCE_SECONDS_MAX * 3)
        assert await wire.frames() == [], "nothing is owed"
        asked = begin(connection)
        await asyncio.sleep(SILENCE_SECONDS_MAX + 1)
        assert (PING, 0, 0, bytes(8)) in await wire.frames()
        connection.data_received(frame(PING, 1, 0, bytes(8)))
        await asyncio.sleep(SILENCE_SECONDS_MAX)
        assert asked.lost is None, "it has answered"
        await asyncio.sleep(SILENCE_SECONDS_MAX + PING_SECONDS_MAX)
        assert asked.lost == ("keepalive watchdog timeout", False)

    run_virtual(story())
