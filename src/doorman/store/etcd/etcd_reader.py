"""What etcd holds below a prefix, in memory: loaded at one revision, and followed by one watch over all of it, so that
the events of all kinds come in one order.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final, Protocol

from doorman.base.clock import CommonDelay
from doorman.base.errors import ApiError, timeout, too_many_requests
from doorman.store.etcd.etcd_client import LOAD_SECONDS_MAX, EtcdClient, EtcdError, ProtoMessage, Watching
from doorman.store.etcd.etcd_messages import DELETE
from doorman.store.key_index import KeyIndex, KeyIndexReader
from doorman.store.store_contract import ANSWER_SECONDS, Entry, StoreEvent

PAGE_KEYS: Final = 10_000
CATCH_UP_SECONDS_MAX: Final = 3.0
PROGRESS_SECONDS: Final = 0.1
RETRY_SECONDS: Final = 0.1
UNDECIDED: Final = "request did not complete within the allotted timeout"
GATHER_SECONDS: Final = 0.002
"""etcd tells of every transaction by itself. What comes within this time of the last that was published is read and
published together: readers are woken once, and each does more at a time. Nothing waits while there is little to tell.
"""
BUSY_EVENTS: Final = 12
BUSY_GATHER_SECONDS: Final = 0.006
"""The same when so many events came together the last time."""

_log: Final = logging.getLogger("doorman.etcd")


class ObjectCodec(Protocol):
    """Between what this server keeps and what etcd holds."""

    @property
    def first(self) -> str:
        """The keys that are to be read before all others."""
        ...

    def to_etcd_key(self, key: str) -> str: ...

    def from_etcd_key(self, key: str) -> str | None:
        """None: nobody here knows what that is."""
        ...

    def to_value(self, key: str, kept: bytes) -> bytes: ...

    def to_kept(self, key: str, value: bytes) -> bytes: ...

    def seconds_to_live(self, key: str) -> int:
        """0: for ever."""
        ...


class EtcdReader(KeyIndexReader):
    def __init__(self, client: EtcdClient, codec: ObjectCodec, prefix: str) -> None:
        super().__init__(KeyIndex())
        self._client = client
        self._codec = codec
        self._prefix = prefix.rstrip("/") + "/"
        self._fresh: dict[str, tuple[int, Entry | None]] = {}
        """What transactions have told of keys and the watch has not."""
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        """For revisions that the watch has not brought."""
        self._progress_delay = CommonDelay(PROGRESS_SECONDS)
        self._unknown: set[bytes] = set()
        """Keys below the prefix that are of no kind known here."""
        self._cluster_id = 0
        self._is_lost = False
        self._answered_at = float("-inf")
        self._asking: asyncio.Task[int] | None = None
        self._watching: Watching | None = None
        self._trusts_progress = False
        self._tasks: list[asyncio.Task[None]] = []
        self._index.add_waker(self._wake)

    async def begin(self) -> None:
        """Read everything, and follow from there. Raises EtcdError."""
        await self._load()
        self._trusts_progress = all(map(has_progress_requests, await self._client.versions()))
        self._tasks.append(asyncio.create_task(self._follow()))

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def is_well(self) -> bool:
        return not self._is_lost

    async def answers(self, seconds: float = ANSWER_SECONDS) -> bool:
        """Asked often, it is the last outcome: whoever probes this server does not burden etcd."""
        now = asyncio.get_running_loop().time()
        if self._is_lost or now >= self._answered_at + seconds / 2:
            try:
                await self._client.range(f"{self._prefix}health".encode(), limit=1, seconds=seconds)
            except EtcdError:
                self._is_lost = True
            else:
                self._is_lost = False
                self._answered_at = now
        return not self._is_lost

    def peek(self, key: str) -> Entry | None:
        told = self._fresh.get(key)
        if told is not None and told[0] > self._index.revision:
            return told[1]
        return self._index.newest.get(key)

    async def refresh(self, key: str) -> Entry | None:
        found = await self._read(key)
        self._note(key, *found)
        return found[1]

    def pending(self) -> Iterable[StoreEvent]:
        """What transactions have told of keys and is not published, oldest first."""
        newest, published = self._index.newest, self._index.revision
        told = [(revision, key, entry) for key, (revision, entry) in self._fresh.items() if revision > published]
        told.sort(key=lambda one: one[0])
        return [StoreEvent(revision, key, entry, newest.get(key)) for revision, key, entry in told]

    async def catch_up(self) -> None:
        """Requests that come while one asks share the next answer: the one under way may be older than they are."""
        if self._asking is not None and not self._asking.done():
            with contextlib.suppress(ApiError):
                await asyncio.shield(self._asking)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._newest_revision())
            self._asking.add_done_callback(_hear)
        await self._reach(await asyncio.shield(self._asking))

    async def _newest_revision(self) -> int:
        try:
            answer = await self._client.range(self._prefix.rstrip("/").encode(), limit=1)
        except EtcdError as error:
            raise refusal_of(error) from error
        revision: int = answer.header.revision
        return revision

    async def _reach(self, revision: int) -> None:
        """Wait until everything up to a revision is published. Revisions of other prefixes bring no event here, so the
        watch is asked how far it is.
        """
        ends = asyncio.get_running_loop().time() + CATCH_UP_SECONDS_MAX
        while not await self._seen(revision, self._progress_delay):
            if asyncio.get_running_loop().time() >= ends:
                raise timeout(f"Too large resource version: {revision}, current: {self._index.revision}")
            if not self._trusts_progress:
                await self._look_for_changes()
            elif self._watching is not None:
                self._watching.ask_for_progress()

    async def _look_for_changes(self) -> None:
        """For members that cannot be asked how far a watch is. If no key of ours is newer than what is published, and
        there are as many keys as are known, nothing of ours was written since.
        """
        known = self._index.revision
        try:
            answer = await self._client.changed(self._prefix.encode(), _end_of(self._prefix), known)
        except EtcdError as error:
            raise refusal_of(error) from error
        count = len(self._index.newest) + len(self._unknown)
        if known == self._index.revision and not answer.kvs and answer.count == count:
            self._index.follow((), answer.header.revision)

    def _wake(self) -> None:
        revision = self._index.revision
        if self._fresh:
            self._fresh = {key: told for key, told in self._fresh.items() if told[0] > revision}
        if self._waiting:
            for wanted, seen in self._waiting:
                if wanted <= revision and not seen.done():
                    seen.set_result(None)
            self._waiting = [one for one in self._waiting if not one[1].done()]

    async def _seen(self, revision: int, delay: CommonDelay) -> bool:
        """Whether the watch has brought that revision, or does so within some time."""
        if self._index.revision >= revision:
            return True
        seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((revision, seen))
        alarm = delay.call(lambda: _ring(seen))
        try:
            await seen
        finally:
            delay.cancel(alarm)
        return self._index.revision >= revision

    def _note(self, key: str, revision: int, entry: Entry | None) -> None:
        if revision > self._index.revision and revision > self._fresh.get(key, (0, None))[0]:
            self._fresh[key] = (revision, entry)

    async def _read(self, key: str) -> tuple[int, Entry | None]:
        try:
            answer = await self._client.range(self._etcd_key(key), limit=1)
        except EtcdError as error:
            raise refusal_of(error) from error
        kv = answer.kvs[0] if answer.kvs else None
        return answer.header.revision, self._entry(key, kv) if kv is not None else None

    # Following

    async def _load(self) -> None:
        entries: dict[str, Entry] = {}
        self._unknown.clear()
        revision = 0
        first = f"{self._prefix}{self._codec.first}"
        for start, end in ((first, _end_of(first)), (self._prefix, _end_of(self._prefix))):
            async for answer in self._pages(start.encode(), end, revision):
                revision = revision or answer.header.revision
                for kv in answer.kvs:
                    key = self._key_of(kv.key)
                    if key is not None and key not in entries:
                        entries[key] = self._entry(key, kv)
                self._cluster_id = answer.header.cluster_id
        self._client.serve(self._cluster_id)
        self._fresh.clear()
        self._index.replace(entries.values(), revision)

    async def _pages(self, start: bytes, end: bytes, revision: int) -> AsyncIterator[ProtoMessage]:
        while True:
            answer = await self._client.range(start, end, limit=PAGE_KEYS, revision=revision, seconds=LOAD_SECONDS_MAX)
            yield answer
            if not answer.more:
                return
            revision = revision or answer.header.revision
            start = answer.kvs[-1].key + b"\0"

    async def _follow(self) -> None:
        """The watch, opened again wherever it ends; everything is read anew when it cannot go on."""
        while True:
            try:
                await self._watch()
            except EtcdError as error:
                _log.info("the watch of etcd ended: %s", error)
            except Exception as error:  # noqa: BLE001  whatever it is, the next watch begins where this one was
                self.faults.caught("etcd watch", error)
            self._watching = None
            await asyncio.sleep(RETRY_SECONDS)

    async def _watch(self) -> None:
        start = self._index.revision + 1
        batches = self._client.watch(self._prefix.encode(), _end_of(self._prefix), start, self._opened)
        async with contextlib.aclosing(batches):
            fragments: list[ProtoMessage] = []
            async for answers in batches:
                events: list[ProtoMessage] = []
                reached = 0
                for answer in answers:
                    begins = answer.created or answer.header.cluster_id != self._cluster_id
                    if answer.canceled or (begins and await self._is_another(answer)):
                        _log.warning("etcd does not know what came after revision %d: reading everything", start - 1)
                        self._publish(events, reached)
                        await self._load()
                        return
                    fragments += answer.events
                    if answer.fragment:
                        continue
                    if fragments:
                        events += fragments
                        reached = fragments[-1].kv.mod_revision
                        fragments = []
                    elif not answer.created:
                        reached = answer.header.revision
                self._publish(events, reached)
                if self._watching is not None:
                    is_busy = len(events) >= BUSY_EVENTS
                    await self._watching.rest(BUSY_GATHER_SECONDS if is_busy else GATHER_SECONDS)

    async def _is_another(self, answer: ProtoMessage) -> bool:
        """A backup was restored, or another cluster answers under this address. A member that has yet to catch up with
        the others is none of that: it tells what comes when it is there.
        """
        if answer.header.cluster_id != self._cluster_id:
            return True
        if answer.header.revision >= self._index.revision:
            return False
        newest = (await self._client.range(self._prefix.rstrip("/").encode(), limit=1)).header
        return bool(newest.cluster_id != self._cluster_id or newest.revision < self._index.revision)

    def _opened(self, watching: Watching) -> None:
        self._watching = watching

    def _publish(self, events: Sequence[ProtoMessage], reached: int) -> None:
        if events or reached > self._index.revision:
            self._index.follow(self._told(events), reached)

    def _told(self, events: Sequence[ProtoMessage]) -> list[StoreEvent]:
        """What is new of the events, each with what was there before it, be it one of these."""
        told: dict[str, Entry | None] = {}
        found: list[StoreEvent] = []
        for one in events:
            kv = one.kv
            key = self._key_of(kv.key, is_gone=one.type == DELETE)
            if key is None or kv.mod_revision <= self._index.revision:
                continue
            previous = told[key] if key in told else self._index.newest.get(key)
            entry = self._entry(key, kv) if one.type != DELETE else None
            told[key] = entry
            if entry is not None or previous is not None:
                found.append(StoreEvent(kv.mod_revision, key, entry, previous))
        return found

    def _key_of(self, etcd_key: bytes, *, is_gone: bool = False) -> str | None:
        key = self._codec.from_etcd_key(etcd_key.decode(errors="replace")[len(self._prefix) :])
        if key is None:
            self._unknown.discard(etcd_key) if is_gone else self._unknown.add(etcd_key)
        return key

    def _entry(self, key: str, kv: ProtoMessage) -> Entry:
        told = self._fresh.get(key) if self._fresh else None
        if told is not None and told[0] == kv.mod_revision and told[1] is not None:
            return told[1]
        return Entry(key, self._kept(key, kv), kv.mod_revision, kv.create_revision)

    def _kept(self, key: str, kv: ProtoMessage) -> bytes:
        return self._codec.to_kept(key, kv.value)

    def _etcd_key(self, key: str) -> bytes:
        return (self._prefix + self._codec.to_etcd_key(key)).encode()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._index.forget_wakers()
        await self._client.close()


def has_progress_requests(version: str) -> bool:
    """Whether a member answers them as it should.

    >>> has_progress_requests("3.5.13"), has_progress_requests("3.5.1"), has_progress_requests("3.7.0-rc.1")
    (True, False, True)
    """
    numbers = [int(part) if part.isdigit() else 0 for part in version.partition("-")[0].split(".")]
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return (major, minor, patch) >= (3, 5, 13) or ((major, minor) == (3, 4) and patch >= 31)


def _end_of(prefix: str) -> bytes:
    """The first key behind all that begin with a prefix."""
    return (prefix[:-1] + chr(ord(prefix[-1]) + 1)).encode()


def _hear(asking: "asyncio.Task[int]") -> None:
    """Whoever asked may have gone before the refusal came: then nobody is to be told of it."""
    if not asking.cancelled():
        asking.exception()


def _ring(seen: "asyncio.Future[None]") -> None:
    if not seen.done():
        seen.set_result(None)


def is_busy(error: EtcdError) -> bool:
    return error.code == "RESOURCE_EXHAUSTED" and "too many requests" in str(error)


def is_passing(error: EtcdError) -> bool:
    """Whether who reads everything may succeed when he begins anew: somebody else may answer, there may be less to do,
    or nothing may be compacted between two pages.
    """
    return error.is_undecided or is_busy(error) or error.code == "OUT_OF_RANGE"


def refusal_of(error: EtcdError) -> ApiError:
    if is_busy(error):
        return too_many_requests(str(error.args[0]), retry_after_seconds=1)
    if error.is_undecided:
        return timeout(UNDECIDED)
    return ApiError(500, "", str(error.args[0]))
