"""The store contract on an etcd cluster, which others may serve at the same time.

A write is one transaction of its key, and of what must be written with it; `commit` waits until the watch has brought
it, so whoever wrote reads what he wrote. What others write arrives the same way. `take` waits for etcd alone: for who
follows a write up at once, or reads no earlier than etcd's newest revision.

    commit ─► If mod_revision = expected Then put Else get ─► etcd ─► watch ─► KeyIndex.follow ─► readers
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from doorman.base.clock import CommonDelay
from doorman.base.errors import ApiError, timeout
from doorman.store.etcd.etcd_client import EtcdClient, EtcdError, ProtoMessage
from doorman.store.etcd.etcd_compaction import EtcdCompaction
from doorman.store.etcd.etcd_leases import EtcdLeases
from doorman.store.etcd.etcd_reader import RETRY_SECONDS, UNDECIDED, EtcdReader, ObjectCodec, is_busy, refusal_of
from doorman.store.store_contract import ABSENT, Conflict, Entry, StoreEvent, Write

WRITES_MAX: Final = 256
"""Transactions under way; the rest waits in order."""
SEEN_SECONDS_MAX: Final = 1.0
"""How long an answer waits for its own event."""
UNDECIDED_SECONDS_MAX: Final = 30.0
BACKOFF_SECONDS_MAX: Final = 1.0
CREATED_SECONDS_MAX: Final = 5.0
"""How long what became of a creation is looked for."""


class _UnderWay:
    """A write that etcd has not answered: the watch may bring it first."""

    __slots__ = ("beside", "done", "epoch", "outcome", "value", "write")

    def __init__(
        self, write: Write, beside: Sequence[Write], value: bytes | None, done: "asyncio.Future[None]", epoch: int
    ) -> None:
        self.write = write
        self.beside = beside
        self.value = value
        self.done = done
        self.epoch = epoch
        self.outcome: tuple[int, int] | None = None
        """Once it was seen in etcd: its revision, and that at which the key began to exist."""


class EtcdStore(EtcdReader):
    def __init__(self, client: EtcdClient, codec: ObjectCodec, prefix: str, leases: EtcdLeases) -> None:
        super().__init__(client, codec, prefix)
        self._leases = leases
        self._under_way: dict[str, _UnderWay] = {}
        self._slots = asyncio.Semaphore(WRITES_MAX)
        self._seen_delay = CommonDelay(SEEN_SECONDS_MAX)

    @classmethod
    async def open(
        cls,
        client: EtcdClient,
        codec: ObjectCodec,
        prefix: str,
        leases: EtcdLeases,
        compaction_seconds: float = 0,
    ) -> "EtcdStore":
        """Read everything. Raises EtcdError."""
        store = cls(client, codec, prefix, leases)
        await store.begin()
        if compaction_seconds:
            store._tasks.append(asyncio.create_task(EtcdCompaction(client).run(compaction_seconds)))
        return store

    async def commit(self, write: Write) -> StoreEvent:
        return await self.commit_with(write, ())

    async def commit_with(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
        event = await self._taken(write, beside)
        await self._seen(event.revision, self._seen_delay)
        published = self._index.newest.get(event.key)
        if published is None or published.revision != event.revision:
            return event
        return StoreEvent(event.revision, event.key, published, event.previous)

    async def take(self, write: Write) -> StoreEvent:
        """Readers need not see it yet."""
        return await self._taken(write, ())

    async def _taken(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
        key = write.key
        if write.value is None and write.expected == ABSENT:
            raise Conflict(key, ABSENT, None)
        while (other := self._under_way.get(key)) is not None:
            await asyncio.shield(other.done)
        value = self._codec.to_value(key, write.value) if write.value is not None else None
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = self.peek(key)
        mine = self._under_way[key] = _UnderWay(write, beside, value, done, self.epoch)
        try:
            async with self._slots:
                revision, created = await self._swapped(mine)
        finally:
            self._under_way.pop(key, None)
            done.set_result(None)
        entry = Entry(key, write.value, revision, created or revision) if write.value is not None else None
        self._note(key, revision, entry)
        for one in beside:
            known = self.peek(one.key)
            if one.value is not None and known is not None:
                self._note(one.key, revision, Entry(one.key, one.value, revision, known.created))
        return StoreEvent(revision, key, entry, before)

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        found = await asyncio.gather(*(self.commit(write) for write in writes), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return [one for one in found if isinstance(one, StoreEvent)]

    async def _swapped(self, mine: _UnderWay) -> tuple[int, int]:
        """The revision of the write, and that at which the key began to exist. Raises `Conflict`."""
        write, value = mine.write, mine.value
        key = self._etcd_key(write.key)
        beside = [
            (self._etcd_key(one.key), self._codec.to_value(one.key, one.value), one.expected)
            for one in mine.beside
            if one.value is not None
        ]
        ends = asyncio.get_running_loop().time() + UNDECIDED_SECONDS_MAX
        is_doubtful = False
        wait = RETRY_SECONDS
        while True:
            try:
                lease = await self._lease(write.key) if value is not None else 0
                answer = await self._client.swap(key, value, write.expected, lease, beside)
            except EtcdError as error:
                if error.code == "NOT_FOUND" and "lease" in str(error):
                    self._leases.forget()
                elif not (error.is_undecided or is_busy(error)):
                    raise refusal_of(error) from error
                if asyncio.get_running_loop().time() >= ends:
                    raise refusal_of(error) from error
                is_doubtful = is_doubtful or (error.is_undecided and not error.is_unsent)
                if is_doubtful and write.expected == ABSENT:
                    return await self._created(mine, key)
                await asyncio.sleep(wait)
                wait = min(wait * 2, BACKOFF_SECONDS_MAX)
                continue
            if answer.succeeded:
                known = self.peek(write.key)
                created = known.created if known is not None and write.expected != ABSENT else 0
                return answer.header.revision, created
            found = answer.responses[0].response_range
            kv = found.kvs[0] if found.kvs else None
            current = self._entry(write.key, kv) if kv is not None else None
            if mine.beside and (kv.mod_revision if kv is not None else ABSENT) == write.expected:
                raise Conflict(mine.beside[0].key, mine.beside[0].expected, None)
            if is_doubtful and value is None and (kv is None or kv.create_revision > write.expected):
                raise timeout(UNDECIDED)  # it was deleted: whether by us or by another nobody can tell
            if is_doubtful and await self._was_done(mine, answer.header.revision) and mine.outcome is not None:
                return mine.outcome
            self._note(write.key, kv.mod_revision if kv is not None else answer.header.revision, current)
            raise Conflict(write.key, write.expected, current)

    async def _was_done(self, mine: _UnderWay, revision: int) -> bool:
        """Whether an attempt that nobody answered was done, when by a revision something else is there: the watch
        brings every version, also one that somebody has written upon since. Tried again it would be done twice.
        """
        if mine.outcome is not None:
            return True
        try:
            await self._reach(revision)
        except ApiError as error:
            raise timeout(UNDECIDED) from error
        if mine.outcome is None and self.epoch != mine.epoch:
            raise timeout(UNDECIDED)  # what happened in between is not known
        return mine.outcome is not None

    async def _created(self, mine: _UnderWay, key: bytes) -> tuple[int, int]:
        """What became of a creation that nobody answered. It is not tried again: the first may yet be done by a member
        that hangs, and would bring back what the second made and somebody has deleted meanwhile. Nor is it told that
        another's is there: who hears of a conflict may write upon that, and the first may be done as well when that is
        deleted. What replaces or deletes a version may be tried again, as that version never comes back.
        """
        write = mine.write
        ends = asyncio.get_running_loop().time() + CREATED_SECONDS_MAX
        wait = RETRY_SECONDS
        while True:
            try:
                found = (await self._client.range(key, limit=1)).kvs
            except EtcdError as error:
                if not (error.is_undecided or is_busy(error)):
                    raise refusal_of(error) from error
                found = ()
            current = self._entry(write.key, found[0]) if found else None
            if mine.outcome is not None or (found and await self._was_done(mine, found[0].mod_revision)):
                assert mine.outcome is not None, "it was seen"
                return mine.outcome
            if current is not None:
                self._note(write.key, current.revision, current)
                raise timeout(UNDECIDED)
            if asyncio.get_running_loop().time() >= ends:
                raise timeout(UNDECIDED)
            await asyncio.sleep(wait)
            wait = min(wait * 2, BACKOFF_SECONDS_MAX)

    async def _lease(self, key: str) -> int:
        seconds = self._codec.seconds_to_live(key)
        return await self._leases.for_seconds(seconds) if seconds else 0

    def _kept(self, key: str, kv: ProtoMessage) -> bytes:
        """Of a write of our own, which the watch may bring before its answer, what was given: it need not be read."""
        mine = self._under_way.get(key) if self._under_way else None
        if mine is not None and mine.value == kv.value and mine.write.value is not None:
            if kv.mod_revision > mine.write.expected:
                mine.outcome = (kv.mod_revision, kv.create_revision)  # ours, by the uid inside
            return mine.write.value
        return super()._kept(key, kv)
