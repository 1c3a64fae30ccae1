"""Rollouts from the first template to the last."""

from typing import Any

from doorman.api.views.apps import Deployment, ReplicaSet
from doorman.api.views.coordination import Lease
from doorman.base.errors import ApiError
from doorman.client.actions import Create
from doorman.controllers.deployment.deployment import DeploymentController, without_hash
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicaset import REPLICA_SETS
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import simulated_node
from support.binder import Binder
from support.objects import taints, toleration
from support.stage import Stage

DEPLOYMENTS, SETS, LEASES = "deployments.apps", "replicasets.apps", "leases.coordination.k8s.io"


def stage_with(*names: str) -> Stage:
    stage = Stage({DEPLOYMENTS: Deployment, SETS: ReplicaSet, LEASES: Lease})
    caches = stage.caches
    for name in names:
        stage.create("nodes", simulated_node(name))
    stage.add(DeploymentController(caches[DEPLOYMENTS], caches[SETS], caches["pods"]))
    stage.add(ReplicaController(REPLICA_SETS, caches[SETS], caches["pods"]))
    stage.add(Binder(caches["nodes"], caches["pods"]))
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    return stage


def deployment(replicas: int = 4, strategy: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    labels = {"app": "d"}
    metadata = {"labels": labels, "annotations": {"doorman.dev/startup": "2s"}}
    template = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    return {
        "metadata": {"namespace": "a", "name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
            "strategy": strategy or {"type": "RollingUpdate"},
            "progressDeadlineSeconds": 600,
            **spec,
        },
    }


def image(text: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": text}]}}}}


def images(stage: Stage) -> dict[str, int]:
    """How many pods that are not being deleted run which image."""
    found: dict[str, int] = {}
    for document in stage.documents["pods"].values():
        if not document["metadata"].get("deletionTimestamp"):
            name = document["spec"]["containers"][0]["image"]
            found[name] = found.get(name, 0) + 1
    return found


def status(stage: Stage) -> dict[str, Any]:
    document = stage.get(DEPLOYMENTS, "a/d")
    assert document is not None
    found: dict[str, Any] = document.get("status", {})
    return found


def revisions(stage: Stage) -> dict[str, tuple[str, str | None]]:
    """By image: the number its ReplicaSet has, and those it has had before."""
    found = {}
    for document in stage.documents[SETS].values():
        annotations = document["metadata"]["annotations"]
        numbers = (
            annotations["deployment.kubernetes.io/revision"],
            annotations.get("deployment.kubernetes.io/revision-history"),
        )
        found[document["spec"]["template"]["spec"]["containers"][0]["image"]] = numbers
    return found


def condition(stage: Stage, kind: str) -> tuple[str, str]:
    return next((c["status"], c["reason"]) for c in status(stage)["conditions"] if c["type"] == kind)


def test_first_template_becomes_a_replica_set() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment())
    stage.at(10)
    assert len(stage.documents[SETS]) == 1
    found = next(iter(stage.documents[SETS].values()))
    hash_ = found["metadata"]["labels"]["pod-template-hash"]
    assert found["metadata"]["name"] == f"d-{hash_}"
    assert found["spec"]["selector"] == {"matchLabels": {"app": "d", "pod-template-hash": hash_}}
    assert found["metadata"]["annotations"] == {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "4",
        "deployment.kubernetes.io/max-replicas": "5",
    }
    owner = found["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"], owner["blockOwnerDeletion"]) == ("Deployment", True, True)
    assert stage.messages("ScalingReplicaSet") == [(0.0, f"Scaled up replica set d-{hash_} from 0 to 4")]
    assert {k: v for k, v in status(stage).items() if k != "conditions"} == {
        "observedGeneration": 1, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 4, "availableReplicas": 4,
        "terminatingReplicas": 0,
    }  # fmt: skip
    assert condition(stage, "Available") == ("True", "MinimumReplicasAvailable")
    assert condition(stage, "Progressing") == ("True", "NewReplicaSetAvailable")
    document = stage.get(DEPLOYMENTS, "a/d")
    assert document is not None
    assert document["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


def test_rolling_update_never_has_too_many_or_too_few() -> None:
    stage = stage_with("n1", "n2")
    stage.create(DEPLOYMENTS, deployment(8))
    stage.at(10)
    stage.patch(DEPLOYMENTS, "a/d", image("i:2"))
    counts, available = [], []
    for _ in range(120):
        stage.advance(0.5)
        counts.append(sum(images(stage).values()))
        available.append(status(stage).get("availableReplicas", 0))
    assert images(stage) == {"i:2": 8}
    assert max(counts) <= 10
    assert min(available) >= 6
    assert condition(stage, "Progressing") == ("True", "NewReplicaSetAvailable")
    sizes = {
        d["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: d["spec"]["replicas"]
        for d in stage.documents[SETS].values()
    }
    assert sizes == {"1": 0, "2": 8}


def test_recreate_ends_all_old_pods_before_the_first_new_one() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(3, {"type": "Recreate"}))
    stage.at(10)
    for key in list(stage.documents["pods"]):
        stage.patch("pods", key, {"metadata": {"annotations": {"doorman.dev/termination": "5s"}}})
    stage.patch(DEPLOYMENTS, "a/d", image("i:2"))
    stage.at(14)
    assert images(stage) == {}
    assert len(stage.documents[SETS]) == 1
    stage.at(30)
    assert images(stage) == {"i:2": 3}


def test_scaling_changes_the_only_replica_set() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(2))
    stage.at(10)
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"replicas": 6}})
    stage.at(20)
    assert images(stage) == {"i:1": 6}
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"replicas": 1}})
    stage.at(30)
    assert images(stage) == {"i:1": 1}
    assert len(stage.documents[SETS]) == 1
    assert [text.rpartition("from ")[2] for _, text in stage.messages("ScalingReplicaSet")] == [
        "0 to 2",
        "2 to 6",
        "6 to 1",
    ]


