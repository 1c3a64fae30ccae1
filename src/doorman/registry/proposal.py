"""What is about to be written: from what a client sent to a document that may be stored.

The steps are the same for every kind, in the API's order: what the server owns, defaults, field owners, admission
changes, the kind's own rules, validation, admission looks. Everything but webhooks is synchronous; nothing is written
here.

A new object is proposed in two steps, because its name may be generated, and another one tried: `prepare` does what
does not depend on the name, `named` the rest.
"""

from collections.abc import Hashable, Mapping
from typing import Final

import msgspec

from doorman.admission.plugin_contract import Attributes, ClusterReader, Operation
from doorman.api.kinds import Kind
from doorman.api.patch.managed_fields import Manager
from doorman.api.raw_members import RAW_MEMBERS, to_written
from doorman.api.well_known import JOBS
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError, invalid_object
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.base.loop_turns import in_turn
from doorman.registry.admission.admission_phases import AdmissionPhases
from doorman.registry.admission.admission_reader import AdmissionReader
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.caller import Caller
from doorman.registry.commit import Undo
from doorman.registry.fastpath.create_cache import EVENTS, CachedClaim, CachedCreate, CreateCache, Reads
from doorman.registry.kind_rules import KindRules, Unchanged
from doorman.registry.kinds.job_strategy import forget_selector
from doorman.registry.kinds.service_allocators import SERVICES, ServiceAllocators
from doorman.registry.object_identity import check_identity, check_part_uid, drop_repeated_owners, settle_namespace
from doorman.registry.object_size import kept_within_bounds
from doorman.registry.subresource_object import SubresourceObject
from doorman.semantics.name_syntax import subdomain_faults
from doorman.validation.metadata import validate_metadata
from doorman.validation.warnings import warnings_of

