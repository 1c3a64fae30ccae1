"""What a plan says. These structs are the document of `-o json`: `doorman.dev/v1alpha1`, kind `Plan`.

All times are seconds from the action; members that do not apply are null.
"""

from typing import Any

import msgspec

from doorman.api.well_known import FILES_API_VERSION


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of the document."""


class Because(_Part, frozen=True, kw_only=True):
    """Why a pod leaves."""

    reason: str
    """One word: see `pod_departures.REASONS`."""
    message: str
    taint: str | None = None
    """As kubectl writes it, `key=value:NoExecute`."""
    toleration: dict[str, Any] | None = None  # as in a pod's spec


class Replacement(_Part, frozen=True, kw_only=True):
    """The pod that takes another's place. Without node: it stays pending."""

    name: str
    at_seconds: float
    """When it gets its node, or when it is made if it gets none."""
    made_at_seconds: float
    node: str | None = None
    ready_at_seconds: float | None = None


class PodMove(_Part, frozen=True, kw_only=True):
    """A pod that leaves its node."""

    namespace: str
    name: str
    owner: str | None
    """`Deployment/web`; null for a pod that nobody makes again."""
    node: str
    at_seconds: float
    because: Because
    gone_at_seconds: float | None = None
    """Null: it is still there at the end, since its node cannot say that it has stopped."""
    replacement: Replacement | None = None


class PendingPod(_Part, frozen=True, kw_only=True):
    """A pod that has no node at the end."""

    namespace: str
    name: str
    owner: str | None
    since_seconds: float
    """Negative: it was pending before."""
    message: str
    """What the scheduler says."""
    needs: tuple[str, ...] = ()
    """What would let it in, nearest first."""


class WorkloadEffect(_Part, frozen=True, kw_only=True):
    kind: str
    namespace: str
    name: str
    desired: int
    ready_before: int
    lowest_ready: int
    below_desired_seconds: float
    ready_after: int


class BudgetEffect(_Part, frozen=True, kw_only=True):
    """A PodDisruptionBudget that has fewer healthy pods than it demands."""

    namespace: str
    name: str
    at_seconds: float
    seconds: float
    desired_healthy: int
    lowest_healthy: int


class Preemption(_Part, frozen=True, kw_only=True):
    namespace: str
    name: str
    node: str
    at_seconds: float
    preemptor: str


class ZoneMoment(_Part, frozen=True, kw_only=True):
    at_seconds: float
    state: str
    nodes: int
    not_ready: int
    waiting: int
    """Nodes that wait for their NoExecute taint."""
    nodes_per_second: float
    halted_because: str = ""


class ZoneHistory(_Part, frozen=True, kw_only=True):
    zone: str
    moments: tuple[ZoneMoment, ...]


class NodeChange(_Part, frozen=True, kw_only=True):
    """A node that is given up for lost, or given a NoExecute taint."""

    node: str
    unknown_at_seconds: float | None = None
    """When it was marked Unknown, or not ready."""
    tainted_at_seconds: float | None = None
    """When it got its first NoExecute taint."""


class FullNode(_Part, frozen=True, kw_only=True):
    """A node that gets new pods and has little room left."""

    name: str
    resource: str
    percent_before: int
    percent_after: int


class Summary(_Part, frozen=True, kw_only=True):
    evicted: int
    pending: int
    """Pods without a node at the end that had one, or were not there, before."""
    budgets_broken: int
    workloads_below: int
    preempted: int
    not_replaced: int
    """Pods that leave and that nobody makes again."""
    nodes_full: int
    quiet_at_seconds: float | None
    """When the last thing happens; null: the horizon came first."""


class Plan(_Part, frozen=True, kw_only=True):
    api_version: str = FILES_API_VERSION
    kind: str = "Plan"
    action: str
    """In words."""
    snapshot_time: str
    nodes: int
    pods_total: int
    horizon_seconds: float
    seed: int
    summary: Summary
    pods: tuple[PodMove, ...]
    pending: tuple[PendingPod, ...]
    workloads: tuple[WorkloadEffect, ...]
    budgets: tuple[BudgetEffect, ...]
    preemptions: tuple[Preemption, ...]
    zones: tuple[ZoneHistory, ...]
    nodes_changed: tuple[NodeChange, ...]
    full_nodes: tuple[FullNode, ...]
    notes: tuple[str, ...] = ()
    """What else is worth knowing: what a drain would ask for, pods that cannot be made, guesses."""
