"""The indexes in which pods are filed.

Pods that have ended are kept until they are collected, thousands of them. Who asks what runs on a node, or what an
owner has, means none of those: the unfinished ones have indexes of their own, so that the others cost nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from doorman.api.views.meta import orphanage_of, owner_uids
from doorman.api.views.object_indexes import BY_ORPHANAGE
from doorman.api.views.pods import Pod, end_of

BY_NODE: Final = "nodeName"
BY_END: Final = "end"
UNFINISHED_BY_NODE: Final = "unfinishedByNode"
UNFINISHED_BY_OWNER: Final = "unfinishedByOwner"
BY_CLAIM: Final = "claim"


def node_of(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,)


def unfinished_node_of(pod: Pod) -> tuple[str, ...]:
    return () if pod.is_finished else (pod.spec.node_name,)


def unfinished_owners_of(pod: Pod) -> tuple[str, ...]:
    return () if pod.is_finished else owner_uids(pod)


def claims_of(pod: Pod) -> tuple[str, ...]:
    """Keys of the claims its volumes name."""
    found = [
        volume.persistent_volume_claim for volume in pod.spec.volumes if volume.persistent_volume_claim is not None
    ]
    return tuple(f"{pod.metadata.namespace}/{claim.claim_name}" for claim in found) if found else ()


POD_INDEXERS: Final[Mapping[str, Callable[[Pod], tuple[str, ...]]]] = {
    BY_NODE: node_of,
    BY_END: end_of,
    BY_ORPHANAGE: orphanage_of,
    UNFINISHED_BY_NODE: unfinished_node_of,
    UNFINISHED_BY_OWNER: unfinished_owners_of,
    BY_CLAIM: claims_of,
}


_OF_NODES: Final = (BY_NODE, UNFINISHED_BY_NODE)
_OF_ENDS: Final = (BY_END,)


def moved_between(old: Pod, new: Pod) -> Sequence[str] | None:
    """The indexes in which two versions of a pod may be in different places; None: in any. What else its spec says,
    such as its volumes, is never changed. A pod is bound once and marked once, and both are asked for thousands of
    times a second.
    """
    before, after = old.metadata, new.metadata
    if (
        before.uid != after.uid
        or old.status.phase != new.status.phase
        or before.owner_references != after.owner_references
        or old.status.resource_claim_statuses != new.status.resource_claim_statuses
    ):
        return None
    is_moved = old.spec is not new.spec and old.spec.node_name != new.spec.node_name
    if bool(before.deletion_timestamp) is bool(after.deletion_timestamp):
        return _OF_NODES if is_moved else ()
    return (*_OF_NODES, *_OF_ENDS) if is_moved else _OF_ENDS
