"""What a change of a node or a pod means for waiting pods: the events that queueing hints are asked about.

Rules
-----
1. A node appears: Add; it goes: Delete.
2. Taints differ in anything (order, value, time): UpdateNodeTaint; so does uncordoning, but not cordoning.
3. Allocatable, labels, annotations, condition statuses, declared features: one event each.
4. A pod's labels, requests lowered or raised, its last gate removed, the number of its tolerations, the claims made
   for it: one event each.
5. None of these: an update of no particular kind.
"""

from functools import cache

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource
from doorman.semantics.pods.pod_resources import pod_requests

WILDCARD = ClusterEvent(EventResource.WILDCARD, ActionType(0))


_LABELS = {
    ActionType.UPDATE_POD_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE_OTHER: "Update",
}
"""Changes that kube-scheduler calls otherwise than they are called here."""


@cache
def event_label(resource: EventResource, change: ActionType) -> str:
    """As kube-scheduler calls the event.

    >>> event_label(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
    'NodeUpdateNodeTaint'
    >>> event_label(EventResource.TARGET_POD, ActionType.UPDATE_OTHER)
    'TargetPodUpdate'
    """
    return f"{resource}{_LABELS.get(change) or (change.name or '').title().replace('_', '')}"


def node_events(old: Node | None, new: Node | None) -> list[ClusterEvent]:
    """Rules 1 to 3."""
    if new is None:
        return [ClusterEvent(EventResource.NODE, ActionType.DELETE, old, None)]
    if old is None:
        return [ClusterEvent(EventResource.NODE, ActionType.ADD, None, new)]
    changes = []
    if old.status.allocatable != new.status.allocatable:
        changes.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        changes.append(ActionType.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints or (old.spec.unschedulable and not new.spec.unschedulable):
        changes.append(ActionType.UPDATE_NODE_TAINT)
    if old.status.conditions != new.status.conditions and _statuses(old) != _statuses(new):
        changes.append(ActionType.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        changes.append(ActionType.UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        changes.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return [ClusterEvent(EventResource.NODE, change, old, new) for change in changes]


def pod_update_events(resource: EventResource, old: Pod, new: Pod) -> list[ClusterEvent]:
    """Rules 4 and 5."""
    changes = []
    if old.metadata.labels != new.metadata.labels:
        changes.append(ActionType.UPDATE_POD_LABEL)
    if old.status.resource_claim_statuses != new.status.resource_claim_statuses:
        changes.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    if old.spec is new.spec:
        return [ClusterEvent(resource, change, old, new) for change in changes or [ActionType.UPDATE_OTHER]]
    changes.extend(_scaling(old, new))
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        changes.append(ActionType.UPDATE_POD_GATES_ELIMINATED)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        changes.append(ActionType.UPDATE_POD_TOLERATION)
    return [ClusterEvent(resource, change, old, new) for change in changes or [ActionType.UPDATE_OTHER]]


def _scaling(old: Pod, new: Pod) -> list[ActionType]:
    before_spec, after_spec = old.spec, new.spec
    if (
        before_spec.containers == after_spec.containers
        and before_spec.init_containers == after_spec.init_containers
        and before_spec.overhead == after_spec.overhead
        and before_spec.resources == after_spec.resources
    ):
        return []
    before, after = pod_requests(before_spec), pod_requests(after_spec)
    names = (*before, *after)
    found = []
    if any(after.get(name, 0) > before.get(name, 0) for name in names):
        found.append(ActionType.UPDATE_POD_SCALE_UP)
    if any(after.get(name, 0) < before.get(name, 0) for name in names):
        found.append(ActionType.UPDATE_POD_SCALE_DOWN)
    return found


def _statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
