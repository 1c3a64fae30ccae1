"""deployment-controller: turns each change of a template into a ReplicaSet of its own, and moves pods over.

It reads Deployments, ReplicaSets and pods, and gives ReplicaSets: their creation, their sizes, their annotations, their
end. One step a sync: the change it makes wakes it for the next. See `deployment_sizes` and `deployment_status`.

Keys: `deployment/<namespace>/<name>`, `orphan/<namespace>/<replica set>`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import matches, selector_or_nothing
from doorman.api.views.apps import Deployment, DeploymentStatus, ReplicaSet, Template
from doorman.api.views.meta import controller_of
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pod_indexes import UNFINISHED_BY_OWNER
from doorman.api.views.pods import Pod
from doorman.api.well_known import APPS_V1, POD_TEMPLATE_HASH_LABEL
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.base.go_format import quote
from doorman.client.actions import Action, Create
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.deployment.deployment_sizes import (
    Resize,
    decide_roll_down,
    decide_roll_up,
    decide_scaling,
    is_scaling,
    new_size,
    revision_of,
)
from doorman.controllers.deployment.deployment_status import (
    CREATED,
    FOUND,
    PROGRESSING,
    decide_available,
    decide_counters,
    decide_failure,
    decide_paused,
    decide_progressing,
    decide_status_patch,
    has_deadline,
    is_complete,
    next_deadline,
    replaced,
    with_condition,
)
from doorman.controllers.deployment.replica_set_writes import (
    KIND,
    NAME,
    REPLICA_SETS,
    cleanup,
    deployment_event,
    replica_set_body,
    replica_set_patch,
    resizes,
    wanted_annotations,
)
from doorman.controllers.pods.controller_refs import Candidates, Claimant, decide_claim
from doorman.controllers.pods.controller_revisions import template_hash
from doorman.controllers.pods.pod_control import is_namespace_going

RESOURCE: Final = "deployments.apps"
REFUSED: Final = "ReplicaSetCreateError"
WORKERS: Final = 32


def deployment_keys(change: ObjectChange) -> Iterable[str]:
    return (f"deployment/{change.newest.metadata.key}",)


def replica_set_keys(change: ObjectChange) -> Iterable[str]:
    keys: list[str] = []
    for one in (change.old, change.new):
        owner = controller_of(one.metadata) if one is not None else None
        if owner is not None and owner.kind == KIND:
            keys.append(f"deployment/{one.metadata.namespace}/{owner.name}")
    new = change.new
    if new is not None and controller_of(new.metadata) is None:
        keys.append(f"orphan/{new.metadata.key}")
    return dict.fromkeys(keys)


def pod_keys(change: ObjectChange) -> Iterable[str]:
    """A pod that is gone may be the last one a Recreate waits for."""
    pod: Pod = change.newest
    owner = controller_of(pod.metadata)
    if change.new is not None or owner is None or owner.kind != "ReplicaSet":
        return ()
    return (f"gone/{pod.metadata.namespace}/{owner.name}",)


SOURCES: Final = (
    Source(RESOURCE, deployment_keys),
    Source(REPLICA_SETS, replica_set_keys),
    Source("pods", pod_keys),
)


def find_new(deployment: Deployment, replica_sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The oldest whose template is the Deployment's but for the hash."""
    alike = [one for one in replica_sets if without_hash(one.spec.template) == without_hash(deployment.spec.template)]
    return min(alike, key=lambda one: (one.metadata.creation_timestamp, one.metadata.name), default=None)


def without_hash(template: Template) -> Template:
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != POD_TEMPLATE_HASH_LABEL}
    metadata.pop("creationTimestamp", None)
    return {**template, "metadata": {**metadata, "labels": labels}}


