"""What is about to be written: from a wish to a document that may be stored.

The steps are the same for every kind, in the API's order: what the server owns, defaults, field owners, admission
changes, the kind's own rules, validation, admission looks. Everything but webhooks is synchronous; nothing is written
here.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

import msgspec

from doorman.admission.chain import Chain
from doorman.admission.plugin_contract import Attributes, ClusterReader, Operation, RequestPreview
from doorman.admission.policies.policy_params import prepare_all_params
from doorman.admission.request_versions import prepare
from doorman.admission.webhooks.webhook_dispatch import Webhooks
from doorman.api.identity import User
from doorman.api.kinds import Kind, Kinds
from doorman.api.machinery.schema import DecodeError, Document, Schema
from doorman.api.machinery.structural_schema import Structural, TooMuch, fill_defaults
from doorman.api.patch.managed_fields import ManagedFields, Manager
from doorman.api.views.admissionregistration import BINDINGS, MUTATING, MUTATING_BINDINGS, MUTATING_POLICIES, VALIDATING
from doorman.base.bounds import CEL_COST_MAX, MADE_BYTES_MAX
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError, internal, invalid_object, no_such_resource
from doorman.base.instants import to_time
from doorman.base.loop_turns import in_turn
from doorman.registry.admission_versions import FormsOf
from doorman.registry.cache.admission_reader import AdmissionReader
from doorman.registry.custom.custom_versions import CustomVersions
from doorman.registry.fastpath.create_cache import EVENTS, CreateCache, Reads
from doorman.registry.fastpath.new_object import CachedEvent, CachedObject, NewObject, ProposedObject
from doorman.registry.fastpath.pod_status import StatusPatches
from doorman.registry.kinds.service_allocators import ServiceAllocators
from doorman.registry.object_identity import check_identity, drop_repeated_owners, settle_namespace
from doorman.registry.object_size import too_large_to_store
from doorman.registry.strategies import strategy_of
from doorman.registry.subresource_object import SubresourceObject
from doorman.validation.apiextensions.structural import custom_validator
from doorman.validation.defaults import DEFAULTERS, WITH_STATUS_DEFAULTS
from doorman.validation.validators import Context, Validator, validator_of
from doorman.validation.warnings import warnings_of

_SERVER_OWNED: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")

_OWNED_REVIEWS: Final = ("SubjectAccessReview", "SelfSubjectAccessReview")
"""Of which the answer says who asked for which field."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """On whose behalf something is written."""

    user: User
    manager: str = "unknown"
    is_apply: bool = False
    dry_run: bool = False
    warnings: list[str] | None = None
    """Where admission leaves what it has to say; None: nobody listens."""
    annotations: dict[str, str] | None = None
    """Where it leaves what the audit log is to be told."""
    options: Mapping[str, Any] | None = None  # CreateOptions, UpdateOptions, PatchOptions or DeleteOptions as JSON
    weight_bytes: int = 0
    """About how much work what was sent is (`doorman.base.loop_turns`)."""


class Unchanged(Exception):
    """A proposal that changes nothing."""


class Proposer:
    def __init__(
        self,
        cluster: AdmissionReader,
        numbers: ServiceAllocators,
        versions: CustomVersions,
        *,
        kinds: Kinds,
        schema: Schema,
        admission: Chain,
        clock: Clock,
        comparison_operators: bool,
        suffix: Callable[[], str],
    ) -> None:
        self._cluster = cluster
        self.numbers = numbers
        self._kinds = kinds
        self._schema = schema
        self._admission = admission
        self._clock = clock
        self._comparison_operators = comparison_operators
        self._managed = ManagedFields(schema, kinds)
        self.reports = StatusPatches(self._managed.walker)
        self._alike = CreateCache(cluster, suffix)
        self._forms = FormsOf(kinds, versions)
        self.remote: Webhooks | None = None
        """Who else is asked: set once, by whoever may open connections."""

    async def create(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> NewObject:
        """`doc` is structurally clean and belongs to the draft from here on."""
        now = self._clock.now()
        metadata = doc.setdefault("metadata", {})
        self._wipe(kind, namespace, metadata)
        version = metadata.get("resourceVersion", "")
        if version.isdigit() and version.strip("0") and not caller.dry_run:  # what is no number is passed over
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        metadata.pop("resourceVersion", None)
        drop_repeated_owners(metadata, caller.warnings)
        key = None
        if not caller.is_apply:
            key = self._alike.key(kind, namespace, doc, caller.user, caller.manager)
            pattern = self._alike.find(key) if key is not None else None
            if pattern is not None:
                if kind.storage == EVENTS:
                    return CachedEvent(self, kind, doc, pattern, now)
                return CachedObject(kind, metadata, pattern, to_time(now))
        await in_turn(caller.weight_bytes, self._default, kind, doc)
        # Before admission: what the server adds on the way in is nobody's.
        manager = self._manager(caller, "", kind)
        await in_turn(caller.weight_bytes, self._managed.track_create, kind, doc, manager, now)
        attributes = self._attributes(kind, namespace, caller, Operation.CREATE, doc, None)
        cluster: ClusterReader = self._cluster
        reads = None
        if key is not None:
            cluster = reads = Reads(self._cluster)
            for resource in (MUTATING, VALIDATING, MUTATING_POLICIES, MUTATING_BINDINGS):
                reads.list(resource)
        told = len(attributes.warnings)
        self._admission.admit(attributes, cluster, now)
        if self._is_remote(attributes):
            reads = None
            await self._mutate_remotely(kind, attributes, now)
        fresh = ProposedObject(
            self, kind, doc, attributes, cluster, now, weight_bytes=self._weight(kind, caller.weight_bytes)
        )
        if key is not None and reads is not None:
            fresh.after = lambda: self._remember(key, doc, reads, attributes, told)
        return fresh

    def _remember(self, key: Hashable, doc: Document, reads: Reads, attributes: Attributes, told: int) -> None:
        if not attributes.is_particular and len(attributes.warnings) == told:
            self._alike.remember(key, doc, reads, attributes.drawn)

    def owners(self, kind: Kind, doc: Document, caller: Caller) -> Document:
        """Who would own which field of a review, as a part of its metadata."""
        if kind.kind not in _OWNED_REVIEWS:
            return {}
        new = {**doc, "metadata": dict(doc.get("metadata") or {})}
        self._managed.track_create(kind, new, self._manager(caller, "", kind), self._clock.now())
        return {name: new["metadata"][name] for name in ("managedFields",) if name in new["metadata"]}

    def settle(self, kind: Kind, doc: Document, now: Instant) -> None:
        """The last changes of a new object, which has its name now, and whether it is valid."""
        strategy_of(kind).create(kind, doc, now)
        self._schema.complete_head(doc, self._kinds.stored(kind).type_name)
        errors = self._validator(kind).create(doc, self._context("", kind))
        if errors:
            raise invalid_object(kind.kind, self._kinds.stored(kind).group, doc["metadata"].get("name", ""), errors)

    def _settle_update(
        self, kind: Kind, name: str, subresource: str, new: Document, old: Document, manager: Manager, now: Instant
    ) -> None:
        """The same of an object that is changed. Raises `Unchanged` when it is not."""
        strategy_of(kind).for_update(subresource)(kind, new, old, now)
        self._schema.complete_head(new, self._kinds.stored(kind).type_name)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        self._managed.track_update(kind, new, old, manager, now)
        if new == old:
            raise Unchanged
        errors = self._validator(kind).update(new, old, self._context(subresource, kind))
        if errors:
            raise invalid_object(kind.kind, self._kinds.stored(kind).group, name, errors)

    async def check(self, attributes: Attributes, doc: Document, cluster: ClusterReader, now: Instant) -> None:
        """Whether anybody objects to what is to be stored, and then whether there is room for it."""
        attributes.obj = doc
        attributes.name = doc["metadata"]["name"]
        await self._validate(attributes, cluster, now, is_remote=self._is_remote(attributes))
        self._admission.limit(attributes, cluster, now)

    async def _validate(self, attributes: Attributes, cluster: ClusterReader, now: Instant, *, is_remote: bool) -> None:
        if self._cluster.list(BINDINGS):
            await prepare_all_params(attributes, self._cluster)
            if attributes.forms is not None:
                await prepare(attributes)
        self._admission.validate(attributes, cluster, now)
        if is_remote and self.remote is not None:
            await self.remote.validate(attributes, self._cluster)

    async def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        subresource: str,
        new: Document,
        old: Document,
        caller: Caller,
        is_unconditional: bool,
        part: SubresourceObject | None = None,
        weight_bytes: int = 0,
    ) -> Document:
        """The document to be stored in place of `old`. Raises `Unchanged` when that is the same."""
        now = self._clock.now()
        asked_for = subresource if part is None else part.subresource
        metadata, before = new.setdefault("metadata", {}), old["metadata"]
        check_identity(kind, namespace, name, metadata, before, is_unconditional=is_unconditional)
        is_patched = (caller.options or {}).get("kind") == "PatchOptions"
        drop_repeated_owners(metadata, caller.warnings, is_patched=is_patched)
        if subresource != "status":
            await in_turn(weight_bytes, self._default, kind, new)
        else:
            self._schema.complete(new, self._kinds.stored(kind).type_name)
            if kind.storage in WITH_STATUS_DEFAULTS:
                self._default(kind, new)
        _keep_server_owned(metadata, before)
        seen = (new, old) if part is None else (part.show(new), part.show(old))
        attributes = self._attributes(
            kind, namespace, caller, Operation.UPDATE, *seen, name=name, subresource=asked_for
        )
        self._admission.admit(attributes, self._cluster, now)
        is_remote = self._is_remote(attributes)
        if is_remote:
            await self._mutate_remotely(kind, attributes, now, part)
        if part is not None:
            new = part.put(new, seen[0])
        manager = self._manager(caller, asked_for, kind)
        await in_turn(
            self._weight(kind, weight_bytes), self._settle_update, kind, name, subresource, new, old, manager, now
        )
        if not subresource:
            attributes.warnings.extend(warnings_of(kind.storage, new, old))
        attributes.obj = new if part is None else part.show(new)
        await self._validate(attributes, self._cluster, now, is_remote=is_remote)
        self._admission.limit(attributes, self._cluster, now)
        return new

    async def admit(
        self, kind: Kind, namespace: str, name: str, subresource: str, obj: Document, caller: Caller
    ) -> None:
        """Admission of an object that is posted to a subresource (a binding, an eviction): it may be changed."""
        attributes = self._attributes(
            kind, namespace, caller, Operation.CREATE, obj, None, name=name, subresource=subresource
        )
        await self._admit_whole(attributes, self._clock.now())

    async def admit_delete(self, kind: Kind, namespace: str, name: str, doc: Document, caller: Caller) -> None:
        attributes = self._attributes(kind, namespace, caller, Operation.DELETE, None, doc, name=name)
        await self._admit_whole(attributes, self._clock.now())

    def is_uncontested(self, kind: Kind, preview: RequestPreview) -> bool:
        """Whether admission has nothing to say to such a write, whatever is written."""
        if self.remote is not None and not self.remote.is_idle(self._cluster):
            return False
        return self._admission.is_idle(kind.group_resource, preview, self._cluster)

    def _is_remote(self, attributes: Attributes) -> bool:
        return self.remote is not None and self.remote.is_wanted(attributes, self._cluster)

    async def _mutate_remotely(
        self, kind: Kind, attributes: Attributes, now: Instant, part: SubresourceObject | None = None
    ) -> None:
        """Let webhooks change the object, in place; what they made of it is looked at as if a client had sent it."""
        obj = attributes.obj
        if self.remote is None or not await self.remote.mutate(attributes, self._cluster) or obj is None:
            return
        try:
            type_name = self._kinds.stored(kind).type_name if part is None else part.type_name
            cleaned, _ = self._schema.clean(obj, type_name)
        except DecodeError as error:
            raise internal(f"a webhook made no {kind.kind} of the object: {error}") from error
        if cleaned is not obj:
            obj.clear()
            obj.update(cleaned)
        if part is None:
            self._default(kind, obj)
        self._admission.admit(attributes, self._cluster, now)

    async def _admit_whole(self, attributes: Attributes, now: Instant) -> None:
        """Admission of what has no validation in between."""
        self._admission.admit(attributes, self._cluster, now)
        is_remote = self._is_remote(attributes)
        if is_remote and self.remote is not None:
            await self.remote.mutate(attributes, self._cluster)
        await self._validate(attributes, self._cluster, now, is_remote=is_remote)

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
            try:
                fill_defaults(doc, self._structural(kind))
            except TooMuch as error:
                raise too_large_to_store(MADE_BYTES_MAX) from error
        self._schema.complete(doc, self._kinds.stored(kind).type_name)

    def _weight(self, kind: Kind, weight_bytes: int) -> int:
        """Of the checks of an object: rules in CEL may take up to their budget, however small the object is."""
        found = self._schema.structural(kind.type_name) if kind.is_custom else None
        return CEL_COST_MAX if found is not None and found.has_rules else weight_bytes

    def _validator(self, kind: Kind) -> Validator:
        return custom_validator(self._structural(kind)) if kind.is_custom else validator_of(kind.storage)

    def _structural(self, kind: Kind) -> Structural:
        found = self._schema.structural(kind.type_name)
        if found is None:
            # Its definition was changed or deleted while the request was under way.
            raise no_such_resource()
        return found

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
        named = self._forms.of(kind, subresource)
        return Attributes(
            operation=operation,
            group=kind.group,
            version=kind.version,
            kind=named.kind,
            kind_version=named.kind_version,
            forms=named.forms,
            resource=kind.resource,
            subresource=subresource,
            namespace=namespace,
            name=name or (obj or {}).get("metadata", {}).get("name", ""),
            user=caller.user,
            manager=caller.manager,
            dry_run=caller.dry_run,
            warnings=caller.warnings if caller.warnings is not None else [],
            options=caller.options,
            annotations=caller.annotations if caller.annotations is not None else {},
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


def _keep_server_owned(metadata: Document, before: Document) -> None:
    """What a client left out, or cannot change by any means, is as it was; validation tells what it tried to change."""
    for field in ("uid", "generation", "creationTimestamp"):
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)
    for field in ("deletionGracePeriodSeconds",):
        if field in before:
            metadata.setdefault(field, before[field])
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
