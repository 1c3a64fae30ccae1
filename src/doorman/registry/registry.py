"""The one way anything is written, and how it is read.

`create`, `update` and `delete` run the same steps for every kind: propose (pure: transform, default, admission
mutates, prepare, validate, admission validates), then a compare-and-swap on the store. When somebody else was faster
it is proposed again on what is there now. The answer is given when the write is durable.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from doorman.admission.chain import Chain
from doorman.admission.contract import Attributes, Operation
from doorman.admission.webhooks import Webhooks
from doorman.api.identity import User
from doorman.api.kinds import Kind, Kinds
from doorman.api.managed import ManagedFields, Manager
from doorman.api.schema import DecodeError, Document, Schema
from doorman.api.structural import Structural, fill_defaults
from doorman.base.clock import Clock, Instant
from doorman.base.errors import (
    ApiError,
    already_exists,
    conflict,
    internal,
    invalid,
    invalid_object,
    name_not_generated,
    no_such_resource,
    not_found,
    stale,
)
from doorman.base.instants import to_time
from doorman.base.names import Names
from doorman.registry.cluster_reader import ClusterReader
from doorman.registry.deletion import (
    DeleteOptions,
    Keep,
    Mark,
    Remove,
    check_options,
    check_preconditions,
    decide_delete,
)
from doorman.registry.naming import check_name, drop_repeated_owners, settle_namespace
from doorman.registry.stored import Stored, store_key, to_kept_bytes, unstored
from doorman.registry.strategy import strategy_of
from doorman.registry.watchcache import Collection, WatchCache
from doorman.store.contract import ABSENT, Conflict, Entry, Store, Write
from doorman.validation.defaults import DEFAULTERS
from doorman.validation.structural import custom_validator
from doorman.validation.table import Context, Validator, validator_of

UPDATE_TRIES_MAX: Final = 100
NAME_TRIES_MAX: Final = 8

_SERVER_OWNED: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")

Transform = Callable[[Document], Document]
"""From the stored document to the wished one. It may share members with it, and does not change them."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """On whose behalf something is written."""

    user: User
    manager: str = "unknown"
    is_apply: bool = False
    dry_run: bool = False
    warnings: list[str] | None = None
    """Where admission leaves what it has to say; None: nobody listens."""


class Written(msgspec.Struct, frozen=True):
    stored: Stored
    is_created: bool = False


class Deleted(msgspec.Struct, frozen=True):
    """`is_removed` tells a removal from a mark (a grace period or finalizers keep the object)."""

    stored: Stored
    is_removed: bool


class _NotWritten(Exception):
    """A proposal that changes nothing."""


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
        self._admission = admission
        self._clock = clock
        self._names = names
        self._comparison_operators = comparison_operators
        self._managed = ManagedFields(schema)
        self._cluster = ClusterReader(self)
        self.remote: Webhooks | None = None
        """Who else is asked: set once, by whoever may open connections."""

    # Reading

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        found = self.collection(kind).get(_key(kind, namespace, name))
        if found is None:
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

    # Writing

    async def create(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> Stored:
        """Write a new object. `doc` is structurally clean and belongs to the registry from here on."""
        now = self._clock.now()
        metadata = doc.setdefault("metadata", {})
        self._wipe(kind, namespace, metadata)
        if metadata.get("resourceVersion", "") not in ("", "0"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        metadata.pop("resourceVersion", None)
        drop_repeated_owners(metadata, caller.warnings)
        self._default(kind, doc)
        # Before admission: what the server adds on the way in is nobody's.
        stored_as = self.kinds.stored(kind)
        self._managed.track_create(stored_as, doc, self._manager(caller, "", stored_as), now)
        attributes = self._attributes(kind, namespace, caller, Operation.CREATE, doc, None)
        self._admission.admit(attributes, self._cluster, now)
        if self._is_remote(attributes):
            await self._mutate_remotely(kind, attributes, now)
            metadata = doc["metadata"]
        wants_name = not metadata.get("name") and bool(metadata.get("generateName"))
        for tried in range(1, NAME_TRIES_MAX + 1):
            if wants_name:
                metadata["name"] = self._names.generate(metadata["generateName"])
            try:
                return await self._create(kind, namespace, doc, caller, attributes, now)
            except Conflict as lost:
                if not wants_name:
                    raise self._exists(kind, namespace, metadata["name"], lost.current) from lost
                if tried == NAME_TRIES_MAX:
                    raise name_not_generated(kind.named, metadata["name"]) from lost
        raise AssertionError("the loop returns or raises")

    async def _create(
        self, kind: Kind, namespace: str, doc: Document, caller: Caller, attributes: Attributes, now: Instant
    ) -> Stored:
        metadata = doc["metadata"]
        metadata["uid"] = self._names.uid()
        metadata["creationTimestamp"] = to_time(now)
        strategy_of(kind).create(kind, doc, now)
        errors = self._validator(kind).create(doc, self._context("", kind))
        if errors:
            raise invalid_object(kind.kind, kind.group, metadata.get("name", ""), errors)
        attributes.obj = doc
        attributes.name = metadata["name"]
        self._admission.validate(attributes, self._cluster, now)
        if self.remote is not None and self._is_remote(attributes):
            await self.remote.validate(attributes, self._cluster)
        key = store_key(kind, namespace, metadata["name"])
        if caller.dry_run:
            existing = self._store.peek(key)
            if existing is not None:
                raise Conflict(key, ABSENT, existing)
            return unstored(doc, _key(kind, namespace, metadata["name"]), 0)
        event = await self._store.commit(Write(key, to_kept_bytes(doc), ABSENT))
        assert event.entry is not None
        return self._stored(event.entry, kind, namespace, metadata["name"])

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
    ) -> Written:
        """Change an object by `transform`, again and again until nobody else was faster.

        `create` gives the document to create when the object does not exist. `is_unconditional` says whether the new
        document may come without a resourceVersion: true for patches, which are made upon what is stored.
        """
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                if create is None:
                    raise not_found(kind.named, name)
                return Written(await self.create(kind, namespace, create(), caller), is_created=True)
            old = self._document(entry, kind, namespace, name)
            if subresource == "status":
                # Nothing below changes a member in place that a patch of status has left alone.
                new = dict(transform(old))
                new["metadata"] = dict(new.get("metadata", {}))
            else:
                new = transform(self._document(entry, kind, namespace, name))
            try:
                proposed = await self._propose_update(
                    kind, namespace, name, subresource, new, old, caller, is_unconditional
                )
            except _NotWritten:
                return Written(self._stored(entry, kind, namespace, name))
            if caller.dry_run:
                return Written(unstored(proposed, _key(kind, namespace, name), entry.revision))
            is_last_word = _is_finally_gone(kind, proposed)
            try:
                event = await self._store.commit(
                    Write(key, None if is_last_word else to_kept_bytes(proposed), entry.revision)
                )
            except Conflict:
                continue
            if event.entry is None:
                return Written(unstored(proposed, _key(kind, namespace, name), event.revision))
            return Written(self._stored(event.entry, kind, namespace, name))
        raise stale(kind.named, name)

    async def admit(
        self, kind: Kind, namespace: str, name: str, subresource: str, obj: Document, caller: Caller
    ) -> None:
        """Admission of an object that is posted to a subresource (a binding, an eviction): it may be changed."""
        now = self._clock.now()
        attributes = self._attributes(
            kind, namespace, caller, Operation.CREATE, obj, None, name=name, subresource=subresource
        )
        await self._admit_whole(attributes, now)

    async def write(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        transform: Transform,
        caller: Caller,
    ) -> Stored:
        """Change an object as the server itself does (a binding, an eviction's mark): no defaults, no field owners."""
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                raise not_found(kind.named, name)
            new = transform(self._document(entry, kind, namespace, name))
            if caller.dry_run:
                return unstored(new, _key(kind, namespace, name), entry.revision)
            try:
                event = await self._store.commit(Write(key, to_kept_bytes(new), entry.revision))
            except Conflict:
                continue
            assert event.entry is not None
            return self._stored(event.entry, kind, namespace, name)
        raise stale(kind.named, name)

    async def _propose_update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        subresource: str,
        new: Document,
        old: Document,
        caller: Caller,
        is_unconditional: bool,
    ) -> Document:
        now = self._clock.now()
        metadata, before = new.setdefault("metadata", {}), old["metadata"]
        self._check_identity(kind, namespace, name, metadata, before, is_unconditional)
        drop_repeated_owners(metadata, caller.warnings)
        if subresource != "status":
            self._default(kind, new)
        for field in _SERVER_OWNED:
            if field in before:
                metadata[field] = before[field]
            else:
                metadata.pop(field, None)
        attributes = self._attributes(
            kind, namespace, caller, Operation.UPDATE, new, old, name=name, subresource=subresource
        )
        self._admission.admit(attributes, self._cluster, now)
        is_remote = self._is_remote(attributes)
        if is_remote:
            await self._mutate_remotely(kind, attributes, now)
        strategy_of(kind).for_update(subresource)(kind, new, old, now)
        metadata = new["metadata"]
        metadata["resourceVersion"] = before["resourceVersion"]
        stored_as = self.kinds.stored(kind)
        self._managed.track_update(stored_as, new, old, self._manager(caller, subresource, stored_as), now)
        if new == old:
            raise _NotWritten
        errors = self._validator(kind).update(new, old, self._context(subresource, kind))
        if errors:
            raise invalid_object(kind.kind, kind.group, name, errors)
        attributes.obj = new
        self._admission.validate(attributes, self._cluster, now)
        if is_remote and self.remote is not None:
            await self.remote.validate(attributes, self._cluster)
        return new

    async def delete(self, kind: Kind, namespace: str, name: str, options: DeleteOptions, caller: Caller) -> Deleted:
        check_options(options)
        key = store_key(kind, namespace, name)
        for _ in range(UPDATE_TRIES_MAX):
            entry = self._store.peek(key)
            if entry is None:
                raise not_found(kind.named, name)
            doc = self._document(entry, kind, namespace, name)
            check_preconditions(kind, name, doc, options.preconditions)
            now = self._clock.now()
            attributes = self._attributes(kind, namespace, caller, Operation.DELETE, None, doc, name=name)
            await self._admit_whole(attributes, now)
            outcome = decide_delete(kind, doc, options, now)
            before = self._stored(entry, kind, namespace, name)
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
                        if is_dry:
                            return Deleted(unstored(marked, before.key, entry.revision), is_removed=False)
                        event = await self._store.commit(Write(key, to_kept_bytes(marked), entry.revision))
                        assert event.entry is not None
                        return Deleted(self._stored(event.entry, kind, namespace, name), is_removed=False)
            except Conflict:
                continue
        raise stale(kind.named, name)

    # The steps of a proposal

    def _is_remote(self, attributes: Attributes) -> bool:
        return self.remote is not None and self.remote.is_wanted(attributes, self._cluster)

    async def _mutate_remotely(self, kind: Kind, attributes: Attributes, now: Instant) -> None:
        """Let webhooks change the object, in place; what they made of it is looked at as if a client had sent it."""
        obj = attributes.obj
        if self.remote is None or not await self.remote.mutate(attributes, self._cluster) or obj is None:
            return
        try:
            cleaned, _ = self.schema.clean(obj, self.kinds.stored(kind).type_name)
        except DecodeError as error:
            raise internal(f"a webhook made no {kind.kind} of the object: {error}") from error
        if cleaned is not obj:
            obj.clear()
            obj.update(cleaned)
        self._default(kind, obj)
        self._admission.admit(attributes, self._cluster, now)

    async def _admit_whole(self, attributes: Attributes, now: Instant) -> None:
        """Admission of what has no validation in between."""
        self._admission.admit(attributes, self._cluster, now)
        is_remote = self._is_remote(attributes)
        if is_remote and self.remote is not None:
            await self.remote.mutate(attributes, self._cluster)
        self._admission.validate(attributes, self._cluster, now)
        if is_remote and self.remote is not None:
            await self.remote.validate(attributes, self._cluster)

    def _wipe(self, kind: Kind, namespace: str, metadata: Document) -> None:
        """Members a client cannot choose."""
        for field in (*_SERVER_OWNED, "selfLink"):
            metadata.pop(field, None)
        settle_namespace(kind, namespace, metadata)

    def _default(self, kind: Kind, doc: Document) -> None:
        defaulter = DEFAULTERS.get(kind.storage)
        if defaulter is not None:
            defaulter(doc)
        elif kind.is_custom:
            fill_defaults(doc, self._structural(kind))

    def _validator(self, kind: Kind) -> Validator:
        return custom_validator(self._structural(kind)) if kind.is_custom else validator_of(kind.storage)

    def _structural(self, kind: Kind) -> Structural:
        found = self.schema.structural(kind.type_name)
        if found is None:
            # Its definition was changed or deleted while the request was under way.
            raise no_such_resource()
        return found

    def _check_identity(
        self, kind: Kind, namespace: str, name: str, metadata: Document, before: Document, is_unconditional: bool
    ) -> None:
        check_name(metadata, name)
        settle_namespace(kind, namespace, metadata)
        uid = metadata.get("uid", "")
        if uid and uid != before["uid"]:
            raise conflict(
                kind.named,
                name,
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before['uid']}",
            )
        version = metadata.get("resourceVersion", "")
        if version in ("", "0"):
            if kind.needs_resource_version and not is_unconditional:
                error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
                raise invalid_object(kind.kind, kind.group, name, [error])
        elif not version.isdigit():
            error = invalid(
                "metadata.resourceVersion", version, f'strconv.ParseUint: parsing "{version}": invalid syntax'
            )
            raise invalid_object(kind.kind, kind.group, name, [error])
        elif version != before["resourceVersion"]:
            raise stale(kind.named, name)

    def _attributes(
        self,
        kind: Kind,
        namespace: str,
        caller: Caller,
        operation: Operation,
        obj: Document | None,
        old: Document | None,
        *,
        name: str = "",
        subresource: str = "",
    ) -> Attributes:
        return Attributes(
            operation=operation,
            group=kind.group,
            version=kind.version,
            kind=kind.kind,
            resource=kind.resource,
            subresource=subresource,
            namespace=namespace,
            name=name or (obj or {}).get("metadata", {}).get("name", ""),
            user=caller.user,
            manager=caller.manager,
            dry_run=caller.dry_run,
            warnings=caller.warnings if caller.warnings is not None else [],
            obj=obj,
            old=old,
        )

    def _manager(self, caller: Caller, subresource: str, kind: Kind) -> Manager:
        return Manager(
            name=caller.manager,
            operation="Apply" if caller.is_apply else "Update",
            api_version=kind.group_version,
            subresource=subresource,
        )

    def _context(self, subresource: str, kind: Kind) -> Context:
        return Context(
            comparison_operators=self._comparison_operators, subresource=subresource, group_version=kind.group_version
        )

    def _exists(self, kind: Kind, namespace: str, name: str, current: Entry | None) -> ApiError:
        prefix = ""
        if current is not None and "deletionTimestamp" in self._document(current, kind, namespace, name)["metadata"]:
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
        return self._stored(entry, kind, namespace, name).document()


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
