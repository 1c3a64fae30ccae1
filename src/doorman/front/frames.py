"""What the front and the server tell each other: frames, over the one stream of bytes between the two processes.

A frame has a head (how many bytes follow, what is told, of which connection) and parts, whose number goes with what is
told. Connections are numbered by the front and no number comes twice, so that neither side has to wait for the other to
have heard that a connection is gone.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Final, TypeAlias

HEAD: Final = struct.Struct("<IBQ")
_LENGTHS: Final = tuple(struct.Struct(f"<{count}I") for count in range(6))

Heard: TypeAlias = Callable[[int, memoryview], None]
"""Takes the connection and the payload of a frame."""

Faulted: TypeAlias = Callable[[int, int, Exception], None]
"""Takes what was told, of which connection, and what went wrong in hearing it."""


class Word(IntEnum):
    """What is told."""

    BEGIN = 1
    """To the front: the folder with certificates. Connections are accepted from now on."""
    LAST = 2
    """To the front: no connections any more, and none kept for longer than it takes to write what was given out."""
    ANSWER = 3
    """To the front: status, header lines, body."""
    START = 4
    """To the front: status, header lines, how many bytes there will be if that is known. Pieces follow."""
    PIECE = 5
    """To the front: some bytes of a body. It is heard as it arrives, so one that was told may be heard as several."""
    END = 6
    """To the front: that was the last piece."""
    CUT = 7
    """To the front: the rest of an answer will never come. The client must not take it for whole."""

    READY = 11
    """To the server: connections are accepted."""
    OPENED = 12
    """To the server: the client's address; the certificates it showed, if any (`pack_certificates`)."""
    ASKED = 13
    """To the server: method, path, query, headers (`pack_headers`), body."""
    GONE = 14
    """To the server: the client has left."""
    PAUSED = 15
    """To the server: the client does not keep up. Pieces wait."""
    RESUMED = 16


_PIECE: Final = int(Word.PIECE)


def frame(word: Word, connection: int = 0, *parts: bytes) -> bytes:
    """
    >>> frame(Word.END, 7).hex()
    '00000000060700000000000000'
    """
    if not parts:
        return HEAD.pack(0, word, connection)
    lengths = [len(part) for part in parts]
    size = sum(lengths) + 4 * (len(parts) - 1)
    return b"".join(
        (HEAD.pack(size, word, connection), _LENGTHS[len(parts) - 1].pack(*lengths[:-1]), *parts),
    )


def parts_of(payload: memoryview, count: int) -> list[memoryview]:
    """
    >>> [bytes(part) for part in parts_of(memoryview(frame(Word.START, 1, b"200", b"a: b"))[HEAD.size:], 2)]
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

    Frames carry what clients send, and the stream carries all clients: what goes wrong in hearing one frame is told to
    `faulted`, and the next frame is heard. Nothing a frame holds ends the stream.
    """

    __slots__ = ("_faulted", "_heard", "_parts", "_piece_bytes", "_piece_of", "_size", "_wanted")

    def __init__(self, heard: Mapping[Word, Heard], faulted: Faulted) -> None:
        self._heard: dict[int, Heard] = {int(word): hear for word, hear in heard.items()}
        self._faulted = faulted
        self._parts: list[bytes] = []
        """Of a frame that is not complete."""
        self._size = 0
        self._wanted = 0
        self._piece_bytes = 0
        """Of a piece that has begun to arrive, still to come."""
        self._piece_of = 0

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
        at = self._piece(self._piece_of, whole, self._piece_bytes) if self._piece_bytes else 0
        while end - at >= HEAD.size:
            size, word, connection = HEAD.unpack_from(data, at)
            begin = at + HEAD.size
            if word == _PIECE:
                at = begin + self._piece(connection, whole[begin:], size)
                continue
            if begin + size > end:
                wanted = HEAD.size + size
                break
            at = begin + size
            self._hear(word, connection, whole[begin:at])
        if at < end:
            self._parts = [data[at:]]
            self._size = end - at
            self._wanted = wanted

    def _piece(self, connection: int, data: memoryview, size: int) -> int:
        """As much of a piece as is there: it is passed on, not kept. How much that was."""
        taken = min(size, len(data))
        if taken:
            self._hear(_PIECE, connection, data[:taken])
        self._piece_of, self._piece_bytes = connection, size - taken
        return taken

    def _hear(self, word: int, connection: int, payload: memoryview) -> None:
        try:
            self._heard[word](connection, payload)
        except Exception as error:  # noqa: BLE001  whatever it is, it is of one connection
            self._faulted(word, connection, error)
