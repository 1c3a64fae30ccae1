"""One kind's objects as readers see them: the current ones in order of their keys, recent changes, and streams of them.

A reader that wants to follow gets a `Stream` with a bounded buffer: when it falls too far behind the stream ends and
the reader lists again; a writer never waits for it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Any, Final

from sortedcontainers import SortedDict

from doorman.api.well_known import PODS
from doorman.base.reader_faults import ReaderFaults
from doorman.registry.cache.past_views import PastViews
from doorman.registry.cache.pod_views import PodViews
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.stored_object import Stored, Unreadable
from doorman.registry.cache.streams import (
    STREAM_BYTES_MAX,
    STREAM_EVENTS_MAX,
    CacheChange,
    EventType,
    Stream,
    StreamEvent,
    event_of,
    transition,
)

CHANGES_MAX: Final = 10_000
CHANGES_BYTES_MAX: Final = 16 * 1024 * 1024
"""How far back one kind's changes reach, for watches that resume and pages that continue."""

assert CHANGES_MAX < STREAM_EVENTS_MAX, "a stream that begins with all kept changes has room for them"
assert CHANGES_BYTES_MAX < STREAM_BYTES_MAX, "a stream that begins with all kept changes has room for them"

WINDOW_KEYS: Final = 1000

PINNED_FIELDS: Final = ("metadata.name", "spec.nodeName")
"""Streams that follow one name or one node are filed under it, so that others' changes do not cost them anything."""


