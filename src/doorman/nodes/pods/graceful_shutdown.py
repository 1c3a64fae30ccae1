"""The graceful shutdown of a node: who is ended when, and what the kubelet says meanwhile.

Rules
-----
1. `doorman.dev/shutdown: 30s/10s` is kubelet's shutdownGracePeriod and, of it, shutdownGracePeriodCriticalPods (none
   when it is left out). No time at all means that the machine is simply switched off.
2. At once the node is not Ready ("node is shutting down") and takes no more pods.
3. Ordinary pods are ended first, with the time that is not kept for critical ones; then those of priority 2000000000
   and more. A pod gets its own grace period if that is shorter, and ends sooner if it can. A group in which nobody is
   takes no time.
4. A second after the last one has ended the node is off: it says nothing any more until the annotation goes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.meta import Condition
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.nodes.node_annotations import ShutdownPeriods
from doorman.nodes.pods.kubelet_pod_status import disrupted_body
from doorman.nodes.pods.pod_admission import CRITICAL_PRIORITY, PodRejection
from doorman.nodes.pods.pod_lifecycle import life_of
from doorman.nodes.status.simulated_health import NOT_READY_MESSAGE

POWER_OFF_SECONDS: Final = 1.0
EVENT_REASON: Final = "Shutdown"
BEGUN: Final = "Shutdown manager detected shutdown event"
CANCELLED: Final = "Shutdown manager detected shutdown cancellation"
REFUSAL: Final = PodRejection("NodeShutdown", "Pod was rejected as the node is shutting down.")

_REASON: Final = "Terminated"
_MESSAGE: Final = "Pod was terminated in response to imminent node shutdown."


class ShutdownPlan(msgspec.Struct, frozen=True):
    """When each pod, by uid, has ended, and when the node is off."""

    ends: Mapping[str, Instant]
    off: Instant


def decide_plan(periods: ShutdownPeriods, pods: Iterable[Pod], now: Instant) -> ShutdownPlan:
    """Rules 3 and 4, for the pods that run."""
    if periods.total_seconds <= 0:
        return ShutdownPlan({}, now)
    known = list(pods)
    ordinary = [pod for pod in known if pod.spec.priority < CRITICAL_PRIORITY]
    critical = [pod for pod in known if pod.spec.priority >= CRITICAL_PRIORITY]
    groups = (
        (ordinary, periods.total_seconds - periods.critical_seconds),
        (critical, periods.critical_seconds),
    )
    ends: dict[str, Instant] = {}
    begin = now
    for group, seconds in groups:
        group_ends = {pod.metadata.uid: begin + _ending_seconds(pod, seconds) for pod in group}
        begin = max(group_ends.values(), default=begin)
        ends |= group_ends
    return ShutdownPlan(ends, begin + POWER_OFF_SECONDS)


def terminated_body(pod: Pod, now: Instant) -> dict[str, Any]:
    """The last status of a pod that was ended, as JSON."""
    return disrupted_body(pod, _REASON, _MESSAGE, now)


class Shutdowns:
    """The shutdowns under way, by node."""

    def __init__(self) -> None:
        self._plans: dict[str, ShutdownPlan] = {}

    def follow(
        self,
        node: str,
        periods: ShutdownPeriods | None,
        pods: Sequence[Pod],
        now: Instant,
        *,
        ready: Condition | None = None,
    ) -> str:
        """Begin, go on with or end a shutdown as the node was told; gives what there is to tell of it, if anything.

        `ready` is what the node said last: one that is off, or was on its way when this agent started, says no more
        of it.
        """
        plan = self._plans.get(node)
        if periods is not None:
            if plan is not None:
                return ""
            if ready is not None and ready.status == "Unknown" and not pods:
                self._plans[node] = ShutdownPlan({}, now)
                return ""
            self._plans[node] = decide_plan(periods, pods, now)
            return "" if ready is not None and ready.message == NOT_READY_MESSAGE else BEGUN
        if plan is None:
            return ""
        del self._plans[node]
        return CANCELLED if now < plan.off else ""

    def plan_of(self, node: str) -> ShutdownPlan | None:
        return self._plans.get(node)

    def is_off(self, node: str, now: Instant) -> bool:
        """Rule 4."""
        plan = self._plans.get(node)
        return plan is not None and now >= plan.off

    def end_of(self, pod: Pod) -> Instant | None:
        """When the pod has ended, if its node is shutting down."""
        plan = self._plans.get(pod.spec.node_name)
        return plan.ends.get(pod.metadata.uid) if plan is not None else None

    def forget(self, node: str) -> None:
        self._plans.pop(node, None)


def _ending_seconds(pod: Pod, group_seconds: float) -> float:
    return min(life_of(pod).termination_seconds, group_seconds, pod.spec.termination_grace_period_seconds)
