"""Ordinals: who comes, who goes, in which order."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import StatefulSet
from doorman.api.views.pods import Pod
from doorman.controllers.statefulset.statefulset_pods import (
    Versions,
    claim_bodies,
    decide_pods,
    decide_status,
    stateful_pod,
)
from support.objects import pod

VERSIONS = Versions(
    current="s-old", current_template={"spec": {"v": 1}}, update="s-new", update_template={"spec": {"v": 2}}
)


def stateful_set(replicas: int = 3, policy: str = "OrderedReady", **spec: Any) -> StatefulSet:
    document = {
        "metadata": {"name": "s", "namespace": "a", "generation": 1},
        "spec": {
            "replicas": replicas,
            "podManagementPolicy": policy,
            "updateStrategy": {"type": "RollingUpdate"},
            **spec,
        },
    }
    return msgspec.convert(document, StatefulSet)


def unavailable(most: int | str) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}}


def replica(
    ordinal: int, revision: str = "s-new", ready: bool = True, phase: str = "Running", going: bool = False
) -> Pod:
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    meta = {"labels": {"controller-revision-hash": revision}, "uid": f"u{ordinal}"}
    if going:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return msgspec.convert(pod(f"s-{ordinal}", metadata=meta, status={"phase": phase, "conditions": conditions}), Pod)


def plan(the_set: StatefulSet, *pods: Pod) -> tuple[list[int], list[str]]:
    by_ordinal = {int(one.metadata.name[2:]): one for one in pods}
    found = decide_pods(the_set, by_ordinal, VERSIONS, 0.0)
    return list(found.create), [one.metadata.name for one in found.delete]


PARALLEL = stateful_set(policy="Parallel")


@pytest.mark.parametrize(
    ("the_set", "pods", "expected"),
    [
        pytest.param(stateful_set(), [], ([0], []), id="2-first-one"),
        pytest.param(PARALLEL, [], ([0, 1, 2], []), id="2-parallel-all"),
        pytest.param(stateful_set(), [replica(0, ready=False)], ([], []), id="2-waits-for-the-one-before"),
        pytest.param(stateful_set(), [replica(0)], ([1], []), id="2-next-one"),
        pytest.param(stateful_set(), [replica(0, going=True), replica(1)], ([], []), id="1-going-blocks"),
        pytest.param(PARALLEL, [replica(0, going=True), replica(1)], ([2], []), id="1-parallel-blocks-only-its-own"),
        pytest.param(stateful_set(), [replica(0, phase="Failed")], ([], ["s-0"]), id="1-ended-is-deleted"),
        pytest.param(stateful_set(1), [replica(0), replica(1), replica(2)], ([], ["s-2"]), id="2-highest-goes-first"),
        pytest.param(
            stateful_set(1), [replica(0), replica(1), replica(2, going=True)], ([], []), id="2-waits-until-it-is-gone"
        ),
        pytest.param(
            stateful_set(1, "Parallel"),
            [replica(0), replica(1), replica(2)],
            ([], ["s-2", "s-1"]),
            id="2-parallel-down",
        ),
        pytest.param(
            stateful_set(),
            [replica(0, "s-old"), replica(1, "s-old"), replica(2, "s-old")],
            ([], ["s-2"]),
            id="3-highest-is-replaced-first",
        ),
        pytest.param(
            stateful_set(),
            [replica(0, "s-old"), replica(1, "s-old"), replica(2)],
            ([], ["s-1"]),
            id="3-next-is-replaced",
        ),
        pytest.param(
            PARALLEL,
            [replica(0, "s-old"), replica(1, "s-old"), replica(2, ready=False)],
            ([], []),
            id="3-waits-until-well",
        ),
        pytest.param(
            stateful_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
            [replica(0, "s-old"), replica(1, "s-old"), replica(2)],
            ([], []),
            id="3-not-below-the-partition",
        ),
        pytest.param(
            stateful_set(4, updateStrategy=unavailable("50%")),
            [replica(0, "s-old"), replica(1, "s-old"), replica(2, "s-old"), replica(3, "s-old")],
            ([], ["s-3", "s-2"]),
            id="3-as-many-as-may-be-unavailable",
        ),
        pytest.param(
            stateful_set(4, "Parallel", updateStrategy=unavailable(2)),
            [replica(0, "s-old", ready=False), replica(1, "s-old"), replica(2, "s-old"), replica(3)],
            ([], ["s-0", "s-2"]),
            id="3-parallel-unwell-goes-first-and-counts",
        ),
        pytest.param(
            PARALLEL,
            [replica(0, "s-old", ready=False), replica(1, "s-old", ready=False), replica(2, "s-old")],
            ([], ["s-1", "s-0"]),
            id="3-parallel-unwell-go-freely",
        ),
        pytest.param(
            PARALLEL,
            [replica(0, ready=False), replica(1, "s-old"), replica(2, "s-old")],
            ([], []),
            id="3-lower-ordinal-that-is-unwell-counts",
        ),
        pytest.param(
            stateful_set(updateStrategy=unavailable("10%")),
            [replica(0, "s-old"), replica(1, "s-old"), replica(2, "s-old")],
            ([], ["s-2"]),
            id="3-a-small-share-is-one",
        ),
        pytest.param(
            stateful_set(updateStrategy={"type": "OnDelete"}),
            [replica(0, "s-old"), replica(1, "s-old"), replica(2, "s-old")],
            ([], []),
            id="3-on-delete",
        ),
        pytest.param(stateful_set(ordinals={"start": 5}), [], ([5], []), id="ordinals-start-elsewhere"),
    ],
)
def test_plan(the_set: StatefulSet, pods: list[Pod], expected: tuple[list[int], list[str]]) -> None:
    assert plan(the_set, *pods) == expected


def test_pod_has_an_identity_and_claims_of_its_own() -> None:
    the_set = stateful_set(serviceName="svc", volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"x": 1}}])
    made = stateful_pod(the_set, 1, VERSIONS, current_count=0, owner={"uid": "u"})
    assert made["metadata"]["name"] == "s-1"
    assert made["metadata"]["labels"] == {
        "controller-revision-hash": "s-new",
        "statefulset.kubernetes.io/pod-name": "s-1",
        "apps.kubernetes.io/pod-index": "1",
    }
    assert (made["spec"]["hostname"], made["spec"]["subdomain"], made["spec"]["v"]) == ("s-1", "svc", 2)
    assert made["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-s-1"}}]
    assert [body["metadata"]["name"] for body in claim_bodies(the_set, 1)] == ["data-s-1"]


@pytest.mark.parametrize(
    ("ordinal", "current_count", "revision"), [(0, 2, "s-old"), (1, 2, "s-old"), (2, 2, "s-new"), (0, 0, "s-new")]
)
def test_where_the_rollout_has_not_come_yet_the_current_revision_is_used(
    ordinal: int, current_count: int, revision: str
) -> None:
    made = stateful_pod(stateful_set(), ordinal, VERSIONS, current_count=current_count, owner={})
    assert made["metadata"]["labels"]["controller-revision-hash"] == revision


def test_status_moves_the_current_revision_when_the_rollout_is_complete() -> None:
    part = decide_status(stateful_set(), [replica(0, "s-old"), replica(1), replica(2)], VERSIONS, 0.0)
    assert (part.current_revision, part.update_revision, part.current_replicas, part.updated_replicas) == (
        "s-old", "s-new", 1, 2,
    )  # fmt: skip
    whole = decide_status(stateful_set(), [replica(0), replica(1), replica(2)], VERSIONS, 0.0)
    assert (whole.current_revision, whole.current_replicas, whole.ready_replicas) == ("s-new", 3, 3)
