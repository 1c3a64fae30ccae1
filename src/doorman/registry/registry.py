"""The one way anything is written, and how it is read.

`create`, `update` and `delete` run the same steps for every kind: propose (pure: transform, default, admission
mutates, prepare, validate, admission validates), then a compare-and-swap on the store. When somebody else was faster
it is proposed again on what is there now. The answer is given when the write is durable.
"""

import copy
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from doorman.admission.chain import Chain
from doorman.admission.plugin_contract import Operation, RequestPreview
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.schema import Document, Schema
from doorman.base.clock import Clock
from doorman.base.errors import (
    ApiError,
    already_exists,
    name_not_generated,
    not_found,
    stale,
)
from doorman.base.generated_names import NameGenerator
from doorman.base.loop_turns import in_turn
from doorman.registry.cache.admission_reader import AdmissionReader
from doorman.registry.cache.stored_object import Stored, Unreadable, store_key, to_kept_bytes, unstored
from doorman.registry.cache.watch_cache import Collection, WatchCache
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
from doorman.registry.fastpath.pod_bytes import PodBytes, apply_deletion_summary, deletion_summary_of, pod_bytes_of
from doorman.registry.fastpath.pod_status import StatusPatch
from doorman.registry.kinds.service_allocators import SERVICES, ServiceAllocators
from doorman.registry.object_size import bounded
from doorman.registry.proposal import Caller, Proposer, Unchanged
from doorman.registry.subresource_object import SubresourceObject
from doorman.store.store_contract import ABSENT, Conflict, Entry, Store, StoreEvent, Write

UPDATE_TRIES_MAX: Final = 100
NAME_TRIES_MAX: Final = 8
PODS: Final = "pods"

