"""What a DaemonSet does on each of its nodes: keep one pod there, replace old ones, count.

Rules of keeping
----------------
1. A node that should run a pod and has none gets one; a pod that is ending but not finished still counts.
2. Where pods may stay, failed ones are deleted (with a growing pause a node), finished ones too; of several that run
   the first stays: bound before unbound, older before younger. With surge one of the present template and one of an
   older one may run side by side until the new one is available or the old one is not ready.
3. Where none may stay all are deleted. So are pods that wait for a node that is gone.

Rules of replacing (RollingUpdate)
----------------------------------
4. Without surge: nodes without exactly one pod, new pods that are not available and old ones that are not count as
   unavailable. Old pods that are not available are deleted; others as long as fewer than allowed are unavailable.
5. With surge: a new pod is made beside an old one that is not available, and beside others as long as fewer than
   allowed wait to be available; the old one goes when the new one is available. An old one alone on a node where none
   belongs goes if it is not available, or when more are available than are wanted.
6. Shares of the desired number are rounded up; both zero means one unavailable.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.views.apps import DaemonSet, DaemonSetStatus, RollingUpdate
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.well_known import TEMPLATE_GENERATION_ANNOTATION
from doorman.base.clock import Instant
from doorman.controllers.daemonset.daemon_nodes import GENERATION_LABEL, Placements
from doorman.controllers.pods.controller_revisions import HASH_LABEL
from doorman.controllers.pods.int_or_percent import scaled
from doorman.controllers.pods.pod_state import is_available, is_ready, target_node

FAILED_PAUSE_SECONDS_MIN: Final = 1.0
FAILED_PAUSE_SECONDS_MAX: Final = 900.0

PodsByNode = Mapping[str, Sequence[Pod]]


class TemplateIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """How pods of the present template are told from older ones."""

    hash: str
    generation: str = ""

    def is_new(self, pod: Pod) -> bool:
        labels = pod.metadata.labels
        if self.generation and labels.get(GENERATION_LABEL) == self.generation:
            return True
        return labels.get(HASH_LABEL) == self.hash


class EndedDaemonPod(msgspec.Struct, frozen=True):
    """A daemon pod that ended and is deleted for it."""

    pod: Pod
    failed: bool


class DaemonPodPlan:
    """What is to be done: nodes that get a pod, pods that go, what is told of them, when to look again."""

    __slots__ = ("create", "delete", "ended", "looks_again")

    def __init__(self) -> None:
        self.create: list[str] = []
        self.delete: list[Pod] = []
        self.ended: list[EndedDaemonPod] = []
        self.looks_again: Instant | None = None

    def look_again(self, instant: Instant) -> None:
        self.looks_again = instant if self.looks_again is None else min(self.looks_again, instant)


class FailedPods:
    """How long a node's failed daemon pods are left before the next is deleted: doubling from a second."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, int, str], tuple[Instant, float]] = {}

    def wait_until(self, key: tuple[str, int, str], now: Instant) -> Instant | None:
        """The instant to wait for, or None: then the pod may go, and the next will wait longer."""
        since, pause = self._entries.get(key, (now, 0.0))
        if now < since + pause:
            return since + pause
        if now - since > 2 * FAILED_PAUSE_SECONDS_MAX:
            pause = 0.0
        longer = min(max(pause * 2, FAILED_PAUSE_SECONDS_MIN), FAILED_PAUSE_SECONDS_MAX)
        self._entries[key] = (now, longer)
        return None

    def forget(self, uid: str) -> None:
        for key in [key for key in self._entries if key[0] == uid]:
            del self._entries[key]


def template_of(daemon_set: DaemonSet, hash_: str) -> TemplateIdentity:
    generation = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION_ANNOTATION, "")
    return TemplateIdentity(hash=hash_, generation=generation)


def group_by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """By the node they are on or pinned to, in the order in which they count; those that are over are left out."""
    grouped: dict[str, list[Pod]] = {}
    for pod in pods:
        node = target_node(pod)
        if node and not (pod.is_finished and pod.metadata.deletion_timestamp):
            grouped.setdefault(node, []).append(pod)
    for found in grouped.values():
        found.sort(key=_precedence)
    return grouped


