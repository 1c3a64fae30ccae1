"""Whether disruption budgets let a pod go, for an eviction that asks them (an option; Kubernetes does not ask).

Rules
-----
1. A pod that no budget selects may go, and so may one that has not started, has ended or is going already.
2. A pod that is not Ready may go when its budget says so always, or when enough others are healthy.
3. Otherwise every budget that selects it must allow a disruption that was not granted already. What was granted counts
   until the pod is seen going and the budget has been counted anew.
"""

from doorman.api.machinery.label_selectors import matches
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.api.views.policy import PodDisruptionBudget
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import is_ready


class BudgetGate:
    """Owns what it granted and budgets do not show yet."""

    def __init__(self, budgets: ListerOf[PodDisruptionBudget], pods: ListerOf[Pod]) -> None:
        self._budgets = budgets
        self._pods = pods
        self._granted: dict[str, dict[str, tuple[str, str]]] = {}
        """By budget, by pod: the pod's uid, and the budget's version at which it was granted."""

    def refusing(self, pod: Pod) -> str:
        """The name of a budget that does not let the pod go, or nothing: then it was granted."""
        if pod.is_finished or pod.metadata.deletion_timestamp or pod.status.phase == "Pending":
            return ""
        budgets = [
            budget
            for budget in self._budgets.by(BY_NAMESPACE, pod.metadata.namespace)
            if matches(budget.spec.selector, pod.metadata.labels)
        ]
        for budget in budgets:
            if not self._allows(budget, pod):
                return budget.metadata.name
        for budget in budgets:
            granted = self._granted.setdefault(budget.metadata.key, {})
            granted[pod.metadata.key] = (pod.metadata.uid, budget.metadata.resource_version)
        return ""

    def _allows(self, budget: PodDisruptionBudget, pod: Pod) -> bool:
        status = budget.status
        if not is_ready(pod):
            if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
                return True
            if status.current_healthy >= status.desired_healthy > 0:
                return True
        return status.disruptions_allowed > self._outstanding(budget)

    def _outstanding(self, budget: PodDisruptionBudget) -> int:
        key, version = budget.metadata.key, budget.metadata.resource_version
        granted = self._granted.get(key, {})
        for pod_key, (uid, granted_at) in list(granted.items()):
            pod = self._pods.get(pod_key)
            is_going = pod is None or pod.metadata.uid != uid or bool(pod.metadata.deletion_timestamp)
            if is_going and version != granted_at:
                del granted[pod_key]
        if not granted:
            self._granted.pop(key, None)
        return len(granted)
