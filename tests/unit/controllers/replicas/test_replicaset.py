"""ReplicaSets keep their number, whatever happens to pods and nodes."""

from typing import Any

from doorman.api.views.apps import ReplicaSet
from doorman.api.views.coordination import Lease
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicaset import REPLICA_SETS
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import simulated_node
from support.binder import Binder
from support.objects import taints
from support.stage import Stage

SETS, LEASES = "replicasets.apps", "leases.coordination.k8s.io"


def stage_with(*names: str, writes_counts: bool = True) -> Stage:
    stage = Stage({SETS: ReplicaSet, LEASES: Lease})
    caches = stage.caches
    for name in names:
        stage.create("nodes", simulated_node(name))
    stage.add(ReplicaController(REPLICA_SETS, caches[SETS], caches["pods"], writes_counts=writes_counts))
    stage.add(Binder(caches["nodes"], caches["pods"]))
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    return stage


def replica_set(replicas: int, name: str = "r", **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {"namespace": "a", "name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
    }


def alive(stage: Stage) -> list[str]:
    return [
        document["spec"].get("nodeName", "")
        for document in stage.documents["pods"].values()
        if not document["metadata"].get("deletionTimestamp")
    ]


def status(stage: Stage, key: str = "a/r") -> dict[str, Any]:
    document = stage.get(SETS, key)
    assert document is not None
    found: dict[str, Any] = document["status"]
    return found


def test_pods_are_made_and_counted() -> None:
    stage = stage_with("n1", "n2")
    stage.create(SETS, replica_set(5))
    stage.at(5)
    assert sorted(alive(stage)) == ["n1", "n1", "n1", "n2", "n2"]
    assert status(stage) == {
        "replicas": 5, "fullyLabeledReplicas": 5, "readyReplicas": 5, "availableReplicas": 5, "terminatingReplicas": 0,
        "observedGeneration": 1,
    }  # fmt: skip
    assert len(stage.done(Create, "pods")) == 5


def test_scaling_up_and_down() -> None:
    stage = stage_with("n1", "n2")
    stage.create(SETS, replica_set(2))
    stage.at(5)
    stage.patch(SETS, "a/r", {"spec": {"replicas": 20}})
    stage.at(10)
    assert len(alive(stage)) == 20
    stage.patch(SETS, "a/r", {"spec": {"replicas": 3}})
    stage.at(20)
    assert len(stage.documents["pods"]) == 3
    assert len(stage.messages("SuccessfulDelete")) == 17
    assert status(stage)["replicas"] == 3
    assert status(stage)["observedGeneration"] == 3


def test_evicted_pods_come_back_elsewhere_at_once() -> None:
    stage = stage_with("n1")
    stage.create(SETS, replica_set(3))
    stage.at(5)
    stage.create("nodes", simulated_node("n2"))
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(6)
    assert alive(stage) == ["n2"] * 3
    assert status(stage)["readyReplicas"] == 3


def test_terminating_pod_does_not_count_and_is_told() -> None:
    stage = stage_with("n1")
    stage.create(SETS, replica_set(1))
    stage.at(5)
    key = next(iter(stage.documents["pods"]))
    stage.patch("pods", key, {"metadata": {"annotations": {"doorman.dev/termination": "20s"}}})
    stage.delete("pods", key)
    stage.at(10)
    assert len(alive(stage)) == 1
    assert status(stage)["terminatingReplicas"] == 1
    stage.at(40)
    assert status(stage)["terminatingReplicas"] == 0


def test_failed_pod_is_replaced_and_stays() -> None:
    stage = stage_with("n1")
    stage.create(SETS, replica_set(1))
    stage.at(5)
    key = next(iter(stage.documents["pods"]))
    stage.patch("pods", key, {"status": {"phase": "Failed"}})
    stage.at(10)
    assert len(stage.documents["pods"]) == 2
    assert stage.done(Delete, "pods") == []


def test_failing_creation_is_a_condition_that_goes_again() -> None:
    stage = stage_with("n1")
    stage.fail(Create, 4, ApiError(403, "Forbidden", "exceeded quota"), "pods")
    stage.create(SETS, replica_set(2))
    stage.at(1.05)
    assert [(c["type"], c["reason"], c["message"]) for c in status(stage)["conditions"]] == [
        ("ReplicaFailure", "FailedCreate", "exceeded quota")
    ]
    stage.at(60)
    assert len(alive(stage)) == 2
    assert not status(stage).get("conditions")


def test_orphan_is_adopted_instead_of_making_one() -> None:
    stage = stage_with("n1")
    stage.create(
        "pods", {"metadata": {"namespace": "a", "name": "o", "labels": {"app": "r"}}, "spec": {"containers": []}}
    )
    stage.create(SETS, replica_set(2))
    stage.at(5)
    assert len(alive(stage)) == 2
    assert len(stage.done(Create, "pods")) == 1


def test_pods_that_have_ended_are_neither_adopted_nor_released() -> None:
    stage = stage_with("n1")
    orphan = {"metadata": {"namespace": "a", "name": "o", "labels": {"app": "r"}}, "spec": {"containers": []}}
    stage.create("pods", {**orphan, "status": {"phase": "Failed"}})
    stage.create(SETS, replica_set(1))
    stage.at(5)
    assert "ownerReferences" not in stage.documents["pods"]["a/o"]["metadata"]
    key = next(key for key in stage.documents["pods"] if key != "a/o")
    stage.patch("pods", key, {"metadata": {"labels": {"app": "other"}}, "status": {"phase": "Failed"}})
    stage.at(10)
    assert stage.documents["pods"][key]["metadata"]["ownerReferences"]


def test_set_that_is_being_deleted_only_counts() -> None:
    stage = stage_with("n1")
    stage.create(SETS, {**replica_set(2)})
    stage.at(5)
    stage.patch(SETS, "a/r", {"metadata": {"finalizers": ["foregroundDeletion"]}})
    stage.delete(SETS, "a/r")
    stage.delete("pods", next(iter(stage.documents["pods"])))
    stage.at(10)
    assert len(alive(stage)) == 1
    assert status(stage)["replicas"] == 1


def test_min_ready_seconds() -> None:
    stage = stage_with("n1")
    stage.create(SETS, replica_set(1, minReadySeconds=30))
    stage.at(29)
    assert (status(stage)["readyReplicas"], status(stage).get("availableReplicas")) == (1, None)
    stage.at(31)
    assert status(stage)["availableReplicas"] == 1


def test_two_sets_do_not_touch_each_others_pods() -> None:
    stage = stage_with("n1")
    stage.create(SETS, replica_set(2))
    stage.create(SETS, replica_set(3, "s"))
    stage.at(5)
    stage.delete(SETS, "a/s")
    stage.patch(SETS, "a/r", {"spec": {"replicas": 0}})
    stage.at(10)
    assert len(stage.documents["pods"]) == 3
    controller = stage._controllers[0]
    assert isinstance(controller, ReplicaController)
    assert list(controller._uids) == ["a/r"]


def owned_set(name: str, replicas: int) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d", "controller": True}
    document = replica_set(replicas, name)
    document["metadata"] |= {"uid": name, "ownerReferences": [owner]}
    return document


def test_where_nobody_reads_counts_a_set_that_is_alone_does_not_write_them() -> None:
    stage = stage_with("n1", writes_counts=False)
    stage.create(SETS, owned_set("r", 2))
    stage.create(SETS, owned_set("old", 0))
    stage.at(5)
    document = stage.get(SETS, "a/r")
    assert document is not None
    assert len(alive(stage)) == 2
    assert "readyReplicas" not in document.get("status", {})


def test_where_nobody_reads_counts_a_rollout_does() -> None:
    stage = stage_with("n1", writes_counts=False)
    stage.create(SETS, owned_set("r", 2))
    stage.at(5)
    stage.create(SETS, owned_set("new", 1))
    stage.at(10)
    assert status(stage)["readyReplicas"] == 2, "it was alone, and has been woken"
    assert status(stage, "a/new")["readyReplicas"] == 1
