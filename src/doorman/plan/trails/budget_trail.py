"""Disruption budgets while a plan is made: which have fewer healthy pods than they demand, from when, for how long."""

from collections.abc import Iterator

from doorman.api.views.policy import PodDisruptionBudget
from doorman.base.clock import Clock, Instant
from doorman.client.controller_contract import ObjectChange
from doorman.plan.plan_result import BudgetEffect


class _Breach:
    __slots__ = ("began", "desired", "lowest", "since", "total")

    def __init__(self, began: Instant, status_desired: int, healthy: int) -> None:
        self.began = began
        self.since: Instant | None = began
        self.total = 0.0
        self.desired = status_desired
        self.lowest = healthy


class BudgetTrails:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._is_begun = False
        self._broken_before: set[str] = set()
        self._breaches: dict[str, _Breach] = {}

    def begin(self) -> None:
        """Whatever was told until now was so before."""
        self._is_begun = True

    def changed(self, change: ObjectChange) -> None:
        """For the informer of budgets."""
        budget: PodDisruptionBudget = change.newest
        key = budget.metadata.key
        status = budget.status
        is_broken = change.new is not None and status.current_healthy < status.desired_healthy
        if not self._is_begun:
            if is_broken:
                self._broken_before.add(key)
            return
        now = self._clock.now()
        breach = self._breaches.get(key)
        if is_broken and key not in self._broken_before:
            if breach is None:
                breach = self._breaches[key] = _Breach(now, status.desired_healthy, status.current_healthy)
            breach.since = breach.since if breach.since is not None else now
            if status.current_healthy - status.desired_healthy < breach.lowest - breach.desired:
                breach.desired, breach.lowest = status.desired_healthy, status.current_healthy
        elif not is_broken:
            self._broken_before.discard(key)
            if breach is not None and breach.since is not None:
                breach.total += now - breach.since
                breach.since = None

    def effects(self, begun: Instant, now: Instant) -> Iterator[BudgetEffect]:
        for key, breach in sorted(self._breaches.items()):
            namespace, _, name = key.partition("/")
            rest = now - breach.since if breach.since is not None else 0.0
            yield BudgetEffect(
                namespace=namespace,
                name=name,
                at_seconds=round(breach.began - begun, 1),
                seconds=round(breach.total + rest, 1),
                desired_healthy=breach.desired,
                lowest_healthy=breach.lowest,
            )
