"""ReplicationControllers do as ReplicaSets do."""

from doorman.api.views.apps import ReplicationController
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicationcontroller import REPLICATION_CONTROLLERS
from support.stage import Stage


def test_pods_are_made_adopted_and_deleted() -> None:
    stage = Stage({"replicationcontrollers": ReplicationController})
    stage.add(ReplicaController(REPLICATION_CONTROLLERS, stage.caches["replicationcontrollers"], stage.caches["pods"]))
    labels = {"app": "r"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    document = {
        "metadata": {"namespace": "a", "name": "r"},
        "spec": {"replicas": 3, "selector": labels, "template": template},
    }
    stage.create("replicationcontrollers", document)
    stage.at(5)
    assert len(stage.documents["pods"]) == 3
    owner = next(iter(stage.documents["pods"].values()))["metadata"]["ownerReferences"][0]
    assert (owner["apiVersion"], owner["kind"]) == ("v1", "ReplicationController")
    stage.create("pods", {"metadata": {"namespace": "a", "name": "o", "labels": labels}, "spec": {}})
    stage.at(10)
    assert len(stage.documents["pods"]) == 3
    stage.patch("replicationcontrollers", "a/r", {"spec": {"replicas": 0}})
    stage.at(15)
    assert stage.documents["pods"] == {}
    stage.delete("replicationcontrollers", "a/r")
    stage.at(20)
    controller = stage._controllers[0]
    assert isinstance(controller, ReplicaController)
    assert controller._uids == {}
