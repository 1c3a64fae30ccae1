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

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_TABLE_SIZE, _PUSH, _STREAMS_MAX, _INITIAL_WINDOW, _FRAME_MAX = 1, 2, 3, 4, 5
_REFUSED_STREAM, _CANCEL = 0x7, 0x8
_DEFAULT_WINDOW: Final = 65_535
_DEFAULT_FRAME_BYTES: Final = 16_384
_STREAM_NUMBER_MAX: Final = 0x7FFF_FFFF
_HEAD: Final = struct.Struct(">BHBBL")
"""Of a frame: its length in two parts, what it is, flags, and the stream's number."""
_SETTING: Final = struct.Struct(">HL")
_NUMBER: Final = struct.Struct(">L")


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
        self._streams_max = _STREAM_NUMBER_MAX
        self._window = self._initial_window = _DEFAULT_WINDOW
        self._frame_max = _DEFAULT_FRAME_BYTES
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
        return self._transport is not None and not self._is_leaving and self._next_number < _STREAM_NUMBER_MAX

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
            self._write(_frame(_WINDOW_UPDATE, 0, stream.number, _NUMBER.pack(stream.untold)))
            stream.untold = 0

    def cancel(self, stream: Http2Stream) -> None:
        if self._streams.get(stream.number) is stream:
            self._write(_frame(_RESET, 0, stream.number, _NUMBER.pack(_CANCEL)))
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
        settings = ((_TABLE_SIZE, 0), (_PUSH, 0), (_INITIAL_WINDOW, WINDOW_BYTES), (_FRAME_MAX, FRAME_BYTES_MAX))
        transport.write(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + _frame(_SETTINGS, 0, 0, b"".join(_SETTING.pack(*one) for one in settings))
            + _frame(_WINDOW_UPDATE, 0, 0, _NUMBER.pack(CONNECTION_WINDOW_BYTES - _DEFAULT_WINDOW))
        )
        self._watchdog = self._loop.call_later(SILENCE_SECONDS_MAX, self._look)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        if self._rest:
            data = self._rest + data
        at, size = 0, len(data)
        try:
            while size - at >= _HEAD.size:
                high, low, kind, flags, number = _HEAD.unpack_from(data, at)
                length = (high << 16) + low
                begins = at + _HEAD.size
                if length > FRAME_BYTES_MAX or (not self.ready.done() and kind != _SETTINGS):
                    raise _Fault("it does not speak HTTP/2")
                if begins + length > size:
                    break
                at = begins + length
                self._take(kind, flags, number & _STREAM_NUMBER_MAX, data[begins:at])
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
        if kind == _DATA:
            self._take_data(flags, number, content)
        elif kind == _HEADERS:
            content = _unpadded(flags, content)[5 if flags & _PRIORITY else 0 :]
            self._take_headers(flags, number, content)
        elif kind == _CONTINUATION:
            if self._headers is None or self._headers[1] != number:
                raise _Fault("headers are continued that nobody began")
            begun, _, before = self._headers
            self._headers = None
            self._take_headers(begun | flags, number, before + content)
        elif kind == _WINDOW_UPDATE:
            self._take_window_update(number, _NUMBER.unpack(content)[0] & _STREAM_NUMBER_MAX)
        elif kind == _PING and not flags & _ACK:
            self._write(_frame(_PING, _ACK, 0, content))
        elif kind == _SETTINGS and not flags & _ACK:
            self._take_settings(content)
        elif kind == _RESET:
            self._take_reset(number, _NUMBER.unpack(content)[0])
        elif kind == _GOAWAY:
            self._take_goaway(_NUMBER.unpack_from(content)[0] & _STREAM_NUMBER_MAX)

    def _take_data(self, flags: int, number: int, content: bytes) -> None:
        self._untold += len(content)
        if self._untold >= CONNECTION_WINDOW_BYTES // 2:
            self._write(_frame(_WINDOW_UPDATE, 0, 0, _NUMBER.pack(self._untold)))
            self._untold = 0
        stream = self._streams.get(number)
        if stream is None:
            return  # it was given up
        stream.untold += len(content)
        stream.reader.take(_unpadded(flags, content))
        if flags & _END_STREAM:
            self._end(stream, stream.fields)
        elif stream.ends:
            self.acknowledge(stream)

    def _take_headers(self, flags: int, number: int, block: bytes) -> None:
        if not flags & _END_HEADERS:
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
        if flags & _END_STREAM:
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
        for name, value in _SETTING.iter_unpack(content):
            if name == _STREAMS_MAX:
                self._streams_max = value
            elif name == _FRAME_MAX:
                self._frame_max = value
            elif name == _INITIAL_WINDOW:
                for stream in self._streams.values():
                    stream.window += value - self._initial_window
                self._initial_window = value
        self._write(_frame(_SETTINGS, _ACK, 0, b""))
        for stream in tuple(self._blocked):
            self._pump(stream)
        self._open_waiting()
        if not self.ready.done():
            self.ready.set_result(None)

    def _take_reset(self, number: int, code: int) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            self._forget(stream)
            stream.reader.lose(f"the stream was reset, code {code}", is_unsent=code == _REFUSED_STREAM)

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
        self._write(_frame(_HEADERS, _END_HEADERS, number, headers))
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
            flags = _END_STREAM if stream.ends and not stream.unsent else 0
            self._write(_frame(_DATA, flags, stream.number, piece))
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
            self._write(_frame(_PING, 0, 0, bytes(8)))
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


def _frame(kind: int, flags: int, number: int, content: bytes) -> bytes:
    length = len(content)
    return _HEAD.pack(length >> 16, length & 0xFFFF, kind, flags, number) + content


def _unpadded(flags: int, content: bytes) -> bytes:
    """
    >>> _unpadded(_PADDED, bytes((2, 7, 8, 0, 0)))
    b'\\x07\\x08'
    """
    return content[1 : len(content) - content[0]] if flags & _PADDED else content


def header_block(fields: Mapping[str, str]) -> bytes:
    """Headers as they are sent, none of which the server is to remember.

    >>> header_block({"te": "trailers"})
    b'\\x00\\x02te\\x08trailers'
    """
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields.items())


def _text(text: str) -> bytes:
    """
    >>> _text("x" * 300)[:4]
    b'\\x7f\\xad\\x01x'
    """
    data = text.encode()
    if len(data) < 0x7F:
        return bytes((len(data),)) + data
    rest, length = len(data) - 0x7F, bytearray((0x7F,))
    while rest >= 0x80:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return bytes(length) + data
