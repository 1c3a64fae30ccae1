"""Which objects belong to an owner with a selector: it adopts orphans that match and releases its own that do not.

Rules
-----
1. An object whose managing owner is this one and whose labels match is its own; one whose labels do not match is
   released, unless the owner is being deleted.
2. An object with another managing owner is none of its business.
3. An orphan in its namespace that matches is adopted, if neither of the two is being deleted.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from doorman.api.machinery.label_selectors import Selector
from doorman.api.views.meta import HasMeta, ObjectMeta, controller_of
from doorman.api.views.object_indexes import BY_ORPHANAGE, BY_OWNER
from doorman.client.actions import Action, Patch
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import owner_reference


def set_keys(change: ObjectChange) -> Iterable[str]:
    """An owner wakes itself."""
    return (f"set/{change.newest.metadata.key}",)


def owned_keys(kind: str) -> Callable[[ObjectChange], Iterable[str]]:
    """Objects wake the owner of this kind that manages them, or managed them; orphan pods whoever might want them."""

    def keys_of(change: ObjectChange) -> Iterable[str]:
        keys: list[str] = []
        for one in (change.old, change.new):
            owner = controller_of(one.metadata) if one is not None else None
            if owner is not None and owner.kind == kind:
                keys.append(f"set/{one.metadata.namespace}/{owner.name}")
        new = change.new
        is_pod = change.resource == "pods"
        if is_pod and new is not None and controller_of(new.metadata) is None and new.metadata.labels:
            keys.append(f"orphan/{new.metadata.key}")
        return dict.fromkeys(keys)

    return keys_of


T = TypeVar("T", bound=HasMeta)


class Claimant(msgspec.Struct, frozen=True, kw_only=True):
    """Who claims: `resource` and `kind` such as `daemonsets.apps` and `DaemonSet`."""

    resource: str
    api_version: str
    kind: str
    meta: ObjectMeta

    def reference(self) -> dict[str, Any]:  # an owner reference as JSON
        return owner_reference(self.api_version, self.kind, self.meta)


class Claim(Generic[T]):
    """What is the owner's, in order of keys, and the patches that make it so."""

    __slots__ = ("actions", "mine")

    def __init__(self, mine: list[T], actions: list[Action]) -> None:
        self.mine = mine
        self.actions = actions


def candidates_of(objects: ListerOf[T], meta: ObjectMeta) -> list[T]:
    """Whom an owner may claim, where there are few: its own, and the orphans of its namespace."""
    return [*objects.by(BY_OWNER, meta.uid), *objects.by(BY_ORPHANAGE, meta.namespace)]


class Candidates(Generic[T]):
    """Whom an owner may claim: its own by index, and the orphans that were pointed out to it.

    Orphans are pointed out as they appear; an owner that is new looks through those of its namespace once.
    """

    def __init__(self, objects: ListerOf[T], *, by_owner: str = BY_OWNER) -> None:
        """`by_owner`: the index in which it looks for its own."""
        self._objects = objects
        self._by_owner = by_owner
        self._orphans: dict[str, set[str]] = {}
        self._uids: dict[str, str] = {}

    def of(self, owner_key: str, meta: ObjectMeta) -> list[T]:
        if self._uids.get(owner_key) != meta.uid:
            self._uids[owner_key] = meta.uid
            self._orphans[owner_key] = {one.metadata.key for one in self._objects.by(BY_ORPHANAGE, meta.namespace)}
        owned = list(self._objects.by(self._by_owner, meta.uid))
        orphans = [self._objects.get(key) for key in sorted(self._orphans.get(owner_key, ()))]
        still = [one for one in orphans if one is not None and controller_of(one.metadata) is None]
        self._orphans[owner_key] = {one.metadata.key for one in still}
        return [*owned, *still]

    def has_orphans(self, owner_key: str) -> bool:
        """Whether some of those given last were nobody's."""
        return bool(self._orphans.get(owner_key))

    def point_out(self, owner_key: str, key: str) -> None:
        self._orphans.setdefault(owner_key, set()).add(key)

    def forget(self, owner_key: str) -> None:
        self._orphans.pop(owner_key, None)
        self._uids.pop(owner_key, None)


def decide_claim(claimant: Claimant, selector: Selector, resource: str, candidates: Iterable[T]) -> Claim[T]:
    """Rules 1 to 3, for its own objects and orphans of its namespace among `candidates`."""
    mine: list[T] = []
    released: list[Action] = []
    adopted: list[Action] = []
    for candidate in candidates:
        meta = candidate.metadata
        controller = controller_of(meta)
        matches = selector.matches(meta.labels)
        if controller is not None:
            if controller.uid != claimant.meta.uid:
                continue
            if matches:
                mine.append(candidate)
            elif not claimant.meta.deletion_timestamp:
                released.append(_release(resource, meta, claimant.meta.uid))
        elif matches and not meta.deletion_timestamp and not claimant.meta.deletion_timestamp:
            mine.append(candidate)
            adopted.append(_adopt(resource, meta, claimant))
    return Claim(mine, [*released, *adopted])


def _adopt(resource: str, meta: ObjectMeta, claimant: Claimant) -> Patch:
    body = {"metadata": {"uid": meta.uid, "ownerReferences": [claimant.reference()]}}
    return Patch(resource=resource, namespace=meta.namespace, name=meta.name, body=body)


def _release(resource: str, meta: ObjectMeta, owner_uid: str) -> Patch:
    body = {"metadata": {"uid": meta.uid, "ownerReferences": [{"$patch": "delete", "uid": owner_uid}]}}
    return Patch(resource=resource, namespace=meta.namespace, name=meta.name, body=body)
