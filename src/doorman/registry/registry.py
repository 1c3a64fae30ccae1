"""The one way anything is written, and how it is read.

`create`, `update` and `delete` run the same steps for every kind: propose (pure: transform, default, admission
mutates, prepare, validate, admission validates), then a compare-and-swap on the store. When somebody else was faster
it is proposed again on what is there now. The answer is given when the write is durable.
"""

import copy
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from doorman.admission.chain import Chain
from doorman.admission.contract import Glance, Operation
from doorman.api.kinds import Kind, Kinds
from doorman.api.schema import Document, Schema
from doorman.base.clock import Clock
from doorman.base.errors import (
    ApiError,
    already_exists,
    name_not_generated,
    not_found,
    stale,
)
from doorman.base.names import Names
from doorman.registry.cluster_reader import ClusterReader
from doorman.registry.custom_versions import CustomVersions
from doorman.registry.cuts import Cut, cut_of, digest_of, take_digest
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
from doorman.registry.parts import Part
from doorman.registry.proposal import Caller, Proposer, Unchanged
from doorman.registry.reports import Report
from doorman.registry.service_numbers import SERVICES, ServiceNumbers
from doorman.registry.stored import Stored, Unreadable, store_key, to_kept_bytes, unstored
from doorman.registry.watchcache import Collection, WatchCache
from doorman.store.contract import ABSENT, Conflict, Entry, Event, Store, Write

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
        names: Names,
        comparison_operators: bool,
    ) -> None:
        self._store = store
        self.cache = cache
        self.kinds = kinds
        self.schema = schema
        self._clock = clock
        self._names = names
        self._numbers = ServiceNumbers(cache.collection(SERVICES))
        self.cluster = ClusterReader(self)
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

    def pending(self) -> Iterable[Event]:
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
                event = await self._store.commit(Write(key, value, ABSENT))
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
        create: Callable[[], Document] | None = None,
        is_unconditional: bool = True,
        part: Part | None = None,
    ) -> Written:
        """Change an object by `transform`, again and again until nobody else was faster.

        `create` gives the document to create when the object does not exist. `is_unconditional` says whether the new
        document may come without a resourceVersion: true for patches, which are made upon what is stored. `part` is the
        subresource that is written, if it is an object of its own.
        """
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                if create is None:
                    raise not_found(kind.named, name)
                return Written(await self.create(kind, namespace, create(), caller), is_created=True)
            old = self._document(entry, kind, namespace, name)
            is_different = self.versions.is_different(kind, entry.revision)
            if is_different:
                (old,) = await self.versions.read(kind, [old])
            if subresource == "status":
                # Nothing below changes a member in place that a patch of status has left alone.
                new = dict(transform(old))
                new["metadata"] = dict(new.get("metadata", {}))
            else:
                new = transform(copy.deepcopy(old) if is_different else self._document(entry, kind, namespace, name))
            try:
                proposed = await self.proposer.update(
                    kind, namespace, name, subresource, new, old, caller, is_unconditional, part
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
                event = await self._store.commit(
                    Write(key, None if is_last_word else to_kept_bytes(proposed), entry.revision)
                )
            except Conflict:
                if undo is not None:
                    undo()
                continue
            if event.entry is None:
                return Written(unstored(to_kept_bytes(proposed), _key(kind, namespace, name), event.revision))
            return Written(self._stored(event.entry, kind, namespace, name))
        raise stale(kind.named, name)

    async def write_pod(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Stored, Cut], None], caller: Caller
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
            cut = cut_of(before)
            change(before, cut)
            value = cut.kept()
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
        report: Report,
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
            glance = Glance(
                user=caller.user, operation=Operation.UPDATE, subresource="status", node=before.view.spec.node_name
            )
            if not self.proposer.is_uncontested(kind, glance):
                return None
            cut = cut_of(before)
            is_changed = self.proposer.reports.write(cut, before.view, report, caller.manager, self._clock.now())
            if not is_changed:
                return None if is_changed is None else before
            try:
                write = Write(key, cut.kept(), entry.revision)
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
            cut = cut_of(before) if kind.storage == PODS else None
            doc = digest_of(cut) if cut is not None else before.document()
            check_preconditions(kind, name, doc, options.preconditions)
            now = self._clock.now()
            if not self.proposer.is_uncontested(kind, Glance(user=caller.user, operation=Operation.DELETE)):
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
                        value = _marked_bytes(marked, cut)
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


def _marked_bytes(marked: Document, cut: Cut | None) -> bytes:
    if cut is None:
        return to_kept_bytes(marked)
    take_digest(cut, marked)
    return cut.kept()


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
