"""The index that both embedded stores keep in memory: newest values, published values, recent events.

A write is first `append`ed (it takes its revision and is what the next writer sees), later `publish`ed (it is
durable; readers see it). The memory store does both at once, the SQLite store publishes after its commit.

    append(put a)  -> revision 8    newest: a@8    published: -      events: -
    append(put b)  -> revision 9    newest: a@8 b@9
    publish(8, 9)                   newest: a@8 b@9  published: a@8 b@9  events: 8 9
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from doorman.base.reader_faults import ReaderFaults
from doorman.store.store_contract import ABSENT, ANSWER_SECONDS, Compacted, Conflict, Entry, StoreEvent, Write

HISTORY_EVENTS_MAX = 1000
HISTORY_BYTES_MAX = 2 * 1024 * 1024
"""Whoever follows is woken before anything is forgotten. What clients resume from is kept by the watch cache."""


class KeyIndex:
    def __init__(
        self,
        entries: Sequence[Entry] = (),
        *,
        revision: int = 0,
        history_events_max: int = HISTORY_EVENTS_MAX,
        history_bytes_max: int = HISTORY_BYTES_MAX,
    ) -> None:
        self.newest: dict[str, Entry] = {entry.key: entry for entry in entries}
        self.unpublished: deque[StoreEvent] = deque()
        self._next_revision = revision + 1
        self.revision = revision
        self._history: deque[StoreEvent] = deque()
        self._history_bytes = 0
        self._history_events_max = history_events_max
        self._history_bytes_max = history_bytes_max
        self.oldest = revision
        """Events after this revision are kept."""
        self.epoch = 0
        self._wakers: list[Callable[[], None]] = []
        self.faults = ReaderFaults()

    def append(self, write: Write) -> StoreEvent:
        """Take the write, or raise `Conflict`."""
        current = self.newest.get(write.key)
        if (current.revision if current is not None else ABSENT) != write.expected:
            raise Conflict(write.key, write.expected, current)
        revision = self._next_revision
        self._next_revision = revision + 1
        if write.value is None:
            if current is None:
                raise Conflict(write.key, write.expected, None)
            del self.newest[write.key]
            event = StoreEvent(revision, write.key, None, current)
        else:
            entry = Entry(write.key, write.value, revision, current.created if current is not None else revision)
            self.newest[write.key] = entry
            event = StoreEvent(revision, write.key, entry, current)
        self.unpublished.append(event)
        return event

    def append_all(self, writes: Sequence[Write]) -> list[StoreEvent]:
        """Take all the writes, which are of different keys, or raise `Conflict` and take none."""
        newest = self.newest
        for write in writes:
            current = newest.get(write.key)
            if (current.revision if current is not None else ABSENT) != write.expected:
                raise Conflict(write.key, write.expected, current)
        return [self.append(write) for write in writes]

    def publish(self, events: Sequence[StoreEvent]) -> None:
        """Show the events, which must follow the last published one without a gap."""
        for event in events:
            assert event.revision == self.revision + 1, "events are published in order"
            self.revision = event.revision
            self.unpublished.popleft()
            self._history.append(event)
            if event.entry is not None:
                self._history_bytes += len(event.entry.value)
        self._wake()

    def follow(self, events: Sequence[StoreEvent], revision: int) -> None:
        """Show what somebody else has ordered. Revisions rise, with gaps; several events may share one. `revision` is
        how far that is known to be all.
        """
        for event in events:
            if event.entry is None:
                self.newest.pop(event.key, None)
            else:
                self.newest[event.key] = event.entry
                self._history_bytes += len(event.entry.value)
            self._history.append(event)
        if revision > self.revision:
            self.revision = revision
        self._wake()

    def replace(self, entries: Iterable[Entry], revision: int) -> None:
        """What there is was read anew, because what happened in between is not known."""
        self.newest = {entry.key: entry for entry in entries}
        self._history.clear()
        self._history_bytes = 0
        self.revision = self.oldest = revision
        self.epoch += 1
        self._wake()

    def _wake(self) -> None:
        for waker in self._wakers:
            try:
                waker()
            except Exception as error:  # noqa: BLE001  a reader's fault is not the writer's
                self.faults.caught("waker", error)
        self._forget()

    def entries(self) -> Iterator[Entry]:
        """What is published, in order of keys: the newest values with what is not published yet undone."""
        published = dict(self.newest)
        for event in reversed(self.unpublished):
            if event.previous is None:
                published.pop(event.key, None)
            else:
                published[event.key] = event.previous
        return (published[key] for key in sorted(published))

    def events_after(self, revision: int) -> Sequence[StoreEvent]:
        if revision < self.oldest:
            raise Compacted(revision, self.oldest)
        newest: list[StoreEvent] = []
        for event in reversed(self._history):
            if event.revision <= revision:
                break
            newest.append(event)
        newest.reverse()
        return newest

    def add_waker(self, waker: Callable[[], None]) -> None:
        self._wakers.append(waker)

    def forget_wakers(self) -> None:
        self._wakers.clear()

    def _forget(self) -> None:
        history, kept_bytes, bytes_max = self._history, self._history_bytes, self._history_bytes_max
        count, gone = len(history), None
        while count > self._history_events_max or kept_bytes > bytes_max:
            gone = history.popleft()
            count -= 1
            if gone.entry is not None:
                kept_bytes -= len(gone.entry.value)
        if gone is not None:
            self.oldest, self._history_bytes = gone.revision, kept_bytes


class KeyIndexReader:
    """What every store that keeps a `KeyIndex` answers readers."""

    def __init__(self, index: KeyIndex) -> None:
        self._index = index

    @property
    def revision(self) -> int:
        return self._index.revision

    @property
    def faults(self) -> ReaderFaults:
        return self._index.faults

    @property
    def epoch(self) -> int:
        return self._index.epoch

    @property
    def is_shared(self) -> bool:
        return False

    async def catch_up(self) -> None:
        """Nobody else writes."""

    async def refresh(self, key: str) -> Entry | None:
        return self.peek(key)

    @property
    def is_well(self) -> bool:
        return True

    async def answers(self, seconds: float = ANSWER_SECONDS) -> bool:  # noqa: ARG002  the contract gives it
        return self.is_well

    def peek(self, key: str) -> Entry | None:
        return self._index.newest.get(key)

    def pending(self) -> Iterable[StoreEvent]:
        return self._index.unpublished

    def entries(self) -> Iterator[Entry]:
        return self._index.entries()

    def events_after(self, revision: int) -> Sequence[StoreEvent]:
        return self._index.events_after(revision)

    def add_waker(self, waker: Callable[[], None]) -> None:
        self._index.add_waker(waker)
