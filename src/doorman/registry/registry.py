"""The one way anything is written, and how it is read.

Every verb reads what is there, proposes what is to become of it, and hands that to the one compare-and-swap loop
(`commit.py`), which asks again when somebody else was faster. The answer is given when the write is durable. Whether a
write may take a shortcut is decided in one place (`fastpath/shortcuts.py`).
"""

import copy
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from doorman.admission.chain import Chain
from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.admission.webhooks.webhook_dispatch import Post, Webhooks
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.schema import Schema
from doorman.api.raw_members import to_written
from doorman.api.well_known import LIMIT_RANGES
from doorman.base.clock import Clock
from doorman.base.errors import ApiError, already_exists, name_not_generated, not_found
from doorman.base.generated_names import NameGenerator
from doorman.base.json_types import Document, Transform
from doorman.base.loop_turns import in_turn
from doorman.registry.admission.admission_phases import AdmissionPhases
from doorman.registry.admission.admission_reader import AdmissionReader
from doorman.registry.admission.admission_versions import EquivalentResourceMapper
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.compaction import Compaction
from doorman.registry.cache.object_reader import ObjectReader, object_key
from doorman.registry.cache.stored_object import Stored, Unreadable, to_kept_bytes, unstored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.commit import Committed, Committer, Proposed
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
    is_finally_gone,
)
from doorman.registry.fastpath.create_cache import CreateCache
from doorman.registry.fastpath.lease_renewal import LeaseRenewals
from doorman.registry.fastpath.object_bytes import ObjectBytes, object_bytes_of
from doorman.registry.fastpath.pod_bytes import apply_deletion_summary, deletion_summary_of
from doorman.registry.fastpath.short_patches import ShortPatches
from doorman.registry.fastpath.shortcuts import Shortcuts
from doorman.registry.kind_rules import KindRules, Unchanged
from doorman.registry.kinds.service_allocators import RANGES, SERVICES, ServiceAllocators
from doorman.registry.kinds.service_claims import ServiceClaims
from doorman.registry.proposal import Prepared, Proposer
from doorman.registry.subresource_object import SubresourceObject
from doorman.store.store_contract import ABSENT, Conflict, Entry, Store, Write

NAME_TRIES_MAX: Final = 8
PODS: Final = "pods"


class Written(msgspec.Struct, frozen=True):
    stored: Stored
    is_created: bool = False


class Deleted(msgspec.Struct, frozen=True):
    """`is_removed` tells a removal from a mark (a grace period or finalizers keep the object)."""

    stored: Stored
    is_removed: bool


