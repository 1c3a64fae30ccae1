"""Whom a kubelet sends away so that a critical pod gets in, and what it says.

Rules
-----
1. Only for a critical pod that lacks nothing but resources. It may displace pods that are not critical, and any of a
   lower priority.
2. If all of those together do not free enough, nobody goes and the pod is refused.
3. As few guaranteed pods go as possible, then as few burstable ones, then as few best-effort ones.
4. Within a class, whoever comes nearest to what is still missing goes first (the squares of the shares that would
   still be missing, summed); of equals the one that requests less memory, then less cpu.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.api.views.pods import Pod
from doorman.api.well_known import PODS
from doorman.base.clock import Instant
from doorman.nodes.pods.kubelet_pod_status import disrupted_body
from doorman.nodes.pods.pod_admission import PodRejection, Shortfall, is_critical
from doorman.semantics.pods.pod_resources import CPU, MEMORY, pod_requests

REASON: Final = "Preempting"
MESSAGE: Final = "Preempted in order to admit critical pod"
CONDITION_MESSAGE: Final = "Pod was preempted by Kubelet to accommodate a critical pod."

MissingAmounts = Mapping[str, int]


def decide_preemption(pod: Pod, others: Iterable[Pod], shortfall: Shortfall) -> tuple[Pod, ...] | PodRejection:
    """Rules 1 to 4: who goes, best-effort pods first."""
    displaceable = [other for other in others if is_displaceable(pod, other)]
    best_effort, burstable, guaranteed = (
        [other for other in displaceable if other.status.qos_class == kind]
        for kind in ("BestEffort", "Burstable", "Guaranteed")
    )
    missing = {lack.resource: lack.missing for lack in shortfall.lacking}
    unmet = _still_missing(missing, displaceable)
    if unmet:
        listed = "".join(f"(res: {resource}, q: {amount}), " for resource, amount in unmet.items())
        return PodRejection(
            "UnexpectedAdmissionError",
            "Unexpected error while attempting to recover from admission failure: "
            "preemption: error finding a set of pods to preempt: "
            f"no set of running pods found to reclaim resources: [{listed}]",
        )
    third = _nearest(guaranteed, _still_missing(missing, [*best_effort, *burstable]))
    second = _nearest(burstable, _still_missing(missing, [*best_effort, *third]))
    first = _nearest(best_effort, _still_missing(missing, [*second, *third]))
    return (*first, *second, *third)


def is_displaceable(pod: Pod, other: Pod) -> bool:
    """Rule 1."""
    return (is_critical(pod) and not is_critical(other)) or other.spec.priority < pod.spec.priority


def preempted_body(pod: Pod, now: Instant) -> dict[str, Any]:
    """The status patch of a pod that had to go, as JSON."""
    return disrupted_body(pod, REASON, MESSAGE, now, condition_message=CONDITION_MESSAGE)


def _nearest(pods: Sequence[Pod], missing: MissingAmounts) -> list[Pod]:
    """Rule 4, until nothing is missing; there are enough pods, because all of them together free enough."""
    left = list(pods)
    chosen: list[Pod] = []
    while missing and left:
        next_one = min(left, key=lambda pod: (_distance(pod, missing), _request(pod, MEMORY), _request(pod, CPU)))
        left.remove(next_one)
        chosen.append(next_one)
        missing = _still_missing(missing, [next_one])
    return chosen


def _distance(pod: Pod, missing: MissingAmounts) -> float:
    shares = ((amount - _request(pod, resource)) / amount for resource, amount in missing.items())
    return sum(share**2 for share in shares if share > 0)


def _still_missing(missing: MissingAmounts, gone: Iterable[Pod]) -> dict[str, int]:
    freed = list(gone)
    rest = {resource: amount - sum(_request(pod, resource) for pod in freed) for resource, amount in missing.items()}
    return {resource: amount for resource, amount in rest.items() if amount > 0}


def _request(pod: Pod, resource: str) -> int:
    return 1 if resource == PODS else pod_requests(pod.spec).get(resource, 0)
