"""replicationcontroller-controller: keeps so many pods of each ReplicationController. See `replicas` for the rules.

It reads ReplicationControllers and pods. Keys: `set/<namespace>/<name>`, `orphan/<namespace>/<pod>`, and those of
`pod_control`.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.labels import selector_of
from doorman.api.meta import LabelSelector, controller_of
from doorman.api.pods import Pod
from doorman.api.workloads import ReplicationController
from doorman.base.clock import Instant
from doorman.client.controller import DONE, Change, Result, Source
from doorman.client.informer import ListerOf
from doorman.controllers.claims import BY_NAMESPACE, Claimant
from doorman.controllers.replicas import ReplicaEngine, Replicated

NAME: Final = "replicationcontroller-controller"
RESOURCE: Final = "replicationcontrollers"
KIND: Final = "ReplicationController"
WORKERS: Final = 16


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


def to_replicated(found: ReplicationController) -> Replicated:
    return Replicated(
        claimant=Claimant(resource=RESOURCE, api_version="v1", kind=KIND, meta=found.metadata),
        replicas=found.spec.replicas,
        selector=selector_of(LabelSelector(match_labels=found.spec.selector)),
        template=found.spec.template,
        min_ready_seconds=found.spec.min_ready_seconds,
        status=found.status,
    )


class ReplicationControllerController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, controllers: ListerOf[ReplicationController], pods: ListerOf[Pod]) -> None:
        self._controllers = controllers
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
        found = self._controllers.get(key)
        if found is None or self._uids.get(key, found.metadata.uid) != found.metadata.uid:
            self._uids.pop(key, None)
            self._engine.forget(key)
        if found is None:
            return DONE
        self._uids[key] = found.metadata.uid
        return self._engine.sync(key, to_replicated(found), (found.metadata.uid,), now)

    def _orphan_seen(self, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        if pod is None or controller_of(pod.metadata) is not None:
            return DONE
        wakes = []
        for one in self._controllers.by(BY_NAMESPACE, pod.metadata.namespace):
            if to_replicated(one).selector.matches(pod.metadata.labels):
                self._engine.candidates.point_out(one.metadata.key, pod_key)
                wakes.append((f"set/{one.metadata.key}", now))
        return Result(wakes=wakes)