Transform = Callable[[Document], Document]
"""From the stored document to the wished one. It may share members with it, and does not change them."""


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
        clock: Clock,
        names: NameGenerator,
        comparison_operators: bool,
    ) -> None:
        self._store = store
        self.cache = cache
        self.kinds = kinds
        self.schema = schema
        self._clock = clock
        self._names = names
        self._numbers = ServiceAllocators(cache.collection(SERVICES))
        self.cluster = AdmissionReader(self)
        self.versions = CustomVersions(schema, self.cluster, names.uid)
        self.proposer = Proposer(
            self.cluster,
            self._numbers,
            self.versions,
            kinds=kinds,
            schema=schema,
            admission=admission,
            clock=clock,
            comparison_operators=comparison_operators,
            suffix=names.suffix,
        )

    # Reading

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        collection, key = self.collection(kind), _key(kind, namespace, name)
        found = collection.get(key)
        if found is None:
            if key in collection.aside:
                collection.aside[key].check()  # it raises and says what is wrong
            raise not_found(kind.named, name)
        return found

    def collection(self, kind: Kind) -> Collection:
        return self.cache.collection(kind.storage)

    def newest(self, kind: Kind, namespace: str, name: str) -> Document | None:
        """The newest document, also when it is not durable yet: for whoever is about to write."""
        entry = self._store.peek(store_key(kind, namespace, name))
        return self._document(entry, kind, namespace, name) if entry is not None else None

    def newest_stored(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        """The same with its view, which is shared with everybody who reads."""
        entry = self._store.peek(store_key(kind, namespace, name))
        return self._stored(entry, kind, namespace, name) if entry is not None else None

    def newest_entry(self, store_key: str) -> Entry | None:
        return self._store.peek(store_key)

    def pending(self) -> Iterable[StoreEvent]:
        """What is on its way to the disk, oldest first."""
        return self._store.pending()

    # Writing

    async def create(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> Stored:
        """Write a new object. `doc` is structurally clean and belongs to the registry from here on."""
        draft = await self.proposer.create(kind, namespace, doc, caller)
        wants_name = not draft.name and bool(draft.generate_name)
        for tried in range(1, NAME_TRIES_MAX + 1):
            name = self._names.generate(draft.generate_name) if wants_name else draft.name
            value = await draft.value(name, self._names.uid())
            if kind.stored_version:
                value = to_kept_bytes(await self.versions.to_write(kind, unstored(value, "", 0).document()))
            key = store_key(kind, namespace, name)
            try:
                if caller.dry_run:
                    existing = self._store.peek(key)
                    if existing is not None:
                        raise Conflict(key, ABSENT, existing)
                    draft.undo()
                    return unstored(value, _key(kind, namespace, name), 0)
                value = bounded(kind, value, is_apply=caller.is_apply)
                event = await self._store.commit(Write(key, value, ABSENT))
            except ApiError:
                draft.undo()
                raise
            except Conflict as lost:
                draft.undo()
                if not wants_name:
                    raise self._exists(kind, namespace, name, lost.current) from lost
                if tried == NAME_TRIES_MAX:
                    raise name_not_generated(kind.named, name) from lost
                continue
            assert event.entry is not None
            return self._stored(event.entry, kind, namespace, name)
        raise AssertionError("the loop returns or raises")

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
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                if create is None:
                    raise not_found(kind.named, name)
                return Written(await self.create(kind, namespace, await create(), caller), is_created=True)
            weight = caller.weight_bytes + len(entry.value)
            old = self._document(entry, kind, namespace, name)
            is_different = self.versions.is_different(kind, entry.revision)
            if is_different:
                (old,) = await self.versions.read(kind, [old])
            if subresource == "status":
                # Nothing below changes a member in place that a patch of status has left alone.
                new = dict(await in_turn(weight if is_pure else 0, transform, old))
                new["metadata"] = dict(new.get("metadata", {}))
            else:
                given = copy.deepcopy(old) if is_different else self._document(entry, kind, namespace, name)
                new = await in_turn(weight if is_pure else 0, transform, given)
            try:
                proposed = await self.proposer.update(
                    kind, namespace, name, subresource, new, old, caller, is_unconditional, part, weight
                )
            except Unchanged:
                return Written(self._stored(entry, kind, namespace, name))
            if kind.stored_version:
                proposed = await self.versions.to_write(kind, proposed)
            undo = self._numbers.assign(proposed, old) if kind.storage == SERVICES and not subresource else None
            if caller.dry_run:
                if undo is not None:
                    undo()
                return Written(unstored(to_kept_bytes(proposed), _key(kind, namespace, name), entry.revision))
            is_last_word = _is_finally_gone(kind, proposed)
            try:
                value = None if is_last_word else bounded(kind, to_kept_bytes(proposed), is_apply=caller.is_apply)
                event = await self._store.commit(Write(key, value, entry.revision))
            except (ApiError, Conflict) as error:
                if undo is not None:
                    undo()
                if isinstance(error, ApiError):
                    raise
                continue
            if event.entry is None:
                return Written(unstored(to_kept_bytes(proposed), _key(kind, namespace, name), event.revision))
            return Written(self._stored(event.entry, kind, namespace, name))
        raise stale(kind.named, name)

    async def write_pod(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Stored, PodBytes], None], caller: Caller
    ) -> Stored:
        """Change a pod as the server itself does (a binding, an eviction's mark): no defaults, no field owners.

        `change` is given the pod as it is and, to be changed, cut into parts.
        """
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                raise not_found(kind.named, name)
            before = self._stored(entry, kind, namespace, name)
            pod_bytes = pod_bytes_of(before)
            change(before, pod_bytes)
            value = bounded(kind, pod_bytes.kept())
            if caller.dry_run:
                return unstored(value, before.key, entry.revision)
            try:
                event = await self._store.commit(Write(key, value, entry.revision))
            except Conflict:
                continue
            assert event.entry is not None
            return self._stored(event.entry, kind, namespace, name)
        raise stale(kind.named, name)

    async def report(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        report: StatusPatch,
        caller: Caller,
        *,
        is_waited_for: bool = True,
    ) -> Stored | None:
        """Patch a pod's status the short way. None, and nothing is done, when it takes the long one.

        Who does not wait for it writes something else afterwards, and waits for that.
        """
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                return None
            before = self._stored(entry, kind, namespace, name)
            preview = RequestPreview(
                user=caller.user, operation=Operation.UPDATE, subresource="status", node=before.view.spec.node_name
            )
            if not self.proposer.is_uncontested(kind, preview):
                return None
            pod_bytes = pod_bytes_of(before)
            is_changed = self.proposer.reports.write(pod_bytes, before.view, report, caller.manager, self._clock.now())
            if not is_changed:
                return None if is_changed is None else before
            try:
                write = Write(key, bounded(kind, pod_bytes.kept()), entry.revision)
                event = await self._store.commit(write) if is_waited_for else self._store.take(write)
            except Conflict:
                continue
            assert event.entry is not None
            return self._stored(event.entry, kind, namespace, name)
        raise stale(kind.named, name)

    async def delete(self, kind: Kind, namespace: str, name: str, options: DeleteOptions, caller: Caller) -> Deleted:
        check_options(options)
        check_deletable(kind, name)
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                raise not_found(kind.named, name)
            before = self._stored(entry, kind, namespace, name)
            if not _is_readable(before):
                before = _nameplate(kind, namespace, name, entry.revision)
            pod_bytes = pod_bytes_of(before) if kind.storage == PODS else None
            doc = deletion_summary_of(pod_bytes) if pod_bytes is not None else before.document()
            check_preconditions(kind, name, doc, options.preconditions)
            now = self._clock.now()
            if not self.proposer.is_uncontested(kind, RequestPreview(user=caller.user, operation=Operation.DELETE)):
                shown = before.document()
                if self.versions.is_different(kind, entry.revision):
                    (shown,) = await self.versions.read(kind, [shown])
                await self.proposer.admit_delete(kind, namespace, name, shown, caller)
            outcome = decide_delete(kind, doc, options, now)
            if isinstance(outcome, Keep):
                return Deleted(before, is_removed=False)
            is_dry = caller.dry_run or bool(options.dry_run)
            try:
                match outcome:
                    case Remove():
                        if is_dry:
                            return Deleted(before, is_removed=True)
                        event = await self._store.commit(Write(key, None, entry.revision))
                        return Deleted(before.at_revision(event.revision), is_removed=True)
                    case Mark(marked):
                        value = _marked_bytes(marked, pod_bytes)
                        if is_dry:
                            return Deleted(unstored(value, before.key, entry.revision), is_removed=False)
                        event = await self._store.commit(Write(key, value, entry.revision))
                        assert event.entry is not None
                        return Deleted(self._stored(event.entry, kind, namespace, name), is_removed=False)
            except Conflict:
                continue
        raise stale(kind.named, name)

    def _exists(self, kind: Kind, namespace: str, name: str, current: Entry | None) -> ApiError:
        prefix = ""
        stored = self._stored(current, kind, namespace, name) if current is not None else None
        if stored is not None and _is_readable(stored) and "deletionTimestamp" in stored.document()["metadata"]:
            prefix = "object is being deleted: "
        return already_exists(kind.named, name, prefix=prefix)

    def _stored(self, entry: Entry, kind: Kind, namespace: str, name: str) -> Stored:
        collection = self.collection(kind)
        key = _key(kind, namespace, name)
        published = collection.get(key)
        if published is not None and published.revision == entry.revision:
            return published
        return Stored(entry, key, collection.decoder)

    def _document(self, entry: Entry, kind: Kind, namespace: str, name: str) -> Document:
        stored = self._stored(entry, kind, namespace, name)
        if stored.key in self.collection(kind).aside:
            stored.check()  # it raises and says what is wrong
        return stored.document()


def _is_readable(stored: Stored) -> bool:
    try:
        stored.check()
    except Unreadable:
        return False
    return True


def _nameplate(kind: Kind, namespace: str, name: str, revision: int) -> Stored:
    """In the place of an object that cannot be read, for whoever deletes it: it has a name, and nothing holds it."""
    metadata: Document = {"name": name, "uid": ""}
    if namespace:
        metadata["namespace"] = namespace
    return unstored(to_kept_bytes({"metadata": metadata}), _key(kind, namespace, name), revision)


def _marked_bytes(marked: Document, pod_bytes: PodBytes | None) -> bytes:
    if pod_bytes is None:
        return to_kept_bytes(marked)
    apply_deletion_summary(pod_bytes, marked)
    return pod_bytes.kept()


def _is_finally_gone(kind: Kind, doc: Document) -> bool:
    """An update that takes the last finalizer of a terminating object deletes it."""
    metadata = doc["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if kind.storage == "namespaces":
        return not doc.get("spec", {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def _key(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name
