"""What a kind may have of its own when it is written (`Strategy`, `KindAllocator`), and the rules all kinds share.

Status belongs to the status subresource; generation counts changes of everything else outside metadata.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from doorman.api.json_values import is_same
from doorman.api.kinds import Kind
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.registry.commit import FollowUp

Prepare = Callable[[Kind, Document, Instant], None]
PrepareUpdate = Callable[[Kind, Document, Document, Instant], None]


_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences", "generateName")


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """`create` changes the new document in place; `update` and the subresources get (new, old)."""

    create: Prepare
    update: PrepareUpdate
    status: PrepareUpdate
    subresources: Mapping[str, PrepareUpdate] = {}
    default_times: Callable[[Document, Instant], None] | None = None
    """Fills in, in place, what is the time of the write unless it is given: as a default it is the writer's."""
    status_metadata: tuple[str, ...] = ()
    """Members of metadata that a write of the status leaves as they are."""
    undo_create: Callable[[Document], None] | None = None
    """Takes back, in place, what `create` made of the name and the uid: the object gets others."""
    is_named_by_server: bool = False
    """It need not be named: it is given a uid for a name."""

    def for_update(self, subresource: str) -> PrepareUpdate:
        if not subresource:
            return self.update
        return self.status if subresource == "status" else self.subresources[subresource]

    def kept_metadata(self, kind: Kind, subresource: str) -> tuple[str, ...]:
        """Members of metadata that somebody may own who writes through this endpoint, and that stay as they are."""
        if subresource != "status":
            return ()
        return _METADATA if kind.is_custom or kind.status_keeps_metadata else self.status_metadata

    def owned(self, kind: Kind, subresource: str, new: Document, old: Document) -> Document | None:
        """The new document as field owners see it: what cannot be written through this endpoint is as it was.

        None: to be seen only when the strategy has taken what it lets be written.
        """
        if not subresource:
            kept = kind.unowned
        elif subresource == "status":
            kept = tuple(name for name in {**old, **new} if name not in ("status", "metadata"))
        else:
            return None
        seen = {name: value for name, value in new.items() if name not in kept}
        seen.update((name, old[name]) for name in kept if name in old)
        metadata = new["metadata"]
        if subresource and (kind.is_custom or kind.status_keeps_metadata):
            seen["metadata"] = {**old["metadata"], "managedFields": metadata.get("managedFields")}
        elif subresource and self.status_metadata:
            kept_metadata = {name: old["metadata"][name] for name in self.status_metadata if name in old["metadata"]}
            rest = {name: value for name, value in metadata.items() if name not in self.status_metadata}
            seen["metadata"] = {**rest, **kept_metadata}
        return seen


class Assigned(msgspec.Struct, frozen=True):
    """What follows when an object was given something that nobody else may have: an address, a port."""

    on_abort: FollowUp | None = None
    """It is not stored."""
    after_commit: FollowUp | None = None
    """It is: what it had before and has no longer is given back."""


class KindAllocator(Protocol):
    async def assign(self, new: Document, old: Document | None, *, is_dry_run: bool) -> Assigned:
        """Give a valid document what it lacks, in place."""
        ...

    def release(self, doc: Document) -> FollowUp | None:
        """What follows when the object is gone."""
        ...


def release_of(allocators: Mapping[str, KindAllocator], kind: Kind, doc: Document) -> FollowUp | None:
    """What follows when an object is gone: what it was given is given back."""
    allocator = allocators.get(kind.storage)
    return allocator.release(doc) if allocator is not None else None


def prepare_create(kind: Kind, doc: Document, now: Instant) -> None:  # noqa: ARG001  the shape of Prepare
    if kind.has_status:
        doc.pop("status", None)
    if kind.generation:
        doc["metadata"]["generation"] = 1


def prepare_update(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    if kind.has_status:
        restore(new, old, "status")
    if kind.generation and is_changed(kind, new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def prepare_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:  # noqa: ARG001
    """Only status comes from the request, and metadata where the kind lets it be written here."""
    if kind.is_custom or kind.status_keeps_metadata:
        take_only(new, old, "status")
    else:
        take_only(new, old, "status", "metadata")


def take_only(new: Document, old: Document, *members: str) -> None:
    """Leave everything as it was stored but the named members and the bookkeeping of field owners."""
    managed = new["metadata"].get("managedFields")
    taken = {name: new[name] for name in members if name in new}
    new.clear()
    new.update({name: copy.copy(value) for name, value in old.items() if name not in members})
    new.update(taken)
    if managed is not None:
        new["metadata"]["managedFields"] = managed


def restore(new: Document, old: Document, member: str) -> None:
    if member in old:
        new[member] = old[member]
    else:
        new.pop(member, None)


def is_changed(kind: Kind, new: Document, old: Document) -> bool:
    """Whether anything but metadata differs, and but status where that is written apart."""
    outside = ("metadata", "kind", "apiVersion", "status" if kind.has_status else "metadata")
    names = [name for name in {**new, **old} if name not in outside]
    if kind.is_custom:  # nothing says that a member stays of one type
        return not all(is_same(new.get(name), old.get(name)) for name in names)
    return any(new.get(name) != old.get(name) for name in names)
