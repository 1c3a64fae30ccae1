"""The view of a disruption budget."""

from doorman.api.meta import Condition, LabelSelector, ObjectMeta, View
from doorman.api.workloads import IntOrPercent


class PodDisruptionBudgetSpec(View, frozen=True, kw_only=True):
    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(View, frozen=True, kw_only=True):
    observed_generation: int = 0
    disrupted_pods: dict[str, str] = {}
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        return next((one for one in self.conditions if one.type == kind), None)


class PodDisruptionBudget(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
