"""What a Deployment says of itself."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import Deployment, ReplicaSet
from doorman.base.instants import to_time
from doorman.controllers.deployment.deployment_status import (
    decide_available,
    decide_counters,
    decide_failure,
    decide_paused,
    decide_progressing,
    decide_status_patch,
    next_deadline,
    replaced,
)


def deployment(*conditions: dict[str, Any], replicas: int = 2, paused: bool = False, **status: Any) -> Deployment:
    spec = {
        "replicas": replicas,
        "paused": paused,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate"},
    }
    meta = {"name": "d", "namespace": "a", "generation": 3}
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"conditions": list(conditions), **status}}, Deployment
    )


def rs(size: int, ready: int, name: str = "d-1", **status: Any) -> ReplicaSet:
    counters = {"replicas": size, "readyReplicas": ready, "availableReplicas": ready, **status}
    return msgspec.convert({"metadata": {"name": name}, "spec": {"replicas": size}, "status": counters}, ReplicaSet)


def progressing(reason: str, status: str = "True", updated: float = 0.0) -> dict[str, Any]:
    return {"type": "Progressing", "status": status, "reason": reason, "lastUpdateTime": to_time(updated)}


def test_counters_are_sums_over_all_replica_sets() -> None:
    new, old = rs(2, 1), rs(1, 1, "d-0", terminatingReplicas=2)
    found = decide_counters(deployment(), [old, new], new)
    assert (found.replicas, found.updated_replicas, found.ready_replicas) == (3, 2, 2)
    assert (found.unavailable_replicas, found.terminating_replicas, found.observed_generation) == (1, 2, 3)


@pytest.mark.parametrize(("ready", "expected"), [(0, "False"), (1, "False"), (2, "True")])
def test_available(ready: int, expected: str) -> None:
    status = decide_counters(deployment(), [rs(2, ready)], rs(2, ready))
    condition = decide_available(deployment(), status, 0.0)[0]
    assert condition.status == expected


@pytest.mark.parametrize(
    ("before", "size", "ready", "now", "expected"),
    [
        pytest.param((), 2, 2, 0.0, ("True", "NewReplicaSetAvailable"), id="2-everything-is-there"),
        pytest.param((), 2, 1, 0.0, ("True", "ReplicaSetUpdated"), id="2-something-moved"),
        pytest.param(
            (progressing("NewReplicaSetAvailable"),), 2, 0, 9e9, ("True", "NewReplicaSetAvailable"), id="2-settled"
        ),
        pytest.param(
            (progressing("ReplicaSetUpdated"),), 0, 0, 600.0, ("True", "ReplicaSetUpdated"), id="2-still-time"
        ),
        pytest.param(
            (progressing("ReplicaSetUpdated"),), 0, 0, 601.0, ("False", "ProgressDeadlineExceeded"), id="2-too-long"
        ),
        pytest.param(
            (progressing("DeploymentPaused", "Unknown"),), 0, 0, 9e9, ("Unknown", "DeploymentPaused"), id="2-paused"
        ),
    ],
)
def test_progressing(
    before: tuple[dict[str, Any], ...], size: int, ready: int, now: float, expected: tuple[str, str]
) -> None:
    one = deployment(*before)
    status = decide_counters(one, [rs(size, ready)], rs(size, ready))
    condition = next(c for c in decide_progressing(one, status, rs(size, ready), now) if c.type == "Progressing")
    assert (condition.status, condition.reason) == expected


@pytest.mark.parametrize(
    ("new", "message"),
    [
        pytest.param(rs(2, 2), 'ReplicaSet "d-1" has successfully progressed.', id="new-replica-set"),
        pytest.param(None, 'Deployment "d" is progressing.', id="recreate-before-there-is-one"),
    ],
)
def test_messages_name_the_replica_set_or_else_the_deployment(new: ReplicaSet | None, message: str) -> None:
    one = deployment()
    said = decide_progressing(one, decide_counters(one, [rs(2, 2)], new), new, 0.0)[0]
    assert said.message == message


@pytest.mark.parametrize(
    ("conditions", "paused", "reason"),
    [
        pytest.param((), True, "DeploymentPaused", id="just-paused"),
        pytest.param((progressing("DeploymentPaused", "Unknown"),), True, None, id="known"),
        pytest.param((progressing("DeploymentPaused", "Unknown"),), False, "DeploymentResumed", id="just-resumed"),
        pytest.param((), False, None, id="never-paused"),
    ],
)
def test_paused(conditions: tuple[dict[str, Any], ...], paused: bool, reason: str | None) -> None:
    said = decide_paused(deployment(*conditions, paused=paused), 0.0)
    assert (said[-1].reason if said else None) == reason


def test_deadline_is_a_second_after_the_time_is_over() -> None:
    one = deployment(progressing("ReplicaSetUpdated", updated=100.0))
    assert next_deadline(one, one.status.conditions, 100.0) == 701.0
    done = deployment(progressing("NewReplicaSetAvailable"))
    assert next_deadline(done, done.status.conditions, 100.0) is None


def test_failure_of_a_replica_set_is_the_deployments() -> None:
    since = to_time(7.0)
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "lastTransitionTime": since}
    failing = rs(2, 0, conditions=[failure])
    (said,) = decide_failure((), [failing], None)
    assert (said.type, said.last_transition_time, said.last_update_time) == ("ReplicaFailure", since, since)
    assert decide_failure(failing.status.conditions, [rs(2, 2)], None) == ()


def test_patch_leaves_zeros_out_and_notes_the_revision() -> None:
    one = deployment(replicas=0)
    assert decide_status_patch(one, one.status) is None
    patch = decide_status_patch(one, replaced(one.status, ()), revision=4)
    assert patch is not None
    assert patch.subresource == "status"
    assert patch.body["metadata"] == {"annotations": {"deployment.kubernetes.io/revision": "4"}}
    assert patch.body["status"]["readyReplicas"] is None
