"""The finalizer that keeps an object while it is in use: when it is put on, when it is taken off."""

from doorman.api.views.meta import ObjectMeta
from doorman.client.actions import Patch


def is_deletion_candidate(meta: ObjectMeta, finalizer: str) -> bool:
    """Whether it is to go, and this finalizer is what holds it."""
    return bool(meta.deletion_timestamp) and finalizer in meta.finalizers


def is_without_finalizer(meta: ObjectMeta, finalizer: str) -> bool:
    """Objects that were there before admission put the finalizer on."""
    return not meta.deletion_timestamp and finalizer not in meta.finalizers


def is_concerned(meta: ObjectMeta, finalizer: str) -> bool:
    return is_deletion_candidate(meta, finalizer) or is_without_finalizer(meta, finalizer)


def decide_finalizer(resource: str, meta: ObjectMeta, finalizer: str, *, is_used: bool) -> Patch | None:
    if is_deletion_candidate(meta, finalizer) and not is_used:
        change = {"$deleteFromPrimitiveList/finalizers": [finalizer]}
    elif is_without_finalizer(meta, finalizer):
        change = {"finalizers": [finalizer]}
    else:
        return None
    body = {"metadata": {"uid": meta.uid, **change}}
    return Patch(resource=resource, namespace=meta.namespace, name=meta.name, body=body)
