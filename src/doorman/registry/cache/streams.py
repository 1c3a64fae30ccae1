"""Streams: a reader's place in the flow of one kind's changes, with a bounded buffer.

    Collection ── CacheChange ──► transition(selection) ──► Stream   ── wake ──► reader ── take, drain
                                                       buffer

A reader that falls too far behind loses its stream and lists again. What a reader raises ends here.
"""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from doorman.api.kinds import Kind
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored

STREAM_EVENTS_MAX: Final = 50_000
STREAM_BYTES_MAX: Final = 64 * 1024 * 1024
"""A stream that has not been read for so many events, or for events of so many bytes, ends."""


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"

    __hash__ = str.__hash__  # an enum's own is written in Python, and every change asks


class CacheChange(msgspec.Struct, frozen=True, gc=False):
    """One write to one kind. `old` None: it began to exist; `new` None: it is gone."""

    revision: int
    old: Stored | None
    new: Stored | None


class StreamEvent:
    """What a change is to those who follow: one for all of them, so that what is worked out for the first is there for
    the others.
    """

    __slots__ = ("_kind", "_line", "object", "type")

    def __init__(self, type_: EventType, stored: Stored) -> None:
        self.type = type_
        self.object = stored
        self._kind: Kind | None = None
        self._line = b""

    def line(self, kind: Kind, write: Callable[[Kind, EventType, Stored], bytes]) -> bytes:
        """As all who follow this kind in the plain form are told of it."""
        if self._kind is not kind:
            self._kind, self._line = kind, write(kind, self.type, self.object)
        return self._line


class Followed(Protocol):
    """The collection a stream belongs to."""

    def remove(self, stream: "Stream") -> None: ...

    def caught(self, reader: str, error: Exception, stored: Stored | None = None) -> None: ...


class Stream:
    """A reader's place in the flow of one kind's changes."""

    def __init__(self, selection: Selection, followed: Followed, reader: str) -> None:
        self.selection = selection
        self.takes_everything = selection.is_everything and not selection.namespace
        self._followed = followed
        self._buffer: deque[StreamEvent] = deque()
        self._bytes = 0
        self.is_closed = False
        self._wake: Callable[[], None] | None = None
        self._reader = reader

    def on_event(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when the buffer is no longer empty, or the stream has ended."""
        self._wake = wake
        if self._buffer or self.is_closed:
            self._tell()

    def take(self) -> list[StreamEvent]:
        """All that has gathered."""
        taken = list(self._buffer)
        self._buffer.clear()
        self._bytes = 0
        return taken

    def drain(
        self,
        take: Callable[[StreamEvent], None],
        wanted: Callable[[list[StreamEvent]], list[StreamEvent]] = lambda events: events,
    ) -> None:
        """Hand all that has gathered and is wanted over. One that cannot be taken does not keep the next from being."""
        for event in wanted(self.take()):
            try:
                take(event)
            except Exception as error:  # noqa: BLE001  whatever it is, it is about one object
                self._followed.caught(self._reader, error, event.object)

    def offer(self, event: StreamEvent) -> None:
        if len(self._buffer) >= STREAM_EVENTS_MAX or self._bytes >= STREAM_BYTES_MAX:
            self.close()
            return
        self._bytes += len(event.object.value)
        was_empty = not self._buffer
        self._buffer.append(event)
        if was_empty:
            self._tell()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._buffer.clear()
            self._followed.remove(self)
            self._tell()

    def _tell(self) -> None:
        if self._wake is not None:
            try:
                self._wake()
            except Exception as error:  # noqa: BLE001  others follow too, and somebody waits for what he wrote
                self._followed.caught(self._reader, error)


def transition(change: CacheChange, selection: Selection) -> EventType | None:
    """What a change is to somebody who selects: an object may enter or leave the selection by being modified."""
    had = change.old is not None and selection.admits(change.old)
    if change.new is not None and selection.admits(change.new):
        return EventType.MODIFIED if had else EventType.ADDED
    return EventType.DELETED if had else None


def event_of(change: CacheChange, type_: EventType) -> StreamEvent:
    if type_ is EventType.DELETED:
        assert change.old is not None, "what was not there does not go"
        return StreamEvent(type_, change.old.at_revision(change.revision))
    assert change.new is not None, "what comes is there"
    return StreamEvent(type_, change.new)