def allowances(daemon_set: DaemonSet, desired: int) -> tuple[int, int]:
    """Rule 6: how many may be unavailable, and how many may surge."""
    rolling = daemon_set.spec.update_strategy.rolling_update or RollingUpdate()
    surge = scaled(rolling.max_surge, desired, default=0, round_up=True)
    unavailable = scaled(rolling.max_unavailable, desired, default=1, round_up=True)
    if desired > 0 and unavailable == 0 and surge == 0:
        unavailable = 1
    return unavailable, surge


def decide_keeping(
    daemon_set: DaemonSet,
    nodes: Sequence[Node],
    grouped: PodsByNode,
    coming: frozenset[str],
    placements: Placements,
    template: TemplateIdentity,
    failed: FailedPods,
    now: Instant,
) -> DaemonPodPlan:
    """Rules 1 to 3. `coming` are nodes whose pod was asked for and is not seen yet."""
    plan = DaemonPodPlan()
    rolls = daemon_set.spec.update_strategy.type == "RollingUpdate"
    surge = rolls and allowances(daemon_set, 1)[1] > 0
    for node in nodes:
        name = node.metadata.name
        placement = placements.on(node)
        pods = grouped.get(name, ())
        if placement.should_run and not pods:
            if name not in coming:
                plan.create.append(name)
        elif placement.should_continue:
            running = _running(daemon_set, name, pods, failed, plan, now)
            if surge:
                if not running and placement.should_run and name not in coming:
                    plan.create.append(name)
                plan.delete.extend(_surplus_with_surge(daemon_set, running, template, now))
            else:
                plan.delete.extend(running[1:])
        else:
            plan.delete.extend(pod for pod in pods if not pod.metadata.deletion_timestamp)
    known = {node.metadata.name for node in nodes}
    for name in sorted(grouped):
        if name not in known:
            plan.delete.extend(pod for pod in grouped[name] if not pod.spec.node_name)
    return plan


def decide_replacing(
    daemon_set: DaemonSet,
    nodes: Sequence[Node],
    grouped: PodsByNode,
    coming: frozenset[str],
    placements: Placements,
    template: TemplateIdentity,
    now: Instant,
) -> DaemonPodPlan:
    """Rules 4 to 6."""
    desired = [node.metadata.name for node in nodes if placements.on(node).should_run]
    unavailable_max, surge_max = allowances(daemon_set, len(desired))
    names = sorted({*grouped, *desired})
    if surge_max == 0:
        return _replace_in_place(daemon_set, names, grouped, coming, template, unavailable_max, now)
    return _replace_with_surge(daemon_set, names, frozenset(desired), grouped, coming, template, surge_max, now)


def decide_status(
    daemon_set: DaemonSet,
    nodes: Sequence[Node],
    grouped: PodsByNode,
    placements: Placements,
    template: TemplateIdentity,
    now: Instant,
) -> DaemonSetStatus:
    desired = current = misscheduled = ready = available = updated = 0
    min_ready = daemon_set.spec.min_ready_seconds
    for node in nodes:
        pods = grouped.get(node.metadata.name)
        if not placements.on(node).should_run:
            misscheduled += bool(pods)
            continue
        desired += 1
        if pods:
            first = pods[0]
            current += 1
            ready += is_ready(first)
            available += is_available(first, min_ready, now)
            updated += template.is_new(first)
    return DaemonSetStatus(
        current_number_scheduled=current,
        number_misscheduled=misscheduled,
        desired_number_scheduled=desired,
        number_ready=ready,
        observed_generation=daemon_set.metadata.generation,
        updated_number_scheduled=updated,
        number_available=available,
        number_unavailable=desired - available,
        collision_count=daemon_set.status.collision_count,
    )


