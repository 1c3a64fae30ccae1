"""What readers see: the current objects of every kind, recent changes, and streams of them.

The watch cache reads the store by revision (its cursor) and serves everybody else. A reader that wants to
follow gets a `Stream` with a bounded buffer: when it falls too far behind the stream ends and the reader lists
again; a writer never waits for it.

    store ── events after N ──► Collection("pods")   objects, changes, streams
                             ├► Collection("nodes")
                             └► ...
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from heapq import merge
from typing import Any, Final

import msgspec
from sortedcontainers import SortedDict

from doorman.api.kinds import Kind
from doorman.api.meta import Object, view_decoder
from doorman.registry.pod_views import PodViews
from doorman.registry.selection import Selection
from doorman.registry.stored import Stored
from doorman.store.contract import Entry, Store

STREAM_EVENTS_MAX: Final = 50_000
STREAM_BYTES_MAX: Final = 64 * 1024 * 1024
"""A stream that has not been read for so many events, or for events of so many bytes, ends."""

CHANGES_MAX: Final = 10_000
CHANGES_BYTES_MAX: Final = 16 * 1024 * 1024
"""How far back one kind's changes reach, for watches that resume and pages that continue."""

assert CHANGES_MAX < STREAM_EVENTS_MAX, "a stream that begins with all kept changes has room for them"
assert CHANGES_BYTES_MAX < STREAM_BYTES_MAX, "a stream that begins with all kept changes has room for them"

PAST_VIEWS_MAX: Final = 256
PAST_VIEWS_BYTES_MAX: Final = 1024 * 1024
"""Of each kind: so many versions that are past keep their views, because informers are about to be told of them."""

WINDOW_KEYS: Final = 1000

PINNED_FIELDS: Final = ("metadata.name", "spec.nodeName")
"""Streams that follow one name or one node are filed under it, so that others' changes do not cost them anything."""


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(msgspec.Struct, frozen=True, gc=False):
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


