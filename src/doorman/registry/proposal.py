"""What is about to be written: from what a client sent to a document that may be stored.

The steps are the same for every kind, in the API's order: what the server owns, defaults, field owners, admission
changes, the kind's own rules, validation, admission looks. Everything but webhooks is synchronous; nothing is written
here.

A new object is proposed in two steps, because its name may be generated, and another one tried: `prepare` does what
does not depend on the name, `named` the rest.
"""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Final

from doorman.admission.plugin_contract import Attributes, ClusterReader, Operation
from doorman.api.kinds import Kind
from doorman.api.patch.managed_fields import Manager
from doorman.api.raw_members import RAW_MEMBERS, to_written
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError
from doorman.base.go_format import with_go_numbers
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.base.loop_turns import in_turn
from doorman.registry.admission.admission_phases import AdmissionPhases
from doorman.registry.admission.admission_reader import AdmissionReader
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.caller import Caller
from doorman.registry.commit import ProposedObject
from doorman.registry.deletion import is_finally_gone
from doorman.registry.fastpath.create_cache import CachedNewObject, CreateCache, RecordedReads
from doorman.registry.kind_rules import KindRules, Unchanged
from doorman.registry.kinds.quota_claims import QuotaClaim, QuotaClaims, QuotaUsed
from doorman.registry.object_identity import check_identity, check_part_uid, drop_repeated_owners, settle_namespace
from doorman.registry.object_size import kept_within_bounds
from doorman.registry.strategies import strategy_of
from doorman.registry.strategy import KindAllocator
from doorman.registry.write_target import NewObject, SubresourceObject, WriteTarget
from doorman.validation.warnings import warnings_of