class TooOld(Exception):
    """The changes asked for are no longer kept."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"older than {oldest}")
        self.oldest = oldest


class Collection:
    """The objects of one storage."""

    def __init__(
        self,
        storage: str,
        decoder: Callable[[bytes], Any],
        oldest: int,
        faults: ReaderFaults | None = None,
        past_views: PastViews | None = None,
    ) -> None:
        self.storage = storage
        self._faults = faults or ReaderFaults()
        self.aside: dict[str, Stored] = {}
        """Objects that cannot be read: nobody sees them, and they can be deleted."""
        self.loaded = 0
        """Events until this revision are in `objects` already: they were read as a list."""
        self.decoder = decoder
        self.objects: SortedDict = SortedDict()
        self._changes: deque[CacheChange] = deque()
        self.changes_bytes = 0
        self._past_views = past_views or PastViews()
        self.oldest = oldest
        """Changes after this revision are kept."""
        self.last_change = oldest
        """The revision of the newest change, or the oldest revision kept. Every write asks several kinds for it."""
        self._streams: dict[int, Stream] = {}
        self._pinned: dict[tuple[str, str], dict[int, Stream]] = {}
        self._is_placed = storage == PODS
        """Its objects are on nodes."""
        self._by_node: dict[str, dict[str, Stored]] | None = None
        """Made when it is first asked for."""
        self._pod_views = PodViews()
        if self._is_placed:
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
        candidates = self._candidates(selection, after, self._undone(revision) if revision is not None else {})
        yield from candidates if selection.is_everything else filter(selection.admits, candidates)

    def scan_at(
        self, selection: Selection, revision: int | None, *, after: str = ""
    ) -> Iterator[tuple[str, list[Stored]]]:
        """The same, some at a time, each time with the key that was looked at last: there a reader may stop, and go on
        behind that key later, at the revision it has begun with.
        """
        undone = self._undone(revision) if revision is not None else {}
        candidates = iter(self._candidates(selection, after, undone))
        while window := list(islice(candidates, WINDOW_KEYS)):
            yield window[-1].key, window if selection.is_everything else list(filter(selection.admits, window))

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

    def changes_after(self, revision: int) -> list[CacheChange]:
        if revision < self.oldest:
            raise TooOld(self.oldest)
        wanted: list[CacheChange] = []
        for change in reversed(self._changes):
            if change.revision <= revision:
                break
            wanted.append(change)
        wanted.reverse()
        return wanted

    def read(self, reader: str, take: Callable[[Stored], None]) -> None:
        """Hand all current objects over. One that cannot be taken does not keep the next from being."""
        for stored in list(self.select(Selection(storage=self.storage))):
            try:
                take(stored)
            except Exception as error:  # noqa: BLE001  whatever it is, it is about one object
                self.caught(reader, error, stored)

    def caught(self, reader: str, error: Exception, stored: Stored | None = None) -> None:
        """A reader of these objects could not take one, or something else is wrong with it."""
        if stored is None:
            self._faults.caught(reader, error)
        else:
            self._faults.caught(reader, error, key=f"{self.storage}/{stored.key}", revision=stored.revision)

    def follow(self, selection: Selection, after: int | None, *, reader: str = "watch") -> Stream:
        """A stream of what changes from now on, begun with the kept changes after `after`.

        `reader` is whose faults they are should it not be able to take an event.
        """
        stream = Stream(selection, self, reader)
        for change in self.changes_after(after) if after is not None else ():
            type_ = transition(change, selection)
            if type_ is not None:
                stream.offer(event_of(change, type_))
        self._place(stream)[id(stream)] = stream
        return stream

    def remove(self, stream: Stream) -> None:
        self._place(stream).pop(id(stream), None)
        self._pinned = {pin: place for pin, place in self._pinned.items() if place}

    def close_streams(self) -> None:
        for stream in self._all_streams():
            stream.close()

    def apply(self, change: CacheChange) -> None:
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
        self.changes_bytes += len(stored.value)
        while len(self._changes) > CHANGES_MAX or self.changes_bytes > CHANGES_BYTES_MAX:
            self.forget_oldest_change()
        if self._streams or self._pinned:
            self._dispatch(change)
            if change.old is not None:
                self._past_views.add(change.old)
        elif change.old is not None and (change.new is None or change.new.base is None):
            change.old.forget_views()  # nobody is about to be told of it

    def forget_oldest_change(self) -> None:
        gone = self._changes.popleft()
        forgotten = gone.new or gone.old
        assert forgotten is not None
        self.changes_bytes -= len(forgotten.value)
        self.oldest = gone.revision

    @property
    def oldest_change(self) -> int | None:
        """The revision of the oldest change that is kept."""
        return self._changes[0].revision if self._changes else None

    def check(self, new: Stored, old: Stored | None, *, is_doubtful: bool = False, is_overtaken: bool = False) -> None:
        """Raise `Unreadable` when a new version has no view, where somebody follows and is about to need it, or where
        it may be anything: others write to the store. A pod's version that is overtaken, such as one that is marked
        for its eviction before it is deleted, is passed on in bytes, if they are JSON: informers are told of the next.
        """
        if self._is_placed and is_overtaken and old is not None:
            if is_doubtful:
                new.check_syntax()
            new.base = old.base or old
        elif self._is_placed and (self._streams or self._pinned or self._by_node is not None):
            _ = new.view_after(old, self._pod_views) if old is not None else new.view
        elif self._streams:
            _ = new.view
        elif is_doubtful:
            new.check()

    def load(self, stored: Stored) -> None:
        """An object that was there before this process: no change to anybody."""
        try:
            if self._is_placed:
                _ = stored.view
            stored.check()
        except Unreadable as error:
            self.set_aside(stored, error)
            return
        self.objects[stored.key] = stored
        if self._by_node is not None:
            self._by_node.setdefault(stored.view.spec.node_name, {})[stored.key] = stored

    def set_aside(self, stored: Stored, error: Unreadable) -> None:
        self.aside[stored.key] = stored
        self.caught("watchcache", error, stored)

    def clear(self, revision: int) -> None:
        """Forget everything, to be loaded again. Who follows must list again too."""
        self.objects.clear()
        self.aside.clear()
        self._changes.clear()
        self.changes_bytes = 0
        self._by_node = None
        self.oldest = self.last_change = self.loaded = revision

    def _candidates(self, selection: Selection, after: str, undone: Mapping[str, Stored | None]) -> Iterable[Stored]:
        """A superset of the selected objects, as small as the indexes make it."""
        if not undone and not after:
            name = selection.pin("metadata.name")
            if name is not None and (selection.namespace or not self._is_namespaced()):
                found = self.get(f"{selection.namespace}/{name}" if selection.namespace else name)
                return [found] if found is not None else []
            node = selection.pin("spec.nodeName")
            if node is not None and self._is_placed:
                filed = self._filed_by_node().get(node, {})
                return [filed[key] for key in sorted(filed)]
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

    def _filed_by_node(self) -> dict[str, dict[str, Stored]]:
        if self._by_node is None:
            self._by_node = {}
            for stored in self.objects.values():
                self._by_node.setdefault(stored.view.spec.node_name, {})[stored.key] = stored
        return self._by_node

    def _refile(self, change: CacheChange) -> None:
        assert self._by_node is not None
        old, new = change.old, change.new
        if new is not None and new.base is not None:
            return  # the next one is
        after = new.view.spec.node_name if new is not None else None
        if old is not None:
            before = (old.base or old).view.spec.node_name
            if before != after:
                filed = self._by_node.get(before)
                if filed is not None:
                    filed.pop(old.key, None)
                    if not filed:
                        del self._by_node[before]
        if new is not None and after is not None:
            self._by_node.setdefault(after, {})[new.key] = new

    def _place(self, stream: Stream) -> dict[int, Stream]:
        for field in PINNED_FIELDS:
            value = stream.selection.pin(field)
            if value is not None and (field != "spec.nodeName" or self._is_placed):
                return self._pinned.setdefault((field, value), {})
        return self._streams

    def _all_streams(self) -> list[Stream]:
        return [*self._streams.values(), *(s for place in self._pinned.values() for s in place.values())]

    def _dispatch(self, change: CacheChange) -> None:
        streams = list(self._streams.values())
        if self._pinned:
            for place in self._pins_of(change):
                streams += place.values()
        events: dict[EventType, StreamEvent] = {}
        everything = EventType.DELETED if change.new is None else EventType.MODIFIED if change.old else EventType.ADDED
        for stream in streams:
            try:
                type_ = everything if stream.takes_everything else transition(change, stream.selection)
            except Exception as error:  # noqa: BLE001  of one selection: the others are told
                self.caught("watch", error, change.new or change.old)
                stream.close()  # it lists again: a gap would go unnoticed
                continue
            if type_ is not None:
                event = events.get(type_)
                if event is None:
                    event = events[type_] = event_of(change, type_)
                stream.offer(event)

    def _pins_of(self, change: CacheChange) -> Iterable[dict[int, Stream]]:
        stored = change.new or change.old
        assert stored is not None
        pins = [("metadata.name", stored.name)]
        if self._is_placed:
            nodes = dict.fromkeys(s.view.spec.node_name for s in (change.old, change.new) if s is not None)
            pins += [("spec.nodeName", node) for node in nodes]
        return [self._pinned[pin] for pin in pins if pin in self._pinned]
