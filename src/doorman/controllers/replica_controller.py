"""The controller of any kind that keeps so many pods: ReplicaSets and ReplicationControllers. See `replicas`.

It reads the owners and pods. Keys: `set/<namespace>/<name>`, `orphan/<namespace>/<pod>`, and those of `pod_control`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from doorman.api.labels import matches, selector_of
from doorman.api.meta import LabelSelector, ObjectMeta, controller_of
from doorman.api.pods import Pod
from doorman.api.workloads import ReplicaSetStatus, Template
from doorman.base.clock import Instant
from doorman.client.controller import DONE, Result, Source
from doorman.client.informer import ListerOf
from doorman.controllers.claims import BY_NAMESPACE, BY_OWNER, Claimant, owned_keys, set_keys
from doorman.controllers.replicas import ReplicaEngine, Replicated


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


class ReplicaController(Generic[T]):
    def __init__(self, kind: ReplicaKind[T], owners: ListerOf[T], pods: ListerOf[Pod]) -> None:
        self.name: Final = kind.name
        self.sources: Final[Sequence[Source]] = (
            Source(kind.resource, set_keys),
            Source("pods", owned_keys(kind.kind), only_with=kind.resource),
        )
        self.workers: Final = kind.workers
        self._kind = kind
        self._owners = owners
        self._pods = pods
        self._engine = ReplicaEngine(kind.component or kind.name, pods)
        self._uids: dict[str, str] = {}

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "create" | "delete":
                return self._engine.control.reconcile(key)
            case "orphan":
                return self._orphan_seen(rest, now)
            case _:
                assert kind == "set", f"unknown key {key}"
                return self._sync(rest, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        if key.startswith(("create/", "delete/")):
            self._engine.control.gave_up(key, error, now)

    def _sync(self, key: str, now: Instant) -> Result:
        found = self._owners.get(key)
        if found is None or self._uids.get(key, found.metadata.uid) != found.metadata.uid:
            self._uids.pop(key, None)
            self._engine.forget(key)
        if found is None:
            return DONE
        self._uids[key] = found.metadata.uid
        return self._engine.sync(key, self._replicated(found), self._kin(found), now)

    def _replicated(self, found: T) -> Replicated:
        kind = self._kind
        return Replicated(
            claimant=Claimant(
                resource=kind.resource, api_version=kind.api_version, kind=kind.kind, meta=found.metadata
            ),
            replicas=found.spec.replicas,
            selector=selector_of(kind.selector(found)),
            template=found.spec.template,
            min_ready_seconds=found.spec.min_ready_seconds,
            status=found.status,
        )

    def _kin(self, found: T) -> Iterable[str]:
        """Owners of the same owner, such as a Deployment's ReplicaSets, so that pods leave crowded nodes first."""
        owner = controller_of(found.metadata)
        if owner is None:
            return (found.metadata.uid,)
        return [one.metadata.uid for one in self._owners.by(BY_OWNER, owner.uid)]

    def _orphan_seen(self, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        if pod is None or controller_of(pod.metadata) is not None:
            return DONE
        wakes = []
        for one in self._owners.by(BY_NAMESPACE, pod.metadata.namespace):
            if matches(self._kind.selector(one), pod.metadata.labels):
                self._engine.candidates.point_out(one.metadata.key, pod_key)
                wakes.append((f"set/{one.metadata.key}", now))
        return Result(wakes=wakes)
