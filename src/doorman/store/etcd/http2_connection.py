"""One HTTP/2 connection to a server that speaks gRPC: as much of RFC 9113 as a client of etcd needs.

Our own, because thousands of small calls a second go to one server, and grpcio, with threads and wrappers of its own,
cost more than all that is done with what is written. What is sent in one turn of the loop goes out in one system call.
The server is told to keep no table of headers: so a block of them means the same wherever it stands, and is remembered.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Mapping
from typing import Final, Protocol

from hpack import Decoder, HPACKError

from doorman.store.etcd.http2_frames import (
    ACK,
    CANCEL,
    CONTINUATION,
    DATA,
    DEFAULT_FRAME_BYTES,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    FRAME_MAX,
    GOAWAY,
    HEAD,
    HEADERS,
    INITIAL_WINDOW,
    NUMBER,
    PING,
    PRIORITY,
    PUSH,
    REFUSED_STREAM,
    RESET,
    SETTING,
    SETTINGS,
    STREAM_NUMBER_MAX,
    STREAMS_MAX,
    TABLE_SIZE,
    WINDOW_UPDATE,
    frame,
    unpadded,
)

SILENCE_SECONDS_MAX: Final = 10.0
"""After which the server is asked whether it is there, while it owes an answer. etcd ends connections of those who ask
more often than every five seconds, or without a call under way.
"""
PING_SECONDS_MAX: Final = 5.0
WINDOW_BYTES: Final = 16 << 20
"""What the server may send on a stream before it is told that it was taken."""
CONNECTION_WINDOW_BYTES: Final = 64 << 20
FRAME_BYTES_MAX: Final = 1 << 18
"""Of frames that are received."""
REMEMBERED_HEADERS_MAX: Final = 256


class Reader(Protocol):
    """Who has asked, and is told what comes of it."""

    def take(self, data: bytes) -> None: ...

    def end(self, fields: Mapping[str, str]) -> None:
        """With the last headers."""
        ...

    def lose(self, why: str, *, is_unsent: bool) -> None:
        """There will be no answer. Unsent: nobody has seen the request."""
        ...


class Http2Stream:
    __slots__ = ("ends", "fields", "number", "reader", "unsent", "untold", "window")

    def __init__(self, reader: Reader, *, ends: bool) -> None:
        self.reader = reader
        self.ends = ends
        """One message is all that is sent."""
        self.number = 0
        """While the server does not take it yet."""
        self.window = 0
        self.unsent = b""
        self.untold = 0
        """Bytes that were received, and of which the server does not know yet that they were taken."""
        self.fields: Mapping[str, str] = {}


class Http2Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        """When the server has spoken HTTP/2. Raises ConnectionError."""
        self._transport: asyncio.Transport | None = None
        self._is_leaving = False
        self._streams: dict[int, Http2Stream] = {}
        self._waiting: deque[tuple[bytes, Http2Stream, bytes]] = deque()
        """For the server to take more streams."""
        self._blocked: dict[Http2Stream, None] = {}
        """For the server to take more bytes."""
        self._next_number = 1
        self._streams_max = STREAM_NUMBER_MAX
        self._window = self._initial_window = DEFAULT_WINDOW
        self._frame_max = DEFAULT_FRAME_BYTES
        self._untold = 0
        self._rest = b""
        self._out: list[bytes] = []
        self._headers: tuple[int, int, bytes] | None = None
        self._remembered: dict[bytes, Mapping[str, str]] = {}
        self._heard_at = self._asked_at = self._loop.time()
        """Something was heard, or the first began to wait; the server was asked whether it is there."""
        self._watchdog: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._is_leaving and self._next_number < STREAM_NUMBER_MAX

    def begin(self, headers: bytes, reader: Reader, message: bytes, *, ends: bool) -> Http2Stream:
        stream = Http2Stream(reader, ends=ends)
        if not self._streams:
            self._heard_at = self._loop.time()
        if len(self._streams) < self._streams_max:
            self._open(headers, stream, message)
        else:
            self._waiting.append((headers, stream, message))
        return stream

    def send(self, stream: Http2Stream, message: bytes) -> None:
        stream.unsent += message
        if stream.number:
            self._pump(stream)

    def acknowledge(self, stream: Http2Stream) -> None:
        """What the stream has brought was taken."""
        if stream.untold >= WINDOW_BYTES // 2 and stream.number in self._streams:
            self._write(frame(WINDOW_UPDATE, 0, stream.number, NUMBER.pack(stream.untold)))
            stream.untold = 0

    def cancel(self, stream: Http2Stream) -> None:
        if self._streams.get(stream.number) is stream:
            self._write(frame(RESET, 0, stream.number, NUMBER.pack(CANCEL)))
            self._forget(stream)
        else:
            self._waiting = deque(one for one in self._waiting if one[1] is not stream)

    def pause_reading(self) -> None:
        """What comes is left to the kernel, to be read in one go: for moments only, as the server may ask something."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        self._fail("it was closed")

    # What asyncio calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a stream
        self._transport = transport
        settings = ((TABLE_SIZE, 0), (PUSH, 0), (INITIAL_WINDOW, WINDOW_BYTES), (FRAME_MAX, FRAME_BYTES_MAX))
        transport.write(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + frame(SETTINGS, 0, 0, b"".join(SETTING.pack(*one) for one in settings))
            + frame(WINDOW_UPDATE, 0, 0, NUMBER.pack(CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW))
        )
        self._watchdog = self._loop.call_later(SILENCE_SECONDS_MAX, self._look)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        if self._rest:
            data = self._rest + data
        at, size = 0, len(data)
        try:
            while size - at >= HEAD.size:
                high, low, kind, flags, number = HEAD.unpack_from(data, at)
                length = (high << 16) + low
                begins = at + HEAD.size
                if length > FRAME_BYTES_MAX or (not self.ready.done() and kind != SETTINGS):
                    raise _Fault("it does not speak HTTP/2")
                if begins + length > size:
                    break
                at = begins + length
                self._take(kind, flags, number & STREAM_NUMBER_MAX, data[begins:at])
                if self._transport is None:
                    return
        except (_Fault, HPACKError, struct.error, IndexError) as error:
            self._fail(str(error) or type(error).__name__)
        self._rest = data[at:]

    def eof_received(self) -> None:
        """The transport closes by itself then."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(str(exc) if exc is not None else "Socket closed")

    # Frames

    def _take(self, kind: int, flags: int, number: int, content: bytes) -> None:
        if kind == DATA:
            self._take_data(flags, number, content)
        elif kind == HEADERS:
            content = unpadded(flags, content)[5 if flags & PRIORITY else 0 :]
            self._take_headers(flags, number, content)
        elif kind == CONTINUATION:
            if self._headers is None or self._headers[1] != number:
                raise _Fault("headers are continued that nobody began")
            begun, _, before = self._headers
            self._headers = None
            self._take_headers(begun | flags, number, before + content)
        elif kind == WINDOW_UPDATE:
            self._take_window_update(number, NUMBER.unpack(content)[0] & STREAM_NUMBER_MAX)
        elif kind == PING and not flags & ACK:
            self._write(frame(PING, ACK, 0, content))
        elif kind == SETTINGS and not flags & ACK:
            self._take_settings(content)
        elif kind == RESET:
            self._take_reset(number, NUMBER.unpack(content)[0])
        elif kind == GOAWAY:
            self._take_goaway(NUMBER.unpack_from(content)[0] & STREAM_NUMBER_MAX)

    def _take_data(self, flags: int, number: int, content: bytes) -> None:
        self._untold += len(content)
        if self._untold >= CONNECTION_WINDOW_BYTES // 2:
            self._write(frame(WINDOW_UPDATE, 0, 0, NUMBER.pack(self._untold)))
            self._untold = 0
        stream = self._streams.get(number)
        if stream is None:
            return  # it was given up
        stream.untold += len(content)
        stream.reader.take(unpadded(flags, content))
        if flags & END_STREAM:
            self._end(stream, stream.fields)
        elif stream.ends:
            self.acknowledge(stream)

    def _take_headers(self, flags: int, number: int, block: bytes) -> None:
        if not flags & END_HEADERS:
            self._headers = (flags, number, block)
            return
        fields = self._remembered.get(block)
        if fields is None:
            decoder = Decoder()
            decoder.max_allowed_table_size = 0
            decoder.header_table_size = 0
            fields = {str(name): str(value) for name, value in decoder.decode(block)}
            if len(self._remembered) >= REMEMBERED_HEADERS_MAX:
                self._remembered.clear()
            self._remembered[block] = fields
        stream = self._streams.get(number)
        if stream is None:
            return
        if flags & END_STREAM:
            self._end(stream, fields)
        else:
            stream.fields = fields

    def _take_window_update(self, number: int, more: int) -> None:
        if number == 0:
            self._window += more
            for stream in tuple(self._blocked):
                self._pump(stream)
        elif number in self._streams:
            stream = self._streams[number]
            stream.window += more
            if stream in self._blocked:
                self._pump(stream)

    def _take_settings(self, content: bytes) -> None:
        for name, value in SETTING.iter_unpack(content):
            if name == STREAMS_MAX:
                self._streams_max = value
            elif name == FRAME_MAX:
                self._frame_max = value
            elif name == INITIAL_WINDOW:
                for stream in self._streams.values():
                    stream.window += value - self._initial_window
                self._initial_window = value
        self._write(frame(SETTINGS, ACK, 0, b""))
        for stream in tuple(self._blocked):
            self._pump(stream)
        self._open_waiting()
        if not self.ready.done():
            self.ready.set_result(None)

    def _take_reset(self, number: int, code: int) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            self._forget(stream)
            stream.reader.lose(f"the stream was reset, code {code}", is_unsent=code == REFUSED_STREAM)

    def _take_goaway(self, last: int) -> None:
        """What the server has begun it ends; the rest, and what comes, is for another connection."""
        self._is_leaving = True
        waiting, self._waiting = self._waiting, deque()
        unseen = [one for number, one in self._streams.items() if number > last]
        for stream in unseen:
            self._forget(stream)
        for stream in (*unseen, *(stream for _, stream, _ in waiting)):
            stream.reader.lose("the server is going away", is_unsent=True)
        if not self._streams:
            self._fail("the server is going away")

    # Streams

    def _open(self, headers: bytes, stream: Http2Stream, message: bytes) -> None:
        number = stream.number = self._next_number
        self._next_number += 2
        stream.window = self._initial_window
        self._streams[number] = stream
        self._write(frame(HEADERS, END_HEADERS, number, headers))
        stream.unsent += message
        self._pump(stream)

    def _open_waiting(self) -> None:
        while self._waiting and len(self._streams) < self._streams_max:
            self._open(*self._waiting.popleft())

    def _pump(self, stream: Http2Stream) -> None:
        """Send what may be sent."""
        while stream.unsent:
            room = min(self._window, stream.window, self._frame_max)
            if room <= 0:
                self._blocked[stream] = None
                return
            piece, stream.unsent = stream.unsent[:room], stream.unsent[room:]
            self._window -= len(piece)
            stream.window -= len(piece)
            flags = END_STREAM if stream.ends and not stream.unsent else 0
            self._write(frame(DATA, flags, stream.number, piece))
        self._blocked.pop(stream, None)

    def _end(self, stream: Http2Stream, fields: Mapping[str, str]) -> None:
        self._forget(stream)
        stream.reader.end(fields)
        if self._is_leaving and not self._streams:
            self._fail("the server is going away")

    def _forget(self, stream: Http2Stream) -> None:
        del self._streams[stream.number]
        self._blocked.pop(stream, None)
        if self._waiting:
            self._open_waiting()

    # Bytes

    def _write(self, data: bytes) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None:
            self._transport.write(b"".join(out))

    def _look(self) -> None:
        """Whether the server is there still, when it owes an answer and says nothing."""
        now, wait = self._loop.time(), SILENCE_SECONDS_MAX
        if self._streams and self._asked_at > self._heard_at:
            self._fail("keepalive watchdog timeout")
            return
        if self._streams and now - self._heard_at >= SILENCE_SECONDS_MAX:
            self._write(frame(PING, 0, 0, bytes(8)))
            self._asked_at, wait = now, PING_SECONDS_MAX
        elif self._streams:
            wait = self._heard_at + SILENCE_SECONDS_MAX - now
        self._watchdog = self._loop.call_later(wait, self._look)

    def _fail(self, why: str) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
        if not self.ready.done():
            self.ready.set_exception(ConnectionError(why))
        streams, self._streams = self._streams, {}
        waiting, self._waiting = self._waiting, deque()
        self._blocked.clear()
        for stream in streams.values():
            stream.reader.lose(why, is_unsent=False)
        for _, stream, _ in waiting:
            stream.reader.lose(why, is_unsent=True)


class _Fault(Exception):
    """The server does not keep to the protocol."""
