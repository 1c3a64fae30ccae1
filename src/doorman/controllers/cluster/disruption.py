"""disruption-controller: how many pods of each budget may be disrupted right now.

It reads PodDisruptionBudgets, pods, and the workloads that say how many there should be.

Rules
-----
1. A pod is healthy when it is Ready, not being deleted and not being evicted.
2. `minAvailable` as a number: so many must be healthy, of as many as there are. As a share, or with `maxUnavailable`:
   of as many as the pods' workloads are to have, rounded up; each workload counts once.
3. Allowed are as many as are healthy beyond that; none when there is no pod at all.
4. A pod whose eviction was granted counts as disrupted until it is seen going, for at most two minutes.
5. A pod whose workload is not known makes a share impossible: nothing is allowed, and the condition says why.

Keys: `budget/<namespace>/<name>` and `pod/<namespace>/<name>`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.label_selectors import matches, selector_or_nothing
from doorman.api.views.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from doorman.api.views.meta import Condition, controller_of
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Patch
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.int_or_percent import scaled
from doorman.controllers.pods.pod_state import is_ready
from doorman.controllers.pods.status_reports import condition_body, status_patch

NAME: Final = "disruption-controller"
RESOURCE: Final = "poddisruptionbudgets.policy"
CONDITION: Final = "DisruptionAllowed"
DISRUPTED_SECONDS_MAX: Final = 120.0
WORKERS: Final = 16


class UnknownWorkload(Exception):
    """A share cannot be counted: somebody else's controller manages the pod."""


def budget_keys(change: ObjectChange) -> Iterable[str]:
    return (f"budget/{change.newest.metadata.key}",) if change.new is not None else ()


def pod_keys(change: ObjectChange) -> Iterable[str]:
    """Whatever changes a pod's health or labels, or makes one come or go."""
    old: Pod | None = change.old
    new: Pod | None = change.new
    if old is not None and new is not None and _concerns(old) == _concerns(new):
        return ()
    if old is not None and new is not None and old.metadata.labels != new.metadata.labels:
        return (f"pod/{new.metadata.key}", f"namespace/{new.metadata.namespace}")
    if new is None:
        return (f"namespace/{change.newest.metadata.namespace}",)
    return (f"pod/{new.metadata.key}",)


def workload_keys(change: ObjectChange) -> Iterable[str]:
    """A workload of another size."""
    old, new = change.old, change.new
    if old is not None and new is not None and old.spec.replicas == new.spec.replicas:
        return ()
    return (f"namespace/{change.newest.metadata.namespace}",)


SOURCES: Final = (
    Source(RESOURCE, budget_keys),
    Source("pods", pod_keys, only_with=RESOURCE),
    Source("replicasets.apps", workload_keys, only_with=RESOURCE),
    Source("deployments.apps", workload_keys, only_with=RESOURCE),
    Source("statefulsets.apps", workload_keys, only_with=RESOURCE),
    Source("replicationcontrollers", workload_keys, only_with=RESOURCE),
)


class WorkloadScales:
    """How many pods the workload that manages a pod is to have."""

    def __init__(
        self,
        replica_sets: ListerOf[ReplicaSet],
        deployments: ListerOf[Deployment],
        stateful_sets: ListerOf[StatefulSet],
        replication_controllers: ListerOf[ReplicationController],
    ) -> None:
        self._replica_sets = replica_sets
        self._deployments = deployments
        self._others: Mapping[str, ListerOf[StatefulSet] | ListerOf[ReplicationController]] = {
            "StatefulSet": stateful_sets,
            "ReplicationController": replication_controllers,
        }

    def of(self, pod: Pod) -> tuple[str, int]:
        """The workload's uid and size. Raises UnknownWorkload; a pod without controller is not counted at all."""
        owner = controller_of(pod.metadata)
        if owner is None:
            return "", 0
        key = f"{pod.metadata.namespace}/{owner.name}"
        if owner.kind == "ReplicaSet":
            found = self._replica_sets.get(key)
            if found is not None and found.metadata.uid == owner.uid:
                return self._of_replica_set(found)
        other = self._others.get(owner.kind)
        workload = other.get(key) if other is not None else None
        if workload is not None and workload.metadata.uid == owner.uid:
            return owner.uid, workload.spec.replicas
        raise UnknownWorkload(f'found no controllers for pod "{pod.metadata.name}"')

    def _of_replica_set(self, found: ReplicaSet) -> tuple[str, int]:
        owner = controller_of(found.metadata)
        if owner is None:
            return found.metadata.uid, found.spec.replicas
        deployment = self._deployments.get(f"{found.metadata.namespace}/{owner.name}")
        if deployment is None or deployment.metadata.uid != owner.uid:
            raise UnknownWorkload(f'found no controllers for replica set "{found.metadata.name}"')
        return owner.uid, deployment.spec.replicas


