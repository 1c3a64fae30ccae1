"""How many pods each ReplicaSet of a Deployment shall have next.

Rules
-----
1. Surge is a share rounded up, unavailability one rounded down; both zero means one unavailable.
2. Rolling up: all together may have as many as wanted and the surge, the new one never more than wanted.
3. Rolling down: as many may go as keep (wanted minus unavailable) available, when those of the new one that are not
   available yet are not counted on; first those of old ones that are not available, oldest ReplicaSet first, then
   available ones, as long as more than needed are.
4. Recreate: all old ones go to zero; the new one comes when none of their pods runs any more.
5. A changed number of replicas is spread over all ReplicaSets in proportion to their size, what is left over goes to
   the largest; with only one in use that one takes it, and if the new one is complete old ones go to zero.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.views.apps import Deployment, ReplicaSet, RollingUpdate
from doorman.controllers.pods.int_or_percent import scaled

DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"
REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"


class Resize(msgspec.Struct, frozen=True):
    """One ReplicaSet and its next size; the same size renews what it knows of the Deployment's."""

    replica_set: ReplicaSet
    replicas: int


def surge_and_unavailable(deployment: Deployment) -> tuple[int, int]:
    """Rule 1."""
    wanted = deployment.spec.replicas
    if deployment.spec.strategy.type == "Recreate":
        return 0, 0
    rolling = deployment.spec.strategy.rolling_update or RollingUpdate()
    surge = scaled(rolling.max_surge, wanted, default="25%", round_up=True)
    unavailable = scaled(rolling.max_unavailable, wanted, default="25%", round_up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, wanted)


def max_replicas(deployment: Deployment) -> int:
    return deployment.spec.replicas + surge_and_unavailable(deployment)[0]


def new_size(deployment: Deployment, everyone: Iterable[ReplicaSet], current: int) -> int:
    """Rule 2: the new ReplicaSet's next size, from its present one."""
    wanted = deployment.spec.replicas
    if deployment.spec.strategy.type == "Recreate":
        return wanted
    room = max_replicas(deployment) - total(everyone)
    return current if room <= 0 else current + min(room, wanted - current)


def decide_roll_up(deployment: Deployment, new: ReplicaSet, everyone: Sequence[ReplicaSet]) -> list[Resize]:
    wanted, current = deployment.spec.replicas, new.spec.replicas
    if current == wanted:
        return []
    size = wanted if current > wanted else new_size(deployment, everyone, current)
    return [Resize(new, size)] if size != current else []


def decide_roll_down(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> list[Resize]:
    """Rule 3."""
    active = sorted((one for one in old if one.spec.replicas > 0), key=_age)
    if not active:
        return []
    least = deployment.spec.replicas - surge_and_unavailable(deployment)[1]
    not_yet = new.spec.replicas - new.status.available_replicas
    budget = total([*active, new]) - least - not_yet
    if budget <= 0:
        return []
    sizes = {one.metadata.name: one.spec.replicas for one in active}
    for one in active:
        unhealthy = one.spec.replicas - one.status.available_replicas
        count = min(budget, max(unhealthy, 0))
        sizes[one.metadata.name] -= count
        budget -= count
    available = sum(one.status.available_replicas for one in (*active, new))
    spare = available - least
    for one in active:
        if spare <= 0:
            break
        count = min(sizes[one.metadata.name], spare)
        sizes[one.metadata.name] -= count
        spare -= count
    return [Resize(one, sizes[one.metadata.name]) for one in active if sizes[one.metadata.name] != one.spec.replicas]


def decide_scaling(deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> list[Resize]:
    """Rule 5."""
    wanted = deployment.spec.replicas
    single = _active_or_latest(new, old)
    if single is not None:
        return [Resize(single, wanted)] if not _is_known(single, deployment) else []
    if new is not None and _is_saturated(deployment, new):
        return [Resize(one, 0) for one in old if one.spec.replicas > 0]
    if deployment.spec.strategy.type == "Recreate":
        return []
    return _in_proportion(deployment, [*old, *([new] if new is not None else [])])


def is_scaling(deployment: Deployment, everyone: Iterable[ReplicaSet]) -> bool:
    """Whether some ReplicaSet in use still knows another number."""
    for one in everyone:
        known = number_or_none(one.metadata.annotations.get(DESIRED))
        if one.spec.replicas > 0 and known is not None and known != deployment.spec.replicas:
            return True
    return False


def total(everyone: Iterable[ReplicaSet]) -> int:
    return sum(one.spec.replicas for one in everyone)


def number_or_none(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def revision_of(replica_set: ReplicaSet) -> int:
    return number_or_none(replica_set.metadata.annotations.get(REVISION)) or 0


def _active_or_latest(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    everyone = [*old, *([new] if new is not None else [])]
    active = [one for one in everyone if one.spec.replicas > 0]
    if len(active) == 1:
        return active[0]
    if active:
        return None
    return new if new is not None else max(old, key=_age, default=None)


def _is_known(replica_set: ReplicaSet, deployment: Deployment) -> bool:
    annotations = replica_set.metadata.annotations
    return (
        replica_set.spec.replicas == deployment.spec.replicas
        and annotations.get(DESIRED) == str(deployment.spec.replicas)
        and annotations.get(MAX) == str(max_replicas(deployment))
    )


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    wanted = deployment.spec.replicas
    return (
        new.spec.replicas == wanted
        and new.metadata.annotations.get(DESIRED) == str(wanted)
        and new.status.available_replicas == wanted
    )


def _in_proportion(deployment: Deployment, everyone: Sequence[ReplicaSet]) -> list[Resize]:
    active = [one for one in everyone if one.spec.replicas > 0]
    allowed = max_replicas(deployment) if deployment.spec.replicas > 0 else 0
    to_add = allowed - total(active)
    newest_first = sorted(active, key=_age, reverse=to_add > 0)
    ordered = sorted(newest_first, key=lambda one: -one.spec.replicas)
    sizes: dict[str, int] = {}
    added = 0
    for one in ordered:
        share = _share(deployment, one, to_add, added) if to_add else 0
        sizes[one.metadata.name] = one.spec.replicas + share
        added += share
    if ordered and to_add:
        largest = ordered[0].metadata.name
        sizes[largest] = max(sizes[largest] + to_add - added, 0)
    return [Resize(one, sizes[one.metadata.name]) for one in ordered]


def _share(deployment: Deployment, replica_set: ReplicaSet, to_add: int, added: int) -> int:
    if to_add == added:
        return 0
    allowed = to_add - added
    share = _fraction(deployment, replica_set)
    return min(share, allowed) if to_add > 0 else max(share, allowed)


def _fraction(deployment: Deployment, replica_set: ReplicaSet) -> int:
    size = replica_set.spec.replicas
    if deployment.spec.replicas == 0:
        return -size
    before = number_or_none(replica_set.metadata.annotations.get(MAX)) or deployment.status.replicas or size
    exact = size * max_replicas(deployment) / before
    return int(exact + 0.5) - size


def _age(replica_set: ReplicaSet) -> tuple[str, str]:
    return replica_set.metadata.creation_timestamp, replica_set.metadata.name
