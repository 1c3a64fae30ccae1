"""The process that writes: `python -m doorman.store.writer_process LINK`, a socket it inherits from `SqliteStore`.

It is told the file first and then group after group, each of which it answers when it is durable. It is a process and
no thread, because a thread that writes wants the interpreter's lock twice a group, and then the event loop waits for
it, or it for the event loop. It also inherits the lock of the data directory: while it writes, nobody else opens it.
"""

import contextlib
import io
import os
import signal
import socket
import sqlite3
import struct
import sys
from pathlib import Path
from typing import Final

import msgspec

from doorman.store.database import (
    MARK,
    Outline,
    RevisionMark,
    Row,
    add_checksums,
    connect,
    last_revision,
    look,
    outline,
    write,
)
from doorman.store.store_contract import Unusable

LENGTH: Final = struct.Struct("<I")
BUFFER_BYTES: Final = 256 * 1024

_encode_into: Final = msgspec.msgpack.Encoder().encode_into
_decode: Final = msgspec.msgpack.Decoder(tuple[list[Row], list[int]]).decode


def encode_group(rows: list[Row], garbage: list[int]) -> bytearray:
    """As it goes over the link."""
    group = bytearray(LENGTH.size)
    _encode_into((rows, garbage), group, LENGTH.size)
    LENGTH.pack_into(group, 0, len(group) - LENGTH.size)
    return group


def serve(stream: io.BufferedReader, answers: socket.socket) -> None:
    """Until nothing more comes. An answer is empty, or what went wrong."""
    told = _take(stream)
    if told is None:
        return
    *numbers, name = told.split(b" ", 3)
    read, file = Outline(*map(int, numbers)), Path(os.fsdecode(name))
    connection: sqlite3.Connection | None = None
    mark: RevisionMark | None = None
    while (group := _take(stream)) is not None:
        fault = b""
        try:
            if connection is None:
                connection = open_to_write(file, read)
                mark = RevisionMark(file.with_name(MARK))
                mark.note(read.revision)  # it may be older: it is not synced
            rows, garbage = _decode(group)
            if rows:  # an empty group asks whether anybody is here
                write(connection, rows, garbage)
                if mark is not None:
                    mark.note(rows[-1][0])
        except Exception as error:  # noqa: BLE001  whatever it is, those who wait must hear of it
            fault = str(error).encode() or type(error).__name__.encode()
        answers.sendall(LENGTH.pack(len(fault)) + fault)
    if connection is not None:
        connection.close()
    if mark is not None:
        mark.close()


def encode_file(file: Path, read: Outline) -> bytes:
    """What the writer is told first: what the server has read of the file, and which it is."""
    told = b"%d %d %d %s" % (*read, os.fsencode(file))
    return LENGTH.pack(len(told)) + told


def open_to_write(file: Path, read: Outline) -> sqlite3.Connection:
    """Raises `Unusable` when the file does not hold what the server has read: one of the two was given back wrongly by
    the disk. It is left as it is then: the connection that only looks is closed last, and so the log is not folded into
    the database.
    """
    with contextlib.closing(look(str(file))) as looking:
        last_revision(looking)  # it has the file in use only when it has read some of it
        connection = connect(str(file))
        found = outline(connection)
        if found != read:
            connection.close()
            raise Unusable(
                f"{file} has {found.rows} rows up to revision {found.revision}, "
                f"and had {read.rows} up to {read.revision} when it was read",
                "start the server again; should it happen again, look after the disk",
            )
        add_checksums(connection)
    return connection


def _take(stream: io.BufferedReader) -> bytes | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    size = LENGTH.unpack(head)[0]
    body = stream.read(size)
    return body if len(body) == size else None  # half a group was never acknowledged


def main() -> None:
    # The server ends this process, and nobody else: it may have a group to finish.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    link = socket.socket(fileno=int(sys.argv[1]))
    try:
        serve(io.BufferedReader(socket.SocketIO(link, "r"), BUFFER_BYTES), link)
    except (BrokenPipeError, ConnectionResetError):
        return  # the server is gone; what it was not told of it has not acknowledged


if __name__ == "__main__":
    main()
