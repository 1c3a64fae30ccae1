"""What is sent is received, however the stream between two processes is cut."""

from hypothesis import given
from hypothesis import strategies as st

from doorman.front.frames import (
    FrameHandler,
    FrameReader,
    FrameType,
    frame,
    pack_certificates,
    pack_headers,
    parts_of,
    unpack_certificates,
    unpack_headers,
)

SMALL = st.binary(max_size=40)
SENT = st.tuples(st.sampled_from(list(FrameType)), st.integers(0, 2**64 - 1), st.lists(SMALL, max_size=5))
HEADER = st.text(st.characters(max_codepoint=255, exclude_characters="\0\n"), max_size=10)


def joined(sent: list[tuple[FrameType, int, bytes]]) -> list[tuple[FrameType, int, bytes]]:
    """Neighbouring pieces of a connection as one, empty ones as none: pieces are heard as they arrive."""
    found: list[tuple[FrameType, int, bytes]] = []
    for frame_type, number, payload in sent:
        if frame_type is not FrameType.BODY_CHUNK:
            found.append((frame_type, number, payload))
        elif found and found[-1][:2] == (frame_type, number):
            found[-1] = (frame_type, number, found[-1][2] + payload)
        elif payload:
            found.append((frame_type, number, payload))
    return found


@given(st.lists(SENT, max_size=10), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_frames_arrive_whole_and_in_order(sent: list[tuple[FrameType, int, list[bytes]]], cuts: list[int]) -> None:
    received: list[tuple[FrameType, int, bytes]] = []

    def handler(frame_type: FrameType) -> FrameHandler:
        return lambda number, payload: received.append((frame_type, number, bytes(payload)))

    reader = FrameReader({each: handler(each) for each in FrameType}, lambda *fault: received.clear())
    stream = b"".join(frame(frame_type, number, *parts) for frame_type, number, parts in sent)
    at = turn = 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        reader.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    expected = [(frame_type, number, frame(frame_type, number, *parts)[13:]) for frame_type, number, parts in sent]
    assert joined(received) == joined(expected)


@given(st.lists(SMALL, min_size=1, max_size=5))
def test_parts_come_back(parts: list[bytes]) -> None:
    payload = memoryview(frame(FrameType.REQUEST, 1, *parts))[13:]
    assert [bytes(part) for part in parts_of(payload, len(parts))] == parts


@given(st.lists(st.tuples(HEADER, HEADER), max_size=6))
def test_headers_come_back(headers: list[tuple[str, str]]) -> None:
    packed = pack_headers([word.encode("latin-1") for header in headers for word in header])
    expected: dict[str, list[str]] = {}
    for name, value in headers:
        expected.setdefault(name, []).append(value)
    assert unpack_headers(packed) == ({name: "\n".join(values) for name, values in expected.items()} if packed else {})


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=300), st.booleans())
def test_certificates_come_back(shown: list[bytes], is_resumed: bool) -> None:
    found = unpack_certificates(memoryview(pack_certificates(shown, is_resumed=is_resumed)))
    assert found == ((shown[0], None if is_resumed else tuple(shown[1:])) if shown else None)
