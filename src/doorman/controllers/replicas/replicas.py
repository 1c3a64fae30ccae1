"""So many pods of one template: what ReplicaSets and ReplicationControllers have in common.

Rules
-----
1. Active pods are neither finished nor being deleted; one that was asked for counts, one whose deletion was asked for
   does not. Too few: the missing are made, at most 500 a sync. Too many: the lowest in rank go, at most 500 a sync.
2. Rank, the first difference decides; the lower goes first: without a node; Pending, then Unknown, then Running; not
   Ready; lower deletion cost; more active pods of its kin on the same node; Ready for a shorter time; more
   restarts; younger. Times count in powers of two of nanoseconds, and in the same power the lower uid goes first.
3. An owner that is being deleted makes and deletes nothing.
4. Failures are told in the condition ReplicaFailure until there are none.
5. Where nobody reads how many pods there are, a status that differs in nothing but these numbers is not written.
"""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import Selector
from doorman.api.views.apps import ReplicaSetStatus, Template, template_labels
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pod_indexes import UNFINISHED_BY_OWNER
from doorman.api.views.pods import Pod
from doorman.api.well_known import POD_DELETION_COST_ANNOTATION
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.base.json_types import Document
from doorman.client.actions import Action, Patch
from doorman.client.controller_contract import Result
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.controller_refs import Candidates, Claimant, decide_claim
from doorman.controllers.pods.pod_control import Owner, PodControl, PodControlFailure, pod_body
from doorman.controllers.pods.pod_state import (
    is_active,
    is_available,
    is_ready,
    max_restarts,
    next_available,
    ready_since,
)
from doorman.controllers.pods.status_reports import REPLICA_FAILURE, condition_body, reference_to, status_patch
from doorman.controllers.replicas.counted_pods import CountedPods, ReplicaCounts

PODS_PER_SYNC_MAX: Final = 500
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}

Kin = Mapping[str, int]
"""By node: how many active pods of the same family run there."""


class Replicated(msgspec.Struct, frozen=True, kw_only=True):
    """An owner of so many pods, whatever its kind."""

    claimant: Claimant
    replicas: int
    selector: Selector
    template: Template
    min_ready_seconds: int
    status: ReplicaSetStatus

    @property
    def meta(self) -> ObjectMeta:
        return self.claimant.meta


def rank_for_deletion(pods: Iterable[Pod], kin: Kin, now: Instant) -> list[Pod]:
    """Rule 2: who goes first comes first."""

    def compare(one: Pod, other: Pod) -> int:
        first, second = _rank(one, kin), _rank(other, kin)
        if first != second:
            return -1 if first < second else 1
        if is_ready(one):
            found = _compare_ages(one, other, ready_since(one, now), ready_since(other, now), now)
            if found:
                return found
        restarts = max_restarts(other) - max_restarts(one)
        if restarts:
            return restarts
        return _compare_ages(one, other, _created(one, now), _created(other, now), now)

    return sorted(pods, key=functools.cmp_to_key(compare))


def decide_surplus(pods: Sequence[Pod], replicas: int, kin: Kin, now: Instant) -> list[Pod]:
    surplus = min(max(len(pods) - replicas, 0), PODS_PER_SYNC_MAX)
    return rank_for_deletion(pods, kin, now)[:surplus]


def decide_status(
    owner: Replicated, pods: Sequence[Pod], failures: Sequence[PodControlFailure], *, failing: bool, now: Instant
) -> ReplicaSetStatus:
    return status_of(owner, count_replicas(owner, pods, now), failures, failing=failing, now=now)


def count_replicas(owner: Replicated, pods: Sequence[Pod], now: Instant) -> ReplicaCounts:
    labels = template_labels(owner.template).items()
    active = [pod for pod in pods if is_active(pod)]
    return ReplicaCounts(
        replicas=len(active),
        labeled=sum(1 for pod in active if labels <= pod.metadata.labels.items()),
        ready=sum(map(is_ready, active)),
        available=sum(is_available(pod, owner.min_ready_seconds, now) for pod in active),
        terminating=sum(1 for pod in pods if pod.metadata.deletion_timestamp and not pod.is_finished),
    )


def status_of(
    owner: Replicated, counts: ReplicaCounts, failures: Sequence[PodControlFailure], *, failing: bool, now: Instant
) -> ReplicaSetStatus:
    return ReplicaSetStatus(
        replicas=counts.replicas,
        fully_labeled_replicas=counts.labeled,
        ready_replicas=counts.ready,
        available_replicas=counts.available,
        terminating_replicas=counts.terminating,
        observed_generation=owner.meta.generation,
        conditions=_conditions(owner.status, failures, failing=failing, now=now),
    )


def decide_status_patch(owner: Replicated, status: ReplicaSetStatus) -> Patch | None:
    if status == owner.status:
        return None
    body: dict[str, Any] = {  # JSON
        "replicas": status.replicas,
        "fullyLabeledReplicas": status.fully_labeled_replicas or None,
        "readyReplicas": status.ready_replicas or None,
        "availableReplicas": status.available_replicas or None,
        "terminatingReplicas": status.terminating_replicas,
        "observedGeneration": status.observed_generation or None,
    }
    if status.conditions != owner.status.conditions:
        body["conditions"] = [condition_body(one) for one in status.conditions] or None
    return status_patch(owner.claimant.resource, owner.meta, body)


def differs_in_counts_only(status: ReplicaSetStatus, before: ReplicaSetStatus) -> bool:
    """Rule 5."""
    return status.observed_generation == before.observed_generation and status.conditions == before.conditions


