"""garbage-collector-controller: objects go with their owners.

It reads the metadata of every kind. What becomes of an object with owner references follows from what its owners are:

1. solid: the owner is there, with the same uid (or nothing is known about its kind);
2. waiting: it is there, being deleted in the foreground, and the reference blocks that;
3. dangling: it is gone.

With a solid owner the object stays and loses its other references. Without one it is deleted: in the foreground when an
owner waits and the object has dependents of its own, else as its own finalizers say, else in the background.
An owner that is deleted in the foreground goes when no dependent blocks it any more; one that leaves orphans goes when
none refers to it.

Owners may go in a circle: then each would wait for the others. An object that waits, directly or by others, for what it
owns itself no longer blocks that owner, which goes and takes the rest with it.

An owner that is merely not in the cache is asked for before anything is deleted: an empty patch of it with the expected
uid fails exactly when it is gone.

Keys: `object/<resource>/<namespace>/<name>`, `owner/<uid>` (look at its dependents) and
`verify/<uid>/<resource>/<namespace>/<name>`; the namespace is empty for objects of the cluster.
"""

import bisect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.kinds import Kinds
from doorman.api.views.meta import Object, ObjectMeta, OwnerReference
from doorman.api.views.object_indexes import BY_OWNER
from doorman.api.well_known import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.client.actions import Action, Delete, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Retry, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "garbage-collector-controller"
WORKERS: Final = 20
IGNORED: Final = frozenset({"events", "events.events.k8s.io"})
VERIFY_RETRY: Final = Retry(attempts_max=1)
LOOK_AGAIN_SECONDS: Final = (0.1, 1.0, 5.0, 30.0)
"""After so long an object whose owner is being asked for is looked at again."""
GONE_UIDS_MAX: Final = 100_000


class OwnerKind(msgspec.Struct, frozen=True):
    resource: str
    namespaced: bool


FindKind = Callable[[str, str], OwnerKind | None]
"""From `apiVersion` and `kind` of a reference; None when the kind is not known."""


class Owners(msgspec.Struct, frozen=True, kw_only=True):
    """The owner references of one object, sorted by what they refer to."""

    solid: tuple[OwnerReference, ...] = ()
    waiting: tuple[OwnerReference, ...] = ()
    dangling: tuple[OwnerReference, ...] = ()


def kind_finder(kinds: Kinds) -> FindKind:
    def find(api_version: str, kind: str) -> OwnerKind | None:
        group, _, version = api_version.rpartition("/")
        found = kinds.of_kind(group, version, kind)
        return OwnerKind(found.group_resource, found.namespaced) if found is not None else None

    return find


def decide_dependent(resource: str, meta: ObjectMeta, owners: Owners, *, has_dependents: bool) -> Delete | Patch | None:
    """What becomes of an object, by its owners."""
    if owners.solid:
        superfluous = (*owners.dangling, *owners.waiting)
        return remove_references(resource, meta, [owner.uid for owner in superfluous]) if superfluous else None
    if meta.deletion_timestamp or not (owners.waiting or owners.dangling):
        return None
    if owners.waiting and has_dependents:
        policy = "Foreground"
    elif ORPHAN_FINALIZER in meta.finalizers:
        policy = "Orphan"
    elif FOREGROUND_FINALIZER in meta.finalizers:
        policy = "Foreground"
    else:
        policy = "Background"
    return Delete(
        resource=resource,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        propagation=policy,
    )


def decide_owner(resource: str, meta: ObjectMeta, dependents: Sequence[tuple[str, ObjectMeta]]) -> list[Action]:
    """What an owner that is being deleted needs to go."""
    if not meta.deletion_timestamp:
        return []
    if ORPHAN_FINALIZER in meta.finalizers:
        released: list[Action] = [remove_references(kind, dependent, [meta.uid]) for kind, dependent in dependents]
        return [*released, remove_finalizer(resource, meta, ORPHAN_FINALIZER)]
    if FOREGROUND_FINALIZER in meta.finalizers and not any(_blocks(dependent, meta.uid) for _, dependent in dependents):
        return [remove_finalizer(resource, meta, FOREGROUND_FINALIZER)]
    return []


def remove_references(resource: str, meta: ObjectMeta, uids: Sequence[str]) -> Patch:
    references = [{"$patch": "delete", "uid": uid} for uid in uids]
    body = {"metadata": {"uid": meta.uid, "ownerReferences": references}}
    return Patch(resource=resource, namespace=meta.namespace, name=meta.name, body=body)


def unblock_owners(resource: str, meta: ObjectMeta, uids: Sequence[str]) -> Patch:
    references = [{"uid": uid, "blockOwnerDeletion": False} for uid in uids]
    body = {"metadata": {"uid": meta.uid, "ownerReferences": references}}
    return Patch(resource=resource, namespace=meta.namespace, name=meta.name, body=body)


