"""Deletes objects: reads as much of one as a deletion looks at, lets `deletion.py` decide, proposes what comes of it.

A component may have something to say of a pod that it deletes: its status is written first, in the same proposal, so
that the pod is read once for both. Watchers see one and the other.
"""

from collections.abc import Callable, Mapping

import msgspec

from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.kinds import Kind
from doorman.api.raw_members import to_written
from doorman.api.well_known import PODS
from doorman.base.clock import Clock
from doorman.base.errors import not_found
from doorman.base.json_types import Document
from doorman.registry.cache.object_reader import ObjectReader, object_key
from doorman.registry.cache.stored_object import Stored, to_kept_bytes, unstored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.commit import CommitResult, Committer, Proposed, written_object
from doorman.registry.custom.custom_versions import CustomVersions
from doorman.registry.deletion import (
    DeleteOptions,
    Keep,
    Mark,
    Remove,
    check_deletable,
    check_options,
    check_preconditions,
    decide_delete,
)
from doorman.registry.fastpath.object_bytes import ObjectBytes, object_bytes_of
from doorman.registry.fastpath.pod_bytes import apply_deletion_summary, deletion_summary_of
from doorman.registry.fastpath.pod_status import StatusPatch, status_patch_of
from doorman.registry.fastpath.short_patches import ShortPatches
from doorman.registry.fastpath.shortcuts import Shortcuts
from doorman.registry.proposal import Proposer
from doorman.registry.strategy import KindAllocator, release_of
from doorman.registry.write_target import WriteTarget
from doorman.store.store_contract import Entry, Store


class DeleteResult(msgspec.Struct, frozen=True):
    """`is_removed` tells a removal from a mark (a grace period or finalizers keep the object)."""

    stored: Stored
    is_removed: bool


class _Deletion(msgspec.Struct, frozen=True, gc=False):
    """An object that is to be deleted."""

    entry: Entry
    before: Stored
    doc: Document
    """As much of it as a deletion looks at."""
    pod_bytes: ObjectBytes | None = None
    """Of a pod: the rest is not read."""
    reported: bytes | None = None
    """The kept bytes of a pod with what is reported of it first."""

    def marked(self, kind: Kind, marked: Document) -> bytes:
        """The kept bytes of what became of the document."""
        if self.pod_bytes is None:
            return to_kept_bytes(to_written(kind.storage, marked))
        apply_deletion_summary(self.pod_bytes, marked)
        return self.pod_bytes.kept()


