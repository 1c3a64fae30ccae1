"""The one way anything is written, and how it is read.

Every verb reads what is there, proposes what is to become of it, and hands that to the one compare-and-swap loop
(`commit.py`), which asks again when somebody else was faster. The answer is given when the write is durable. Whether a
write may take a shortcut is decided in one place (`fastpath/shortcuts.py`).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from doorman.admission.chain import Chain
from doorman.admission.webhooks.webhook_dispatch import Post, Webhooks
from doorman.api.json_values import copied
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.schema import Schema
from doorman.api.well_known import SERVICES
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
from doorman.registry.cache.object_reader import ObjectReader
from doorman.registry.cache.stored_object import Stored, to_kept_bytes, unstored
from doorman.registry.cache.watch_cache import WatchCache
from doorman.registry.caller import Caller
from doorman.registry.commit import Committer, Proposed, written_object
from doorman.registry.custom.custom_versions import CustomVersions
from doorman.registry.deleter import Deleter, DeleteResult
from doorman.registry.deletion import DeleteOptions, is_finally_gone
from doorman.registry.fastpath.create_cache import CachedNewObject, CreateCache
from doorman.registry.fastpath.lease_renewal import LeaseRenewals
from doorman.registry.fastpath.object_bytes import ObjectBytes, object_bytes_of
from doorman.registry.fastpath.short_patches import ShortPatches
from doorman.registry.fastpath.shortcuts import Shortcuts
from doorman.registry.kind_rules import KindRules, Unchanged
from doorman.registry.kinds.quota_claims import QuotaClaims
from doorman.registry.kinds.service_allocators import RANGES, ServiceAllocators
from doorman.registry.kinds.service_claims import ServiceClaims
from doorman.registry.proposal import AdmittedNewObject, Proposer
from doorman.registry.strategies import strategy_of
from doorman.registry.strategy import KindAllocator, release_of
from doorman.registry.write_target import WriteTarget
from doorman.store.store_contract import ABSENT, Conflict, Entry, Store

NAME_TRIES_MAX: Final = 8


class UpdateResult(msgspec.Struct, frozen=True):
    stored: Stored
    is_created: bool = False


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
        self._service_allocators = ServiceAllocators(cache.collection(SERVICES), cache.collection(RANGES))
        self._allocators: Mapping[str, KindAllocator] = {SERVICES: self._service_allocators}
        self.reader = ObjectReader(store, cache, kinds)
        self.versions = CustomVersions(schema, post, names.uid)
        self.cluster = AdmissionReader(self.reader, self.versions)
        self.shortcuts = Shortcuts(admission, webhooks, self.cluster, is_on=takes_shortcuts)
        rules = KindRules(schema, kinds, comparison_operators=comparison_operators)
        self._create_cache = CreateCache(self.cluster, names.suffix, rules.before_create, is_on=takes_shortcuts)
        phases = AdmissionPhases(admission, webhooks, self.cluster, EquivalentResourceMapper(kinds, self.versions))
        quota_claims = QuotaClaims(store, cache) if store.is_shared else None
        self.proposer = Proposer(self.cluster, phases, rules, self._create_cache, self._allocators, clock, quota_claims)
        self.short_patches = ShortPatches(store, cache, self._committer, self.shortcuts, rules.managed.walker, clock)
        self._deleter = Deleter(
            store,
            cache,
            committer=self._committer,
            reader=self.reader,
            versions=self.versions,
            proposer=self.proposer,
            shortcuts=self.shortcuts,
            short_patches=self.short_patches,
            allocators=self._allocators,
            clock=clock,
        )
        self.lease_renewals = LeaseRenewals(self.reader, self._committer, self.shortcuts)

    def share_numbers(self, claims: ServiceClaims) -> None:
        """Addresses and ports of services are given out by others, too."""
        self._service_allocators.share(claims, self._store.catch_up)

    # Reading

    @property
    def is_shared(self) -> bool:
        """Whether others write to the same store: what is read here may be behind."""
        return self._store.is_shared

    async def catch_up(self) -> None:
        """Read on until all that was written before is known here."""
        await self._store.catch_up()

    async def has_more(self, seen: int) -> bool:
        """Whether something was written that was not known here when this revision was the newest."""
        try:
            await self._store.catch_up()
        except ApiError:
            return False
        return self._store.revision > seen

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        return self.reader.get(kind, namespace, name)

    def collection(self, kind: Kind) -> Collection:
        return self.reader.collection(kind)

    def newest(self, kind: Kind, namespace: str, name: str) -> Document | None:
        return self.reader.newest(kind, namespace, name)

    # Writing

    async def create(
        self, kind: Kind, namespace: str, doc: Document, caller: Caller, *, is_waited_for: bool = True
    ) -> Stored:
        """Write a new object. `doc` is structurally clean and belongs to the registry from here on.

        Who does not wait for it writes something else afterwards, and waits for that.
        """
        new = await self.proposer.prepare(kind, namespace, doc, caller)
        return await self._create(namespace, new, caller, is_waited_for=is_waited_for)

    async def create_again(self, kind: Kind, namespace: str, caller: Caller) -> Stored | None:
        """Write what the caller has sent, unread, if it was sent before in the same bytes but for the name; or None."""
        known = self._create_cache.find_by_body(kind, namespace, caller, self._clock.now())
        return await self._create(namespace, known, caller) if known is not None else None

    async def _create(
        self,
        namespace: str,
        new: AdmittedNewObject | CachedNewObject,
        caller: Caller,
        *,
        is_waited_for: bool = True,
    ) -> Stored:
        kind, name, prefix = new.kind, new.name, new.generate_name
        is_generated = not name and bool(prefix)
        if not name and not prefix and strategy_of(kind).is_named_by_server:
            name = self._names.uid()
        tries = 0

        async def propose() -> Proposed:
            nonlocal name
            if is_generated:
                name = self._names.generate(prefix)
            uid = self._names.uid()
            if isinstance(new, CachedNewObject):
                proposed = new.named(name, uid)
            else:
                proposed = await self.proposer.named(new, name, uid)
            key, value, is_bounded = kind.store_key(namespace, name), proposed.value, proposed.is_bounded
            if kind.stored_version:
                # Of another document: this one is wanted again should the name be taken.
                doc = unstored(value, "", 0).document()
                value, is_bounded = await self._in_stored_version(kind, doc), False
            return Proposed(key, value, ABSENT, proposed.on_abort, is_bounded, claim=proposed.claim)

        def on_conflict(conflict: Conflict) -> None:
            nonlocal tries
            tries += 1
            if not is_generated:
                raise self._exists(kind, name, conflict.current) from conflict
            if tries == NAME_TRIES_MAX:
                raise name_not_generated(kind.named, name) from conflict

        result = await self._committer.commit(
            kind, name, propose, caller, on_conflict=on_conflict, is_waited_for=is_waited_for
        )
        return written_object(self.cache, result, WriteTarget(kind, namespace, name))

    async def update(
        self,
        target: WriteTarget,
        transform: Transform,
        caller: Caller,
        *,
        create: Callable[[], Awaitable[Document]] | None = None,
        is_unconditional: bool = True,
        is_pure: bool = False,
    ) -> UpdateResult:
        """Change an object by `transform`, again and again until nobody else was faster.

        `create` gives the document to create when the object does not exist. `is_unconditional` says whether the new
        document may come without a resourceVersion: true for patches, which are made upon what is stored. `is_pure`
        says that `transform` looks at nothing but what it is given, so that it may be done beside the loop when it is
        heavy.
        """
        kind = target.kind
        last: Document = {}

        async def propose() -> Proposed | UpdateResult:
            nonlocal last
            entry = self._store.peek(target.store_key)
            if entry is None:
                if create is None:
                    raise not_found(kind.named, target.name)
                return UpdateResult(await self.create(kind, target.namespace, await create(), caller), is_created=True)
            weight = caller.weight_bytes + len(entry.value)
            new, old = await self._transformed(entry, target, transform, weight if is_pure else 0)
            try:
                proposed = await self.proposer.update(
                    target, new, old, caller, is_unconditional=is_unconditional, weight_bytes=weight
                )
            except Unchanged:
                return UpdateResult(self.cache.stored(entry))
            if is_finally_gone(kind, proposed.doc) and not caller.dry_run:
                last = await self.versions.to_write(kind, proposed.doc)
                return Proposed(entry.key, None, entry.revision, after_commit=release_of(self._allocators, kind, old))
            value, is_bounded = proposed.value, proposed.is_bounded
            if kind.stored_version:
                value, is_bounded = await self._in_stored_version(kind, proposed.doc), False
            on_abort, after_commit = proposed.on_abort, proposed.after_commit
            return Proposed(entry.key, value, entry.revision, on_abort, is_bounded, after_commit, claim=proposed.claim)

        result = await self._committer.commit(kind, target.name, propose, caller, key=target.store_key)
        if isinstance(result, UpdateResult):
            return result
        return UpdateResult(written_object(self.cache, result, target, last))

    async def _in_stored_version(self, kind: Kind, doc: Document) -> bytes:
        return to_kept_bytes(await self.versions.to_write(kind, doc))

    async def _transformed(
        self, entry: Entry, target: WriteTarget, transform: Transform, weight_bytes: int
    ) -> tuple[Document, Document]:
        """What is wanted in the place of what is stored, and what is stored."""
        kind = target.kind
        old = self.reader.document(entry, kind)
        is_different = self.versions.is_different(kind, entry.revision)
        if is_different:
            (old,) = await self.versions.read(kind, [old])
        if target.subresource == "status":
            # Nothing later changes a member in place that a patch of status has left alone.
            new = dict(await in_turn(weight_bytes, transform, old))
            new["metadata"] = dict(new.get("metadata", {}))
            return new, old
        given = copied(old) if is_different else self.reader.document(entry, kind)
        return await in_turn(weight_bytes, transform, given), old

    async def write_pod(
        self, target: WriteTarget, change: Callable[[Stored, ObjectBytes], None], caller: Caller
    ) -> Stored:
        """Change a pod as the server itself does (a binding, an eviction's mark): no defaults, no field owners.

        `change` is given the pod as it is and, to be changed, cut into parts.
        """

        async def propose() -> Proposed:
            entry = self._store.peek(target.store_key)
            if entry is None:
                raise not_found(target.kind.named, target.name)
            before = self.cache.stored(entry)
            pod_bytes = object_bytes_of(before)
            change(before, pod_bytes)
            return Proposed(entry.key, pod_bytes.kept(), entry.revision)

        result = await self._committer.commit(target.kind, target.name, propose, caller, key=target.store_key)
        return written_object(self.cache, result, target)

    def delete(
        self, target: WriteTarget, options: DeleteOptions, caller: Caller, *, is_marked_first: bool = True
    ) -> Awaitable[DeleteResult]:
        """See `Deleter.delete`."""
        return self._deleter.delete(target, options, caller, is_marked_first=is_marked_first)

    def delete_reported(
        self,
        target: WriteTarget,
        report: Document,
        options: DeleteOptions,
        caller: Caller,
        before_deletion: Callable[[], None] | None = None,
    ) -> Awaitable[DeleteResult | None]:
        """See `Deleter.delete_reported`."""
        return self._deleter.delete_reported(target, report, options, caller, before_deletion)

    def _exists(self, kind: Kind, name: str, current: Entry | None) -> ApiError:
        prefix = ""
        stored = self.cache.stored(current) if current is not None else None
        if stored is not None and stored.is_readable() and "deletionTimestamp" in stored.document()["metadata"]:
            prefix = "object is being deleted: "
        return already_exists(kind.named, name, prefix=prefix)
