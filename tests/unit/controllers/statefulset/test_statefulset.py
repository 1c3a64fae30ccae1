"""StatefulSets in time."""

from typing import Any

from doorman.api.views.apps import ControllerRevision, StatefulSet
from doorman.api.views.coordination import Lease
from doorman.api.views.meta import Object
from doorman.controllers.statefulset.statefulset import StatefulSetController
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import NodeProfile, simulated_node
from support.binder import Binder
from support.objects import taints
from support.stage import Stage

SETS, REVISIONS, LEASES = "statefulsets.apps", "controllerrevisions.apps", "leases.coordination.k8s.io"
CLAIMS = "persistentvolumeclaims"


def stage_with(*names: str, script: str = "") -> Stage:
    stage = Stage({SETS: StatefulSet, REVISIONS: ControllerRevision, LEASES: Lease, CLAIMS: Object})
    caches = stage.caches
    for name in names:
        stage.create("nodes", simulated_node(name, NodeProfile(script=script)))
    stage.add(StatefulSetController(caches[SETS], caches[REVISIONS], caches["pods"], caches[CLAIMS]))
    stage.add(Binder(caches["nodes"], caches["pods"]))
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    return stage


def stateful_set(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    labels = {"app": "s"}
    metadata = {"labels": labels, "annotations": {"doorman.dev/startup": "2s"}}
    template = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    return {
        "metadata": {"namespace": "a", "name": "s"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
            "updateStrategy": {"type": "RollingUpdate"},
            **spec,
        },
    }


def pods(stage: Stage) -> dict[str, str]:
    return {key: d["spec"]["containers"][0]["image"] for key, d in sorted(stage.documents["pods"].items())}


def status(stage: Stage) -> dict[str, Any]:
    document = stage.get(SETS, "a/s")
    assert document is not None
    found: dict[str, Any] = document["status"]
    return found


def test_pods_come_one_after_another_and_are_counted() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set(volumeClaimTemplates=[{"metadata": {"name": "data"}}]))
    stage.at(1)
    assert list(pods(stage)) == ["a/s-0"]
    stage.at(3)
    assert list(pods(stage)) == ["a/s-0", "a/s-1"]
    stage.at(20)
    assert list(pods(stage)) == ["a/s-0", "a/s-1", "a/s-2"]
    found = status(stage)
    assert (found["replicas"], found["readyReplicas"], found["currentReplicas"], found["updatedReplicas"]) == (
        3,
        3,
        3,
        3,
    )
    assert found["currentRevision"] == found["updateRevision"]
    assert sorted(stage.documents[CLAIMS]) == ["a/data-s-0", "a/data-s-1", "a/data-s-2"]


def test_claims_come_before_their_pod_and_are_told_of() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set(1, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}]))
    stage.at(10)
    assert list(stage.documents[CLAIMS]) == ["a/data-s-0"]
    assert [text for _, text in stage.messages("SuccessfulCreate")] == [
        "Create Claim data-s-0 Pod s-0 in StatefulSet s success",
        "Create Pod s-0 in StatefulSet s successful",
    ]


def test_parallel_pods_come_together() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set(podManagementPolicy="Parallel"))
    stage.at(1)
    assert len(pods(stage)) == 3


def test_scaling_down_takes_the_highest_first() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set())
    stage.at(20)
    stage.patch(SETS, "a/s", {"spec": {"replicas": 1}})
    stage.at(30)
    assert list(pods(stage)) == ["a/s-0"]
    deleted = [text for _, text in stage.messages("SuccessfulDelete")]
    assert [text.split()[2] for text in deleted] == ["s-2", "s-1"]


def test_rolling_update_goes_from_the_highest_down_one_at_a_time() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set())
    stage.at(20)
    stage.patch(SETS, "a/s", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}})
    ready = []
    for second in range(21, 60):
        stage.at(second)
        ready.append(status(stage).get("readyReplicas", 0))
    assert set(pods(stage).values()) == {"i:2"}
    assert min(ready) >= 2
    assert status(stage)["currentRevision"] == status(stage)["updateRevision"]
    assert [text.split()[2] for _, text in stage.messages("SuccessfulDelete")] == ["s-2", "s-1", "s-0"]


def test_partition_holds_lower_ordinals_back() -> None:
    stage = stage_with("n1")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    stage.create(SETS, stateful_set(updateStrategy=strategy))
    stage.at(20)
    stage.patch(SETS, "a/s", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}})
    stage.at(60)
    assert list(pods(stage).values()) == ["i:1", "i:1", "i:2"]
    stage.delete("pods", "a/s-0")
    stage.at(80)
    assert list(pods(stage).values()) == ["i:1", "i:1", "i:2"]


def test_evicted_pod_comes_back_under_its_name_only_when_it_is_gone() -> None:
    stage = stage_with("n1", script="silent 30s-100s")
    stage.create(SETS, stateful_set(1))
    stage.at(40)
    uid = stage.documents["pods"]["a/s-0"]["metadata"]["uid"]
    stage.create("nodes", simulated_node("n2"))
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(99)
    going = stage.documents["pods"]["a/s-0"]["metadata"]
    assert going["uid"] == uid
    assert going["deletionTimestamp"]
    stage.at(110)
    back = stage.documents["pods"]["a/s-0"]
    assert back["metadata"]["uid"] != uid
    assert back["spec"]["nodeName"] == "n2"


def test_failed_pod_is_made_anew_under_its_name() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set(1))
    stage.at(10)
    uid = stage.documents["pods"]["a/s-0"]["metadata"]["uid"]
    stage.patch("pods", "a/s-0", {"status": {"phase": "Failed"}})
    stage.at(20)
    assert stage.documents["pods"]["a/s-0"]["metadata"]["uid"] != uid
    assert status(stage)["readyReplicas"] == 1


def test_orphan_of_the_right_name_is_adopted_and_others_are_not() -> None:
    stage = stage_with("n1")
    for name in ("s-0", "stranger"):
        meta = {"namespace": "a", "name": name, "labels": {"app": "s"}}
        stage.create("pods", {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i:0"}]}})
    stage.create(SETS, stateful_set(1))
    stage.at(2)
    assert stage.documents["pods"]["a/s-0"]["metadata"]["ownerReferences"]
    assert not stage.documents["pods"]["a/stranger"]["metadata"].get("ownerReferences")


def test_set_that_is_gone_is_forgotten() -> None:
    stage = stage_with("n1")
    stage.create(SETS, stateful_set(1))
    stage.at(10)
    stage.delete(SETS, "a/s")
    stage.at(20)
    controller = stage._controllers[0]
    assert isinstance(controller, StatefulSetController)
    assert (controller._uids, controller._candidates._uids) == ({}, {})
