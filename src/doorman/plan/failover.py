"""How long a workload is not whole when its node, or its zone, dies: from plans in which just that happens.

The time from the loss until the workload is whole again is cut where something begins:

    loss ─ detection ─ limiter ─ toleration ─ termination ─ rescheduling ─ start ─► whole

detection    until the node is Unknown: --node-monitor-grace-period, and passes every --node-monitor-period
limiter      until its NoExecute taint: --node-eviction-rate, zone by zone
toleration   until its pods are deleted: tolerationSeconds of the pods
termination  until a replacement is made: at once, but for a StatefulSet, whose pod must be gone first
rescheduling until it has a node
start        until it is ready: --pod-startup, or what the pod's annotations say

What is measured is the pod that is whole again last: the workload waits for it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from doorman.api.well_known import FILES_API_VERSION
from doorman.plan.plan_result import Plan, PodMove

PHASES: Final = ("detection", "limiter", "toleration", "termination", "rescheduling", "start")
SETTINGS: Final = {
    "detection": "--node-monitor-grace-period and --node-monitor-period of kube-controller-manager",
    "limiter": "--node-eviction-rate of kube-controller-manager",
    "toleration": "tolerationSeconds for node.kubernetes.io/unreachable in the pods",
    "termination": "nothing but deleting the dead node, or the taint node.kubernetes.io/out-of-service on it",
    "rescheduling": "room for the pods elsewhere",
    "start": "how fast its containers are ready",
}
"""What changes each."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    seconds: float
    changed_by: str


class Failover(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Of one workload, when what is named is lost."""

    workload: str
    """`namespace/Kind/name`."""
    lost: str
    """`node node-1` or `zone a`."""
    pods_lost: int
    total_seconds: float | None
    """Until all of them are ready again elsewhere; None: not within the horizon, or never."""
    dominant: str
    phases: tuple[Phase, ...]
    stuck: str = ""
    """Why it is never whole again, if it is not."""


class FailoverReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = FILES_API_VERSION
    kind: str = "Failover"
    snapshot_time: str
    target_seconds: float | None = None
    failovers: tuple[Failover, ...]
    proposals: tuple[str, ...] = ()


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """Of one node that was lost: when it was Unknown, and when it had its NoExecute taint."""

    unknown_at: float | None
    tainted_at: float | None


def failovers(plan: Plan, lost: str, nodes: Sequence[str], wanted: str = "") -> Iterator[Failover]:
    """Of each workload that has pods on the nodes that are lost; of one, if it is named."""
    by_workload: dict[str, list[PodMove]] = {}
    gone = set(nodes)
    for move in plan.pods:
        if move.node in gone and move.owner is not None:
            by_workload.setdefault(f"{move.namespace}/{move.owner}", []).append(move)
    detections = {one.node: Detection(unknown_at=one.unknown_at_seconds, tainted_at=one.tainted_at_seconds)
                  for one in plan.nodes_changed}  # fmt: skip
    for workload, moves in sorted(by_workload.items()):
        if not wanted or workload == wanted:
            yield _failover(workload, lost, moves, detections)


def _failover(workload: str, lost: str, moves: Sequence[PodMove], detections: dict[str, Detection]) -> Failover:
    stuck = next((move for move in moves if _whole_at(move) is None), None)
    last = stuck or max(moves, key=lambda move: _whole_at(move) or 0.0)
    phases = tuple(_phases(last, detections.get(last.node, Detection(unknown_at=None, tainted_at=None))))
    dominant = max(phases, key=lambda phase: phase.seconds).name if phases else ""
    return Failover(
        workload=workload,
        lost=lost,
        pods_lost=len(moves),
        total_seconds=None if stuck is not None else _whole_at(last),
        dominant=dominant if stuck is None else _stuck_in(stuck),
        phases=phases,
        stuck="" if stuck is None else _why_stuck(stuck),
    )


def _whole_at(move: PodMove) -> float | None:
    return move.replacement.ready_at_seconds if move.replacement is not None else None


def _phases(move: PodMove, detection: Detection) -> Iterator[Phase]:
    """The stretches between the instants that are known, in their order."""
    new = move.replacement
    is_placed = new is not None and new.node is not None
    instants = (
        detection.unknown_at,
        detection.tainted_at,
        move.at_seconds,
        new.made_at_seconds if new is not None else None,
        new.at_seconds if new is not None and is_placed else None,
        new.ready_at_seconds if new is not None else None,
    )
    before = 0.0
    for name, instant in zip(PHASES, instants, strict=True):
        if instant is None:
            continue
        yield Phase(name=name, seconds=round(max(0.0, instant - before), 1), changed_by=SETTINGS[name])
        before = max(before, instant)


def _stuck_in(move: PodMove) -> str:
    if move.replacement is None:
        return "termination"
    return "rescheduling" if move.replacement.node is None else "start"


def _why_stuck(move: PodMove) -> str:
    if move.replacement is None:
        if move.gone_at_seconds is None:
            return "its pod is not replaced before it is gone, and a dead node cannot say that it is"
        return "its pod is not replaced within the horizon"
    if move.replacement.node is None:
        return "its new pod stays pending: no node has room for it, or lets it in"
    return "its new pod is not ready within the horizon"
