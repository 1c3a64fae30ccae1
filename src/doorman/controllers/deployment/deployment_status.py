"""What a Deployment says of itself: counters, and the conditions Available, Progressing and ReplicaFailure.

Rules
-----
1. Available: at least as many are available as may not be missing.
2. Progressing says how the rollout goes: a ReplicaSet was created or found, something moved, everything is there, or
   nothing has moved for too long. Once everything was there it says so until the next rollout, whatever happens to
   pods; a paused rollout neither moves nor runs out of time.
3. A condition keeps its transition time while its status is the same, and is left alone while its reason is too.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.apps import Deployment, DeploymentStatus, ReplicaSet
from doorman.api.views.meta import Condition
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.client.actions import Patch, PatchType
from doorman.controllers.deployment.deployment_sizes import REVISION, surge_and_unavailable, total
from doorman.controllers.pods.status_reports import REPLICA_FAILURE, condition_body

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
CREATED: Final = "NewReplicaSetCreated"
FOUND: Final = "FoundNewReplicaSet"
UPDATED: Final = "ReplicaSetUpdated"
COMPLETE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"
NO_DEADLINE_SECONDS: Final = 2**31 - 1

Conditions = tuple[Condition, ...]


def decide_counters(deployment: Deployment, everyone: Sequence[ReplicaSet], new: ReplicaSet | None) -> DeploymentStatus:
    """All but the conditions."""
    available = sum(one.status.available_replicas for one in everyone)
    terminating = sum(one.status.terminating_replicas or 0 for one in everyone)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas for one in everyone),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(one.status.ready_replicas for one in everyone),
        available_replicas=available,
        unavailable_replicas=max(total(everyone) - available, 0),
        terminating_replicas=terminating,
        collision_count=deployment.status.collision_count,
        conditions=deployment.status.conditions,
    )


def decide_available(deployment: Deployment, status: DeploymentStatus, now: Instant) -> Conditions:
    """Rule 1."""
    least = deployment.spec.replicas - surge_and_unavailable(deployment)[1]
    if status.available_replicas >= least:
        reason, message = "MinimumReplicasAvailable", "Deployment has minimum availability."
        return with_condition(status.conditions, AVAILABLE, "True", reason, message, now)
    reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    return with_condition(status.conditions, AVAILABLE, "False", reason, message, now)


def decide_progressing(
    deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: Instant
) -> Conditions:
    """Rule 2. Without a new ReplicaSet it is told of the Deployment itself."""
    conditions = status.conditions
    if not has_deadline(deployment):
        return tuple(one for one in conditions if one.type != PROGRESSING)
    current = _condition(conditions, PROGRESSING)
    settled = status.replicas == status.updated_replicas and current is not None and current.reason == COMPLETE
    if settled:
        return conditions
    who = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        text = f"{who} has successfully progressed."
        return with_condition(conditions, PROGRESSING, "True", COMPLETE, text, now)
    if _has_moved(deployment.status, status):
        text = f"{who} is progressing."
        return with_condition(conditions, PROGRESSING, "True", UPDATED, text, now, renew=True)
    if is_timed_out(deployment, current, now):
        text = f"{who} has timed out progressing."
        return with_condition(conditions, PROGRESSING, "False", TIMED_OUT, text, now)
    return conditions


def decide_failure(conditions: Conditions, everyone: Sequence[ReplicaSet], new: ReplicaSet | None) -> Conditions:
    """The new ReplicaSet's failure, or else another's."""
    ordered = [*([new] if new is not None else []), *everyone]
    found = next((one for rs in ordered if (one := rs.status.condition(REPLICA_FAILURE)) is not None), None)
    rest = tuple(one for one in conditions if one.type != REPLICA_FAILURE)
    if found is None:
        return rest
    return (*rest, msgspec.structs.replace(found, last_update_time=found.last_transition_time))


def decide_paused(deployment: Deployment, now: Instant) -> Conditions | None:
    """The conditions when the Deployment has just been paused or resumed; None when nothing is to be said."""
    if not has_deadline(deployment):
        return None
    conditions = deployment.status.conditions
    current = _condition(conditions, PROGRESSING)
    if current is not None and current.reason == TIMED_OUT:
        return None
    says_paused = current is not None and current.reason == PAUSED
    if deployment.spec.paused and not says_paused:
        return with_condition(conditions, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and says_paused:
        return with_condition(conditions, PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)
    return None


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    wanted = deployment.spec.replicas
    return (
        status.updated_replicas == wanted
        and status.replicas == wanted
        and status.available_replicas == wanted
        and status.observed_generation >= deployment.metadata.generation
    )


def has_deadline(deployment: Deployment) -> bool:
    seconds = deployment.spec.progress_deadline_seconds
    return seconds is not None and seconds != NO_DEADLINE_SECONDS


def is_timed_out(deployment: Deployment, current: Condition | None, now: Instant) -> bool:
    if current is None or current.reason in (COMPLETE, PAUSED):
        return False
    return current.reason == TIMED_OUT or now > _deadline(deployment, current, now)


def next_deadline(deployment: Deployment, conditions: Conditions, now: Instant) -> Instant | None:
    """When a rollout that does not move will have run out of time; None if it cannot, or has."""
    current = _condition(conditions, PROGRESSING)
    if current is None or not has_deadline(deployment) or current.reason in (COMPLETE, PAUSED, TIMED_OUT):
        return None
    return max(_deadline(deployment, current, now) + 1, now + 1)


def with_condition(
    conditions: Conditions, kind: str, status: str, reason: str, message: str, now: Instant, *, renew: bool = False
) -> Conditions:
    """Rule 3; `renew` notes the time even if nothing else changed."""
    before = _condition(conditions, kind)
    if before is not None and (before.status, before.reason) == (status, reason) and not renew:
        return conditions
    time = to_time(now)
    since = before.last_transition_time if before is not None and before.status == status else time
    condition = Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since or time,
        last_update_time=time,
    )
    return (*(one for one in conditions if one.type != kind), condition)


def decide_status_patch(deployment: Deployment, status: DeploymentStatus, revision: int = 0) -> Patch | None:
    """The revision is an annotation, but written with the status, because that does not count as a new generation."""
    annotations = {REVISION: str(revision)} if revision else {}
    is_noted = all(deployment.metadata.annotations.get(key) == value for key, value in annotations.items())
    if status == deployment.status and is_noted:
        return None
    body: dict[str, Any] = {  # JSON
        "observedGeneration": status.observed_generation or None,
        "replicas": status.replicas or None,
        "updatedReplicas": status.updated_replicas or None,
        "readyReplicas": status.ready_replicas or None,
        "availableReplicas": status.available_replicas or None,
        "unavailableReplicas": status.unavailable_replicas or None,
        "terminatingReplicas": status.terminating_replicas,
        "collisionCount": status.collision_count or None,
    }
    if status.conditions != deployment.status.conditions:
        body["conditions"] = [condition_body(one) for one in status.conditions] or None
    meta = deployment.metadata
    return Patch(
        resource="deployments.apps",
        namespace=meta.namespace,
        name=meta.name,
        subresource="status",
        body={"status": body} if is_noted else {"metadata": {"annotations": annotations}, "status": body},
        type=PatchType.MERGE,
    )


def _has_moved(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _deadline(deployment: Deployment, current: Condition, now: Instant) -> Instant:
    text = current.last_update_time or current.last_transition_time
    since = from_time(text) if text else now
    return since + (deployment.spec.progress_deadline_seconds or 0)


def _condition(conditions: Conditions, kind: str) -> Condition | None:
    return next((one for one in conditions if one.type == kind), None)


def replaced(status: DeploymentStatus, conditions: Conditions) -> DeploymentStatus:
    return msgspec.structs.replace(status, conditions=conditions)