class ReplicaEngine:
    """The part of a controller that keeps so many pods of each owner."""

    def __init__(self, pods: ListerOf[Pod], control: PodControl, candidates: Candidates[Pod]) -> None:
        self._pods = pods
        self._control = control
        self._candidates = candidates
        self._counted_pods = CountedPods()

    def sync(
        self, key: str, owner: Replicated, kin_owners: Iterable[str], now: Instant, *, writes_counts: bool = True
    ) -> Result:
        """`kin_owners` are the uids of owners of the same family, this one included."""
        meta = owner.meta
        claimant = owner.claimant
        reference = reference_to(meta, api_version=claimant.api_version, kind=claimant.kind)
        who = Owner(key=f"set/{key}", meta=meta, reference=reference)
        claimed, pods, counts = self._claimed(key, owner, now)
        coming = len(self._control.creating(who.key, now))
        failures = self._control.failures(who.key)
        wakes: list[tuple[str, Instant]] = []
        if not meta.deletion_timestamp:
            missing = min(max(owner.replicas - counts.replicas - coming, 0), PODS_PER_SYNC_MAX)
            wakes += self._control.create(who, _bodies(owner, missing), now)
            if counts.replicas > owner.replicas:
                active = [pod for pod in pods if is_active(pod)]
                surplus = decide_surplus(active, owner.replicas, self._kin(kin_owners), now)
                wakes += self._control.delete(who, surplus, now)
        failing = bool(failures) or now < self._control.paused_until(who.key)
        status = status_of(owner, counts, failures, failing=failing, now=now)
        patch = decide_status_patch(owner, status)
        actions: list[Action] = [*claimed, *self._control.failure_events(who, failures)]
        if patch is not None and (writes_counts or not differs_in_counts_only(status, owner.status)):
            actions.append(patch)
        available = next_available(pods, owner.min_ready_seconds, now)
        if available is not None:
            own = [instant for wake, instant in wakes if wake == who.key]
            wakes = [wake for wake in wakes if wake[0] != who.key]
            wakes.append((who.key, min([available, *own])))
        return Result(actions=actions, wakes=wakes)

    def _claimed(
        self, key: str, owner: Replicated, now: Instant
    ) -> tuple[Sequence[Action], Sequence[Pod], ReplicaCounts]:
        """What makes its pods its own, its pods as they will be seen, and how many are what."""
        candidates = self._candidates.of(key, owner.meta)
        if self._candidates.has_orphans(key):  # its own are looked for among the unfinished
            candidates = [pod for pod in candidates if not pod.is_finished]
        if not self._control.is_deleting_any and owner.min_ready_seconds == 0:
            labels = template_labels(owner.template)
            counts = self._counted_pods.of(key, owner.meta, owner.selector, labels, candidates)
            if counts is not None:
                return (), candidates, counts
        claim = decide_claim(owner.claimant, owner.selector, "pods", candidates)
        pods = [self._control.seen_as_deleting(pod) for pod in claim.mine]
        return claim.actions, pods, count_replicas(owner, pods, now)

    def forget(self, key: str) -> None:
        self._counted_pods.forget(key)

    def _kin(self, uids: Iterable[str]) -> Kin:
        counts: dict[str, int] = {}
        for uid in uids:
            for pod in self._pods.by(UNFINISHED_BY_OWNER, uid):
                if is_active(pod) and pod.spec.node_name:
                    counts[pod.spec.node_name] = counts.get(pod.spec.node_name, 0) + 1
        return counts


def _bodies(owner: Replicated, number: int) -> list[Document]:
    """Of so many new pods, which share it."""
    if number == 0:
        return []
    return [pod_body(owner.template, owner=owner.claimant.reference(), generate_name=f"{owner.meta.name}-")] * number


def _rank(pod: Pod, kin: Kin) -> tuple[bool, int, bool, int, int]:
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        is_ready(pod),
        _deletion_cost(pod),
        -kin.get(pod.spec.node_name, 0),
    )


def _compare_ages(one: Pod, other: Pod, since: Instant, other_since: Instant, now: Instant) -> int:
    if since == other_since:
        return 0
    difference = _age_rank(since, now) - _age_rank(other_since, now)
    if difference:
        return difference
    return -1 if one.metadata.uid < other.metadata.uid else 1


def _age_rank(since: Instant, now: Instant) -> int:
    nanos = (now - since) * 1e9
    return int(math.log2(nanos)) if nanos > 0 else -1


def _created(pod: Pod, otherwise: Instant) -> Instant:
    text = pod.metadata.creation_timestamp
    return from_time(text) if text else otherwise


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(POD_DELETION_COST_ANNOTATION, "0"))
    except ValueError:
        return 0


def _conditions(
    before: ReplicaSetStatus, failures: Sequence[PodControlFailure], *, failing: bool, now: Instant
) -> tuple[Any, ...]:  # Conditions
    """Rule 4."""
    found = before.condition(REPLICA_FAILURE)
    if failures and found is None:
        first = failures[0]
        condition = {
            "type": REPLICA_FAILURE, "status": "True", "reason": first.reason,
            "message": first.message.partition(": ")[2], "lastTransitionTime": to_time(now),
        }  # fmt: skip
        added = msgspec.convert({"conditions": [condition]}, ReplicaSetStatus).conditions
        return (*before.conditions, *added)
    if not failing and found is not None:
        return tuple(one for one in before.conditions if one.type != REPLICA_FAILURE)
    return before.conditions
