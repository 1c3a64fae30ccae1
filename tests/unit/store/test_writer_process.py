"""The process that writes, without a process: groups in, answers out, and what is in the file afterwards."""

import io
import socket
import sqlite3
from pathlib import Path

import pytest

from doorman.store.database import Outline, Row, connect, last_revision, make, write
from doorman.store.store_contract import Unusable
from doorman.store.writer_process import LENGTH, encode_file, encode_group, open_to_write, serve


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "store.db"
    make(str(file))
    return file


def row(revision: int, value: bytes | None = b"{}") -> Row:
    return revision, "pods/default/a", 1, value


def answers(*messages: bytes) -> list[str]:
    """What comes back for each."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        serve(io.BufferedReader(io.BytesIO(b"".join(messages))), theirs)  # type: ignore[arg-type]  # it only reads
        theirs.close()
        stream = ours.makefile("rb")
        found = []
        while head := stream.read(LENGTH.size):
            found.append(stream.read(LENGTH.unpack(head)[0]).decode())
        stream.close()
        return found


def revisions(file: Path) -> list[int]:
    connection = sqlite3.connect(file)
    found = [revision for (revision,) in connection.execute("SELECT revision FROM log ORDER BY revision")]
    connection.close()
    return found


def test_groups_are_written_in_order_and_each_is_answered(file: Path) -> None:
    told = answers(
        encode_file(file, Outline(0)), bytes(encode_group([row(1), row(2)], [])), bytes(encode_group([row(3)], [1, 2]))
    )
    assert told == ["", ""]
    assert revisions(file) == [3]


def test_empty_group_is_answered_and_writes_nothing(file: Path) -> None:
    assert answers(encode_file(file, Outline(0)), bytes(encode_group([], []))) == [""]
    assert revisions(file) == []


def test_half_a_group_is_not_written(file: Path) -> None:
    whole = bytes(encode_group([row(1)], []))
    assert answers(encode_file(file, Outline(0)), whole, whole[:-3]) == [""]
    assert revisions(file) == [1]


def test_what_goes_wrong_is_answered_and_the_next_group_is_taken(file: Path) -> None:
    first, again, other = (bytes(encode_group([row(number)], [])) for number in (1, 1, 2))
    told = answers(encode_file(file, Outline(0)), first, again, other)
    assert [bool(fault) for fault in told] == [False, True, False]
    assert revisions(file) == [1, 2]


def test_server_that_says_nothing_is_answered_nothing() -> None:
    assert answers() == []


@pytest.mark.parametrize(
    ("read", "told"),
    [
        pytest.param(Outline(1, 1, 1), "and had 1 up to 1 when", id="the-server-did-not-read-the-last"),
        pytest.param(Outline(3, 2, 4), "and had 2 up to 3 when", id="the-server-did-not-read-one-in-between"),
        pytest.param(Outline(3, 3, 7), "and had 3 up to 3 when", id="the-server-read-another"),
    ],
)
def test_file_that_holds_something_else_than_was_read_is_left_alone(file: Path, read: Outline, told: str) -> None:
    connection = connect(str(file))
    write(connection, [row(1), row(2), row(3)], [])
    connection.close()
    with pytest.raises(Unusable, match=f"has 3 rows up to revision 3, {told} it was read"):
        open_to_write(file, read)
    opened = open_to_write(file, Outline(3, 3, 6))
    assert last_revision(opened) == 3
    opened.close()
