"""What controllers of sets of pods have in common: their keys, orphans that may be theirs, sets that are replaced.

Keys: `set/<namespace>/<name>`, `orphan/<namespace>/<pod>`, those of `pod_control`, and a controller's own.
"""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from doorman.api.views.meta import HasMeta, controller_of
from doorman.api.views.object_indexes import BY_NAMESPACE, BY_OWNER
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.client.controller_contract import DONE, Result
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.controller_refs import Candidates
from doorman.controllers.pods.pod_control import KEYS, PodControl

T = TypeVar("T", bound=HasMeta)


class PodOwnerController(ABC, Generic[T]):
    def __init__(
        self, owners: ListerOf[T], pods: ListerOf[Pod], control: PodControl, *, by_owner: str = BY_OWNER
    ) -> None:
        """`by_owner`: the index of pods in which an owner's own are found."""
        self._owners = owners
        self._pods = pods
        self._control = control
        self._candidates: Candidates[Pod] = Candidates(pods, by_owner=by_owner)
        self._uids: dict[str, str] = {}

    @abstractmethod
    def _selects(self, owner: T, pod: Pod) -> bool:
        """Whether an orphan of the owner's namespace is one it would adopt."""

    @abstractmethod
    def _manage(self, key: str, found: T, now: Instant) -> Result:
        """What is to be done for an owner that was found."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        if kind in KEYS:
            return self._control.reconcile(key, now)
        if kind == "orphan":
            return self._orphan_seen(rest, now)
        assert kind == "set", f"unknown key {key}"
        return self._sync(rest, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        if key.startswith(("create/", "delete/")):
            self._control.gave_up(key, error, now)

    def _orphan_seen(self, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        if pod is None or controller_of(pod.metadata) is not None:
            return DONE
        wakes = []
        for owner in self._owners.by(BY_NAMESPACE, pod.metadata.namespace):
            if self._selects(owner, pod):
                self._candidates.point_out(owner.metadata.key, pod_key)
                wakes.append((f"set/{owner.metadata.key}", now))
        return Result(wakes=wakes)

    def _sync(self, key: str, now: Instant) -> Result:
        found = self._owners.get(key)
        if found is None or self._uids.get(key, found.metadata.uid) != found.metadata.uid:
            self._forget(key)
        if found is None:
            return DONE
        self._uids[key] = found.metadata.uid
        return self._control.with_late(self._manage(key, found, now), f"set/{key}", now)

    def _forget(self, key: str) -> None:
        """The owner is gone, or another one has its name."""
        self._uids.pop(key, None)
        self._control.forget(f"set/{key}")
        self._candidates.forget(key)
