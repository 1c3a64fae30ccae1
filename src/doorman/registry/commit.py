"""The one compare-and-swap loop: whatever is written is proposed upon what is there, and proposed again when somebody
else was faster. `swap` is the same for values that are no objects: what servers of one etcd tell each other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from doorman.api.kinds import Kind
from doorman.api.well_known import EVENTS, LEASES, PODS
from doorman.base.bounds import STORED_BYTES_MAX
from doorman.base.errors import ApiError, stale
from doorman.base.json_types import Document
from doorman.registry.cache.object_reader import object_key
from doorman.registry.cache.stored_object import Stored, to_kept_bytes, unstored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.kinds.quota_claims import QuotaClaim
from doorman.registry.object_size import bounded
from doorman.registry.write_target import WriteTarget
from doorman.store.store_contract import ABSENT, Conflict, Entry, Store, StoreEvent, Write

TRIES_MAX: Final = 100

ANSWERED_WHEN_WRITTEN: Final = frozenset((PODS, "nodes", EVENTS, LEASES))
"""Who writes one of these from outside to a store that is shared is answered when it is there, as by kube-apiserver,
and not when it is published here as well: whoever reads waits for that himself, and what admission looks up of them is
the newest in any case. Of other kinds lists are kept that decide what becomes of the next request.
"""

FollowUp = Callable[[], Awaitable[None] | None]
"""Something that is done when it is known what became of a proposal."""

SERVERS_FAULT: Final = 500


class ProposedObject(msgspec.Struct, frozen=True, gc=False):
    """What is to be stored, and what follows when it is, or is not."""

    value: bytes
    """Its kept bytes."""
    doc: Document = {}
    on_abort: FollowUp | None = None
    after_commit: FollowUp | None = None
    is_bounded: bool = True
    """It is known to be small enough."""
    claim: QuotaClaim | None = None
    """On room in quotas that others give out as well."""


class Proposed(msgspec.Struct, frozen=True, gc=False):
    """What is to be stored at a key, and the revision it was made upon."""

    key: str
    value: bytes | None
    """None: the object goes."""
    expected: int
    on_abort: FollowUp | None = None
    """Gives back what the proposal took (an address, a port) and did not come to keep."""
    is_bounded: bool = False
    """Somebody has looked at the size of the value already."""
    after_commit: FollowUp | None = None
    """Gives back what the object had and has no longer."""
    shown_first: bytes | None = None
    """Of an object that is deleted: how watchers see it before that."""
    claim: QuotaClaim | None = None
    """Made last, for what is to be written with it."""
    before_last: Callable[[], None] | None = None
    """Called between that and the deletion; raises when it is not to be done any more."""


class CommitResult(msgspec.Struct, frozen=True, gc=False):
    proposed: Proposed
    event: StoreEvent | None
    """None: it was a dry run."""


R = TypeVar("R")
Propose = Callable[[], Awaitable[Proposed | R]]
"""Reads what is there, and gives what is to become of it; or a result, when nothing is to be written."""

OnConflict = Callable[[Conflict], None]
"""Told when somebody was faster; raises when it need not be tried again."""


def _propose_again(_conflict: Conflict) -> None:
    """Upon what is there now."""


class Committer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_shared = store.is_shared

    async def commit(
        self,
        kind: Kind,
        name: str,
        propose: Propose[R],
        caller: Caller,
        *,
        key: str = "",
        on_conflict: OnConflict = _propose_again,
        is_waited_for: bool = True,
    ) -> CommitResult | R:
        """Write what `propose` gives. Who does not wait for it writes something else afterwards, and waits for that.

        `key` is what is proposed upon, if anything: a refusal counts only when what was read is durable, and the newest
        there is where others write too. Nobody is refused because of something that then never was.
        """
        for _ in range(TRIES_MAX):
            try:
                proposed = await propose()
            except ApiError:
                if not (key and await self._was_stale(key)):
                    raise
                continue
            if not isinstance(proposed, Proposed):
                return proposed
            if self._is_shared and caller.sent is not None and kind.storage in ANSWERED_WHEN_WRITTEN:
                is_waited_for = False
            try:
                return await self._write(kind, proposed, caller, is_waited_for=is_waited_for)
            except Conflict as conflict:
                if conflict.key != proposed.key:
                    await self._store.catch_up()  # somebody has taken room in the same quota
                    continue
                try:
                    on_conflict(conflict)
                except ApiError:
                    await self._store.refresh(proposed.key)
                    raise
        raise stale(kind.named, name)

    async def _write(self, kind: Kind, proposed: Proposed, caller: Caller, *, is_waited_for: bool) -> CommitResult:
        """Raises `Conflict`. What the proposal took is given back unless it is written, or may be."""
        is_sent = False
        try:
            if caller.dry_run:
                self._check(proposed)
                await _done(proposed.on_abort)
                return CommitResult(proposed, None)
            value, expected = proposed.value, proposed.expected
            if value is not None and len(value) > STORED_BYTES_MAX and not proposed.is_bounded:
                value = bounded(kind, value, is_apply=caller.is_apply)
            is_sent = proposed.claim is None  # else there is something to be waited for before
            if proposed.shown_first is not None:
                expected = (await self._store.take(Write(proposed.key, proposed.shown_first, expected))).revision
                if proposed.before_last is not None:
                    proposed.before_last()
            write = Write(proposed.key, value, expected)
            if proposed.claim is not None:
                async with proposed.claim() as beside:
                    is_sent = True
                    event = await self._store.commit_with(write, beside)
            else:
                event = await (self._store.commit if is_waited_for else self._store.take)(write)
        except (ApiError, Conflict) as error:
            if not (is_sent and _is_outcome_unknown(error)):
                await _done(proposed.on_abort)
            raise
        if proposed.after_commit is not None:
            await _done(proposed.after_commit)
        return CommitResult(proposed, event)

    async def commit_together(self, proposals: Sequence[Proposed]) -> list[StoreEvent | None]:
        """Write what was proposed in this very turn of the loop, upon what was read in it. None: somebody else, who
        writes to the same store, was faster.
        """
        writes = [Write(proposed.key, proposed.value, proposed.expected) for proposed in proposals]
        if not self._is_shared:
            return list(await self._store.commit_all(writes))
        return await asyncio.gather(*map(self._commit_or_none, writes))

    async def _commit_or_none(self, write: Write) -> StoreEvent | None:
        try:
            return await self._store.commit(write)
        except Conflict:
            return None

    async def _was_stale(self, key: str) -> bool:
        """Whether somebody else wrote the key before it was read. Returns when what was read is durable."""
        before = self._store.peek(key)
        newest = await self._store.refresh(key)
        return self._is_shared and newest != before

    def _check(self, proposed: Proposed) -> None:
        """What the store would say to it."""
        current = self._store.peek(proposed.key)
        if (current.revision if current is not None else ABSENT) != proposed.expected:
            raise Conflict(proposed.key, proposed.expected, current)


async def swap(
    store: Store, key: str, entry: Entry | None, decide: Callable[[Entry | None], Awaitable[bytes | None]]
) -> StoreEvent | None:
    """Write what is decided upon the value at a key, which is `entry` as far as is known; decide again upon what is
    there when somebody else was faster. None: nothing is to be written.
    """
    for _ in range(TRIES_MAX):
        value = await decide(entry)
        if value is None:
            return None
        try:
            return await store.commit(Write(key, value, entry.revision if entry is not None else ABSENT))
        except Conflict as conflict:
            entry = conflict.current
    raise ApiError(409, "Conflict", f"others write {key} all the time")


def written_object(
    cache: WatchCache,
    result: CommitResult,
    target: WriteTarget,
    last: Mapping[str, Any] | None = None,  # a document
) -> Stored:
    """The object as it is now; of a dry run, as it would be; of one that has gone, as it last was."""
    proposed, event = result.proposed, result.event
    if event is not None and event.entry is not None:
        return cache.stored(event.entry)
    value = proposed.value if proposed.value is not None else to_kept_bytes(dict(last or {}))
    revision = event.revision if event is not None else max(proposed.expected, 0)
    return unstored(value, object_key(target.kind, target.namespace, target.name), revision)


def _is_outcome_unknown(error: Exception) -> bool:
    """Whether it may have been written all the same: then nothing of it is given to somebody else."""
    return isinstance(error, ApiError) and error.code >= SERVERS_FAULT


async def _done(step: FollowUp | None) -> None:
    if step is not None and (waiting := step()) is not None:
        await waiting