def test_paused_rollout_does_not_move_and_goes_on_when_resumed() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(2))
    stage.at(10)
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"paused": True}})
    stage.patch(DEPLOYMENTS, "a/d", image("i:2"))
    stage.at(1000)
    assert images(stage) == {"i:1": 2}
    assert condition(stage, "Progressing") == ("Unknown", "DeploymentPaused")
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"replicas": 4}})
    stage.at(1010)
    assert images(stage) == {"i:1": 4}
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"paused": False}})
    stage.at(1100)
    assert images(stage) == {"i:2": 4}


def test_going_back_uses_the_old_replica_set_with_a_new_revision() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(2))
    stage.at(20)
    stage.patch(DEPLOYMENTS, "a/d", image("i:2"))
    stage.at(60)
    stage.patch(DEPLOYMENTS, "a/d", image("i:1"))
    stage.at(120)
    assert images(stage) == {"i:1": 2}
    assert revisions(stage) == {"i:1": ("3", "1"), "i:2": ("2", None)}
    stage.patch(DEPLOYMENTS, "a/d", image("i:2"))
    stage.at(180)
    stage.patch(DEPLOYMENTS, "a/d", image("i:1"))
    stage.at(240)
    assert revisions(stage) == {"i:1": ("5", "1,3"), "i:2": ("4", "2")}


def test_old_replica_sets_beyond_the_limit_are_deleted() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=2))
    for number in range(2, 7):
        stage.advance(30)
        stage.patch(DEPLOYMENTS, "a/d", image(f"i:{number}"))
    stage.advance(30)
    found = sorted(d["spec"]["template"]["spec"]["containers"][0]["image"] for d in stage.documents[SETS].values())
    assert found == ["i:4", "i:5", "i:6"]


def test_paused_deployment_lets_old_replica_sets_go_too() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(1))
    for number in range(2, 5):
        stage.advance(30)
        stage.patch(DEPLOYMENTS, "a/d", image(f"i:{number}"))
    stage.advance(30)
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"paused": True}})
    stage.advance(30)
    assert sorted(revisions(stage)) == ["i:1", "i:2", "i:3", "i:4"]
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"revisionHistoryLimit": 1}})
    stage.advance(30)
    assert sorted(revisions(stage)) == ["i:3", "i:4"]