class Deleter:
    def __init__(
        self,
        store: Store,
        cache: WatchCache,
        *,
        committer: Committer,
        reader: ObjectReader,
        versions: CustomVersions,
        proposer: Proposer,
        shortcuts: Shortcuts,
        short_patches: ShortPatches,
        allocators: Mapping[str, KindAllocator],
        clock: Clock,
    ) -> None:
        self._store = store
        self._cache = cache
        self._committer = committer
        self._reader = reader
        self._versions = versions
        self._proposer = proposer
        self._shortcuts = shortcuts
        self._short_patches = short_patches
        self._allocators = allocators
        self._clock = clock

    async def delete(
        self, target: WriteTarget, options: DeleteOptions, caller: Caller, *, is_marked_first: bool = True
    ) -> DeleteResult:
        """`is_marked_first`: watchers see a pod that goes at once marked, and then gone, as upstream. Components in
        process remove thousands of pods that are marked already, and save that.
        """
        check_options(options)
        check_deletable(target.kind, target.name)
        if options.dry_run and not caller.dry_run:
            caller = msgspec.structs.replace(caller, dry_run=True)
        deleted = await self._delete(target, options, caller, is_marked_first=is_marked_first)
        assert deleted is not None, "nothing is reported first"
        return deleted

    async def delete_reported(
        self,
        target: WriteTarget,
        report: Document,
        options: DeleteOptions,
        caller: Caller,
        before_deletion: Callable[[], None] | None = None,
    ) -> DeleteResult | None:
        """For a component: write what it reports of a pod's status, and delete the pod. None, and nothing is done, when
        one or the other takes the long way, or may be refused by itself: then they are two writes. `before_deletion` is
        called between the two; it raises when the second is not to be done any more.
        """
        wanted = options.preconditions
        patch = status_patch_of(report) if target.kind.storage == PODS and wanted.resource_version is None else None
        if patch is None or wanted.uid not in (None, patch.uid):
            return None
        return await self._delete(target, options, caller, patch, before_deletion)

    async def _delete(
        self,
        target: WriteTarget,
        options: DeleteOptions,
        caller: Caller,
        report: StatusPatch | None = None,
        before_last: Callable[[], None] | None = None,
        *,
        is_marked_first: bool = False,
    ) -> DeleteResult | None:
        kind, key = target.kind, target.store_key
        last: Stored

        async def propose() -> Proposed | DeleteResult | None:
            nonlocal last
            deletion = self._deletion_of(target, key, report, caller)
            if deletion is None:
                return None
            entry, doc, first = deletion.entry, deletion.doc, deletion.reported
            last = deletion.before
            check_preconditions(kind, target.name, doc, options.preconditions)
            now = self._clock.now()
            if not self._may_skip_admission(kind, caller):
                await self._admit(target, deletion, caller)
            match decide_delete(kind, doc, options, now, is_shown=is_marked_first or caller.dry_run):
                case Keep():
                    assert first is None, "of a pod that is going already nothing is written the short way"
                    return DeleteResult(last, is_removed=False)
                case Remove(marked):
                    if marked is not None:
                        first = deletion.marked(kind, marked)
                        last = unstored(first, object_key(kind, target.namespace, target.name), entry.revision)
                    released = release_of(self._allocators, kind, doc)
                    value = None
                case Mark(marked):
                    released, value = None, deletion.marked(kind, marked)
            return Proposed(
                entry.key, value, entry.revision, after_commit=released, shown_first=first, before_last=before_last
            )

        result = await self._committer.commit(kind, target.name, propose, caller, key=key)
        if not isinstance(result, CommitResult):
            return result
        if result.proposed.value is None:
            event = result.event
            return DeleteResult(last if event is None else last.at_revision(event.revision), is_removed=True)
        return DeleteResult(written_object(self._cache, result, target), is_removed=False)

    def _deletion_of(
        self, target: WriteTarget, key: str, report: StatusPatch | None, caller: Caller
    ) -> _Deletion | None:
        """None: what is to be reported first takes the long way."""
        kind = target.kind
        entry = self._store.peek(key)
        if entry is None:
            raise not_found(kind.named, target.name)
        before = self._cache.stored(entry)
        if self._cache.is_aside(entry.key) and not before.is_readable():
            before = _stand_in(target, entry.revision)
        if kind.storage != PODS:
            return _Deletion(entry, before, self._reader.document_of(before, kind))
        pod_bytes = object_bytes_of(before)
        is_reported: bool | None = False
        if report is not None:
            may_skip = self._may_skip_admission(kind, caller)
            is_reported = self._short_patches.report(kind, before, pod_bytes, report, caller) if may_skip else None
            if is_reported is None:
                return None
        summary = deletion_summary_of(pod_bytes)
        return _Deletion(entry, before, summary, pod_bytes, pod_bytes.kept() if is_reported else None)

    def _may_skip_admission(self, kind: Kind, caller: Caller) -> bool:
        return self._shortcuts.may_skip_admission(kind, RequestPreview(user=caller.user, operation=Operation.DELETE))

    async def _admit(self, target: WriteTarget, deletion: _Deletion, caller: Caller) -> None:
        shown = deletion.before.document()
        if self._versions.is_different(target.kind, deletion.entry.revision):
            (shown,) = await self._versions.read(target.kind, [shown])
        await self._proposer.admit_delete(target, shown, caller)


def _stand_in(target: WriteTarget, revision: int) -> Stored:
    """In the place of an object that cannot be read, for whoever deletes it: it has a name, and nothing holds it."""
    metadata: Document = {"name": target.name, "uid": ""}
    if target.namespace:
        metadata["namespace"] = target.namespace
    key = object_key(target.kind, target.namespace, target.name)
    return unstored(to_kept_bytes({"metadata": metadata}), key, revision)