def remove_finalizer(resource: str, meta: ObjectMeta, finalizer: str) -> Patch:
    body = {"metadata": {"uid": meta.uid, "$deleteFromPrimitiveList/finalizers": [finalizer]}}
    return Patch(resource=resource, namespace=meta.namespace, name=meta.name, body=body)


class GarbageCollector:
    """Remembers which uids are gone for good, and what is being asked for."""

    name = NAME
    workers = WORKERS

    def __init__(self, objects: Mapping[str, ListerOf[Object]], find_kind: FindKind) -> None:
        self._objects = {name: objects[name] for name in sorted(objects) if name not in IGNORED}
        self._find_kind = find_kind
        self._owned: list[str] = []
        """The few kinds whose objects have had owners so far, in order: only there can dependents be."""
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._looks: dict[str, int] = {}
        self._sources = tuple(Source(resource, self._keys) for resource in self._objects)

    def add_kind(self, resource: str, lister: ListerOf[Object], *, namespaced: bool) -> Sequence[Source]:
        """One more kind that may own or be owned; the source of its changes."""
        del namespaced
        objects = {**self._objects, resource: lister}
        self._objects = {name: objects[name] for name in sorted(objects)}
        return (Source(resource, self._keys),)

    @property
    def sources(self) -> Sequence[Source]:
        return self._sources

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "object":
                resource, namespace, name = rest.split("/")
                return self._attempt_to_delete(key, resource, namespace, name, now)
            case "owner":
                return Result(wakes=[(_key(resource, meta), now) for resource, meta in self._dependents(rest)])
            case _:
                assert kind == "verify", f"unknown key {key}"
                uid, resource, namespace, name = rest.rsplit("/", 3)  # an owner's uid may be any text
                return self._verify(uid, resource, namespace, name)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives it
        """An owner that was asked for is not there, or is a namesake."""
        kind, _, rest = key.partition("/")
        if kind == "verify" and isinstance(error, ApiError) and error.code in (404, 409):
            self._note_gone(rest.rsplit("/", 3)[0])

    def _keys(self, change: ObjectChange) -> Iterable[str]:
        old: Object | None = change.old
        new: Object | None = change.new
        if new is None:
            assert old is not None, "a change has an old or a new object"
            self._note_gone(old.metadata.uid)
            return (*self._owner_keys(old.metadata), *self._blocked_owners(old.metadata))
        meta = new.metadata
        if meta.owner_references and change.resource not in self._owned:
            bisect.insort(self._owned, change.resource)
        if old is None:
            needed = bool(meta.owner_references) or _is_held(meta)
            return (_key(change.resource, meta),) if needed else ()
        before = old.metadata
        keys: list[str] = []
        if meta.deletion_timestamp and (
            before.deletion_timestamp != meta.deletion_timestamp or before.finalizers != meta.finalizers
        ):
            if meta.owner_references or _is_held(meta):
                keys.append(_key(change.resource, meta))
            keys += self._owner_keys(meta)
        if before.owner_references != meta.owner_references:
            keys += [_key(change.resource, meta), *self._blocked_owners(before)]
        return keys

    def _owner_keys(self, meta: ObjectMeta) -> Iterable[str]:
        """Most own nothing. Dependents that come later are looked at because they come."""
        is_owner = any(self._objects[resource].by(BY_OWNER, meta.uid) for resource in self._owned)
        return (f"owner/{meta.uid}",) if is_owner else ()

    def _attempt_to_delete(self, key: str, resource: str, namespace: str, name: str, now: Instant) -> Result:
        found = self._objects[resource].get(f"{namespace}/{name}" if namespace else name)
        if found is None:
            self._looks.pop(key, None)
            return DONE
        meta = found.metadata
        dependents = self._dependents(meta.uid) if _is_held(meta) or meta.owner_references else []
        actions = decide_owner(resource, meta, dependents)
        wakes: list[tuple[str, Instant]] = []
        if meta.deletion_timestamp and FOREGROUND_FINALIZER in meta.finalizers:
            wakes.extend((_key(kind, one), now) for kind, one in dependents if not one.deletion_timestamp)
        if not meta.owner_references:
            return Result(actions=actions, wakes=wakes)
        owners, asked = self._sort_owners(meta)
        if asked:
            wakes.extend((verify, now) for verify in asked)
            wakes.extend(self._look_again(key, now))
        else:
            self._looks.pop(key, None)
        if circular := self._circular(meta, owners):
            # The change wakes whoever waited; what becomes of the object is decided then.
            actions.append(unblock_owners(resource, meta, circular))
            return Result(actions=actions, wakes=wakes)
        decision = decide_dependent(resource, meta, owners, has_dependents=bool(dependents))
        if decision is not None:
            actions.extend(_invalid_references(resource, meta, owners, self._find_kind))
            actions.append(decision)
        return Result(actions=actions, wakes=wakes)

    def _sort_owners(self, meta: ObjectMeta) -> tuple[Owners, list[str]]:
        """And the keys under which owners that are not in the cache are asked for; till then they count as solid."""
        solid: list[OwnerReference] = []
        waiting: list[OwnerReference] = []
        dangling: list[OwnerReference] = []
        asked: list[str] = []
        for reference in meta.owner_references:
            kind = self._find_kind(reference.api_version, reference.kind)
            if reference.uid in self._gone or (kind is not None and kind.namespaced and not meta.namespace):
                dangling.append(reference)
                continue
            if kind is None or kind.resource not in self._objects:
                solid.append(reference)
                continue
            namespace = meta.namespace if kind.namespaced else ""
            owner = self._objects[kind.resource].get(f"{namespace}/{reference.name}" if namespace else reference.name)
            if owner is None or owner.metadata.uid != reference.uid:
                asked.append(f"verify/{reference.uid}/{kind.resource}/{namespace}/{reference.name}")
                solid.append(reference)
            elif (
                owner.metadata.deletion_timestamp
                and FOREGROUND_FINALIZER in owner.metadata.finalizers
                and (reference.block_owner_deletion)
            ):
                waiting.append(reference)
            else:
                solid.append(reference)
        return Owners(solid=tuple(solid), waiting=tuple(waiting), dangling=tuple(dangling)), asked

    def _circular(self, meta: ObjectMeta, owners: Owners) -> list[str]:
        """The owners that wait for this object and that it owns itself, directly or by others."""
        if not owners.waiting:
            return []
        owned, new = set[str](), [meta.uid]
        while new:
            below = {dependent.uid for uid in new for _, dependent in self._dependents(uid)} - owned
            owned |= below
            new = sorted(below)
        return [reference.uid for reference in owners.waiting if reference.uid in owned]

    def _look_again(self, key: str, now: Instant) -> Iterable[tuple[str, Instant]]:
        looks = self._looks.get(key, 0)
        if looks >= len(LOOK_AGAIN_SECONDS):
            self._looks.pop(key, None)
            return ()
        self._looks[key] = looks + 1
        return ((key, now + LOOK_AGAIN_SECONDS[looks]),)

    def _verify(self, uid: str, resource: str, namespace: str, name: str) -> Result:
        if uid in self._gone:
            return DONE
        patch = Patch(resource=resource, namespace=namespace, name=name, body={"metadata": {"uid": uid}})
        return Result(actions=(patch,), retry=VERIFY_RETRY)

    def _dependents(self, uid: str) -> list[tuple[str, ObjectMeta]]:
        return [
            (resource, found.metadata)
            for resource in self._owned
            for found in self._objects[resource].by(BY_OWNER, uid)
        ]

    def _blocked_owners(self, meta: ObjectMeta) -> Iterable[str]:
        """Owners that may have waited for this object."""
        for reference in meta.owner_references:
            kind = self._find_kind(reference.api_version, reference.kind)
            if kind is not None and kind.resource in self._objects:
                namespace = meta.namespace if kind.namespaced else ""
                yield f"object/{kind.resource}/{namespace}/{reference.name}"

    def _note_gone(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > GONE_UIDS_MAX:
            self._gone.popitem(last=False)


def _key(resource: str, meta: ObjectMeta) -> str:
    return f"object/{resource}/{meta.namespace}/{meta.name}"


def _is_held(meta: ObjectMeta) -> bool:
    return bool(meta.deletion_timestamp) and (
        FOREGROUND_FINALIZER in meta.finalizers or ORPHAN_FINALIZER in meta.finalizers
    )


def _blocks(dependent: ObjectMeta, uid: str) -> bool:
    return any(owner.uid == uid and owner.block_owner_deletion for owner in dependent.owner_references)


def _invalid_references(resource: str, meta: ObjectMeta, owners: Owners, find_kind: FindKind) -> Iterable[RecordEvent]:
    """An object of the cluster cannot be owned by one of a namespace."""
    for reference in owners.dangling:
        kind = find_kind(reference.api_version, reference.kind)
        if meta.namespace or kind is None or not kind.namespaced:
            continue
        message = (
            f"ownerRef [{reference.api_version}/{reference.kind}, namespace: , name: {reference.name}, "
            f'uid: {reference.uid}] does not exist in namespace ""'
        )
        regarding = ObjectReference(kind=resource, name=meta.name, uid=meta.uid)
        yield RecordEvent(
            regarding=regarding, type="Warning", reason="OwnerRefInvalidNamespace", message=message, component=NAME
        )
