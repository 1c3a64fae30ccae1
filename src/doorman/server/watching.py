"""Watches: where a stream begins, what it sends, when it ends."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from doorman.api.kinds import Kind
from doorman.base.errors import ApiError, FieldError, expired, forbidden, invalid_object, not_supported
from doorman.base.loop_turns import Turn
from doorman.registry.cache.collection import TooOld
from doorman.registry.cache.stored_object import Stored
from doorman.registry.cache.streams import EventType, Stream, StreamEvent
from doorman.registry.registry import Registry
from doorman.server.codec.rendering import Renderer
from doorman.server.listing import parse_revision, parse_selection, revision_fault, too_new
from doorman.server.request import Query

BOOKMARK_SECONDS: Final = 60.0
BOOKMARK_BEFORE_END_SECONDS: Final = 2.0
TIMEOUT_SECONDS_MIN: Final = 1800.0
WRITE_PAUSE_SECONDS: Final = 0.005
"""The least time between two writes of one watch; the first event after a quiet time leaves at once."""

WRITE_EVENTS_MAX: Final = 512
"""So many events are joined into one write."""


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    send_initial: bool
    """Whether the current objects come first."""
    marks_end_of_initial: bool
    bookmarks: bool
    after: int | None
    """Events after this revision; None: after what is there now."""
    timeout_seconds: float


def parse_watch_options(query: Query, rng: random.Random) -> WatchOptions:
    initial, match = query.flag_or_none("sendInitialEvents"), query.get("resourceVersionMatch")
    errors: list[FieldError] = []
    if initial is not None and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(forbidden("resourceVersionMatch", detail))
    if match:
        if initial is None:
            detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(forbidden("resourceVersionMatch", detail))
        if match != "NotOlderThan":
            errors.append(not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
    if errors:
        raise invalid_object("ListOptions", "meta.k8s.io", "", errors)
    text = query.get("resourceVersion")
    if text and (fault := revision_fault(text)):
        raise ApiError(500, "", fault)  # upstream does not say that it is the client's
    revision = parse_revision(text)
    bookmarks = query.flag("allowWatchBookmarks")
    timeout = query.integer_or_none("timeoutSeconds")
    sends = initial if initial is not None else revision == 0
    return WatchOptions(
        send_initial=sends,
        marks_end_of_initial=bool(initial) and bookmarks,
        bookmarks=bookmarks,
        after=revision if revision and not sends else None,
        timeout_seconds=float(timeout) if timeout else TIMEOUT_SECONDS_MIN * (1 + rng.random()),
    )


class Watch:
    """One open watch. Opening it fixes where it begins; iterating it sends lines."""

    def __init__(
        self,
        registry: Registry,
        kind: Kind,
        namespace: str,
        name: str,
        query: Query,
        renderer: Renderer,
        rng: random.Random,
    ) -> None:
        self._registry = registry
        self._kind = kind
        self._renderer = renderer
        self._options = options = parse_watch_options(query, rng)
        selection = parse_selection(kind, namespace, query, name=name)
        collection = registry.collection(kind)
        self._start_revision = registry.cache.revision
        self._error: bytes | None = None
        self._selection = selection
        self._initial: list[Stored] = []
        """What was there; what of it is wanted is found out as it is sent, some at a time."""
        self._stream: Stream | None = None
        revision = parse_revision(query.get("resourceVersion"))
        if options.send_initial and revision > self._start_revision:
            self._error = _error_line(too_new(revision, self._start_revision).status())
            return
        if options.send_initial:
            self._initial = list(collection.select(selection.superset))
        after = options.after
        if after is not None and after > self._start_revision:
            after = None
        try:
            self._stream = collection.follow(selection, after)
        except TooOld as error:
            text = f"too old resource version: {options.after} ({error.oldest})"
            self._error = _error_line(expired(text).status())

    async def lines(self) -> AsyncIterator[bytes]:
        """Joined lines, a write at a time."""
        if self._error is not None:
            yield self._error
            return
        stream = self._stream
        assert stream is not None
        wake = asyncio.Event()
        stream.on_event(wake.set)
        loop = asyncio.get_running_loop()
        alarm = _Alarm(wake.set)
        ends = loop.time() + self._options.timeout_seconds
        try:
            async for piece in self._initial_pieces():
                yield piece
            next_bookmark = loop.time() + BOOKMARK_SECONDS
            last_sent = self._start_revision
            next_write = 0.0
            while loop.time() < ends:
                wake.clear()
                if loop.time() < next_write:
                    # A busy stream gathers: many events in one write cost little more than one.
                    await asyncio.sleep(next_write - loop.time())
                if stream.is_closed:
                    break  # what it held is gone: a bookmark would say more than was sent
                events = stream.take()
                # Whoever goes on from a bookmark has been told all until then: what comes while these are sent is not.
                reached = self._registry.cache.revision
                if events:
                    next_write = loop.time() + WRITE_PAUSE_SECONDS
                for start in range(0, len(events), WRITE_EVENTS_MAX):
                    yield await self._written(events[start : start + WRITE_EVENTS_MAX])
                if self._options.bookmarks and loop.time() >= min(next_bookmark, ends - BOOKMARK_BEFORE_END_SECONDS):
                    next_bookmark = loop.time() + BOOKMARK_SECONDS
                    if reached > last_sent or next_bookmark > ends:
                        last_sent = reached
                        yield self._renderer.bookmark(self._kind, last_sent)
                if not events:
                    alarm.set(min(ends, next_bookmark) if self._options.bookmarks else ends)
                    await wake.wait()
        except ApiError as error:
            # An object that cannot be converted: nothing of it can be told, and nothing after it.
            yield _error_line(error.status())
        finally:
            alarm.cancel()
            stream.close()

    async def _initial_pieces(self) -> AsyncIterator[bytes]:
        initial, self._initial = self._initial, []
        turn = Turn()
        for start in range(0, len(initial), WRITE_EVENTS_MAX):
            wanted = filter(self._selection.admits, initial[start : start + WRITE_EVENTS_MAX])
            if some := [StreamEvent(EventType.ADDED, stored) for stored in wanted]:
                yield await self._written(some)
            if turn.is_over():
                await turn.next()
        if self._options.marks_end_of_initial:
            yield self._renderer.bookmark(self._kind, self._start_revision, ends_initial_events=True)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    async def _written(self, events: list[StreamEvent]) -> bytes:
        """Some events as lines."""
        kind, event = self._kind, self._renderer.event
        if kind.is_custom:
            shown = await self._registry.versions.shown(kind, [one.object for one in events])
            return b"".join([event(kind, one.type, stored) for one, stored in zip(events, shown, strict=True)])
        if self._renderer.tells_all_alike:
            return b"".join([one.line(kind, event) for one in events])
        return b"".join([event(kind, one.type, one.object) for one in events])


class _Alarm:
    """Rings at an instant that seldom changes: setting it to the same again, for every event, costs nothing."""

    __slots__ = ("_handle", "_instant", "_loop", "_ring")

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._instant = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def set(self, instant: float) -> None:
        if instant != self._instant or self._handle is None:
            self.cancel()
            self._instant = instant
            self._handle = self._loop.call_at(instant, self._rung)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _rung(self) -> None:
        self._handle = None
        self._ring()


def _error_line(status: object) -> bytes:
    return b'{"type":"ERROR","object":%s}\n' % msgspec.json.encode(status)