def test_rollout_that_finds_no_node_runs_out_of_time() -> None:
    stage = stage_with("n1")
    stage.patch("nodes", "n1", taints("x:NoSchedule"))
    stage.create(DEPLOYMENTS, deployment(2, progressDeadlineSeconds=60))
    stage.at(50)
    assert (status(stage)["unavailableReplicas"], status(stage).get("readyReplicas")) == (2, None)
    assert condition(stage, "Available") == ("False", "MinimumReplicasUnavailable")
    stage.at(65)
    assert condition(stage, "Progressing") == ("False", "ProgressDeadlineExceeded")
    stage.patch(DEPLOYMENTS, "a/d", {"spec": {"template": {"spec": {"tolerations": [toleration("x")]}}}})
    stage.at(120)
    assert condition(stage, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert status(stage)["availableReplicas"] == 2


def test_eviction_flips_available_but_not_progressing() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(2))
    stage.at(10)
    stage.patch("nodes", "n1", taints("down:NoExecute"))
    stage.at(15)
    assert condition(stage, "Available") == ("False", "MinimumReplicasUnavailable")
    assert condition(stage, "Progressing") == ("True", "NewReplicaSetAvailable")
    stage.create("nodes", simulated_node("n2"))
    stage.at(25)
    assert condition(stage, "Available") == ("True", "MinimumReplicasAvailable")


def test_annotations_are_copied_but_for_a_few() -> None:
    stage = stage_with("n1")
    document = deployment(1)
    last = "kubectl.kubernetes.io/last-applied-configuration"
    document["metadata"]["annotations"] = {"kubernetes.io/change-cause": "why", last: "{}"}
    stage.create(DEPLOYMENTS, document)
    stage.at(10)
    annotations = next(iter(stage.documents[SETS].values()))["metadata"]["annotations"]
    assert annotations["kubernetes.io/change-cause"] == "why"
    assert last not in annotations


def test_matching_orphan_replica_set_is_adopted() -> None:
    stage = stage_with("n1")
    template = deployment()["spec"]["template"]
    orphan = {
        "metadata": {"namespace": "a", "name": "old", "labels": {"app": "d"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": template},
    }
    stage.create(SETS, orphan)
    stage.create(DEPLOYMENTS, deployment(2))
    stage.at(20)
    assert list(stage.documents[SETS]) == ["a/old"]
    assert stage.documents[SETS]["a/old"]["metadata"]["ownerReferences"][0]["name"] == "d"


def test_refused_replica_set_is_told() -> None:
    stage = stage_with("n1")
    stage.fail(Create, 15, ApiError(403, "Forbidden", "no more"), SETS)
    stage.create(DEPLOYMENTS, deployment(1))
    stage.at(200)
    stage.patch(DEPLOYMENTS, "a/d", {"metadata": {"labels": {"a": "b"}}})
    stage.at(210)
    (name,) = stage.documents[SETS]
    told = stage.messages("ReplicaSetCreateError")[0][1]
    assert told == f'Failed to create new replica set "{name.rpartition("/")[2]}": no more'
    assert images(stage) == {"i:1": 1}


def test_name_taken_by_a_stranger_counts_as_a_collision() -> None:
    stage = stage_with("n1")
    stage.create(DEPLOYMENTS, deployment(1))
    stage.at(10)
    name = next(iter(stage.documents[SETS]))
    stage.delete(DEPLOYMENTS, "a/d")
    stage.patch(
        SETS, name, {"metadata": {"labels": {"app": "x"}, "ownerReferences": []}, "spec": {"template": {"x": 1}}}
    )
    stage.create(DEPLOYMENTS, deployment(1))
    stage.at(30)
    assert status(stage)["collisionCount"] == 1
    assert len(stage.documents[SETS]) == 2


def test_templates_are_alike_but_for_the_hash() -> None:
    one = {"metadata": {"labels": {"a": "b", "pod-template-hash": "x"}, "creationTimestamp": None}, "spec": {}}
    assert without_hash(one) == without_hash({"metadata": {"labels": {"a": "b"}}, "spec": {}})
    assert without_hash({"spec": {}}) == without_hash({"metadata": {}, "spec": {}})
