"""The controller of any kind that keeps so many pods: ReplicaSets and ReplicationControllers. See `replicas`.

It reads the owners and pods. Keys: those of `pod_owner`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from doorman.api.machinery.label_selectors import matches, selector_or_nothing
from doorman.api.views.apps import ReplicaSetStatus, Template
from doorman.api.views.meta import LabelSelector, ObjectMeta, controller_of
from doorman.api.views.object_indexes import BY_OWNER
from doorman.api.views.pod_indexes import UNFINISHED_BY_OWNER
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.client.controller_contract import DONE, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.controller_refs import Claimant, owned_keys, set_keys
from doorman.controllers.pods.pod_control import PodControl
from doorman.controllers.pods.pod_owner import PodOwnerController
from doorman.controllers.replicas.replicas import ReplicaEngine, Replicated


class ReplicaSpec(Protocol):
    @property
    def replicas(self) -> int: ...
    @property
    def template(self) -> Template: ...
    @property
    def min_ready_seconds(self) -> int: ...


class KeepsReplicas(Protocol):
    """What the kinds have in common; their selectors have not the same form."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> ReplicaSpec: ...
    @property
    def status(self) -> ReplicaSetStatus: ...


T = TypeVar("T", bound=KeepsReplicas)


class ReplicaKind(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    name: str
    """Of the controller."""
    component: str = ""
    """Who its events say they are from; the controller's name when empty."""
    resource: str
    api_version: str
    kind: str
    workers: int
    selector: Callable[[T], LabelSelector | None]


class ReplicaController(PodOwnerController[T]):
    looks_last = True

    def __init__(
        self, kind: ReplicaKind[T], owners: ListerOf[T], pods: ListerOf[Pod], *, writes_counts: bool = True
    ) -> None:
        """`writes_counts` False: only those of a family with several sets, which a rollout goes by, are written."""
        # Those that have ended are nobody's business: there may be hundreds, until they are collected.
        super().__init__(owners, pods, PodControl(kind.component or kind.name, pods), by_owner=UNFINISHED_BY_OWNER)
        self.name: Final = kind.name
        self.sources: Final[Sequence[Source]] = (
            Source(kind.resource, set_keys),
            Source("pods", owned_keys(kind.kind), only_with=kind.resource),
        )
        self.workers: Final = kind.workers
        self._kind = kind
        self._writes_counts = writes_counts
        self._known: dict[str, tuple[T, Replicated]] = {}
        self._engine = ReplicaEngine(pods, self._control, self._candidates)

    def _selects(self, owner: T, pod: Pod) -> bool:
        return matches(self._kind.selector(owner), pod.metadata.labels)

    def _manage(self, key: str, found: T, now: Instant) -> Result:
        replicated = self._replicated(key, found)
        if replicated.selector.nothing:
            return DONE  # what it made it would not find again
        kin = self._kin(found)
        if self._writes_counts:
            return self._engine.sync(key, replicated, _uids(kin), now)
        others = [one for one in kin if one.metadata.uid != found.metadata.uid and _has_pods(one)]
        result = self._engine.sync(key, replicated, _uids(kin), now, writes_counts=bool(others))
        return _with_wakes(result, found, others, now)

    def _forget(self, key: str) -> None:
        super()._forget(key)
        self._engine.forget(key)
        self._known.pop(key, None)

    def _replicated(self, key: str, found: T) -> Replicated:
        """Its pods change more often than the owner itself: what was made of it is kept as long as it is the same."""
        known = self._known.get(key)
        if known is not None and known[0] is found:
            return known[1]
        kind = self._kind
        replicated = Replicated(
            claimant=Claimant(
                resource=kind.resource, api_version=kind.api_version, kind=kind.kind, meta=found.metadata
            ),
            replicas=found.spec.replicas,
            selector=selector_or_nothing(kind.selector(found)),
            template=found.spec.template,
            min_ready_seconds=found.spec.min_ready_seconds,
            status=found.status,
        )
        self._known[key] = (found, replicated)
        return replicated

    def _kin(self, found: T) -> Sequence[T]:
        """Owners of the same owner, such as a Deployment's ReplicaSets, so that pods leave crowded nodes first."""
        owner = controller_of(found.metadata)
        if owner is None:
            return (found,)
        return list(self._owners.by(BY_OWNER, owner.uid))


def _uids(kin: Iterable[KeepsReplicas]) -> Sequence[str]:
    return [one.metadata.uid for one in kin]


def _has_pods(one: KeepsReplicas) -> bool:
    return one.spec.replicas > 0 or one.status.replicas > 0


def _with_wakes(result: Result, found: KeepsReplicas, others: Iterable[KeepsReplicas], now: Instant) -> Result:
    """When a set is seen for the first time, the others of its family were alone until now, and kept their counts."""
    if found.status.observed_generation > 0:
        return result
    woken = [(f"set/{one.metadata.key}", now) for one in others]
    return msgspec.structs.replace(result, wakes=[*result.wakes, *woken])
