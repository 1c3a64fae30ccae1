"""statefulset-controller: pods with names of their own, one for each ordinal. See `statefulset_pods` for the rules.

It reads StatefulSets, their controller revisions, pods and volume claims.

Keys: `set/<namespace>/<name>`, `orphan/<namespace>/<pod>`, and those of `pod_control`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import matches, selector_or_nothing
from doorman.api.views.apps import ControllerRevision, StatefulSet, StatefulSetStatus
from doorman.api.views.meta import Object, ObjectMeta
from doorman.api.views.pods import Pod
from doorman.api.well_known import APPS_V1, CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS
from doorman.base.clock import Instant
from doorman.client.actions import Action, Create, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.controller_refs import Claimant, candidates_of, decide_claim, owned_keys, set_keys
from doorman.controllers.pods.controller_revisions import HASH_LABEL, History, decide_cleanup, decide_history
from doorman.controllers.pods.pod_control import Owner, PodControl, Texts
from doorman.controllers.pods.pod_owner import PodOwnerController
from doorman.controllers.pods.pod_state import next_available
from doorman.controllers.pods.status_reports import reference_to, status_patch
from doorman.controllers.statefulset.statefulset_claims import decide_claim_owners, is_about_to_go
from doorman.controllers.statefulset.statefulset_pods import (
    Versions,
    claim_bodies,
    count_of_revision,
    decide_pods,
    decide_status,
    ordinal_of,
    stateful_pod,
    template_of_revision,
    wanted_ordinals,
)

NAME: Final = "statefulset-controller"
RESOURCE: Final = "statefulsets.apps"
KIND: Final = "StatefulSet"
WORKERS: Final = 32
CLAIM_SECONDS: Final = 1.0
"""After so long an ordinal whose claim is about to go is looked at again."""
TEXTS: Final = Texts(
    created="Create Pod {pod} in StatefulSet {owner} successful",
    deleted="Delete Pod {pod} in StatefulSet {owner} successful",
    not_created="Create Pod {pod} in StatefulSet {owner} failed error: {error}",
    not_deleted="Delete Pod {pod} in StatefulSet {owner} failed error: {error}",
)


SOURCES: Final = (
    Source(RESOURCE, set_keys),
    Source("pods", owned_keys(KIND), only_with=RESOURCE),
    Source(CONTROLLER_REVISIONS, owned_keys(KIND)),
)


def decide_versions(stateful_set: StatefulSet, history: History, revisions: Sequence[ControllerRevision]) -> Versions:
    """Without a current revision on record the one to come is it."""
    template = stateful_set.spec.template
    named = stateful_set.status.current_revision
    current = next((one for one in revisions if one.metadata.name == named), None)
    if current is None:
        return Versions(current=history.name, current_template=template, update=history.name, update_template=template)
    return Versions(
        current=named,
        current_template=template_of_revision(current),
        update=history.name,
        update_template=template,
    )


def decide_status_patch(stateful_set: StatefulSet, status: StatefulSetStatus) -> Patch | None:
    if status == stateful_set.status:
        return None
    body: dict[str, Any] = {  # JSON
        "observedGeneration": status.observed_generation or None,
        "replicas": status.replicas,
        "readyReplicas": status.ready_replicas or None,
        "currentReplicas": status.current_replicas or None,
        "updatedReplicas": status.updated_replicas or None,
        "availableReplicas": status.available_replicas,
        "currentRevision": status.current_revision or None,
        "updateRevision": status.update_revision or None,
        "collisionCount": status.collision_count,
    }
    return status_patch(RESOURCE, stateful_set.metadata, body)


class StatefulSetController(PodOwnerController[StatefulSet]):
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        stateful_sets: ListerOf[StatefulSet],
        revisions: ListerOf[ControllerRevision],
        pods: ListerOf[Pod],
        claims: ListerOf[Object],
    ) -> None:
        super().__init__(stateful_sets, pods, PodControl(NAME, pods, TEXTS))
        self._revisions = revisions
        self._claims = claims

    def _selects(self, owner: StatefulSet, pod: Pod) -> bool:
        is_namesake = ordinal_of(owner, pod.metadata.name) is not None
        return is_namesake and matches(owner.spec.selector, pod.metadata.labels)

    def _manage(self, key: str, found: StatefulSet, now: Instant) -> Result:
        selector = selector_or_nothing(found.spec.selector)
        if selector.nothing:
            return DONE  # what it made it would not find again
        stateful_set, meta = found, found.metadata
        claimant = Claimant(resource=RESOURCE, api_version=APPS_V1, kind=KIND, meta=meta)
        owner = Owner(key=f"set/{key}", meta=meta, reference=_reference(meta))
        candidates = [
            pod for pod in self._candidates.of(key, meta) if ordinal_of(stateful_set, pod.metadata.name) is not None
        ]
        claim = decide_claim(claimant, selector, "pods", candidates)
        pods = [self._control.seen_as_deleting(pod) for pod in claim.mine]
        kept = decide_claim(claimant, selector, CONTROLLER_REVISIONS, candidates_of(self._revisions, meta))
        revisions = kept.mine
        collisions = stateful_set.status.collision_count
        history = decide_history(
            meta, stateful_set.spec.template, collisions, revisions, reference=claimant.reference()
        )
        if history.collided:
            status = msgspec.structs.replace(stateful_set.status, collision_count=collisions + 1)
            patch = decide_status_patch(stateful_set, status)
            return Result(actions=(patch,) if patch is not None else ())
        versions = decide_versions(stateful_set, history, revisions)
        coming = self._control.creating(owner.key, now)
        actions: list[Action] = [*claim.actions, *kept.actions, *history.actions]
        actions.extend(self._control.failure_events(owner, self._control.failures(owner.key)))
        wakes: list[tuple[str, Instant]] = []
        if not meta.deletion_timestamp:
            wakes = self._carry_on(owner, stateful_set, pods, coming, versions, claimant, actions, now)
        status_patch = decide_status_patch(stateful_set, decide_status(stateful_set, pods, versions, now))
        if status_patch is not None:
            actions.append(status_patch)
        carried = {pod.metadata.labels.get(HASH_LABEL, "").rpartition("-")[2] for pod in pods}
        limit = stateful_set.spec.revision_history_limit
        keep = {history.name, versions.current}
        cleanup = decide_cleanup(revisions, limit, current=history.name, carried=carried)
        actions.extend(action for action in cleanup if getattr(action, "name", "") not in keep)
        return Result(actions=actions, wakes=wakes)

    def _carry_on(
        self,
        owner: Owner,
        stateful_set: StatefulSet,
        pods: Sequence[Pod],
        coming: Sequence[dict[str, Any]],  # pods as JSON
        versions: Versions,
        claimant: Claimant,
        actions: list[Action],
        now: Instant,
    ) -> list[tuple[str, Instant]]:
        by_ordinal = {ordinal_of(stateful_set, pod.metadata.name) or 0: pod for pod in pods}
        wakes: list[tuple[str, Instant]] = []
        if not coming:
            plan = decide_pods(stateful_set, by_ordinal, versions, now)
            wanted = wanted_ordinals(stateful_set)
            for ordinal, pod in sorted(by_ordinal.items()):
                is_wanted = ordinal in wanted
                actions.extend(decide_claim_owners(stateful_set, pod, ordinal, self._claims, is_wanted=is_wanted))
            making = [one for one in plan.create if not is_about_to_go(stateful_set, one, self._claims)]
            if len(making) < len(plan.create):
                wakes.append((owner.key, now + CLAIM_SECONDS))
            current = count_of_revision(pods, versions.current)
            reference = claimant.reference()
            bodies = [
                stateful_pod(stateful_set, ordinal, versions, current_count=current, owner=reference)
                for ordinal in making
            ]
            for ordinal in making:
                actions.extend(self._missing_claims(owner, stateful_set, ordinal))
            wakes += self._control.create(owner, bodies, now)
            wakes += self._control.delete(owner, list(plan.delete), now)
        available = next_available(pods, stateful_set.spec.min_ready_seconds, now)
        if available is not None:
            own = [instant for key, instant in wakes if key == owner.key]
            wakes = [wake for wake in wakes if wake[0] != owner.key]
            wakes.append((owner.key, min([available, *own])))
        return wakes

    def _missing_claims(self, owner: Owner, stateful_set: StatefulSet, ordinal: int) -> Iterable[Action]:
        meta = stateful_set.metadata
        for body in claim_bodies(stateful_set, ordinal):
            name = body["metadata"]["name"]
            if self._claims.get(f"{meta.namespace}/{name}") is None:
                yield Create(resource=PERSISTENT_VOLUME_CLAIMS, namespace=meta.namespace, body=body)
                text = f"Create Claim {name} Pod {meta.name}-{ordinal} in StatefulSet {meta.name} success"
                yield RecordEvent(
                    regarding=owner.reference, type="Normal", reason="SuccessfulCreate", message=text, component=NAME
                )


def _reference(meta: ObjectMeta) -> ObjectReference:
    return reference_to(meta, api_version=APPS_V1, kind=KIND)
