"""Disruption budgets, as preemption asks for them: whose leaving breaks one."""

from collections.abc import Iterable

from doorman.api.machinery.label_selectors import NOTHING, Selector, selector_or_nothing
from doorman.api.views.policy import PodDisruptionBudget
from doorman.scheduler.cache.pod_record import PodRecord


class Budgets:
    """Disruption budgets with their selectors compiled."""

    def __init__(self) -> None:
        self._budgets: dict[str, tuple[PodDisruptionBudget, Selector]] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._budgets)

    def put(self, budget: PodDisruptionBudget) -> None:
        selector = selector_or_nothing(budget.spec.selector)
        if selector.is_everything:
            selector = NOTHING
        self._budgets[budget.metadata.key] = (budget, selector)
        self.version += 1

    def remove(self, key: str) -> None:
        self._budgets.pop(key, None)
        self.version += 1

    def broken_by(self, records: Iterable[PodRecord]) -> set[str]:
        """Rule 6: keys of the pods whose leaving, in this order, breaks a budget."""
        if not self._budgets:
            return set()
        allowed = {key: budget.status.disruptions_allowed for key, (budget, _) in self._budgets.items()}
        broken = set()
        for record in records:
            meta = record.pod.metadata
            for key, (budget, selector) in self._budgets.items() if meta.labels else ():
                if (
                    budget.metadata.namespace == meta.namespace
                    and selector.matches(meta.labels)
                    and meta.name not in budget.status.disrupted_pods
                ):
                    allowed[key] -= 1
                    if allowed[key] < 0:
                        broken.add(record.key)
        return broken
