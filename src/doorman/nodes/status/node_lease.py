"""The heartbeat of a node: its Lease in kube-node-lease, renewed in the node's slot of every period.

The nodes of one slot renew together, so that a thousand of them cost a few writes a second and not a hundred.
"""

import zlib
from typing import Any, Final

from doorman.api.views.coordination import Lease
from doorman.api.views.meta import ObjectMeta
from doorman.api.well_known import LEASES, NODE_LEASE_NAMESPACE
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_micro_time
from doorman.client.actions import Action, Create, Patch, PatchType

_MOMENT_SECONDS: Final = 1e-6
SLOTS: Final = 20
"""Of a period: every half second of the usual ten."""


def slot_of(name: str) -> int:
    """The node's slot: a hash of its name, so that thousands of nodes spread evenly."""
    return zlib.crc32(name.encode()) % SLOTS


def next_instant(slot: int, period_seconds: float, now: Instant) -> Instant:
    """When the slot comes next after `now`.

    >>> next_instant(3, 10.0, 100.0), next_instant(3, 10.0, 101.5)
    (101.5, 111.5)
    """
    instant = now // period_seconds * period_seconds + slot / SLOTS * period_seconds
    return instant if instant > now else instant + period_seconds


def last_instant(slot: int, period_seconds: float, now: Instant) -> Instant:
    """When the slot came last before `now`.

    >>> last_instant(3, 10.0, 101.5), last_instant(3, 10.0, 101.6)
    (91.5, 101.5)
    """
    return next_instant(slot, period_seconds, now - period_seconds - _MOMENT_SECONDS)


def is_in_order(node: ObjectMeta, lease: Lease, duration_seconds: int) -> bool:
    """Whether nothing but its time needs to change."""
    spec = lease.spec
    return (
        spec.holder_identity == node.name
        and spec.lease_duration_seconds == duration_seconds
        and any(reference.uid == node.uid for reference in lease.metadata.owner_references)
    )


def is_fresh(lease: Lease, now: Instant, period_seconds: float) -> bool:
    """Whether its node's slot has not come again since it was renewed."""
    try:
        return now - from_time(lease.spec.renew_time) <= period_seconds
    except ValueError:
        return False


def decide_renewal(node: ObjectMeta, lease: Lease | None, now: Instant, duration_seconds: int) -> Action:
    """Create the lease, or renew it with as few bytes as can be."""
    time = to_micro_time(now)
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    if lease is None:
        body: dict[str, Any] = {  # JSON
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": node.name, "namespace": NODE_LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {"holderIdentity": node.name, "leaseDurationSeconds": duration_seconds, "renewTime": time},
        }
        return Create(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, body=body)
    renewed: dict[str, Any] = {"spec": {"renewTime": time}}  # JSON
    if lease.spec.holder_identity != node.name or lease.spec.lease_duration_seconds != duration_seconds:
        renewed["spec"] |= {"holderIdentity": node.name, "leaseDurationSeconds": duration_seconds}
    if all(reference.uid != node.uid for reference in lease.metadata.owner_references):
        renewed["metadata"] = {"ownerReferences": [owner]}
    return Patch(resource=LEASES, namespace=NODE_LEASE_NAMESPACE, name=node.name, body=renewed, type=PatchType.MERGE)
