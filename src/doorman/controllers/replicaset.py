"""replicaset-controller: keeps so many pods of each ReplicaSet. See `replicas` for the rules.

It reads ReplicaSets and pods. Keys: `set/<namespace>/<name>`, `orphan/<namespace>/<pod>`, and those of `pod_control`.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.labels import matches, selector_of
from doorman.api.meta import controller_of
from doorman.api.pods import Pod
from doorman.api.workloads import ReplicaSet
from doorman.base.clock import Instant
from doorman.client.controller import DONE, Change, Result, Source
from doorman.client.informer import ListerOf
from doorman.controllers.claims import BY_NAMESPACE, BY_OWNER, Claimant
from doorman.controllers.replicas import ReplicaEngine, Replicated

NAME: Final = "replicaset-controller"
RESOURCE: Final = "replicasets.apps"
KIND: Final = "ReplicaSet"
API_VERSION: Final = "apps/v1"
WORKERS: Final = 64


def set_keys(change: Change) -> Iterable[str]:
    return (f"set/{change.newest.metadata.key}",)


def pod_keys(change: Change) -> Iterable[str]:
    keys: list[str] = []
    for one in (change.old, change.new):
        owner = controller_of(one.metadata) if one is not None else None
        if owner is not None and owner.kind == KIND:
            keys.append(f"set/{one.metadata.namespace}/{owner.name}")
    new = change.new
    if new is not None and controller_of(new.metadata) is None and new.metadata.labels:
        keys.append(f"orphan/{new.metadata.key}")
    return dict.fromkeys(keys)


SOURCES: Final = (Source(RESOURCE, set_keys), Source("pods", pod_keys))


def to_replicated(replica_set: ReplicaSet) -> Replicated:
    return Replicated(
        claimant=Claimant(resource=RESOURCE, api_version=API_VERSION, kind=KIND, meta=replica_set.metadata),
        replicas=replica_set.spec.replicas,
        selector=selector_of(replica_set.spec.selector),
        template=replica_set.spec.template,
        min_ready_seconds=replica_set.spec.min_ready_seconds,
        status=replica_set.status,
    )


class ReplicaSetController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, replica_sets: ListerOf[ReplicaSet], pods: ListerOf[Pod]) -> None:
        self._sets = replica_sets
        self._pods = pods
        self._engine = ReplicaEngine(NAME, pods)
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
        found = self._sets.get(key)
        if found is None or self._uids.get(key, found.metadata.uid) != found.metadata.uid:
            self._uids.pop(key, None)
            self._engine.forget(key)
        if found is None:
            return DONE
        self._uids[key] = found.metadata.uid
        return self._engine.sync(key, to_replicated(found), self._kin(found), now)

    def _kin(self, replica_set: ReplicaSet) -> Iterable[str]:
        """ReplicaSets of the same Deployment, so that pods leave crowded nodes first."""
        owner = controller_of(replica_set.metadata)
        if owner is None:
            return (replica_set.metadata.uid,)
        return [one.metadata.uid for one in self._sets.by(BY_OWNER, owner.uid)]

    def _orphan_seen(self, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        if pod is None or controller_of(pod.metadata) is not None:
            return DONE
        wakes = []
        for one in self._sets.by(BY_NAMESPACE, pod.metadata.namespace):
            if matches(one.spec.selector, pod.metadata.labels):
                self._engine.candidates.point_out(one.metadata.key, pod_key)
                wakes.append((f"set/{one.metadata.key}", now))
        return Result(wakes=wakes)
