"""Frames of HTTP/2 as bytes, and headers that nobody is to remember: as much of RFC 9113 and 7541 as a client needs."""

import struct
from collections.abc import Mapping
from typing import Final

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
TABLE_SIZE, PUSH, STREAMS_MAX, INITIAL_WINDOW, FRAME_MAX = 1, 2, 3, 4, 5
REFUSED_STREAM, CANCEL = 0x7, 0x8
DEFAULT_WINDOW: Final = 65_535
DEFAULT_FRAME_BYTES: Final = 16_384
STREAM_NUMBER_MAX: Final = 0x7FFF_FFFF
HEAD: Final = struct.Struct(">BHBBL")
"""Of a frame: its length in two parts, what it is, flags, and the stream's number."""
SETTING: Final = struct.Struct(">HL")
NUMBER: Final = struct.Struct(">L")


def frame(kind: int, flags: int, number: int, content: bytes) -> bytes:
    length = len(content)
    return HEAD.pack(length >> 16, length & 0xFFFF, kind, flags, number) + content


def unpadded(flags: int, content: bytes) -> bytes:
    """
    >>> unpadded(PADDED, bytes((2, 7, 8, 0, 0)))
    b'\\x07\\x08'
    """
    return content[1 : len(content) - content[0]] if flags & PADDED else content


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
