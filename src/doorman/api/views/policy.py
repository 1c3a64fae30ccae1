"""The view of a disruption budget: how many pods of a selection may be away at once."""

from doorman.api.views.meta import Condition, LabelSelector, ObjectMeta, View


class PodDisruptionBudgetSpec(View, frozen=True, kw_only=True):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(View, frozen=True, kw_only=True):
    observed_generation: int = 0
    disrupted_pods: dict[str, str] = {}
    """Pods whose eviction was granted but which are not gone yet, with the instant of that."""
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
