"""`failover`: plans in which a node, or a zone, is lost, and what each workload makes of it.

Without a zone, the node that carries most of a workload's pods is lost; workloads with the same such node share a plan.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from doorman.base.instants import to_time
from doorman.plan.failover import Failover, FailoverReport, failovers
from doorman.plan.plan_actions import LoseNodes, NodeChoice, PlanError, Step, chosen_nodes
from doorman.plan.plan_options import PlanOptions, PlanProgress
from doorman.plan.planner import plan
from doorman.plan.snapshot_index import SnapshotIndex
from doorman.runtime.settings import Settings
from doorman.scheduler.cache.node_order import natural_order
from doorman.snapshot.snapshot_format import Snapshot

HORIZON_SECONDS: Final = 6 * 3600.0
PLANS_MAX: Final = 10
"""Nodes that are lost, one plan each, when no workload is named."""
GRACE_SECONDS_MIN: Final = 20.0
"""Less than twice the period in which kubelets renew their leases marks healthy nodes as lost."""


class FailoverRequest(msgspec.Struct, frozen=True, kw_only=True):
    workload: str = ""
    """`[namespace/][Kind/]name`; empty: all of them."""
    zone: str = ""
    node: str = ""
    target_seconds: float | None = None


def failover(
    snapshot: Snapshot,
    request: FailoverRequest,
    options: PlanOptions,
    *,
    progress: PlanProgress = lambda _what, _share: None,
) -> FailoverReport:
    """Raises `PlanError` and `SnapshotError`."""
    index = SnapshotIndex(snapshot)
    wanted = index.workload_named(request.workload) if request.workload else ""
    found: list[Failover] = []
    for lost, choice in _losses(index, request, wanted):
        nodes = [node.metadata.name for node in chosen_nodes(choice, index.nodes)]
        made = plan(snapshot, [Step(action=LoseNodes(nodes=choice))], options, progress=progress)
        found += [one for one in failovers(made, lost, nodes, wanted) if _is_first(one, found)]
    found.sort(key=lambda one: (-(one.total_seconds if one.total_seconds is not None else math.inf), one.workload))
    proposals = tuple(_proposals(found, request.target_seconds, options.settings)) if request.target_seconds else ()
    return FailoverReport(
        snapshot_time=to_time(snapshot.taken_at),
        target_seconds=request.target_seconds,
        failovers=tuple(found),
        proposals=proposals,
    )


def _is_first(one: Failover, found: Sequence[Failover]) -> bool:
    return all(other.workload != one.workload for other in found)


def _losses(index: SnapshotIndex, request: FailoverRequest, wanted: str) -> Iterator[tuple[str, NodeChoice]]:
    """What is lost, one plan each."""
    if request.zone:
        yield f"zone {request.zone}", NodeChoice(zone=request.zone)
        return
    if request.node:
        yield f"node {request.node}", NodeChoice(names=(request.node,))
        return
    homes = Counter(index.busiest_node(workload) for workload in ([wanted] if wanted else index.workloads))
    homes.pop("", None)
    if not homes:
        raise PlanError(
            f"{wanted} has no pod on any node" if wanted else "no workload has a pod on any node", "is it running?"
        )
    in_order = sorted(homes.items(), key=lambda item: (-item[1], natural_order(item[0])))
    for node, _ in in_order[:PLANS_MAX]:
        yield f"node {node}", NodeChoice(names=(node,))


def _proposals(found: Sequence[Failover], target_seconds: float, settings: Settings) -> Iterator[str]:
    """What would bring those that take longer to the target: cheap and local things first."""
    late = [one for one in found if one.total_seconds is not None and one.total_seconds > target_seconds]
    for one in found:
        if one.total_seconds is None:
            yield f"{one.workload}: no setting helps: {one.stuck}"
    if not late:
        if any(one.total_seconds is not None for one in found):
            yield "nothing needs to change: what can be whole again is so in time"
        return
    rest = {one.workload: _seconds(one, "rescheduling", "start", "termination") for one in late}
    worst = max(rest.values())
    grace, period = _detection_for(target_seconds - worst, settings)
    lifecycle = settings.node_lifecycle
    if grace < lifecycle.node_monitor_grace_period_seconds:
        yield f"kube-controller-manager --node-monitor-grace-period={grace:g}s --node-monitor-period={period:g}s"
    limiter = max(_seconds(one, "limiter") for one in late)
    detection = grace + 2 * period  # a lease may be a moment old, and a pass a moment away
    if limiter > 1 and limiter > (target_seconds - worst - detection) / 2:
        nodes = limiter * lifecycle.node_eviction_rate + 2
        room = max(1.0, (target_seconds - worst - detection) / 2)
        yield f"kube-controller-manager --node-eviction-rate={math.ceil(10 * nodes / room) / 10:g}"
        limiter = room
    for one in late:
        seconds = math.floor(target_seconds - rest[one.workload] - detection - limiter)
        if seconds < 0:
            yield f"{one.workload}: not within {target_seconds:g}s: starting elsewhere takes {rest[one.workload]:g}s"
        elif seconds < _seconds(one, "toleration"):
            yield (
                f"{one.workload}: tolerationSeconds: {seconds} for node.kubernetes.io/unreachable and "
                "node.kubernetes.io/not-ready"
            )


def _detection_for(seconds: float, settings: Settings) -> tuple[float, float]:
    """A grace and a period that leave half of the time to the rest, not shorter than heartbeats allow."""
    lifecycle = settings.node_lifecycle
    grace = min(lifecycle.node_monitor_grace_period_seconds, max(GRACE_SECONDS_MIN, math.floor(seconds / 2)))
    return grace, min(lifecycle.node_monitor_period_seconds, max(1.0, math.floor(grace / 10)))


def _seconds(one: Failover, *names: str) -> float:
    return sum(phase.seconds for phase in one.phases if phase.name in names)
