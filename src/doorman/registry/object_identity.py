"""Who an object is: its name and namespace against those of the request, and owners that are named twice."""

from typing import Final

from doorman.api.kinds import Kind
from doorman.api.storage_keys import storage_key
from doorman.base.errors import ApiError, GroupResource, bad_request, conflict, invalid, invalid_object, stale
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.registry.write_target import WriteTarget

GIVEN_LATER: Final = ("name", "uid", "creationTimestamp", "managedFields", "resourceVersion")
"""Members of metadata that say which object it is, since when, and who made it so."""

_TWICE = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)
_AFTER_ADMISSION = " after mutating admission happens"


def check_name(metadata: Document, name: str) -> None:
    """The body's name is the path's."""
    named = metadata.get("name", "")
    if not named:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if named != name:
        raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({name})")


def settle_namespace(kind: Kind, namespace: str, metadata: Document) -> None:
    """The body's namespace is the path's; an object of the cluster has none."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
    else:
        metadata.setdefault("namespace", namespace)
        check_namespace(metadata, namespace)


def check_namespace(metadata: Document, namespace: str) -> None:
    """The body's namespace, if it has one, is the path's."""
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def check_place(kind: Kind, namespace: str, name: str, metadata: Document) -> None:
    """The body's name and namespace are the path's."""
    settle_namespace(kind, namespace, metadata)
    check_name(metadata, name)


def check_identity(
    target: WriteTarget, metadata: Document, before: Document, *, is_unconditional: bool, is_patched: bool = False
) -> None:
    """Whether an update is about the object that is stored (`before` is its metadata), in the version that is stored.

    `is_unconditional`: it need not say which version it means. `is_patched`: that another object is meant is for
    validation to say, which finds its uid changed.
    """
    kind, name = target.kind, target.name
    check_place(kind, target.namespace, name, metadata)
    uid = metadata.get("uid", "")
    if uid and uid != before["uid"] and not is_patched:
        there = f"UID in precondition: {uid}, UID in object meta: {before['uid']}"
        raise conflict(kind.named, name, precondition_failed(storage_key(kind, target.namespace, name), there))
    version = metadata.get("resourceVersion", "")
    if version in ("", "0"):
        if kind.needs_resource_version and not is_unconditional:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            # The store says so, which knows resources and no kinds.
            raise invalid_object(kind.resource, kind.group, name, [error])
    elif not (version.isascii() and version.isdigit()):
        raise ApiError(500, "", f"strconv.ParseUint: parsing {quote(version)}: invalid syntax")
    elif int(version) >= 2**64:
        raise ApiError(500, "", f"strconv.ParseUint: parsing {quote(version)}: value out of range")
    elif version != before["resourceVersion"]:
        raise stale(kind.named, name)


def check_unborn(target: WriteTarget, metadata: Document) -> None:
    """Who writes an object that is not there, and says which one it was, means that one."""
    if uid := metadata.get("uid"):
        key = f"/registry{storage_key(target.kind, target.namespace, target.name)}"
        there = f"UID in precondition: {uid}, UID in object meta: "
        raise conflict(target.kind.named, target.name, precondition_failed(key, there))


def check_part_uid(target: WriteTarget, metadata: Document, before: Document) -> None:
    """The same of a part of an object that is patched: who makes a whole of it again looks whether it is this one's."""
    uid = metadata.get("uid", "")
    if uid and uid != before["uid"]:
        named = target.kind.named
        resource = GroupResource(named.group, f"{named.resource}/{target.endpoint}")
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {before['uid']}"
        raise conflict(resource, target.name, why)


def precondition_failed(key: str, why: str) -> str:
    """What the store says of an object that is not the one that was meant."""
    head = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg:"
    return f"{head} Precondition failed: {why}"


def drop_repeated_owners(metadata: Document, warnings: list[str] | None, *, is_patched: bool = False) -> None:
    """Of equal owner references only the first stays; whoever sent them is told.

    `is_patched`: what a patch adds is seen only after admission has made its changes, and the words say so.
    """
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Document] = []
    repeated: list[str] = []
    for owner in owners:
        if owner not in kept:
            kept.append(owner)
        else:
            repeated.append(owner.get("uid", ""))
    if repeated:
        metadata["ownerReferences"] = kept
        if warnings is not None:
            warnings.append(_TWICE.format(_AFTER_ADMISSION if is_patched else "", ", ".join(repeated)))