class Stream:
    """A reader's place in the flow of one kind's changes."""

    def __init__(self, selection: Selection, collection: "Collection") -> None:
        self.selection = selection
        self._collection = collection
        self._buffer: deque[StreamEvent] = deque()
        self._bytes = 0
        self.is_closed = False
        self._wake: Callable[[], None] | None = None

    def on_event(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when the buffer is no longer empty, or the stream has ended."""
        self._wake = wake
        if self._buffer or self.is_closed:
            wake()

    def take(self) -> list[StreamEvent]:
        """All that has gathered."""
        taken = list(self._buffer)
        self._buffer.clear()
        self._bytes = 0
        return taken

    def offer(self, event: StreamEvent) -> None:
        if len(self._buffer) >= STREAM_EVENTS_MAX or self._bytes >= STREAM_BYTES_MAX:
            self.close()
            return
        self._bytes += len(event.object.value)
        was_empty = not self._buffer
        self._buffer.append(event)
        if was_empty and self._wake is not None:
            self._wake()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._buffer.clear()
            self._collection.remove(self)
            if self._wake is not None:
                self._wake()


class TooOld(Exception):
    """The changes asked for are no longer kept."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"older than {oldest}")
        self.oldest = oldest


class Collection:
    """The objects of one storage."""

    def __init__(self, storage: str, decoder: Callable[[bytes], Any], oldest: int) -> None:
        self.storage = storage
        self.decoder = decoder
        self.objects: SortedDict = SortedDict()
        self._changes: deque[Change] = deque()
        self._changes_bytes = 0
        self._past: deque[Stored] = deque()
        self._past_bytes = 0
        self.oldest = oldest
        """Changes after this revision are kept."""
        self.last_change = oldest
        """The revision of the newest change, or the oldest revision kept. Every write asks several kinds for it."""
        self._streams: dict[int, Stream] = {}
        self._pinned: dict[tuple[str, str], dict[int, Stream]] = {}
        self._by_node: dict[str, dict[str, Stored]] | None = {} if storage == "pods" else None
        self._pod_views = PodViews()
        if self._by_node is not None:
            self.decoder = self._pod_views.decode

    @property
    def stream_count(self) -> int:
        return sum(1 for _ in self._all_streams())

    def get(self, key: str) -> Stored | None:
        found: Stored | None = self.objects.get(key)
        return found

    def select(self, selection: Selection) -> Iterable[Stored]:
        """Current objects, in order of keys."""
        return self.select_at(selection, None)

    def select_at(self, selection: Selection, revision: int | None, *, after: str = "") -> Iterator[Stored]:
        """Objects in order of keys, those after a key only. At a past revision: with later changes undone.

        To be read at once, before anything changes.
        """
        undone = self._undone(revision) if revision is not None else {}
        candidates = self._candidates(selection, after, undone)
        if selection.is_everything:
            yield from candidates
            return
        for stored in candidates:
            if selection.admits(stored):
                yield stored

    def count_after(self, selection: Selection, key: str, revision: int | None) -> int:
        """How many follow a key, for a selection without selectors."""
        low, high = self.objects.bisect_right(key), len(self.objects)
        if selection.namespace:
            low = max(low, self.objects.bisect_left(selection.namespace + "/"))
            high = self.objects.bisect_left(selection.namespace + "0")
        count = int(max(high - low, 0))
        for other, was in (self._undone(revision) if revision is not None else {}).items():
            if other > key and other.startswith(f"{selection.namespace}/" if selection.namespace else ""):
                count += (was is not None) - (other in self.objects)
        return count

    def _undone(self, revision: int) -> dict[str, Stored | None]:
        """What was at a past revision where it is different now."""
        if revision < self.oldest:
            raise TooOld(self.oldest)
        undone: dict[str, Stored | None] = {}
        for change in reversed(self._changes):
            if change.revision <= revision:
                break
            stored = change.new or change.old
            assert stored is not None
            undone[stored.key] = change.old
        return undone

    def changes_after(self, revision: int) -> list[Change]:
        if revision < self.oldest:
            raise TooOld(self.oldest)
        wanted: list[Change] = []
        for change in reversed(self._changes):
            if change.revision <= revision:
                break
            wanted.append(change)
        wanted.reverse()
        return wanted

    def follow(self, selection: Selection, after: int | None) -> Stream:
        """A stream of what changes from now on, begun with the kept changes after `after`."""
        stream = Stream(selection, self)
        for change in self.changes_after(after) if after is not None else ():
            type_ = transition(change, selection)
            if type_ is not None:
                stream.offer(_event(change, type_))
        self._place(stream)[id(stream)] = stream
        return stream

    def remove(self, stream: Stream) -> None:
        self._place(stream).pop(id(stream), None)
        self._pinned = {pin: place for pin, place in self._pinned.items() if place}

    def close_streams(self) -> None:
        for stream in self._all_streams():
            stream.close()

    def apply(self, change: Change) -> None:
        stored = change.new or change.old
        assert stored is not None
        if change.new is not None:
            self.objects[stored.key] = change.new
        else:
            self.objects.pop(stored.key, None)
        if self._by_node is not None:
            self._refile(change)
        self._changes.append(change)
        self.last_change = change.revision
        self._changes_bytes += len(stored.value)
        while len(self._changes) > CHANGES_MAX or self._changes_bytes > CHANGES_BYTES_MAX:
            gone = self._changes.popleft()
            forgotten = gone.new or gone.old
            assert forgotten is not None
            self._changes_bytes -= len(forgotten.value)
            self.oldest = gone.revision
        self._dispatch(change)
        if change.old is not None:
            self._retire(change.old)

    def _retire(self, stored: Stored) -> None:
        self._past.append(stored)
        self._past_bytes += len(stored.value)
        while len(self._past) > PAST_VIEWS_MAX or self._past_bytes > PAST_VIEWS_BYTES_MAX:
            oldest = self._past.popleft()
            self._past_bytes -= len(oldest.value)
            oldest.forget_view()

    def load(self, stored: Stored) -> None:
        """An object that was there before this process: no change to anybody."""
        self.objects[stored.key] = stored
        if self._by_node is not None:
            self._by_node.setdefault(stored.view.spec.node_name, {})[stored.key] = stored

    def _candidates(self, selection: Selection, after: str, undone: Mapping[str, Stored | None]) -> Iterable[Stored]:
        """A superset of the selected objects, as small as the indexes make it."""
        if not undone and not after:
            name = selection.pin("metadata.name")
            if name is not None and (selection.namespace or not self._is_namespaced()):
                found = self.get(f"{selection.namespace}/{name}" if selection.namespace else name)
                return [found] if found is not None else []
            node = selection.pin("spec.nodeName")
            if node is not None and self._by_node is not None:
                filed = self._by_node.get(node, {})
                return [filed[key] for key in sorted(filed)]
            if not selection.namespace:
                return list(map(self.objects.__getitem__, self.objects))  # quicker than its values()
        return self._in_range(selection.namespace, after, undone)

    def _in_range(self, namespace: str, after: str, undone: Mapping[str, Stored | None]) -> Iterator[Stored]:
        # '0' follows '/' in byte order, so this is every key of the namespace.
        low, high = (namespace + "/", namespace + "0") if namespace else (None, None)
        if after and (low is None or after > low):
            low = after
        if not undone:
            yield from self._current(low, high, after)
            return
        gone = (key for key in undone if key not in self.objects and (not low or key > low))
        there: Iterable[str] = self.objects.irange(low, high, (low != after, False))
        for key in merge(there, sorted(key for key in gone if high is None or key < high)):
            stored = undone[key] if key in undone else self.objects[key]
            if stored is not None:
                yield stored

    def _current(self, low: str | None, high: str | None, after: str) -> Iterator[Stored]:
        """A range of the current objects, a window at a time: fast for all of them, and cheap for the first few."""
        first = 0
        if low is not None:
            first = self.objects.bisect_right(low) if low == after else self.objects.bisect_left(low)
        last = self.objects.bisect_left(high) if high is not None else len(self.objects)
        keys = self.objects.keys()
        for start in range(first, last, WINDOW_KEYS):
            yield from map(self.objects.__getitem__, keys[start : min(start + WINDOW_KEYS, last)])

    def _is_namespaced(self) -> bool:
        return bool(self.objects) and "/" in self.objects.peekitem(0)[0]

    def _refile(self, change: Change) -> None:
        assert self._by_node is not None
        if change.old is not None:
            view = change.old.view
            if change.new is not None and change.new.view_after(change.old, self._pod_views).spec is view.spec:
                self._by_node[change.new.view.spec.node_name][change.new.key] = change.new
                return
            node = view.spec.node_name
            if change.new is None or change.new.view.spec.node_name != node:
                filed = self._by_node.get(node)
                if filed is not None:
                    filed.pop(change.old.key, None)
                    if not filed:
                        del self._by_node[node]
        if change.new is not None:
            self._by_node.setdefault(change.new.view.spec.node_name, {})[change.new.key] = change.new

    def _place(self, stream: Stream) -> dict[int, Stream]:
        for field in PINNED_FIELDS:
            value = stream.selection.pin(field)
            if value is not None and (field != "spec.nodeName" or self._by_node is not None):
                return self._pinned.setdefault((field, value), {})
        return self._streams

    def _all_streams(self) -> list[Stream]:
        return [*self._streams.values(), *(s for place in self._pinned.values() for s in place.values())]

    def _dispatch(self, change: Change) -> None:
        streams = list(self._streams.values())
        if self._pinned:
            for place in self._pins_of(change):
                streams += place.values()
        events: dict[EventType, StreamEvent] = {}
        for stream in streams:
            type_ = transition(change, stream.selection)
            if type_ is not None:
                event = events.get(type_)
                if event is None:
                    event = events[type_] = _event(change, type_)
                stream.offer(event)

    def _pins_of(self, change: Change) -> Iterable[dict[int, Stream]]:
        stored = change.new or change.old
        assert stored is not None
        pins = [("metadata.name", stored.name)]
        if self._by_node is not None:
            nodes = dict.fromkeys(s.view.spec.node_name for s in (change.old, change.new) if s is not None)
            pins += [("spec.nodeName", node) for node in nodes]
        return [self._pinned[pin] for pin in pins if pin in self._pinned]


def transition(change: Change, selection: Selection) -> EventType | None:
    """What a change is to somebody who selects: an object may enter or leave the selection by being modified."""
    had = change.old is not None and selection.admits(change.old)
    if change.new is not None and selection.admits(change.new):
        return EventType.MODIFIED if had else EventType.ADDED
    return EventType.DELETED if had else None


def _event(change: Change, type_: EventType) -> StreamEvent:
    if type_ is EventType.DELETED:
        assert change.old is not None, "what was not there does not go"
        return StreamEvent(type_, change.old.at_revision(change.revision))
    assert change.new is not None, "what comes is there"
    return StreamEvent(type_, change.new)


class WatchCache:
    """All collections, fed from one store."""

    def __init__(self, store: Store, views: Mapping[str, type[Any]]) -> None:
        self._store = store
        self._views = views
        self._collections: dict[str, Collection] = {}
        self.revision = store.revision
        self._start = store.revision
        for entry in store.entries():
            collection, key = self._locate(entry.key)
            collection.load(Stored(entry, key, collection.decoder))
        store.add_waker(self._pull)

    def collection(self, storage: str) -> Collection:
        found = self._collections.get(storage)
        if found is None:
            decoder = view_decoder(self._views.get(storage, Object))
            found = self._collections[storage] = Collection(storage, decoder, self._start)
        return found

    def close_streams(self) -> None:
        for collection in self._collections.values():
            collection.close_streams()

    def _pull(self) -> None:
        for event in self._store.events_after(self.revision):
            collection, key = self._locate(event.key)
            new = self._stored(event.entry, key, collection) if event.entry is not None else None
            collection.apply(Change(event.revision, collection.get(key), new))
            self.revision = event.revision

    def _locate(self, store_key: str) -> tuple[Collection, str]:
        storage, _, key = store_key.partition("/")
        return self.collection(storage), key

    @staticmethod
    def _stored(entry: Entry, key: str, collection: Collection) -> Stored:
        return Stored(entry, key, collection.decoder)
