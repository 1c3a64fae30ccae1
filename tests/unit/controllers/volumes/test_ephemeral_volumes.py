"""ephemeral-volume-controller: claims for pods' ephemeral volumes."""

from doorman.client.actions import Create, RecordEvent
from doorman.controllers.volumes.ephemeral_volumes import decide_claim
from support.scheduling import make_pod
from support.volumes import claim_spec, claim_view

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": claim_spec()}
POD = make_pod("p", volumes=[{"name": "x", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}])
[VOLUME] = POD.spec.volumes


def test_claim_is_the_pods_own() -> None:
    [create] = decide_claim(POD, VOLUME, None)
    assert isinstance(create, Create)
    meta = create.body["metadata"]
    assert (meta["name"], meta["labels"], create.namespace) == ("p-x", {"a": "b"}, "default")
    assert meta["ownerReferences"][0]["uid"] == "uid-p"
    assert create.body["spec"] == claim_spec()


def test_claim_that_is_there_is_left_alone_and_somebody_elses_is_told() -> None:
    owner = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    assert decide_claim(POD, VOLUME, claim_view("p-x", metadata={"ownerReferences": [owner]})) == []
    [event] = decide_claim(POD, VOLUME, claim_view("p-x"))
    assert isinstance(event, RecordEvent)
    assert event.message == ("ephemeral volume x: PVC default/p-x was not created for pod default/p (pod is not owner)")
