"""The heartbeat of a node: its Lease in kube-node-lease, renewed in a slot of the node's own."""

import zlib
from typing import Any, Final

from doorman.api.leases import Lease
from doorman.api.meta import ObjectMeta
from doorman.base.clock import Instant
from doorman.base.instants import to_micro_time
from doorman.client.actions import Action, Create, Patch, PatchType

NAMESPACE: Final = "kube-node-lease"
RESOURCE: Final = "leases.coordination.k8s.io"
_SLOTS: Final = 1 << 32


def slot_seconds(name: str, period_seconds: float) -> float:
    """Where in the period the node renews: a hash of its name, so that thousands of nodes spread evenly."""
    return zlib.crc32(name.encode()) / _SLOTS * period_seconds


def next_slot(name: str, period_seconds: float, now: Instant) -> Instant:
    """The node's next slot after `now`.

    >>> next_slot("node-1", 10.0, 100.0) == next_slot("node-1", 10.0, 90.0) + 10.0
    True
    """
    offset = slot_seconds(name, period_seconds)
    slot = now // period_seconds * period_seconds + offset
    return slot if slot > now else slot + period_seconds


def decide_renewal(node: ObjectMeta, lease: Lease | None, now: Instant, duration_seconds: int) -> Action:
    """Create the lease, or renew it with as few bytes as can be."""
    time = to_micro_time(now)
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    if lease is None:
        body: dict[str, Any] = {  # JSON
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": node.name, "namespace": NAMESPACE, "ownerReferences": [owner]},
            "spec": {"holderIdentity": node.name, "leaseDurationSeconds": duration_seconds, "renewTime": time},
        }
        return Create(resource=RESOURCE, namespace=NAMESPACE, body=body)
    renewed: dict[str, Any] = {"spec": {"renewTime": time}}  # JSON
    if lease.spec.holder_identity != node.name or lease.spec.lease_duration_seconds != duration_seconds:
        renewed["spec"] |= {"holderIdentity": node.name, "leaseDurationSeconds": duration_seconds}
    if all(reference.uid != node.uid for reference in lease.metadata.owner_references):
        renewed["metadata"] = {"ownerReferences": [owner]}
    return Patch(resource=RESOURCE, namespace=NAMESPACE, name=node.name, body=renewed, type=PatchType.MERGE)
