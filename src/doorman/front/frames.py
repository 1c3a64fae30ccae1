"""What the front and the server send each other: frames, over the one stream of bytes between the two processes.

A frame has a head (how many bytes follow, its type, the connection it is about) and parts, whose number goes with the
type. Connections are numbered by the front and no number comes twice, so that neither side has to wait for the other to
have heard that a connection is gone.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Final, TypeAlias

HEAD: Final = struct.Struct("<IBQ")
_LENGTHS: Final = tuple(struct.Struct(f"<{count}I") for count in range(6))

FrameHandler: TypeAlias = Callable[[int, memoryview], None]
"""Takes the connection and the payload of a frame."""

FrameErrorHandler: TypeAlias = Callable[[int, int, Exception], None]
"""Takes the type of a frame, its connection, and what went wrong in handling it."""


class FrameType(IntEnum):
    """What a frame says, and which parts it has."""

    LISTEN = 1
    """To the front: the folder with certificates. Connections are accepted from now on."""
    SHUTDOWN = 2
    """To the front: no connections any more, and none kept for longer than it takes to write what was given out."""
    RESPONSE = 3
    """To the front: status, header lines, body."""
    RESPONSE_HEAD = 4
    """To the front: status, header lines, how many bytes there will be if that is known. Chunks follow."""
    BODY_CHUNK = 5
    """To the front: some bytes of a body. It is handled as it arrives: one sent may be handled as several."""
    BODY_END = 6
    """To the front: that was the last chunk."""
    ABORT = 7
    """To the front: the rest of a response will never come. The client must not take it for whole."""

    READY = 11
    """To the server: connections are accepted."""
    OPENED = 12
    """To the server: the client's address; the certificates it showed, if any (`pack_certificates`)."""
    REQUEST = 13
    """To the server: method, path, query, headers (`pack_headers`), body."""
    CLOSED = 14
    """To the server: the client has closed its connection, or was cut off."""
    PAUSED = 15
    """To the server: the client does not keep up. Chunks wait."""
    RESUMED = 16


_BODY_CHUNK: Final = int(FrameType.BODY_CHUNK)


def frame(frame_type: FrameType, connection: int = 0, *parts: bytes) -> bytes:
    """
    >>> frame(FrameType.BODY_END, 7).hex()
    '00000000060700000000000000'
    """
    if not parts:
        return HEAD.pack(0, frame_type, connection)
    lengths = [len(part) for part in parts]
    size = sum(lengths) + 4 * (len(parts) - 1)
    return b"".join(
        (HEAD.pack(size, frame_type, connection), _LENGTHS[len(parts) - 1].pack(*lengths[:-1]), *parts),
    )


def parts_of(payload: memoryview, count: int) -> list[memoryview]:
    """
    >>> packed = frame(FrameType.RESPONSE_HEAD, 1, b"200", b"a: b")
    >>> [bytes(part) for part in parts_of(memoryview(packed)[HEAD.size:], 2)]
    [b'200', b'a: b']
    """
    lengths = _LENGTHS[count - 1]
    at = lengths.size
    found = []
    for length in lengths.unpack_from(payload):
        found.append(payload[at : at + length])
        at += length
    found.append(payload[at:])
    return found


def pack_headers(names_and_values: Sequence[bytes]) -> bytes:
    """Names and values in turn. No header holds a zero byte: the parser sees to it."""
    return b"\0".join(names_and_values)


def unpack_headers(packed: bytes) -> dict[str, str]:
    """The values of a header that came several times are lines of one.

    >>> unpack_headers(b"a\\0one\\0b\\0two\\0a\\0three")
    {'a': 'one\\nthree', 'b': 'two'}
    """
    words = packed.decode("latin-1").split("\0") if packed else []
    headers: dict[str, str] = {}
    for name, value in zip(words[::2], words[1::2], strict=True):
        headers[name] = f"{headers[name]}\n{value}" if name in headers else value
    return headers


def pack_certificates(shown: Sequence[bytes] | None, *, is_resumed: bool = False) -> bytes:
    """What was shown in a handshake, the client's own first. Nothing: no certificate."""
    if not shown:
        return b""
    lengths = struct.pack(f"<{len(shown)}I", *map(len, shown))
    return struct.pack("<?H", is_resumed, len(shown)) + lengths + b"".join(shown)


def unpack_certificates(packed: memoryview) -> tuple[bytes, tuple[bytes, ...] | None] | None:
    """The client's own and what it sent along; None for the latter when an earlier session was taken up.

    >>> unpack_certificates(memoryview(pack_certificates([b"leaf", b"between"])))
    (b'leaf', (b'between',))
    """
    if not packed:
        return None
    is_resumed, count = struct.unpack_from("<?H", packed)
    lengths = struct.unpack_from(f"<{count}I", packed, 3)
    at = 3 + 4 * count
    shown = []
    for length in lengths:
        shown.append(bytes(packed[at : at + length]))
        at += length
    return shown[0], None if is_resumed else tuple(shown[1:])


class FrameReader:
    """Cuts the stream into frames, however it arrives.

    Frames carry what clients send, and the stream carries all clients: what goes wrong in handling one frame is told to
    `on_error`, and the next frame is handled. Nothing a frame holds ends the stream.
    """

    __slots__ = ("_chunk_bytes", "_chunk_of", "_handlers", "_on_error", "_parts", "_size", "_wanted")

    def __init__(self, handlers: Mapping[FrameType, FrameHandler], on_error: FrameErrorHandler) -> None:
        self._handlers: dict[int, FrameHandler] = {int(frame_type): handler for frame_type, handler in handlers.items()}
        self._on_error = on_error
        self._parts: list[bytes] = []
        """Of a frame that is not complete."""
        self._size = 0
        self._wanted = 0
        self._chunk_bytes = 0
        """Of a chunk that has begun to arrive, still to come."""
        self._chunk_of = 0

    def feed(self, data: bytes) -> None:
        if self._parts:
            self._parts.append(data)
            self._size += len(data)
            if self._size < self._wanted:
                return
            data = b"".join(self._parts)
            self._parts = []
        end, wanted = len(data), HEAD.size
        whole = memoryview(data)
        at = self._take_chunk(self._chunk_of, whole, self._chunk_bytes) if self._chunk_bytes else 0
        while end - at >= HEAD.size:
            size, frame_type, connection = HEAD.unpack_from(data, at)
            begin = at + HEAD.size
            if frame_type == _BODY_CHUNK:
                at = begin + self._take_chunk(connection, whole[begin:], size)
                continue
            if begin + size > end:
                wanted = HEAD.size + size
                break
            at = begin + size
            self._handle(frame_type, connection, whole[begin:at])
        if at < end:
            self._parts = [data[at:]]
            self._size = end - at
            self._wanted = wanted

    def _take_chunk(self, connection: int, data: memoryview, size: int) -> int:
        """As much of a chunk as is there: it is passed on, not kept. How much that was."""
        taken = min(size, len(data))
        if taken:
            self._handle(_BODY_CHUNK, connection, data[:taken])
        self._chunk_of, self._chunk_bytes = connection, size - taken
        return taken

    def _handle(self, frame_type: int, connection: int, payload: memoryview) -> None:
        try:
            self._handlers[frame_type](connection, payload)
        except Exception as error:  # noqa: BLE001  whatever it is, it is of one connection
            self._on_error(frame_type, connection, error)