class DeploymentController:
    name = NAME
    sources = SOURCES
    workers = WORKERS
    looks_last = True

    def __init__(
        self, deployments: ListerOf[Deployment], replica_sets: ListerOf[ReplicaSet], pods: ListerOf[Pod]
    ) -> None:
        self._deployments = deployments
        self._sets = replica_sets
        self._pods = pods
        self._candidates: Candidates[ReplicaSet] = Candidates(replica_sets)
        self._refused: dict[str, str] = {}
        """By Deployment: why its new ReplicaSet could not be made, to be told at the next look."""
        self._making: dict[str, str] = {}
        """By Deployment: the new ReplicaSet that was asked for and is not seen yet."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "deployment":
                return self._sync(rest, now)
            case "gone":
                return self._pod_gone(rest, now)
            case _:
                assert kind == "orphan", f"unknown key {key}"
                return self._orphan_seen(rest, now)

    def failed(self, key: str, error: ApiError) -> None:
        """That a namespace is going is no news, and a conflict is somebody else's change."""
        rest = key.partition("/")[2]
        if rest in self._making and error.code != 409 and not is_namespace_going(error):
            self._refused[rest] = str(error)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives it
        """The next change tries again."""
        if isinstance(error, ApiError):
            self.failed(key, error)

    def _orphan_seen(self, key: str, now: Instant) -> Result:
        found = self._sets.get(key)
        if found is None or controller_of(found.metadata) is not None:
            return DONE
        wakes = []
        for deployment in self._deployments.by(BY_NAMESPACE, found.metadata.namespace):
            if matches(deployment.spec.selector, found.metadata.labels):
                self._candidates.point_out(deployment.metadata.key, key)
                wakes.append((f"deployment/{deployment.metadata.key}", now))
        return Result(wakes=wakes)

    def _pod_gone(self, key: str, now: Instant) -> Result:
        found = self._sets.get(key)
        owner = controller_of(found.metadata) if found is not None else None
        if found is None or owner is None or owner.kind != KIND:
            return DONE
        deployment = self._deployments.get(f"{found.metadata.namespace}/{owner.name}")
        if deployment is None or deployment.spec.strategy.type != "Recreate":
            return DONE
        return Result(wakes=((f"deployment/{deployment.metadata.key}", now),))

    def _sync(self, key: str, now: Instant) -> Result:
        deployment = self._deployments.get(key)
        refused, made = self._refused.pop(key, None), self._making.pop(key, "")
        if deployment is None:
            self._candidates.forget(key)
            return DONE
        selector = selector_or_nothing(deployment.spec.selector)
        if selector.nothing:
            return DONE  # what it made it would not find again
        if selector.is_everything:
            text = "This deployment is selecting all pods. A non-empty selector is required."
            return Result(actions=(deployment_event(deployment.metadata, "SelectingAll", text, kind="Warning"),))
        claimant = Claimant(resource=RESOURCE, api_version=APPS_V1, kind=KIND, meta=deployment.metadata)
        candidates = self._candidates.of(key, deployment.metadata)
        claim = decide_claim(claimant, selector, REPLICA_SETS, candidates)
        everyone = claim.mine
        new = find_new(deployment, everyone)
        old = [one for one in everyone if one is not new]
        if deployment.metadata.deletion_timestamp:
            return _result([], decide_counters(deployment, everyone, new), deployment, now)
        said = decide_paused(deployment, now)
        if said is not None:
            return _result(list(claim.actions), replaced(deployment.status, said), deployment, now)
        if deployment.spec.paused or is_scaling(deployment, everyone):
            actions = [*claim.actions, *self._note_new(deployment, new, old)]
            actions += resizes(deployment, decide_scaling(deployment, new, old))
            if deployment.spec.paused:
                actions += cleanup(deployment, old)
            counters = decide_counters(deployment, everyone, new)
            status = replaced(counters, decide_available(deployment, counters, now))
            return _result(actions, status, deployment, now, _revision(new, old))
        actions = list(claim.actions)
        if refused is not None and new is None:
            actions += _refusal(deployment, f"Failed to create new replica set {quote(made)}: {refused}", now)
        return self._roll(deployment, claimant, actions, everyone, new, old, now)

    def _roll(
        self,
        deployment: Deployment,
        claimant: Claimant,
        actions: list[Action],
        everyone: Sequence[ReplicaSet],
        new: ReplicaSet | None,
        old: Sequence[ReplicaSet],
        now: Instant,
    ) -> Result:
        recreates = deployment.spec.strategy.type == "Recreate"
        status = decide_counters(deployment, everyone, new)
        if recreates and any(one.spec.replicas > 0 for one in old):
            actions += resizes(deployment, [Resize(one, 0) for one in old if one.spec.replicas > 0])
        elif recreates and self._any_runs(old):
            pass
        elif new is None:
            return self._create_new(deployment, claimant, actions, everyone, old, status, now)
        else:
            actions += self._note_new(deployment, new, old)
            if has_deadline(deployment) and not any(one.type == PROGRESSING for one in status.conditions):
                text = f'Found new replica set "{new.metadata.name}"'
                status = replaced(status, with_condition(status.conditions, PROGRESSING, "True", FOUND, text, now))
            steps = decide_roll_up(deployment, new, everyone) or (
                [] if recreates else decide_roll_down(deployment, new, old)
            )
            actions += resizes(deployment, steps)
            if is_complete(deployment, status):
                actions += cleanup(deployment, old)
        status = replaced(status, decide_available(deployment, status, now))
        status = replaced(status, decide_progressing(deployment, status, new, now))
        status = replaced(status, decide_failure(status.conditions, everyone, new))
        return _result(actions, status, deployment, now, _revision(new, old))

    def _create_new(
        self,
        deployment: Deployment,
        claimant: Claimant,
        actions: list[Action],
        everyone: Sequence[ReplicaSet],
        old: Sequence[ReplicaSet],
        status: DeploymentStatus,
        now: Instant,
    ) -> Result:
        meta = deployment.metadata
        hash_ = template_hash(deployment.spec.template, deployment.status.collision_count)
        name = f"{meta.name}-{hash_}"
        if self._sets.get(f"{meta.namespace}/{name}") is not None:
            collided = msgspec.structs.replace(status, collision_count=status.collision_count + 1)
            return _result(actions, collided, deployment, now)
        revision = _revision_after(old)
        size = new_size(deployment, everyone, 0)
        body = replica_set_body(deployment, claimant, name, hash_, size, revision)
        actions.append(Create(resource=REPLICA_SETS, namespace=meta.namespace, body=body))
        self._making[meta.key] = name
        if size > 0:
            text = f"Scaled up replica set {name} from 0 to {size}"
            actions.append(deployment_event(meta, "ScalingReplicaSet", text))
        if has_deadline(deployment):
            text = f'Created new replica set "{name}"'
            status = replaced(status, with_condition(status.conditions, PROGRESSING, "True", CREATED, text, now))
        return _result(actions, status, deployment, now, revision)

    def _note_new(self, deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> list[Action]:
        """The new ReplicaSet has the highest revision, the Deployment's annotations and its readiness time."""
        if new is None:
            return []
        revision = _revision_after(old)
        annotations = wanted_annotations(deployment, new, revision)
        body: dict[str, Any] = {"metadata": {"annotations": annotations}} if annotations else {}  # JSON
        if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
            body["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds}
        return [replica_set_patch(new, body)] if body else []

    def _any_runs(self, old: Iterable[ReplicaSet]) -> bool:
        return any(self._pods.by(UNFINISHED_BY_OWNER, one.metadata.uid) for one in old)


def _refusal(deployment: Deployment, text: str, now: Instant) -> list[Action]:
    """The new ReplicaSet could not be made: told before it is tried again."""
    actions: list[Action] = [deployment_event(deployment.metadata, REFUSED, text, kind="Warning")]
    if has_deadline(deployment):
        status = deployment.status
        said = with_condition(status.conditions, PROGRESSING, "False", REFUSED, text, now)
        patch = decide_status_patch(deployment, replaced(status, said))
        actions.extend([patch] if patch is not None else [])
    return actions


def _revision_after(old: Iterable[ReplicaSet]) -> int:
    return max((revision_of(one) for one in old), default=0) + 1


def _revision(new: ReplicaSet | None, old: Iterable[ReplicaSet]) -> int:
    return max(_revision_after(old), revision_of(new)) if new is not None else 0


def _result(
    actions: list[Action], status: DeploymentStatus, deployment: Deployment, now: Instant, revision: int = 0
) -> Result:
    patch = decide_status_patch(deployment, status, revision)
    if patch is not None:
        actions.append(patch)
    deadline = next_deadline(deployment, status.conditions, now)
    wakes = ((f"deployment/{deployment.metadata.key}", deadline),) if deadline is not None else ()
    return Result(actions=actions, wakes=wakes)
