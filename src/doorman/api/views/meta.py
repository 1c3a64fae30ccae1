"""Views of what every object has.

A view is a frozen struct that shows the fields some component acts upon. It reads; it is never encoded
back (that would drop what it does not know): changes are sent as patches. `View` is the base of all of
them: keyword-only, frozen, camelCase on the wire, and not tracked by the garbage collector because views
hold no cycles.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base of all views: decoded from stored JSON, unknown fields passed over."""


_V = TypeVar("_V")


def view_decoder(view: type[_V]) -> Callable[[bytes], _V]:
    """Reads views of one type.

    A null says no more than its absence. Upstream writes one for lists and times it does not have; few objects
    show any, so they are taken out only when the first reading fails.
    """
    decode = msgspec.json.Decoder(view).decode

    def read(data: bytes) -> _V:
        try:
            return decode(data)
        except msgspec.ValidationError:
            return decode(msgspec.json.encode(_without_nulls(msgspec.json.decode(data))))

    return read


def to_view(value: Any, view: type[_V]) -> _V:  # any JSON value
    """The view of a document, or of a part of one; nulls as with `view_decoder`.

    >>> to_view({"name": "a", "labels": None}, ObjectMeta).name
    'a'
    """
    try:
        return msgspec.convert(value, view)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(value), view)


def _without_nulls(value: Any) -> Any:  # any JSON value
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


class OwnerReference(View, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(View, frozen=True, kw_only=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for objects of the cluster."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Object(View, frozen=True, kw_only=True):
    """Any object, when only its metadata matters."""

    metadata: ObjectMeta = ObjectMeta()


class Condition(View, frozen=True, kw_only=True):
    """A condition of a pod, a node or a workload."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = ""
    last_heartbeat_time: str = ""
    last_probe_time: str | None = ""
    last_update_time: str = ""
    observed_generation: int = 0


class LabelSelectorRequirement(View, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(View, frozen=True, kw_only=True):
    """None selects nothing, an empty one everything; `doorman.api.machinery.label_selectors` matches."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class HasMeta(Protocol):
    """Any view of an object."""

    @property
    def metadata(self) -> ObjectMeta: ...


def controller_of(meta: ObjectMeta) -> OwnerReference | None:
    """The one owner that manages the object, if any."""
    for owner in meta.owner_references:
        if owner.controller:
            return owner
    return None


def owner_uids(obj: HasMeta) -> tuple[str, ...]:
    """The index in which dependents are found. It asks at every write, and most objects have one owner or none."""
    owners = obj.metadata.owner_references
    if len(owners) == 1:
        return (owners[0].uid,)
    return tuple(owner.uid for owner in owners) if owners else ()


def orphanage_of(obj: HasMeta) -> tuple[str, ...]:
    """The namespace of an object that nobody manages: the index in which owners look for what they may adopt."""
    return () if controller_of(obj.metadata) is not None else (obj.metadata.namespace,)


def moved_with_owners(old: HasMeta, new: HasMeta) -> tuple[str, ...] | None:
    """The indexes in which two versions may be in different places, where all go by owners; None: in any."""
    return () if old.metadata.owner_references == new.metadata.owner_references else None
