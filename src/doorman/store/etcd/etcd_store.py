"""The store contract on an etcd cluster, which others may serve at the same time.

A write is one transaction of one key; its answer waits until the watch has brought it, so whoever wrote reads what he
wrote. What others write arrives the same way.

    commit ─► If mod_revision = expected Then put Else get ─► etcd ─► watch ─► KeyIndex.follow ─► readers
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from doorman.base.errors import timeout
from doorman.store.etcd.etcd_client import EtcdClient, EtcdError
from doorman.store.etcd.etcd_compaction import EtcdCompaction
from doorman.store.etcd.etcd_leases import EtcdLeases
from doorman.store.etcd.etcd_reader import RETRY_SECONDS, EtcdReader, ObjectCodec, is_busy, refusal_of
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

    __slots__ = ("done", "kept", "value")

    def __init__(self, value: bytes | None, kept: bytes | None, done: "asyncio.Future[None]") -> None:
        self.value = value
        self.kept = kept
        self.done = done


class EtcdStore(EtcdReader):
    def __init__(self, client: EtcdClient, codec: ObjectCodec, prefix: str, leases: EtcdLeases) -> None:
        super().__init__(client, codec, prefix)
        self._leases = leases
        self._under_way: dict[str, _UnderWay] = {}
        self._slots = asyncio.Semaphore(WRITES_MAX)

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
        key = write.key
        if write.value is None and write.expected == ABSENT:
            raise Conflict(key, ABSENT, None)
        while (other := self._under_way.get(key)) is not None:
            await asyncio.shield(other.done)
        value = self._codec.to_value(key, write.value) if write.value is not None else None
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = self.peek(key)
        self._under_way[key] = _UnderWay(value, write.value, done)
        try:
            async with self._slots:
                revision, created = await self._swapped(write, value)
        finally:
            self._under_way.pop(key, None)
            done.set_result(None)
        entry = Entry(key, write.value, revision, created or revision) if write.value is not None else None
        self._note(key, revision, entry)
        await self._seen(revision, SEEN_SECONDS_MAX)
        published = self._index.newest.get(key)
        is_newest = published is not None and published.revision == revision
        return StoreEvent(revision, key, published if is_newest else entry, before)

    def take(self, write: Write) -> StoreEvent:  # noqa: ARG002  the contract gives it
        raise AssertionError("what others may write as well is waited for")

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        found = await asyncio.gather(*(self.commit(write) for write in writes), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return [one for one in found if isinstance(one, StoreEvent)]

    async def _swapped(self, write: Write, value: bytes | None) -> tuple[int, int]:
        """The revision of the write, and that at which the key began to exist. Raises `Conflict`."""
        key = self._etcd_key(write.key)
        ends = asyncio.get_running_loop().time() + UNDECIDED_SECONDS_MAX
        is_doubtful = False
        wait = RETRY_SECONDS
        while True:
            try:
                lease = await self._lease(write.key) if value is not None else 0
                answer = await self._client.swap(key, value, write.expected, lease)
            except EtcdError as error:
                if error.code == "NOT_FOUND" and "lease" in str(error):
                    self._leases.forget()
                elif not (error.is_undecided or is_busy(error)):
                    raise refusal_of(error) from error
                if asyncio.get_running_loop().time() >= ends:
                    raise refusal_of(error) from error
                is_doubtful = is_doubtful or (error.is_undecided and not error.is_unsent)
                if is_doubtful and write.expected == ABSENT:
                    return await self._created(write, key, value)
                await asyncio.sleep(wait)
                wait = min(wait * 2, BACKOFF_SECONDS_MAX)
                continue
            if answer.succeeded:
                known = self.peek(write.key)
                created = known.created if known is not None and write.expected != ABSENT else 0
                return answer.header.revision, created
            found = answer.responses[0].response_range
            kv = found.kvs[0] if found.kvs else None
            if is_doubtful and (kv.value == value if kv is not None else value is None):
                # An attempt that nobody answered was done: what is there is ours, by the uid inside.
                return (kv.mod_revision, kv.create_revision) if kv is not None else (answer.header.revision, 0)
            current = self._entry(write.key, kv) if kv is not None else None
            self._note(write.key, kv.mod_revision if kv is not None else answer.header.revision, current)
            raise Conflict(write.key, write.expected, current)

    async def _created(self, write: Write, key: bytes, value: bytes | None) -> tuple[int, int]:
        """What became of a creation that nobody answered. It is not tried again: the first may yet be done by a member
        that hangs, and would bring back what the second made and somebody has deleted meanwhile. What replaces or
        deletes a version may be tried again, as that version never comes back.
        """
        ends = asyncio.get_running_loop().time() + CREATED_SECONDS_MAX
        wait = RETRY_SECONDS
        while True:
            try:
                found = (await self._client.range(key, limit=1)).kvs
            except EtcdError as error:
                if not error.is_undecided:
                    raise refusal_of(error) from error
                found = ()
            if found and found[0].value == value:
                return found[0].mod_revision, found[0].create_revision
            if found:
                current = self._entry(write.key, found[0])
                self._note(write.key, found[0].mod_revision, current)
                raise Conflict(write.key, ABSENT, current)
            if asyncio.get_running_loop().time() >= ends:
                raise timeout("request did not complete within the allotted timeout")
            await asyncio.sleep(wait)
            wait = min(wait * 2, BACKOFF_SECONDS_MAX)

    async def _lease(self, key: str) -> int:
        seconds = self._codec.seconds_to_live(key)
        return await self._leases.for_seconds(seconds) if seconds else 0

    def _kept(self, key: str, value: bytes) -> bytes:
        """Of a write of our own, which the watch may bring before its answer, what was given: it need not be read."""
        mine = self._under_way.get(key)
        if mine is not None and mine.value == value and mine.kept is not None:
            return mine.kept
        return super()._kept(key, value)