_SERVER_OWNED: Final = frozenset(
    {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
)

_OWNED_REVIEWS: Final = (
    "SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview", "TokenReview",
)  # fmt: skip
"""Of which the answer says who asked for which field."""


class AdmittedNewObject(NewObject, kw_only=True):
    """One that has gone through defaults and mutating admission."""

    attributes: Attributes
    cluster: ClusterReader
    weight_bytes: int
    caller: Caller
    cache_key: Hashable | None
    """Under which it may be remembered, with what admission looked up."""
    reads: RecordedReads | None
    warnings_before: int


class Proposer:
    def __init__(
        self,
        cluster: AdmissionReader,
        admission: AdmissionPhases,
        rules: KindRules,
        create_cache: CreateCache,
        allocators: Mapping[str, KindAllocator],
        clock: Clock,
        quota_claims: QuotaClaims | None,
    ) -> None:
        """`allocators` are by the storage of kinds; `quota_claims` are made where others give out room as well."""
        self._quota_claims = quota_claims
        self._cluster = cluster
        self._admission = admission
        self._rules = rules
        self._create_cache = create_cache
        self._allocators = allocators
        self._clock = clock

    async def prepare(
        self, kind: Kind, namespace: str, doc: Document, caller: Caller
    ) -> AdmittedNewObject | CachedNewObject:
        """`doc` is structurally clean and belongs to what is given back from here on."""
        now = self._clock.now()
        metadata = doc.setdefault("metadata", {})
        _drop_server_owned(kind, namespace, metadata, caller)
        drop_repeated_owners(metadata, caller.warnings)
        name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
        key = self._create_cache.key(kind, namespace, doc, caller)
        if key is not None:
            self._create_cache.remember_body(kind, namespace, key, doc, caller)
            cached = self._create_cache.find(key)
            if cached is not None:
                return CachedNewObject(kind=kind, doc=doc, now=now, name=name, generate_name=prefix, cached=cached)
        await in_turn(caller.weight_bytes, self._rules.default, kind, doc, now)
        # Before admission: what the server adds on the way in is nobody's.
        manager = _manager(caller, "", kind)
        await in_turn(caller.weight_bytes, self._rules.managed.track_create, kind, doc, manager, now)
        attributes = self._admission.attributes(WriteTarget(kind, namespace, ""), caller, Operation.CREATE, doc, None)
        reads = self._create_cache.reads() if key is not None else None
        cluster: ClusterReader = reads if reads is not None else self._cluster
        warnings_before = len(attributes.warnings)
        self._admission.mutate(attributes, now, cluster)
        if self._admission.is_remote(attributes):
            reads = None
            await self._mutate_remotely(kind, attributes, now)
        return AdmittedNewObject(
            kind=kind,
            doc=doc,
            now=now,
            name=doc["metadata"].get("name", ""),
            generate_name=doc["metadata"].get("generateName", ""),
            attributes=attributes,
            cluster=cluster,
            weight_bytes=self._rules.weight(kind, caller.weight_bytes),
            caller=caller,
            cache_key=key,
            reads=reads,
            warnings_before=warnings_before,
        )

    async def named(self, new: AdmittedNewObject, name: str, uid: str) -> ProposedObject:
        """The object under this name. Raises the refusal."""
        kind, doc, now, attributes, caller = new.kind, new.doc, new.now, new.attributes, new.caller
        metadata = doc["metadata"]
        if name:
            metadata["name"] = name
        metadata["uid"] = uid
        metadata["creationTimestamp"] = to_time(now)
        await in_turn(new.weight_bytes, self._rules.before_create, kind, doc, now)
        attributes.warnings.extend(_warned(kind, doc, None))
        attributes.obj, attributes.name = doc, metadata["name"]
        is_remote = self._admission.is_remote(attributes)
        await self._admission.validate(attributes, now, is_remote=is_remote, cluster=new.cluster)
        value = await self._kept(kind, doc, caller, new.weight_bytes)
        claim = self._limited(attributes, now, new.cluster)
        if new.cache_key is not None and new.reads is not None and claim is None:
            warned = attributes.warnings[new.warnings_before :]
            self._create_cache.remember(kind, new.cache_key, doc, new.reads, attributes, warned)
        allocator = self._allocators.get(kind.storage)
        if allocator is not None:
            return await _allocated(allocator, doc, None, caller, claim)
        undo = strategy_of(kind).undo_create
        return ProposedObject(value, doc, on_abort=None if undo is None else partial(undo, doc), claim=claim)

    def owners(self, kind: Kind, doc: Document, caller: Caller) -> Document:
        """Who would own which field of a review, as a part of its metadata."""
        if kind.kind not in _OWNED_REVIEWS:
            return {}
        new = {**doc, "metadata": dict(doc.get("metadata") or {})}
        self._rules.managed.track_create(kind, new, _manager(caller, "", kind), self._clock.now())
        return {name: new["metadata"][name] for name in ("managedFields",) if name in new["metadata"]}

    async def update(
        self,
        target: WriteTarget,
        new: Document,
        old: Document,
        caller: Caller,
        *,
        is_unconditional: bool = True,
        weight_bytes: int = 0,
    ) -> ProposedObject:
        """What is to be stored in place of `old`. Raises `Unchanged` when that is the same."""
        now = self._clock.now()
        kind, subresource, part = target.kind, target.subresource, target.part
        metadata, before = new.setdefault("metadata", {}), old["metadata"]
        is_patched = (caller.options or {}).get("kind") == "PatchOptions"
        if part is not None and is_patched:
            check_part_uid(target, metadata, before)
        check_identity(target, metadata, before, is_unconditional=is_unconditional, is_patched=is_patched)
        drop_repeated_owners(metadata, caller.warnings, is_patched=is_patched)
        if subresource != "status":
            await in_turn(weight_bytes, self._rules.default, kind, new, now, old)
        else:
            self._rules.default_status(kind, new, now, old)
        _keep_server_owned(metadata, before)
        seen = (new, old) if part is None else (part.show(new), part.show(old))
        attributes = self._admission.attributes(target, caller, Operation.UPDATE, *seen)
        self._admission.mutate(attributes, now)
        is_remote = self._admission.is_remote(attributes)
        if is_remote:
            await self._mutate_remotely(kind, attributes, now, part)
        if part is not None:
            new = part.put(new, seen[0])
        weight = self._rules.weight(kind, weight_bytes)
        manager = _manager(caller, target.endpoint, kind)
        try:
            await in_turn(weight, self._rules.before_update, target, new, old, manager, now)
        except Unchanged:
            attributes.warnings.extend(() if subresource else _warned(kind, new, old))
            raise
        attributes.warnings.extend(() if subresource else _warned(kind, new, old))
        attributes.obj = new if part is None else part.show(new)
        await self._admission.validate(attributes, now, is_remote=is_remote)
        value = await self._kept(kind, new, caller, weight)
        claim = self._limited(attributes, now, self._cluster)
        allocator = self._allocators.get(kind.storage)
        if allocator is not None and not subresource and not is_finally_gone(kind, new):
            return await _allocated(allocator, new, old, caller, claim)
        return ProposedObject(value, new, claim=claim)

    def _limited(self, attributes: Attributes, now: Instant, cluster: ClusterReader) -> QuotaClaim | None:
        """Whether there is room for it is found out at once or, where others give out the same room, with the write."""
        claims, namespace = self._quota_claims, attributes.namespace
        if claims is None or attributes.dry_run or not claims.has_quotas(namespace):
            self._admission.limit(attributes, now, cluster)
            return None

        attributes.is_quota_shared = True

        def limit() -> QuotaUsed:
            self._admission.limit(attributes, now, cluster)
            return attributes.quota_used

        try:
            used = limit()
        except ApiError:
            used = None  # what there was room for may have been given back: it counts when that is known
        return None if used is not None and not used else partial(claims.claim, namespace, limit)

    async def _kept(self, kind: Kind, doc: Document, caller: Caller, weight_bytes: int) -> bytes:
        """The bytes to be stored. Before there is known to be room for them: nobody is waited for after that."""
        if kind.storage in RAW_MEMBERS:
            doc = to_written(kind.storage, doc)
        elif kind.is_custom:
            doc = await in_turn(weight_bytes, with_go_numbers, doc)
        if caller.dry_run:
            return await in_turn(weight_bytes, to_kept_bytes, doc)
        return await in_turn(weight_bytes, kept_within_bounds, kind, doc, is_apply=caller.is_apply)

    async def admit(self, target: WriteTarget, obj: Document, caller: Caller) -> None:
        """Admission of an object that is posted to a subresource (a binding, an eviction): it may be changed."""
        attributes = self._admission.attributes(target, caller, Operation.CREATE, obj, None)
        await self._admission.admit(attributes, self._clock.now())

    async def admit_delete(self, target: WriteTarget, doc: Document, caller: Caller) -> None:
        attributes = self._admission.attributes(target, caller, Operation.DELETE, None, doc)
        await self._admission.admit(attributes, self._clock.now())

    async def _mutate_remotely(
        self, kind: Kind, attributes: Attributes, now: Instant, part: SubresourceObject | None = None
    ) -> None:
        """Let webhooks change the object, in place; what they made of it goes through admission again."""
        if not await self._admission.mutate_remotely(attributes) or attributes.obj is None:
            return
        self._rules.clean_after_webhooks(kind, attributes.obj, now, part)
        self._admission.mutate(attributes, now)


async def _allocated(
    allocator: KindAllocator, new: Document, old: Document | None, caller: Caller, claim: QuotaClaim | None
) -> ProposedObject:
    assigned = await allocator.assign(new, old, is_dry_run=caller.dry_run)
    on_abort, after_commit = assigned.on_abort, assigned.after_commit
    return ProposedObject(to_kept_bytes(new), new, on_abort, after_commit, is_bounded=False, claim=claim)


def _warned(kind: Kind, doc: Document, old: Document | None) -> list[str]:
    return warnings_of(kind.storage, doc, old, is_custom=kind.is_custom)


def _manager(caller: Caller, subresource: str, kind: Kind) -> Manager:
    return Manager(
        name=caller.manager,
        operation="Apply" if caller.is_apply else "Update",
        api_version=kind.group_version,
        subresource=subresource,
    )


def _drop_server_owned(kind: Kind, namespace: str, metadata: Document, caller: Caller) -> None:
    """Members that a client cannot choose."""
    for field in _SERVER_OWNED & metadata.keys():
        del metadata[field]
    settle_namespace(kind, namespace, metadata)
    version = metadata.pop("resourceVersion", "")
    if version.isdigit() and version.strip("0") and not caller.dry_run:  # what is no number is passed over
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")


def _keep_server_owned(metadata: Document, before: Mapping[str, object]) -> None:
    """What a client left out, or cannot change by any means, is as it was; validation tells what it tried to change."""
    if not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    for field in ("generation", "creationTimestamp"):
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
