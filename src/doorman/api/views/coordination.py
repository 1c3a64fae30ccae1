"""The view of a lease: the heartbeat of a node, or who leads."""

from doorman.api.views.meta import ObjectMeta, View


class LeaseSpec(View, frozen=True, kw_only=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
