"""daemonset-controller: one pod on every node that should have one.

It reads DaemonSets, their controller revisions, pods and nodes. Each sync stores the present template as a revision,
decides node by node (see `daemon_nodes` and `daemon_rollout`), has pods made and deleted, and counts.

Keys: `set/<namespace>/<name>`, `node/<name>` (its labels or taints changed), `orphan/<namespace>/<pod>`, and those of
`pod_control`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import Selector, matches, selector_or_nothing
from doorman.api.views.apps import ControllerRevision, DaemonSet, DaemonSetStatus
from doorman.api.views.meta import ObjectMeta, controller_of, to_view
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_NODE
from doorman.api.views.pods import Pod
from doorman.api.well_known import APPS_V1, CONTROLLER_REVISIONS
from doorman.base.clock import Instant
from doorman.client.actions import Action, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.daemonset.daemon_nodes import Placements, daemon_pod, reports_out_of_disk
from doorman.controllers.daemonset.daemon_rollout import (
    DaemonPodPlan,
    EndedDaemonPod,
    FailedPods,
    decide_keeping,
    decide_replacing,
    decide_status,
    group_by_node,
    template_of,
)
from doorman.controllers.pods.controller_refs import Claimant, candidates_of, decide_claim, owned_keys, set_keys
from doorman.controllers.pods.controller_revisions import HASH_LABEL, decide_cleanup, decide_history
from doorman.controllers.pods.pod_control import Owner, PodControl
from doorman.controllers.pods.pod_owner import PodOwnerController
from doorman.controllers.pods.pod_state import next_available, target_node
from doorman.controllers.pods.status_reports import reference_to, status_patch

NAME: Final = "daemonset-controller"
RESOURCE: Final = "daemonsets.apps"
KIND: Final = "DaemonSet"
WORKERS: Final = 32
PODS_PER_SYNC_MAX: Final = 250


class DaemonSetSettings(msgspec.Struct, frozen=True, kw_only=True):
    comparison_operators: bool = True


def node_keys(change: ObjectChange) -> Iterable[str]:
    old: Node | None = change.old
    new: Node | None = change.new
    if new is None:
        return ()
    if old is not None and old.metadata.labels == new.metadata.labels and old.spec.taints == new.spec.taints:
        return ()
    return (f"node/{new.metadata.name}",)


SOURCES: Final = (
    Source(RESOURCE, set_keys),
    Source("pods", owned_keys(KIND), only_with=RESOURCE),
    Source(CONTROLLER_REVISIONS, owned_keys(KIND)),
    Source("nodes", node_keys, only_with=RESOURCE),
)


def decide_status_patch(daemon_set: DaemonSet, status: DaemonSetStatus) -> Patch | None:
    """Counters that clients rely on are always there; the others only when they are not zero."""
    if status == daemon_set.status:
        return None
    body: dict[str, Any] = {  # JSON
        "currentNumberScheduled": status.current_number_scheduled,
        "numberMisscheduled": status.number_misscheduled,
        "desiredNumberScheduled": status.desired_number_scheduled,
        "numberReady": status.number_ready,
        "observedGeneration": status.observed_generation or None,
        "updatedNumberScheduled": status.updated_number_scheduled or None,
        "numberAvailable": status.number_available or None,
        "numberUnavailable": status.number_unavailable or None,
        "collisionCount": status.collision_count or None,
    }
    return status_patch(RESOURCE, daemon_set.metadata, body)


class DaemonSetController(PodOwnerController[DaemonSet]):
    """Owns what was asked of the server and is not seen yet, and the pauses of failing pods."""

    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        daemon_sets: ListerOf[DaemonSet],
        revisions: ListerOf[ControllerRevision],
        pods: ListerOf[Pod],
        nodes: ListerOf[Node],
        settings: DaemonSetSettings | None = None,
    ) -> None:
        super().__init__(daemon_sets, pods, PodControl(NAME, pods))
        self._revisions = revisions
        self._nodes = nodes
        self._settings = settings if settings is not None else DaemonSetSettings()
        self._failed = FailedPods()
        self._placements: dict[str, Placements] = {}

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        return self._node_changed(rest, now) if kind == "node" else super().reconcile(key, now)

    def _node_changed(self, name: str, now: Instant) -> Result:
        node = self._nodes.get(name)
        if node is None:
            return DONE
        bound = {
            owner.uid
            for pod in self._pods.by(BY_NODE, name)
            if (owner := controller_of(pod.metadata)) is not None and owner.kind == KIND
        }
        wakes = []
        for daemon_set in self._owners.list():
            placement = self._placement(daemon_set).on(node)
            has_pod = daemon_set.metadata.uid in bound
            if (
                (placement.should_run and not has_pod)
                or (not placement.should_continue and has_pod)
                or (has_pod and daemon_set.status.number_misscheduled > 0)
            ):
                wakes.append((f"set/{daemon_set.metadata.key}", now))
        return Result(wakes=wakes)

    def _selects(self, owner: DaemonSet, pod: Pod) -> bool:
        return matches(owner.spec.selector, pod.metadata.labels)

    def _manage(self, key: str, found: DaemonSet, now: Instant) -> Result:
        selector = _selector_or_none(found)
        if selector is None:
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            return Result(actions=(_event(found.metadata, "Warning", "SelectingAll", text),))
        if found.metadata.deletion_timestamp:
            return DONE
        return self._keep(key, found, selector, now)

    def _keep(self, key: str, daemon_set: DaemonSet, selector: Selector, now: Instant) -> Result:
        claimant = Claimant(resource=RESOURCE, api_version=APPS_V1, kind=KIND, meta=daemon_set.metadata)
        owner = Owner(key=f"set/{key}", meta=daemon_set.metadata, reference=_reference(daemon_set.metadata))
        claim = decide_claim(claimant, selector, "pods", self._candidates.of(key, daemon_set.metadata))
        kept = decide_claim(
            claimant, selector, CONTROLLER_REVISIONS, candidates_of(self._revisions, daemon_set.metadata)
        )
        revisions = kept.mine
        template, collisions = daemon_set.spec.template, daemon_set.status.collision_count
        reference = claimant.reference()
        history = decide_history(daemon_set.metadata, template, collisions, revisions, reference=reference)
        if history.collided:
            status = msgspec.structs.replace(daemon_set.status, collision_count=collisions + 1)
            patch = decide_status_patch(daemon_set, status)
            return Result(actions=(patch,) if patch is not None else ())
        pods = [self._control.seen_as_deleting(pod) for pod in claim.mine]
        grouped = group_by_node(pods)
        nodes = self._nodes.list()
        plan = self._plan(owner, daemon_set, nodes, grouped, history.hash, now)
        actions: list[Action] = [*claim.actions, *kept.actions, *history.actions]
        actions.extend(self._control.failure_events(owner, self._control.failures(owner.key)))
        actions.extend(_ended_event(daemon_set.metadata, ended) for ended in plan.ended)
        new = template_of(daemon_set, history.hash)
        placements = self._placement(daemon_set)
        status_patch = decide_status_patch(daemon_set, decide_status(daemon_set, nodes, grouped, placements, new, now))
        if status_patch is not None:
            actions.append(status_patch)
        carried = {pod.metadata.labels.get(HASH_LABEL, "") for pod in pods}
        limit = daemon_set.spec.revision_history_limit
        actions.extend(decide_cleanup(revisions, limit, current=history.name, carried=carried))
        wakes = self._wakes(owner, daemon_set, plan, history.hash, reference, pods, now)
        return Result(actions=actions, wakes=wakes)

    def _plan(
        self,
        owner: Owner,
        daemon_set: DaemonSet,
        nodes: Sequence[Node],
        grouped: dict[str, list[Pod]],
        hash_: str,
        now: Instant,
    ) -> DaemonPodPlan:
        coming = frozenset(_pinned_node(body) for body in self._control.creating(owner.key, now))
        placements = self._placement(daemon_set)
        template = template_of(daemon_set, hash_)
        plan = decide_keeping(daemon_set, nodes, grouped, coming, placements, template, self._failed, now)
        is_settled = not plan.create and not plan.delete and not coming
        if daemon_set.spec.update_strategy.type == "RollingUpdate" and is_settled:
            rollout = decide_replacing(daemon_set, nodes, grouped, coming, placements, template, now)
            plan.create.extend(rollout.create)
            plan.delete.extend(rollout.delete)
        return plan

    def _is_legacy(self, name: str) -> bool:
        node = self._nodes.get(name)
        return node is not None and reports_out_of_disk(node)

    def _wakes(
        self,
        owner: Owner,
        daemon_set: DaemonSet,
        plan: DaemonPodPlan,
        hash_: str,
        reference: dict[str, Any],
        pods: Sequence[Pod],
        now: Instant,
    ) -> list[tuple[str, Instant]]:
        names = plan.create[:PODS_PER_SYNC_MAX]
        bodies = [
            daemon_pod(daemon_set, name, hash_, owner=reference, reports_out_of_disk=self._is_legacy(name))
            for name in names
        ]
        wakes = self._control.create(owner, bodies, now)
        wakes += self._control.delete(owner, plan.delete[:PODS_PER_SYNC_MAX], now)
        available = next_available(pods, daemon_set.spec.min_ready_seconds, now)
        again = [instant for instant in (plan.looks_again, available) if instant is not None]
        own = [instant for key, instant in wakes if key == owner.key]
        if again or own:
            wakes = [wake for wake in wakes if wake[0] != owner.key]
            wakes.append((owner.key, min([*again, *own])))
        return wakes

    def _placement(self, daemon_set: DaemonSet) -> Placements:
        uid = daemon_set.metadata.uid
        found = self._placements.get(uid)
        if found is None or found.template != daemon_set.spec.template:
            operators = self._settings.comparison_operators
            found = self._placements[uid] = Placements(daemon_set, comparison_operators=operators)
        return found

    def _forget(self, key: str) -> None:
        uid = self._uids.get(key, "")
        super()._forget(key)
        self._failed.forget(uid)
        self._placements.pop(uid, None)


def _selector_or_none(daemon_set: DaemonSet) -> Selector | None:
    """None when it would select everything."""
    selector = selector_or_nothing(daemon_set.spec.selector)
    return None if selector.is_everything or selector.nothing else selector


def _pinned_node(body: dict[str, Any]) -> str:  # a pod as JSON
    return target_node(to_view(body, Pod))


def _reference(meta: ObjectMeta) -> ObjectReference:
    return reference_to(meta, api_version=APPS_V1, kind=KIND)


def _event(meta: ObjectMeta, kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(regarding=_reference(meta), type=kind, reason=reason, message=message, component=NAME)


def _ended_event(meta: ObjectMeta, ended: EndedDaemonPod) -> RecordEvent:
    pod, node = ended.pod.metadata.key, target_node(ended.pod)
    if ended.failed:
        text = f"Found failed daemon pod {pod} on node {node}, will try to kill it"
        return _event(meta, "Warning", "FailedDaemonPod", text)
    text = f"Found succeeded daemon pod {pod} on node {node}, will try to delete it"
    return _event(meta, "Normal", "SucceededDaemonPod", text)