_SERVER_OWNED: Final = frozenset(
    {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
)

_OWNED_REVIEWS: Final = (
    "SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview", "TokenReview",
)  # fmt: skip
"""Of which the answer says who asked for which field."""


class Prepared(msgspec.Struct, kw_only=True):
    """A new object, complete but for its name, its uid and what depends on them."""

    kind: Kind
    now: Instant
    doc: Document = {}
    name: str = ""
    """As the client chose it, or empty."""
    generate_name: str = ""
    cached: CachedCreate | CachedClaim | None = None
    """What became of another one that was the same but for its name."""
    attributes: Attributes | None = None
    cluster: ClusterReader | None = None
    weight_bytes: int = 0
    caller: Caller | None = None
    key: Hashable | None = None
    """Under which it may be remembered, with what admission looked up."""
    reads: Reads | None = None
    warnings_before: int = 0


class NewObject(msgspec.Struct, frozen=True, gc=False):
    """The kept bytes of a new object, and how to give back what it took should it not be stored."""

    value: bytes
    undo: Undo | None = None
    is_bounded: bool = False


class ChangedObject(msgspec.Struct, frozen=True, gc=False):
    """What is to be stored in place of what was, and its kept bytes."""

    doc: Document
    value: bytes


class Proposer:
    def __init__(
        self,
        cluster: AdmissionReader,
        admission: AdmissionPhases,
        rules: KindRules,
        create_cache: CreateCache,
        allocators: ServiceAllocators,
        clock: Clock,
    ) -> None:
        self._cluster = cluster
        self._admission = admission
        self._rules = rules
        self._create_cache = create_cache
        self._allocators = allocators
        self._clock = clock

    def prepared_before(self, kind: Kind, namespace: str, caller: Caller) -> Prepared | None:
        """What the caller has sent, if it was sent before in the same bytes: then it need not be read."""
        found = self._create_cache.find_body(kind, namespace, caller)
        if found is None:
            return None
        cached, prefix = found
        return Prepared(kind=kind, now=self._clock.now(), generate_name=prefix, cached=cached)

    async def prepare(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> Prepared:
        """`doc` is structurally clean and belongs to what is given back from here on."""
        now = self._clock.now()
        metadata = doc.setdefault("metadata", {})
        _drop_server_owned(kind, namespace, metadata, caller)
        drop_repeated_owners(metadata, caller.warnings)
        name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
        key = self._create_cache.key(kind, namespace, doc, caller)
        if key is not None:
            self._create_cache.note_body(kind, namespace, key, doc, caller)
            cached = self._create_cache.find(key)
            if cached is not None:
                return Prepared(kind=kind, doc=doc, now=now, name=name, generate_name=prefix, cached=cached)
        await in_turn(caller.weight_bytes, self._rules.default, kind, doc)
        # Before admission: what the server adds on the way in is nobody's.
        manager = _manager(caller, "", kind)
        await in_turn(caller.weight_bytes, self._rules.managed.track_create, kind, doc, manager, now)
        attributes = self._admission.attributes(kind, namespace, caller, Operation.CREATE, doc, None)
        reads = self._create_cache.reads() if key is not None else None
        cluster: ClusterReader = reads if reads is not None else self._cluster
        warnings_before = len(attributes.warnings)
        self._admission.mutate(attributes, now, cluster)
        if self._admission.is_remote(attributes):
            reads = None
            await self._mutate_remotely(kind, attributes, now)
        return Prepared(
            kind=kind,
            doc=doc,
            now=now,
            name=doc["metadata"].get("name", ""),
            generate_name=doc["metadata"].get("generateName", ""),
            attributes=attributes,
            cluster=cluster,
            weight_bytes=self._rules.weight(kind, caller.weight_bytes),
            caller=caller,
            key=key,
            reads=reads,
            warnings_before=warnings_before,
        )

    async def named(self, prepared: Prepared, name: str, uid: str) -> NewObject:
        """The object under this name. Raises the refusal."""
        if prepared.cached is not None:
            return self._named_from_cache(prepared, prepared.cached, name, uid)
        kind, doc, now, attributes = prepared.kind, prepared.doc, prepared.now, prepared.attributes
        assert attributes is not None, "what is not cached was looked at by admission"
        assert prepared.caller is not None, "and somebody asked for it"
        metadata = doc["metadata"]
        if name:
            metadata["name"] = name
        metadata["uid"] = uid
        metadata["creationTimestamp"] = to_time(now)
        await in_turn(prepared.weight_bytes, self._rules.settle_create, kind, doc, now)
        attributes.warnings.extend(_warned(kind, doc, None))
        attributes.obj, attributes.name = doc, metadata["name"]
        is_remote = self._admission.is_remote(attributes)
        await self._admission.validate(attributes, now, is_remote=is_remote, cluster=prepared.cluster)
        value = await self._kept(kind, doc, prepared.caller, prepared.weight_bytes)
        self._admission.limit(attributes, now, prepared.cluster)
        undo: Undo | None = None
        if kind.storage == SERVICES:
            undo = (await self._allocators.assign(doc, None, is_dry_run=prepared.caller.dry_run)).undo
            value = to_kept_bytes(doc)
        elif kind.storage == JOBS:
            undo = lambda: forget_selector(doc)  # noqa: E731  it is said where it is needed
        if prepared.key is not None and prepared.reads is not None:
            warned = attributes.warnings[prepared.warnings_before :]
            self._create_cache.remember(kind, prepared.key, doc, prepared.reads, attributes, warned)
        return NewObject(value, undo, is_bounded=kind.storage != SERVICES)

    def _named_from_cache(
        self, prepared: Prepared, cached: CachedCreate | CachedClaim, name: str, uid: str
    ) -> NewObject:
        kind, now = prepared.kind, prepared.now
        if isinstance(cached, CachedClaim):
            prepared.doc["metadata"]["name"] = name
            if errors := validate_metadata(prepared.doc):
                raise invalid_object(kind.kind, kind.group, name, errors)
            return NewObject(cached.value(uid, to_time(now), prepared.doc["metadata"]))
        if kind.storage == EVENTS:
            # Admission and field owners are known; what an event says is its own.
            self._rules.settle_create(kind, prepared.doc, now)
            return NewObject(cached.value(name, uid, to_time(now), prepared.doc))
        # A generated one is as good as what it was generated from, which the first of its kind had too.
        if prepared.name and subdomain_faults(name):
            raise invalid_object(kind.kind, kind.group, name, validate_metadata({"metadata": {"name": name}}))
        # The first one had room, and the create cache keeps nothing that is large.
        return NewObject(cached.value(name, uid, to_time(now)), is_bounded=True)

    def owners(self, kind: Kind, doc: Document, caller: Caller) -> Document:
        """Who would own which field of a review, as a part of its metadata."""
        if kind.kind not in _OWNED_REVIEWS:
            return {}
        new = {**doc, "metadata": dict(doc.get("metadata") or {})}
        self._rules.managed.track_create(kind, new, _manager(caller, "", kind), self._clock.now())
        return {name: new["metadata"][name] for name in ("managedFields",) if name in new["metadata"]}

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
    ) -> ChangedObject:
        """What is to be stored in place of `old`. Raises `Unchanged` when that is the same."""
        now = self._clock.now()
        asked_for = subresource if part is None else part.subresource
        metadata, before = new.setdefault("metadata", {}), old["metadata"]
        is_patched = (caller.options or {}).get("kind") == "PatchOptions"
        if part is not None and is_patched:
            check_part_uid(kind, part.subresource, name, metadata, before)
        check_identity(
            kind, namespace, name, metadata, before, is_unconditional=is_unconditional, is_patched=is_patched
        )
        drop_repeated_owners(metadata, caller.warnings, is_patched=is_patched)
        if subresource != "status":
            await in_turn(weight_bytes, self._rules.default, kind, new, old)
        else:
            self._rules.default_status(kind, new, old)
        _keep_server_owned(metadata, before)
        seen = (new, old) if part is None else (part.show(new), part.show(old))
        attributes = self._admission.attributes(
            kind, namespace, caller, Operation.UPDATE, *seen, name=name, subresource=asked_for
        )
        self._admission.mutate(attributes, now)
        is_remote = self._admission.is_remote(attributes)
        if is_remote:
            await self._mutate_remotely(kind, attributes, now, part)
        if part is not None:
            new = part.put(new, seen[0])
        weight = self._rules.weight(kind, weight_bytes)
        manager = _manager(caller, asked_for, kind)
        try:
            await in_turn(weight, self._rules.settle_update, kind, name, subresource, new, old, manager, now)
        except Unchanged:
            attributes.warnings.extend(() if subresource else _warned(kind, new, old))
            raise
        if not subresource:
            attributes.warnings.extend(_warned(kind, new, old))
        attributes.obj = new if part is None else part.show(new)
        await self._admission.validate(attributes, now, is_remote=is_remote)
        value = await self._kept(kind, new, caller, weight)
        self._admission.limit(attributes, now)
        return ChangedObject(new, value)

    async def _kept(self, kind: Kind, doc: Document, caller: Caller, weight_bytes: int) -> bytes:
        """The bytes to be stored. Before there is known to be room for them: nobody is waited for after that."""
        if kind.storage in RAW_MEMBERS:
            doc = to_written(kind.storage, doc)
        if caller.dry_run:
            return await in_turn(weight_bytes, to_kept_bytes, doc)
        return await in_turn(weight_bytes, kept_within_bounds, kind, doc, is_apply=caller.is_apply)

    async def admit(
        self, kind: Kind, namespace: str, name: str, subresource: str, obj: Document, caller: Caller
    ) -> None:
        """Admission of an object that is posted to a subresource (a binding, an eviction): it may be changed."""
        attributes = self._admission.attributes(
            kind, namespace, caller, Operation.CREATE, obj, None, name=name, subresource=subresource
        )
        await self._admission.admit(attributes, self._clock.now())

    async def admit_delete(self, kind: Kind, namespace: str, name: str, doc: Document, caller: Caller) -> None:
        attributes = self._admission.attributes(kind, namespace, caller, Operation.DELETE, None, doc, name=name)
        await self._admission.admit(attributes, self._clock.now())

    async def _mutate_remotely(
        self, kind: Kind, attributes: Attributes, now: Instant, part: SubresourceObject | None = None
    ) -> None:
        """Let webhooks change the object, in place; what they made of it goes through admission again."""
        if not await self._admission.mutate_remotely(attributes) or attributes.obj is None:
            return
        self._rules.take_back(kind, attributes.obj, part)
        self._admission.mutate(attributes, now)


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
