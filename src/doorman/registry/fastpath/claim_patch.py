"""What the scheduler writes into a resource claim, written without reading the rest of it.

Before a pod is bound each of its claims gets a finalizer, and then what was allocated and for whom it is reserved: two
writes for every pod that has devices. Both are short for a claim that has nothing of the sort yet, as every claim that
was made from a template; the outcome is the same as on the long way (`Registry.update`), which all others go.

It is for patches that the scheduler of this server sends: an allocation was put together from a claim and from slices
that were found valid when they were written.
"""

from collections.abc import Hashable
from typing import Any, Final

import msgspec

from doorman.api.patch.field_paths import FieldWalker
from doorman.api.patch.field_set import ordered
from doorman.api.patch.managed_fields import Manager
from doorman.api.raw_members import canonical, replaced, to_written
from doorman.api.views.resource.devices import RESOURCE_VERSION
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.fastpath.object_bytes import NOTHING, ObjectBytes, encode, read, written
from doorman.registry.fastpath.owner_bytes import UPDATE, OwnedChange, mention_of, owners_after

CHANGES_MAX: Final = 1000
_TYPE: Final = "resource.v1.ResourceClaim"
_STATUS_TYPE: Final = "resource.v1.ResourceClaimStatus"
_CONSUMER: Final = "@0"
"""Stands in for the uid of whoever it is reserved for, which is part of a field's name."""


class ClaimPatch(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    """Of the claim that is meant, or empty."""
    resource_version: str = ""
    """As of which, or empty."""
    finalizers: list[str] | None = None
    status: Document | None = None
    """An allocation and one reservation: what is written is one of the two, status or finalizers."""

    @property
    def subresource(self) -> str:
        return "" if self.status is None else "status"


def claim_patch_of(body: Any, subresource: str) -> ClaimPatch | None:  # any JSON value
    """The patch, if it is one of the two."""
    if not isinstance(body, dict) or not isinstance(metadata := body.get("metadata"), dict):
        return None
    if not subresource:
        if body.keys() != {"metadata"} or metadata.keys() != {"uid", "finalizers"}:
            return None
        return ClaimPatch(uid=metadata["uid"], finalizers=metadata["finalizers"])
    if subresource != "status" or not metadata.keys() <= {"uid", "resourceVersion"}:
        return None
    status = body.get("status")
    if not isinstance(status, dict) or status.keys() != {"allocation", "reservedFor"} or not _is_plain(status):
        return None
    return ClaimPatch(uid=metadata.get("uid", ""), resource_version=metadata.get("resourceVersion", ""), status=status)


def _is_plain(status: Document) -> bool:
    """Devices for one pod, none of them for an administrator."""
    allocation, reserved = status["allocation"], status["reservedFor"]
    if not allocation or not reserved:
        return False
    results = allocation["devices"].get("results", ())
    return (
        len(reserved) == 1
        and reserved[0]["uid"].replace("-", "").isalnum()
        and not any(result.get("adminAccess") for result in results)
    )


class ClaimPatches:
    def __init__(self, walker: FieldWalker) -> None:
        self._walker = walker
        self._changes: dict[Hashable, OwnedChange] = {}

    def write(self, claim_bytes: ObjectBytes, patch: ClaimPatch, manager: str, now: Instant) -> bool | None:
        """Whether the patch changes the claim; None when it takes the long way to say."""
        metadata = claim_bytes.metadata
        if metadata.deletion_timestamp or patch.uid not in ("", metadata.uid):
            return None
        if patch.resource_version not in ("", metadata.resource_version):
            return None
        if patch.status is not None:
            change = self._allocate(claim_bytes, patch.status)
        else:
            change = self._add_finalizers(claim_bytes, patch.finalizers or [])
        if change is None:
            return None
        if metadata.managed_fields is not NOTHING:  # otherwise nobody tracks this claim
            writer = Manager(
                name=manager, operation=UPDATE, api_version=RESOURCE_VERSION, subresource=patch.subresource
            )
            managed = owners_after(metadata.managed_fields, change, writer, to_time(now))
            if managed is None:
                return None
            metadata.managed_fields = managed
        return True

    def _add_finalizers(self, claim_bytes: ObjectBytes, finalizers: list[str]) -> OwnedChange | None:
        if claim_bytes.metadata.finalizers is not NOTHING or not finalizers:
            return None
        claim_bytes.metadata.finalizers = written(finalizers)
        return self._change(tuple(finalizers), {"metadata": {"finalizers": finalizers}}, {"metadata": {}})

    def _allocate(self, claim_bytes: ObjectBytes, status: Document) -> OwnedChange | None:
        if read(claim_bytes.status, {}):
            return None
        wanted: Document = dict(status)
        self._walker.complete(wanted, _STATUS_TYPE)
        claim_bytes.status = written(to_written(CLAIMS, replaced(CLAIMS, {"status": wanted}, canonical))["status"])
        allocation, (consumer,) = wanted["allocation"], wanted["reservedFor"]
        shape = (tuple(allocation), tuple(allocation["devices"]), tuple(consumer))
        shown = {**wanted, "reservedFor": [{**consumer, "uid": _CONSUMER}]}
        change = self._change(shape, {"status": shown}, {"status": {}})
        changed = change.changed.replace(_CONSUMER.encode(), consumer["uid"].encode())
        return msgspec.structs.replace(change, changed=changed)

    def _change(self, shape: Hashable, new: Document, old: Document) -> OwnedChange:
        """It depends on no value, only on which members there are."""
        known = self._changes.get(shape)
        if known is None:
            if len(self._changes) >= CHANGES_MAX:
                self._changes.clear()
            found = self._walker.diff(new, old, _TYPE)
            mentions = [mention_of(name) for part in new.values() for name in part]
            changed = encode(ordered(found.changed)) if found.changed is not None else b""
            known = self._changes[shape] = OwnedChange(changed, found.removed, mentions)
        return known
