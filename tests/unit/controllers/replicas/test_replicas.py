"""Who goes first when there are too many."""

from typing import Any

import msgspec
import pytest

from doorman.api.machinery.label_selectors import EVERYTHING
from doorman.api.views.apps import ReplicaSetStatus
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.base.instants import to_time
from doorman.controllers.pods.controller_refs import Claimant
from doorman.controllers.pods.pod_control import PodControlFailure
from doorman.controllers.replicas.replicas import (
    Replicated,
    decide_status,
    decide_status_patch,
    decide_surplus,
    rank_for_deletion,
)
from support.objects import pod

NOW = 1_000_000.0


def replica(
    name: str, on: str = "n1", phase: str = "Running", ready: float | None = 0.0, created: float = 0.0, **more: Any
) -> Pod:
    conditions = (
        [{"type": "Ready", "status": "True", "lastTransitionTime": to_time(ready)}] if ready is not None else []
    )
    meta = {"uid": name, "creationTimestamp": to_time(created), "annotations": more.get("annotations", {})}
    restarts = [{"name": "c", "restartCount": more.get("restarts", 0)}]
    status = {"phase": phase, "conditions": conditions, "containerStatuses": restarts}
    return msgspec.convert(pod(name, on, metadata=meta, status=status), Pod)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(replica("z", on=""), replica("a"), id="2-unbound"),
        pytest.param(replica("z", phase="Pending"), replica("a", phase="Unknown"), id="2-pending"),
        pytest.param(replica("z", phase="Unknown"), replica("a"), id="2-unknown"),
        pytest.param(replica("z", ready=None), replica("a"), id="2-not-ready"),
        pytest.param(
            replica("z", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}), replica("a"), id="2-cheaper"
        ),
        pytest.param(replica("z", on="crowded"), replica("a"), id="2-crowded-node"),
        pytest.param(replica("z", ready=NOW - 10), replica("a", ready=NOW - 1000), id="2-ready-for-a-shorter-time"),
        pytest.param(replica("a", ready=NOW - 1000), replica("z", ready=NOW - 1001), id="2-same-power-lower-uid"),
        pytest.param(replica("z", restarts=3), replica("a", restarts=1), id="2-more-restarts"),
        pytest.param(replica("z", created=NOW - 10), replica("a", created=NOW - 1000), id="2-younger"),
    ],
)
def test_rank(first: Pod, second: Pod) -> None:
    kin = {"crowded": 9, "n1": 2}
    for order in ([first, second], [second, first]):
        assert rank_for_deletion(order, kin, NOW)[0] is first


def test_surplus_is_what_is_too_many() -> None:
    pods = [replica(name) for name in "abcd"]
    assert len(decide_surplus(pods, 1, {}, NOW)) == 3
    assert decide_surplus(pods, 4, {}, NOW) == []
    assert len(decide_surplus([replica(f"p{i}") for i in range(700)], 0, {}, NOW)) == 500


def owner(**status: Any) -> Replicated:
    claimant = Claimant(
        resource="replicasets.apps", api_version="apps/v1", kind="ReplicaSet", meta=ObjectMeta(generation=2)
    )
    return Replicated(
        claimant=claimant,
        replicas=3,
        selector=EVERYTHING,
        template={"metadata": {"labels": {"a": "b"}}},
        min_ready_seconds=0,
        status=msgspec.convert(status, ReplicaSetStatus),
    )


def test_status_counts() -> None:
    labelled = msgspec.structs.replace(replica("a"), metadata=ObjectMeta(labels={"a": "b", "c": "d"}))
    going = msgspec.structs.replace(replica("g"), metadata=ObjectMeta(deletion_timestamp="x"))
    pods = [labelled, replica("b", ready=None), replica("c", phase="Failed"), going]
    status = decide_status(owner(), pods, [], failing=False, now=NOW)
    assert (status.replicas, status.fully_labeled_replicas, status.ready_replicas) == (2, 1, 1)
    assert (status.available_replicas, status.terminating_replicas, status.observed_generation) == (1, 1, 2)


def test_failure_is_a_condition_until_there_is_none() -> None:
    failure = PodControlFailure(reason="FailedCreate", message="Error creating: exceeded quota")
    first = decide_status(owner(), [], [failure], failing=True, now=NOW)
    condition = first.condition("ReplicaFailure")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == ("True", "FailedCreate", "exceeded quota")
    known = owner(conditions=[{"type": "ReplicaFailure", "status": "True"}])
    assert decide_status(known, [], [], failing=True, now=NOW).conditions != ()
    assert decide_status(known, [], [], failing=False, now=NOW).conditions == ()


def test_status_is_written_only_if_it_changed_and_without_zeros() -> None:
    before = owner(replicas=2, readyReplicas=2, terminatingReplicas=0)
    assert decide_status_patch(before, before.status) is None
    patch = decide_status_patch(before, ReplicaSetStatus(terminating_replicas=0, observed_generation=1))
    assert patch is not None
    assert patch.body["status"] == {
        "replicas": 0, "fullyLabeledReplicas": None, "readyReplicas": None, "availableReplicas": None,
        "terminatingReplicas": 0, "observedGeneration": 1,
    }  # fmt: skip