class Registry:
    def __init__(
        self,
        store: Store,
        cache: WatchCache,
        *,
        kinds: Kinds,
        schema: Schema,
        admission: Chain,
        webhooks: Webhooks,
        post: Post,
        clock: Clock,
        names: NameGenerator,
        comparison_operators: bool,
        takes_shortcuts: bool = True,
    ) -> None:
        self.cache = cache
        self.kinds = kinds
        self.schema = schema
        self._store = store
        self._clock = clock
        self._names = names
        self.compaction = Compaction(clock)
        self._committer = Committer(store)
        self._allocators = ServiceAllocators(cache.collection(SERVICES), cache.collection(RANGES))
        self.reader = ObjectReader(store, cache, kinds)
        self.versions = CustomVersions(schema, post, names.uid)
        self.cluster = AdmissionReader(self.reader, self.versions)
        create_cache = CreateCache(self.cluster, names.suffix, is_on=takes_shortcuts)
        self.shortcuts = Shortcuts(admission, webhooks, self.cluster, is_on=takes_shortcuts)
        rules = KindRules(schema, kinds, comparison_operators=comparison_operators)
        phases = AdmissionPhases(admission, webhooks, self.cluster, EquivalentResourceMapper(kinds, self.versions))
        self.proposer = Proposer(self.cluster, phases, rules, create_cache, self._allocators, clock)
        self.short_patches = ShortPatches(store, cache, self._committer, self.shortcuts, rules.managed.walker, clock)
        self.lease_renewals = LeaseRenewals(self.reader, self._committer, self.shortcuts)

    def share_numbers(self, claims: ServiceClaims) -> None:
        """Addresses and ports of services are given out by others, too."""
        self._allocators.share(claims, self._store.catch_up)

    # Reading

    @property
    def is_shared(self) -> bool:
        """Whether others write to the same store: what is read here may be behind."""
        return self._store.is_shared

    async def catch_up(self) -> None:
        """Read on until all that was written before is known here."""
        await self._store.catch_up()

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        return self.reader.get(kind, namespace, name)

    def collection(self, kind: Kind) -> Collection:
        return self.reader.collection(kind)

    def newest(self, kind: Kind, namespace: str, name: str) -> Document | None:
        return self.reader.newest(kind, namespace, name)

    # Writing

    async def create(
        self, kind: Kind, namespace: str, doc: Document | Prepared, caller: Caller, *, is_waited_for: bool = True
    ) -> Stored:
        """Write a new object. `doc` is structurally clean and belongs to the registry from here on; or it is prepared.

        Who does not wait for it writes something else afterwards, and waits for that.
        """
        prepared = doc if isinstance(doc, Prepared) else await self.proposer.prepare(kind, namespace, doc, caller)
        name, prefix = prepared.name, prepared.generate_name
        wants_name = not name and bool(prefix)
        if kind.storage == LIMIT_RANGES and not name and not prefix:
            name = self._names.uid()  # of this kind alone one need not be named, as upstream
        tries = 0

        async def propose() -> Proposed:
            nonlocal name
            if wants_name:
                name = self._names.generate(prefix)
            new = await self.proposer.named(prepared, name, self._names.uid())
            key = kind.store_key(namespace, name)
            if kind.stored_version:
                value = to_kept_bytes(await self.versions.to_write(kind, unstored(new.value, "", 0).document()))
                return Proposed(key, value, ABSENT, new.undo)
            return Proposed(key, new.value, ABSENT, new.undo, new.is_bounded)

        def lost(conflict: Conflict) -> None:
            nonlocal tries
            tries += 1
            if not wants_name:
                raise self._exists(kind, name, conflict.current) from conflict
            if tries == NAME_TRIES_MAX:
                raise name_not_generated(kind.named, name) from conflict

        committed = await self._committer.commit(kind, name, propose, caller, lost=lost, is_waited_for=is_waited_for)
        return self._written(committed, kind, namespace, name)

    async def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        transform: Transform,
        caller: Caller,
        *,
        subresource: str = "",
        create: Callable[[], Awaitable[Document]] | None = None,
        is_unconditional: bool = True,
        part: SubresourceObject | None = None,
        is_pure: bool = False,
    ) -> Written:
        """Change an object by `transform`, again and again until nobody else was faster.

        `create` gives the document to create when the object does not exist. `is_unconditional` says whether the new
        document may come without a resourceVersion: true for patches, which are made upon what is stored. `part` is the
        subresource that is written, if it is an object of its own. `is_pure` says that `transform` looks at nothing but
        what it is given, so that it may be done beside the loop when it is heavy.
        """
        last_words: Document = {}

        async def propose() -> Proposed | Written:
            entry = self._store.peek(kind.store_key(namespace, name))
            if entry is None:
                if create is None:
                    raise not_found(kind.named, name)
                return Written(await self.create(kind, namespace, await create(), caller), is_created=True)
            weight = caller.weight_bytes + len(entry.value)
            new, old = await self._transformed(entry, kind, transform, subresource, is_pure * weight)
            try:
                changed = await self.proposer.update(
                    kind, namespace, name, subresource, new, old, caller, is_unconditional, part, weight
                )
            except Unchanged:
                return Written(self.cache.stored(entry))
            doc = await self.versions.to_write(kind, changed.doc) if kind.stored_version else changed.doc
            if is_finally_gone(kind, doc) and not caller.dry_run:
                last_words.clear()
                last_words.update(doc)
                return Proposed(entry.key, None, entry.revision, then=self._allocators.release(kind.storage, old))
            if kind.storage == SERVICES and not subresource:
                given = await self._allocators.assign(doc, old, is_dry_run=caller.dry_run)
                return Proposed(entry.key, to_kept_bytes(doc), entry.revision, given.undo, then=given.then)
            if kind.stored_version:
                return Proposed(entry.key, to_kept_bytes(doc), entry.revision)
            return Proposed(entry.key, changed.value, entry.revision, is_bounded=True)

        committed = await self._committer.commit(kind, name, propose, caller, key=kind.store_key(namespace, name))
        if isinstance(committed, Written):
            return committed
        return Written(self._written(committed, kind, namespace, name, last_words))

    async def _transformed(
        self, entry: Entry, kind: Kind, transform: Transform, subresource: str, weight_bytes: int
    ) -> tuple[Document, Document]:
        """What is wished in the place of what is stored, and what is stored."""
        old = self.reader.document(entry, kind)
        is_different = self.versions.is_different(kind, entry.revision)
        if is_different:
            (old,) = await self.versions.read(kind, [old])
        if subresource == "status":
            # Nothing later changes a member in place that a patch of status has left alone.
            new = dict(await in_turn(weight_bytes, transform, old))
            new["metadata"] = dict(new.get("metadata", {}))
            return new, old
        given = copy.deepcopy(old) if is_different else self.reader.document(entry, kind)
        return await in_turn(weight_bytes, transform, given), old

    async def write_pod(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Stored, ObjectBytes], None], caller: Caller
    ) -> Stored:
        """Change a pod as the server itself does (a binding, an eviction's mark): no defaults, no field owners.

        `change` is given the pod as it is and, to be changed, cut into parts.
        """

        async def propose() -> Proposed:
            entry = self._store.peek(kind.store_key(namespace, name))
            if entry is None:
                raise not_found(kind.named, name)
            before = self.cache.stored(entry)
            pod_bytes = object_bytes_of(before)
            change(before, pod_bytes)
            return Proposed(entry.key, pod_bytes.kept(), entry.revision)

        committed = await self._committer.commit(kind, name, propose, caller, key=kind.store_key(namespace, name))
        return self._written(committed, kind, namespace, name)

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        options: DeleteOptions,
        caller: Caller,
        *,
        is_marked_first: bool = True,
    ) -> Deleted:
        """`is_marked_first`: watchers see a pod that goes at once marked, and then gone, as upstream. Components in
        process remove thousands of pods that are marked already, and save that.
        """
        check_options(options)
        check_deletable(kind, name)
        if options.dry_run and not caller.dry_run:
            caller = msgspec.structs.replace(caller, dry_run=True)
        before: Stored

        async def propose() -> Proposed | Deleted:
            nonlocal before
            entry = self._store.peek(kind.store_key(namespace, name))
            if entry is None:
                raise not_found(kind.named, name)
            before = self.cache.stored(entry)
            if self.cache.is_aside(entry.key) and not _is_readable(before):
                before = _stand_in(kind, namespace, name, entry.revision)
            pod_bytes = object_bytes_of(before) if kind.storage == PODS else None
            doc = deletion_summary_of(pod_bytes) if pod_bytes is not None else self.reader.document_of(before, kind)
            check_preconditions(kind, name, doc, options.preconditions)
            now = self._clock.now()
            preview = RequestPreview(user=caller.user, operation=Operation.DELETE)
            if not self.shortcuts.may_skip_admission(kind, preview):
                shown = before.document()
                if self.versions.is_different(kind, entry.revision):
                    (shown,) = await self.versions.read(kind, [shown])
                await self.proposer.admit_delete(kind, namespace, name, shown, caller)
            match decide_delete(kind, doc, options, now, is_shown=is_marked_first or caller.dry_run):
                case Keep():
                    return Deleted(before, is_removed=False)
                case Remove(last):
                    revision = entry.revision
                    if last is not None:
                        key, value = object_key(kind, namespace, name), _marked_bytes(kind, last, pod_bytes)
                        before = unstored(value, key, revision)
                        if not caller.dry_run:
                            revision = await self._committer.write_first(Write(entry.key, value, revision))
                    then = self._allocators.release(kind.storage, doc)
                    return Proposed(entry.key, None, revision, then=then)
                case Mark(marked):
                    return Proposed(entry.key, _marked_bytes(kind, marked, pod_bytes), entry.revision)

        committed = await self._committer.commit(kind, name, propose, caller, key=kind.store_key(namespace, name))
        if isinstance(committed, Deleted):
            return committed
        if committed.proposed.value is None:
            event = committed.event
            return Deleted(before if event is None else before.at_revision(event.revision), is_removed=True)
        return Deleted(self._written(committed, kind, namespace, name), is_removed=False)

    def _written(
        self,
        committed: Committed,
        kind: Kind,
        namespace: str,
        name: str,
        last_words: Mapping[str, Any] | None = None,  # a document
    ) -> Stored:
        """The object as it is now; of a dry run, as it would be; of one that has gone, as it last was."""
        proposed, event = committed.proposed, committed.event
        if event is not None and event.entry is not None:
            return self.cache.stored(event.entry)
        value = proposed.value if proposed.value is not None else to_kept_bytes(dict(last_words or {}))
        revision = event.revision if event is not None else max(proposed.expected, 0)
        return unstored(value, object_key(kind, namespace, name), revision)

    def _exists(self, kind: Kind, name: str, current: Entry | None) -> ApiError:
        prefix = ""
        stored = self.cache.stored(current) if current is not None else None
        if stored is not None and _is_readable(stored) and "deletionTimestamp" in stored.document()["metadata"]:
            prefix = "object is being deleted: "
        return already_exists(kind.named, name, prefix=prefix)


def _is_readable(stored: Stored) -> bool:
    try:
        stored.check()
    except Unreadable:
        return False
    return True


def _stand_in(kind: Kind, namespace: str, name: str, revision: int) -> Stored:
    """In the place of an object that cannot be read, for whoever deletes it: it has a name, and nothing holds it."""
    metadata: Document = {"name": name, "uid": ""}
    if namespace:
        metadata["namespace"] = namespace
    return unstored(to_kept_bytes({"metadata": metadata}), object_key(kind, namespace, name), revision)


def _marked_bytes(kind: Kind, marked: Document, pod_bytes: ObjectBytes | None) -> bytes:
    if pod_bytes is None:
        return to_kept_bytes(to_written(kind.storage, marked))
    apply_deletion_summary(pod_bytes, marked)
    return pod_bytes.kept()
