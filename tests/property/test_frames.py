"""What is told is heard, however the stream between two processes is cut."""

from hypothesis import given
from hypothesis import strategies as st

from doorman.front.frames import (
    FrameReader,
    Heard,
    Word,
    frame,
    pack_certificates,
    pack_headers,
    parts_of,
    unpack_certificates,
    unpack_headers,
)

SMALL = st.binary(max_size=40)
SAID = st.tuples(st.sampled_from(list(Word)), st.integers(0, 2**64 - 1), st.lists(SMALL, max_size=5))
HEADER = st.text(st.characters(max_codepoint=255, exclude_characters="\0\n"), max_size=10)


def joined(told: list[tuple[Word, int, bytes]]) -> list[tuple[Word, int, bytes]]:
    """Neighbouring pieces of a connection as one, empty ones as none: pieces are heard as they arrive."""
    found: list[tuple[Word, int, bytes]] = []
    for word, number, payload in told:
        if word is not Word.PIECE:
            found.append((word, number, payload))
        elif found and found[-1][:2] == (word, number):
            found[-1] = (word, number, found[-1][2] + payload)
        elif payload:
            found.append((word, number, payload))
    return found


@given(st.lists(SAID, max_size=10), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_frames_arrive_whole_and_in_order(said: list[tuple[Word, int, list[bytes]]], cuts: list[int]) -> None:
    heard: list[tuple[Word, int, bytes]] = []

    def hear(word: Word) -> Heard:
        return lambda number, payload: heard.append((word, number, bytes(payload)))

    reader = FrameReader({word: hear(word) for word in Word}, lambda *fault: heard.clear())
    stream = b"".join(frame(word, number, *parts) for word, number, parts in said)
    at = turn = 0
    while at < len(stream):
        step = cuts[turn % len(cuts)]
        reader.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    told = [(word, number, frame(word, number, *parts)[13:]) for word, number, parts in said]
    assert joined(heard) == joined(told)


@given(st.lists(SMALL, min_size=1, max_size=5))
def test_parts_come_back(parts: list[bytes]) -> None:
    payload = memoryview(frame(Word.ASKED, 1, *parts))[13:]
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