def decide_expected(budget: PodDisruptionBudget, pods: Sequence[Pod], workloads: WorkloadScales) -> tuple[int, int]:
    """Rule 2: how many there should be, and how many of them must be healthy."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected = _expected(pods, workloads)
        down = scaled(spec.max_unavailable, expected, default=0, round_up=True)
        return expected, max(expected - down, 0)
    if isinstance(spec.min_available, int):
        return len(pods), spec.min_available
    if spec.min_available is not None:
        expected = _expected(pods, workloads)
        return expected, scaled(spec.min_available, expected, default=0, round_up=True)
    return len(pods), 0


def decide_disrupted(
    budget: PodDisruptionBudget, pods: Sequence[Pod], now: Instant
) -> tuple[dict[str, str], Instant | None]:
    """Rule 4: who still counts as disrupted, and when the next stops to."""
    present = {pod.metadata.name: pod for pod in pods}
    kept: dict[str, str] = {}
    again: list[Instant] = []
    for name, time in budget.status.disrupted_pods.items():
        until = from_time(time) + DISRUPTED_SECONDS_MAX if time else now
        pod = present.get(name)
        if pod is not None and not pod.metadata.deletion_timestamp and until > now:
            kept[name] = time
            again.append(until)
    return kept, min(again, default=None)


def decide_status(
    budget: PodDisruptionBudget,
    pods: Sequence[Pod],
    disrupted: Mapping[str, str],
    workloads: WorkloadScales,
    now: Instant,
) -> PodDisruptionBudgetStatus:
    generation = budget.metadata.generation
    try:
        expected, desired = decide_expected(budget, pods, workloads)
    except UnknownWorkload as error:
        condition = _condition(budget, "False", "SyncFailed", str(error), now)
        return PodDisruptionBudgetStatus(
            observed_generation=generation,
            disrupted_pods=dict(disrupted),
            current_healthy=budget.status.current_healthy,
            desired_healthy=budget.status.desired_healthy,
            expected_pods=budget.status.expected_pods,
            conditions=(condition,),
        )
    healthy = sum(
        1
        for pod in pods
        if is_ready(pod) and not pod.metadata.deletion_timestamp and pod.metadata.name not in disrupted
    )
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    status, reason = ("True", "SufficientPods") if allowed > 0 else ("False", "InsufficientPods")
    return PodDisruptionBudgetStatus(
        observed_generation=generation,
        disrupted_pods=dict(disrupted),
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        conditions=(_condition(budget, status, reason, "", now),),
    )


class DisruptionController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, budgets: ListerOf[PodDisruptionBudget], pods: ListerOf[Pod], workloads: WorkloadScales) -> None:
        self._budgets = budgets
        self._pods = pods
        self._workloads = workloads

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "budget":
                return self._sync(rest, now)
            case "pod":
                return self._wake_matching(rest, now)
            case _:
                assert kind == "namespace", f"unknown key {key}"
                budgets = self._budgets.by(BY_NAMESPACE, rest)
                return Result(wakes=[(f"budget/{budget.metadata.key}", now) for budget in budgets])

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change tries again."""
        return

    def _wake_matching(self, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        if pod is None:
            return DONE
        budgets = self._budgets.by(BY_NAMESPACE, pod.metadata.namespace)
        return Result(
            wakes=[
                (f"budget/{budget.metadata.key}", now)
                for budget in budgets
                if matches(budget.spec.selector, pod.metadata.labels)
            ]
        )

    def _sync(self, key: str, now: Instant) -> Result:
        budget = self._budgets.get(key)
        if budget is None:
            return DONE
        pods = self._pods_of(budget)
        disrupted, again = decide_disrupted(budget, pods, now)
        status = decide_status(budget, pods, disrupted, self._workloads, now)
        wakes = ((f"budget/{key}", again),) if again is not None else ()
        if status == budget.status:
            return Result(wakes=wakes)
        return Result(actions=(_status_patch(budget, status),), wakes=wakes)

    def _pods_of(self, budget: PodDisruptionBudget) -> list[Pod]:
        selector = selector_or_nothing(budget.spec.selector)
        pods = self._pods.by(BY_NAMESPACE, budget.metadata.namespace)
        return [pod for pod in pods if selector.matches(pod.metadata.labels) and not pod.is_finished]


def _expected(pods: Iterable[Pod], workloads: WorkloadScales) -> int:
    return sum(dict(workloads.of(pod) for pod in pods).values())


def _condition(budget: PodDisruptionBudget, status: str, reason: str, message: str, now: Instant) -> Condition:
    before = next((one for one in budget.status.conditions if one.type == CONDITION), None)
    since = before.last_transition_time if before is not None and before.status == status else to_time(now)
    return Condition(
        type=CONDITION,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since,
        observed_generation=budget.metadata.generation,
    )


def _status_patch(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> Patch:
    """With the version it was computed from: an eviction that was granted meanwhile must not be forgotten."""
    gone = {name: None for name in budget.status.disrupted_pods if name not in status.disrupted_pods}
    disrupted: dict[str, Any] = {**status.disrupted_pods, **gone}  # JSON
    body: dict[str, Any] = {  # JSON
        "observedGeneration": status.observed_generation or None,
        "disruptionsAllowed": status.disruptions_allowed,
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "conditions": [{"message": "", **condition_body(one)} for one in status.conditions],
    }
    if disrupted:
        body["disruptedPods"] = disrupted if status.disrupted_pods else None
    return status_patch(RESOURCE, budget.metadata, body, guarded=True)


def _concerns(pod: Pod) -> tuple[Any, ...]:
    """What of a pod matters to a budget."""
    return (pod.metadata.labels, is_ready(pod), bool(pod.metadata.deletion_timestamp), pod.is_finished)
