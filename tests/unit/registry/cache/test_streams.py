"""A reader's place in the flow: what a change is to it, what it is told, and where what it raises ends."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.views.meta import view_decoder
from doorman.api.views.pods import Pod
from doorman.registry.cache import streams
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored, to_kept_bytes
from doorman.registry.cache.streams import CacheChange, EventType, Stream, StreamEvent, event_of, transition
from doorman.store.store_contract import Entry

DECODE = view_decoder(Pod)
RED = Selection(storage="pods", labels=parse_selector("colour=red"))


def stored(colour: str, revision: int = 1) -> Stored:
    doc: dict[str, Any] = {"metadata": {"namespace": "a", "name": "x", "labels": {"colour": colour}}}
    return Stored(Entry("pods/a/x", to_kept_bytes(doc), revision, revision), "a/x", DECODE)


class Followed:
    def __init__(self) -> None:
        self.removed: list[Stream] = []
        self.faults: list[tuple[str, str]] = []

    def remove(self, stream: Stream) -> None:
        self.removed.append(stream)

    def caught(self, reader: str, error: Exception, stored: Stored | None = None) -> None:
        self.faults.append((reader, str(error)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, "red", EventType.ADDED, id="comes"),
        pytest.param(None, "blue", None, id="comes-but-is-not-wanted"),
        pytest.param("red", "red", EventType.MODIFIED, id="changes"),
        pytest.param("blue", "red", EventType.ADDED, id="enters"),
        pytest.param("red", "blue", EventType.DELETED, id="leaves"),
        pytest.param("red", None, EventType.DELETED, id="goes"),
        pytest.param("blue", None, None, id="goes-but-was-not-wanted"),
    ],
)
def test_transition(old: str | None, new: str | None, expected: EventType | None) -> None:
    change = CacheChange(2, stored(old) if old else None, stored(new, 2) if new else None)
    assert transition(change, RED) == expected


def test_what_goes_is_told_as_it_was_at_the_revision_of_its_end() -> None:
    gone = event_of(CacheChange(7, stored("red", 3), stored("blue", 7)), EventType.DELETED)
    assert (gone.object.labels, gone.object.revision) == ({"colour": "red"}, 7)
    changed = event_of(CacheChange(7, stored("red", 3), stored("blue", 7)), EventType.MODIFIED)
    assert changed.object.labels == {"colour": "blue"}


def test_line_is_written_once_for_all_who_follow_a_kind() -> None:
    written: list[str] = []
    pods, nodes = builtin_kinds().named("pods"), builtin_kinds().named("nodes")

    def write(kind: Any, type_: EventType, found: Stored) -> bytes:
        written.append(kind.kind)
        return f"{type_} {kind.kind}".encode()

    event = StreamEvent(EventType.ADDED, stored("red"))
    assert event.line(pods, write) == event.line(pods, write) == b"ADDED Pod"
    assert event.line(nodes, write) == b"ADDED Node"
    assert written == ["Pod", "Node"]


def test_reader_is_woken_when_there_is_something_and_not_again_before_it_has_taken_it() -> None:
    stream, woken = Stream(RED, Followed(), "r"), []
    stream.on_event(lambda: woken.append(1))
    assert woken == []
    stream.offer(StreamEvent(EventType.ADDED, stored("red")))
    stream.offer(StreamEvent(EventType.MODIFIED, stored("red", 2)))
    assert woken == [1]
    assert [event.type for event in stream.take()] == [EventType.ADDED, EventType.MODIFIED]
    stream.offer(StreamEvent(EventType.MODIFIED, stored("red", 3)))
    assert woken == [1, 1]
    late: list[int] = []
    stream.on_event(lambda: late.append(1))
    assert late == [1], "there was something already"


@pytest.mark.parametrize(("name", "value"), [("STREAM_EVENTS_MAX", 2), ("STREAM_BYTES_MAX", 1)])
def test_reader_that_falls_behind_loses_its_stream(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    monkeypatch.setattr(streams, name, value)
    followed = Followed()
    stream, woken = Stream(RED, followed, "r"), []
    stream.on_event(lambda: woken.append(1))
    for revision in range(value + 1):
        stream.offer(StreamEvent(EventType.MODIFIED, stored("red", revision)))
    assert stream.is_closed
    stream.close()
    assert stream.take() == []
    assert followed.removed == [stream], "once"
    assert woken == [1, 1], "of the first event, and of the end"


def test_what_a_reader_raises_is_noted_and_the_next_event_is_taken() -> None:
    followed, taken = Followed(), []
    stream = Stream(RED, followed, "careless")

    def take(event: StreamEvent) -> None:
        if event.object.revision == 1:
            raise ValueError("no")
        taken.append(event.object.revision)

    for revision in (1, 2):
        stream.offer(StreamEvent(EventType.MODIFIED, stored("red", revision)))
    stream.drain(take)
    assert (taken, followed.faults) == ([2], [("careless", "no")])

    def wake() -> None:
        raise ValueError("never")

    stream.on_event(wake)
    stream.offer(StreamEvent(EventType.MODIFIED, stored("red", 3)))
    assert followed.faults[1:] == [("careless", "never")]