def _running(
    daemon_set: DaemonSet, node: str, pods: Sequence[Pod], failed: FailedPods, plan: DaemonPodPlan, now: Instant
) -> list[Pod]:
    """Those that go on; the others that are not being deleted yet are sorted out here."""
    running = []
    for pod in pods:
        if pod.metadata.deletion_timestamp:
            continue
        if pod.status.phase == "Failed":
            key = (daemon_set.metadata.uid, daemon_set.status.observed_generation, node)
            wait = failed.wait_until(key, now)
            if wait is not None:
                plan.look_again(wait)
                continue
            plan.ended.append(EndedDaemonPod(pod, True))
            plan.delete.append(pod)
        elif pod.status.phase == "Succeeded":
            plan.ended.append(EndedDaemonPod(pod, False))
            plan.delete.append(pod)
        else:
            running.append(pod)
    return running


def _surplus_with_surge(
    daemon_set: DaemonSet, running: Sequence[Pod], template: TemplateIdentity, now: Instant
) -> Iterable[Pod]:
    new = [pod for pod in running if template.is_new(pod)]
    old = [pod for pod in running if not template.is_new(pod)]
    surplus = [*new[1:], *old[1:]]
    if new and old and (not is_ready(old[0]) or is_available(new[0], daemon_set.spec.min_ready_seconds, now)):
        surplus.append(old[0])
    return surplus


def _replace_in_place(
    daemon_set: DaemonSet,
    names: Iterable[str],
    grouped: PodsByNode,
    coming: frozenset[str],
    template: TemplateIdentity,
    unavailable_max: int,
    now: Instant,
) -> DaemonPodPlan:
    plan = DaemonPodPlan()
    min_ready = daemon_set.spec.min_ready_seconds
    unavailable = 0
    candidates: list[Pod] = []
    for name in names:
        pair = _pair(grouped.get(name, ()), template)
        if pair is None or name in coming or (pair[0] is None) is (pair[1] is None):
            unavailable += 1
            continue
        new, old = pair
        if new is not None:
            unavailable += not is_available(new, min_ready, now)
        elif old is not None and not is_available(old, min_ready, now):
            unavailable += 1
            plan.delete.append(old)
        elif old is not None:
            candidates.append(old)
    plan.delete.extend(candidates[: max(unavailable_max - unavailable, 0)])
    return plan


def _replace_with_surge(
    daemon_set: DaemonSet,
    names: Iterable[str],
    desired: frozenset[str],
    grouped: PodsByNode,
    coming: frozenset[str],
    template: TemplateIdentity,
    surge_max: int,
    now: Instant,
) -> DaemonPodPlan:
    plan = DaemonPodPlan()
    min_ready = daemon_set.spec.min_ready_seconds
    surging = available = 0
    candidates: list[str] = []
    stranded: list[Pod] = []
    for name in names:
        pair = _pair(grouped.get(name, ()), template)
        if pair is None or (name in coming and pair[1] is not None):
            surging += 1
            continue
        new, old = pair
        new_is_available = new is not None and is_available(new, min_ready, now)
        old_is_available = old is not None and is_available(old, min_ready, now)
        available += new_is_available if old is None else old_is_available
        if old is None:
            continue
        if new is None:
            if name in desired:
                (candidates if old_is_available else plan.create).append(name)
            else:
                (stranded if old_is_available else plan.delete).append(old)
        elif new_is_available:
            plan.delete.append(old)
        else:
            surging += 1
    plan.create.extend(candidates[: max(surge_max - surging, 0)])
    plan.delete.extend(stranded[: max(available - len(desired), 0)])
    return plan


def _pair(pods: Iterable[Pod], template: TemplateIdentity) -> tuple[Pod | None, Pod | None] | None:
    """The one new and the one old pod of a node; None when there are more."""
    new: Pod | None = None
    old: Pod | None = None
    for pod in pods:
        if pod.metadata.deletion_timestamp:
            continue
        if template.is_new(pod):
            if new is not None:
                return None
            new = pod
        elif old is not None:
            return None
        else:
            old = pod
    return new, old


def _precedence(pod: Pod) -> tuple[bool, str, str]:
    return not pod.spec.node_name, pod.metadata.creation_timestamp, pod.metadata.name
