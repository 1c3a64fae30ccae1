"""How a controller reports on what it looks after: the status it writes, and whom its events are about."""

from typing import Any, Final

import msgspec

from doorman.api.views.meta import ObjectMeta
from doorman.client.actions import ObjectReference, Patch, PatchType

REPLICA_FAILURE: Final = "ReplicaFailure"
"""The condition that says why pods could not be made or deleted."""


def reference_to(meta: ObjectMeta, *, api_version: str, kind: str) -> ObjectReference:
    """The object as it is now, for events about it."""
    return ObjectReference(
        kind=kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        api_version=api_version,
        resource_version=meta.resource_version,
    )


def status_patch(resource: str, meta: ObjectMeta, status: dict[str, Any], *, guarded: bool = False) -> Patch:  # JSON
    """What is None in `status` goes. Guarded: only if nobody has written the object meanwhile.

    >>> status_patch("jobs.batch", ObjectMeta(name="j", resource_version="7"), {"active": None}, guarded=True).body
    {'metadata': {'resourceVersion': '7'}, 'status': {'active': None}}
    """
    guard = {"metadata": {"resourceVersion": meta.resource_version}} if guarded else {}
    return Patch(
        resource=resource,
        namespace=meta.namespace,
        name=meta.name,
        subresource="status",
        body={**guard, "status": status},
        type=PatchType.MERGE,
    )


def condition_body(condition: Any) -> dict[str, Any]:  # a Condition view; as JSON without what is empty
    return {name: value for name, value in msgspec.to_builtins(condition).items() if value}
