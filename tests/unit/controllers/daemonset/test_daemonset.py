"""One pod on every node that should have one, from the first to the last revision."""

import itertools
from typing import Any

import pytest

from doorman.api.views.apps import ControllerRevision, DaemonSet
from doorman.api.views.coordination import Lease
from doorman.base.errors import ApiError, Cause
from doorman.client.actions import Create, Delete, Patch
from doorman.controllers.daemonset.daemonset import DaemonSetController
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import simulated_node
from support.binder import Binder
from support.objects import node, taints, toleration
from support.stage import Stage

SETS, REVISIONS, LEASES = "daemonsets.apps", "controllerrevisions.apps", "leases.coordination.k8s.io"


def stage_with(*names: str, agent: bool = True, eviction: bool = False) -> Stage:
    stage = Stage({SETS: DaemonSet, REVISIONS: ControllerRevision, LEASES: Lease})
    caches = stage.caches
    for name in names:
        stage.create("nodes", simulated_node(name) if agent else node(name))
    stage.add(DaemonSetController(caches[SETS], caches[REVISIONS], caches["pods"], caches["nodes"]))
    stage.add(Binder(caches["nodes"], caches["pods"]))
    if agent:
        stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    if eviction:
        stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    return stage


def daemon_set(name: str = "d", strategy: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    pod_spec = {"containers": [{"name": "c", "image": "agent:1"}], **spec.pop("pod", {})}
    return {
        "metadata": {"namespace": "a", "name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, **spec.pop("template", {})}, "spec": pod_spec},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
            if strategy is None
            else strategy,
            **spec,
        },
    }


def image(text: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": text}]}}}}


def pods_on(stage: Stage, *, alive: bool = True) -> dict[str, list[str]]:
    """Images by node."""
    found: dict[str, list[str]] = {}
    for document in stage.documents["pods"].values():
        if not (alive and document["metadata"].get("deletionTimestamp")):
            image = document["spec"]["containers"][0]["image"]
            found.setdefault(document["spec"].get("nodeName", ""), []).append(image)
    return {name: sorted(found[name]) for name in sorted(found)}


def status(stage: Stage) -> dict[str, int]:
    document = stage.get(SETS, "a/d")
    assert document is not None
    return {key: value for key, value in document.get("status", {}).items() if value is not None}


def test_every_node_gets_its_pod_and_the_status_says_so() -> None:
    stage = stage_with("n1", "n2", "n3")
    stage.create(SETS, daemon_set())
    stage.at(10)
    assert pods_on(stage) == {"n1": ["agent:1"], "n2": ["agent:1"], "n3": ["agent:1"]}
    assert status(stage) == {
        "currentNumberScheduled": 3, "numberMisscheduled": 0, "desiredNumberScheduled": 3, "numberReady": 3,
        "observedGeneration": 1, "updatedNumberScheduled": 3, "numberAvailable": 3,
    }  # fmt: skip
    assert len(stage.messages("SuccessfulCreate")) == 3


def test_pod_is_made_of_the_template_and_pinned_to_its_node() -> None:
    stage = stage_with("n1", agent=False)
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    stage.create(SETS, daemon_set(pod={"affinity": affinity, "tolerations": [toleration("a")]}))
    stage.settle()
    document = next(iter(stage.documents["pods"].values()))
    meta, spec = document["metadata"], document["spec"]
    assert meta["generateName"] == "d-"
    assert meta["name"].startswith("d-")
    assert len(meta["name"]) == 7
    owner = meta["ownerReferences"][0]
    assert (owner["apiVersion"], owner["kind"], owner["controller"]) == ("apps/v1", "DaemonSet", True)
    revision = next(iter(stage.documents[REVISIONS].values()))
    assert meta["labels"]["controller-revision-hash"] == revision["metadata"]["labels"]["controller-revision-hash"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    }
    assert "preferredDuringSchedulingIgnoredDuringExecution" in spec["affinity"]["nodeAffinity"]
    assert spec["tolerations"][0] == {"operator": "Exists", "key": "a"}
    assert len(spec["tolerations"]) == 7


@pytest.mark.parametrize(
    ("tainted", "alive", "desired", "misscheduled"),
    [
        pytest.param("x:NoSchedule", ["n1", "n2"], 1, 1, id="no-schedule-stays-misscheduled"),
        pytest.param("x:PreferNoSchedule", ["n1", "n2"], 2, 0, id="prefer-no-schedule"),
        pytest.param("x:NoExecute", ["n1"], 1, 0, id="no-execute-goes"),
        pytest.param("node.kubernetes.io/unschedulable:NoSchedule", ["n1", "n2"], 2, 0, id="automatic-toleration"),
        pytest.param("node.kubernetes.io/not-ready:NoSchedule", ["n1", "n2"], 1, 1, id="not-ready-no-schedule"),
    ],
)
def test_taint_on_a_node_with_a_daemon_pod(tainted: str, alive: list[str], desired: int, misscheduled: int) -> None:
    stage = stage_with("n1", "n2")
    stage.create(SETS, daemon_set())
    stage.at(10)
    stage.patch("nodes", "n2", taints(tainted))
    stage.patch(SETS, "a/d", {"metadata": {"annotations": {"look": "again"}}})
    stage.at(20)
    assert list(pods_on(stage)) == alive
    found = status(stage)
    assert (found["desiredNumberScheduled"], found["numberMisscheduled"]) == (desired, misscheduled)
    stage.patch("nodes", "n2", taints(""))
    stage.at(30)
    assert list(pods_on(stage)) == ["n1", "n2"]
    assert (status(stage)["desiredNumberScheduled"], status(stage)["numberMisscheduled"]) == (2, 0)


def test_no_schedule_taint_alone_does_not_refresh_the_status() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set())
    stage.at(10)
    stage.patch("nodes", "n1", taints("x:NoSchedule"))
    stage.at(20)
    assert status(stage)["numberMisscheduled"] == 0


def test_tolerated_seconds_end_in_an_eviction_and_a_new_pod_again_and_again() -> None:
    stage = stage_with("n1", eviction=True)
    stage.create(SETS, daemon_set(pod={"tolerations": [toleration("x:NoExecute@30")]}))
    stage.at(10)
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(105)
    marks = [at for at, text in stage.messages("TaintManagerEviction") if text.startswith("Marking")]
    assert marks == [40.0, 70.0, 100.0]
    assert pods_on(stage) == {"n1": ["agent:1"]}


def test_label_that_goes_takes_the_pod_along_and_one_that_comes_brings_it() -> None:
    stage = stage_with("n1", "n2")
    stage.patch("nodes", "n1", {"metadata": {"labels": {"disk": "ssd"}}})
    stage.create(SETS, daemon_set(pod={"nodeSelector": {"disk": "ssd"}}))
    stage.at(5)
    assert list(pods_on(stage)) == ["n1"]
    stage.patch("nodes", "n2", {"metadata": {"labels": {"disk": "ssd"}}})
    stage.patch("nodes", "n1", {"metadata": {"labels": {"disk": None}}})
    stage.at(10)
    assert list(pods_on(stage)) == ["n2"]


def test_new_node_gets_its_pod_and_deleted_pod_comes_back() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set())
    stage.at(5)
    stage.create("nodes", simulated_node("n2"))
    stage.at(10)
    assert list(pods_on(stage)) == ["n1", "n2"]
    name = next(iter(stage.documents["pods"]))
    stage.delete("pods", name)
    stage.at(20)
    assert list(pods_on(stage)) == ["n1", "n2"]
    assert stage.get("pods", name) is None


def test_rolling_update_replaces_one_at_a_time() -> None:
    stage = stage_with("n1", "n2", "n3")
    stage.create(SETS, daemon_set(template={"annotations": {"doorman.dev/startup": "5s"}}))
    stage.at(10)
    stage.patch(SETS, "a/d", image("agent:2"))
    unavailable = []
    for second in range(11, 60):
        stage.at(second)
        unavailable.append(status(stage).get("numberUnavailable", 0))
    assert pods_on(stage) == {"n1": ["agent:2"], "n2": ["agent:2"], "n3": ["agent:2"]}
    assert max(unavailable) == 1
    assert status(stage)["updatedNumberScheduled"] == 3
    assert status(stage)["observedGeneration"] == 2


def test_rolling_update_with_surge_keeps_every_node_available() -> None:
    stage = stage_with("n1", "n2", "n3")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    stage.create(SETS, daemon_set(strategy=strategy, template={"annotations": {"doorman.dev/startup": "5s"}}))
    stage.at(10)
    stage.patch(SETS, "a/d", image("agent:2"))
    pods, unavailable = [], []
    for second in range(11, 60):
        stage.at(second)
        pods.append(sum(len(images) for images in pods_on(stage).values()))
        unavailable.append(status(stage).get("numberUnavailable", 0))
    assert pods_on(stage) == {"n1": ["agent:2"], "n2": ["agent:2"], "n3": ["agent:2"]}
    assert max(pods) == 4
    assert max(unavailable) == 0


def test_on_delete_leaves_old_pods_until_they_are_deleted() -> None:
    stage = stage_with("n1", "n2")
    stage.create(SETS, daemon_set(strategy={"type": "OnDelete"}))
    stage.at(10)
    stage.patch(SETS, "a/d", image("agent:2"))
    stage.at(60)
    assert pods_on(stage) == {"n1": ["agent:1"], "n2": ["agent:1"]}
    stage.delete("pods", next(iter(stage.documents["pods"])))
    stage.at(70)
    assert sorted(one for images in pods_on(stage).values() for one in images) == ["agent:1", "agent:2"]


def test_going_back_numbers_the_old_revision_anew() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set())
    stage.at(10)
    stage.patch(SETS, "a/d", image("agent:2"))
    stage.at(20)
    stage.patch(SETS, "a/d", image("agent:1"))
    stage.at(30)
    revisions = [
        (d["revision"], d["data"]["spec"]["template"]["spec"]["containers"][0]["image"])
        for d in stage.documents[REVISIONS].values()
    ]
    assert sorted(revisions) == [(2, "agent:2"), (3, "agent:1")]
    assert pods_on(stage) == {"n1": ["agent:1"]}


def test_old_revisions_beyond_the_limit_are_deleted() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set(revisionHistoryLimit=2))
    for number in range(2, 7):
        stage.advance(20)
        stage.patch(SETS, "a/d", image(f"agent:{number}"))
    stage.advance(20)
    assert sorted(d["revision"] for d in stage.documents[REVISIONS].values()) == [4, 5, 6]


def test_failed_pods_are_replaced_with_a_growing_pause() -> None:
    stage = stage_with("n1", agent=False)
    stage.create(SETS, daemon_set())
    for _ in range(400):
        stage.advance(0.25)
        for key, document in list(stage.documents["pods"].items()):
            if document["status"]["phase"] == "Pending":
                stage.patch("pods", key, {"status": {"phase": "Failed"}})
    failures = [at for at, _ in stage.messages("FailedDaemonPod")]
    gaps = [round(later - earlier) for earlier, later in itertools.pairwise(failures)]
    assert gaps == [1, 2, 4, 8, 16, 32]
    assert stage.messages("FailedDaemonPod")[0][1].endswith(" on node n1, will try to kill it")


def test_succeeded_pod_is_deleted_and_made_anew() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set())
    stage.at(5)
    key = next(iter(stage.documents["pods"]))
    stage.patch("pods", key, {"status": {"phase": "Succeeded"}})
    stage.at(10)
    assert stage.get("pods", key) is None
    assert pods_on(stage) == {"n1": ["agent:1"]}
    assert stage.messages("SucceededDaemonPod") != []


def test_second_pod_on_a_node_is_deleted() -> None:
    stage = stage_with("n1", agent=False)
    stage.create(SETS, daemon_set())
    stage.at(5)
    first = next(iter(stage.documents["pods"].values()))
    twin = {"metadata": {**first["metadata"], "name": "twin"}, "spec": first["spec"], "status": {"phase": "Running"}}
    del twin["metadata"]["uid"]
    twin["metadata"]["creationTimestamp"] = "2027-01-01T00:00:00Z"
    stage.create("pods", twin)
    stage.at(6)
    assert [action.name for _, action in stage.done(Delete, "pods")] == ["twin"]


def test_matching_orphan_is_adopted_and_one_that_stops_matching_released() -> None:
    stage = stage_with("n1", agent=False)
    stage.create(
        "pods", {"metadata": {"namespace": "a", "name": "o", "labels": {"app": "d"}}, "spec": {"nodeName": "n1"}}
    )
    stage.create(SETS, daemon_set())
    stage.at(5)
    orphan = stage.get("pods", "a/o")
    assert orphan is not None
    assert orphan["metadata"]["ownerReferences"][0]["name"] == "d"
    stage.patch("pods", "a/o", {"metadata": {"labels": {"app": "other"}}})
    stage.at(10)
    orphan = stage.get("pods", "a/o")
    assert orphan is not None
    assert orphan["metadata"]["ownerReferences"] == []


def test_orphan_that_comes_later_is_adopted_too() -> None:
    stage = stage_with("n1", agent=False)
    stage.create(SETS, daemon_set())
    stage.at(5)
    stage.create(
        "pods", {"metadata": {"namespace": "a", "name": "o", "labels": {"app": "d"}}, "spec": {"nodeName": "n1"}}
    )
    stage.at(6)
    adopted = [action.name for _, action in stage.done(Patch, "pods") if "ownerReferences" in action.body["metadata"]]
    assert adopted == ["o"]


def test_failing_creation_is_told_and_tried_again_at_a_slower_pace() -> None:
    stage = stage_with(*[f"n{i:02d}" for i in range(30)], agent=False)
    stage.fail(Create, 3, ApiError(403, "Forbidden", "exceeded quota"), "pods")
    stage.create(SETS, daemon_set())
    stage.at(60)
    assert {text for _, text in stage.messages("FailedCreate")} == {"Error creating: exceeded quota"}
    assert len(stage.messages("FailedCreate")) == 3
    assert len(stage.documents["pods"]) == 30


def test_terminating_namespace_is_no_failure() -> None:
    stage = stage_with("n1", agent=False)
    error = ApiError(403, "Forbidden", "going", causes=[Cause(reason="NamespaceTerminating")])
    stage.fail(Create, 3, error, "pods")
    stage.create(SETS, daemon_set())
    stage.at(60)
    assert stage.messages("FailedCreate") == []


def test_many_nodes_are_served_in_growing_batches_without_doubles() -> None:
    stage = stage_with(*[f"n{i:03d}" for i in range(400)], agent=False)
    stage.create(SETS, daemon_set())
    stage.at(30)
    assert len(stage.documents["pods"]) == 400
    assert len(stage.done(Create, "pods")) == 400


def test_min_ready_seconds_delay_availability() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set(minReadySeconds=30))
    stage.at(29)
    assert (status(stage)["numberReady"], status(stage)["numberUnavailable"]) == (1, 1)
    stage.at(31)
    assert status(stage)["numberAvailable"] == 1


def test_selecting_everything_is_refused() -> None:
    stage = stage_with("n1")
    document = daemon_set()
    document["spec"]["selector"] = {}
    stage.create(SETS, document)
    stage.at(5)
    assert stage.messages("SelectingAll")[0][1] == (
        "This daemon set is selecting all pods. A non-empty selector is required."
    )
    assert stage.documents["pods"] == {}


def test_set_that_is_being_deleted_does_nothing_and_one_that_is_gone_is_forgotten() -> None:
    stage = stage_with("n1")
    stage.create(SETS, daemon_set())
    stage.at(5)
    stage.patch(SETS, "a/d", {"metadata": {"finalizers": ["foregroundDeletion"]}})
    stage.delete(SETS, "a/d")
    stage.delete("pods", next(iter(stage.documents["pods"])))
    stage.at(10)
    assert stage.documents["pods"] == {}
    stage.patch(SETS, "a/d", {"metadata": {"finalizers": None}})
    stage.at(15)
    controller = stage._controllers[0]
    assert isinstance(controller, DaemonSetController)
    assert (controller._uids, controller._placements, controller._candidates._uids) == ({}, {}, {})


def test_pod_waiting_for_a_node_that_is_gone_is_deleted() -> None:
    stage = stage_with("n1", "n2", agent=False)
    stage.patch("nodes", "n2", {"metadata": {"labels": {"blocked": "yes"}}})
    stage.create(SETS, daemon_set())
    stage.at(5)
    key = next(k for k, d in stage.documents["pods"].items() if d["spec"].get("nodeName") == "n2")
    stage.patch("pods", key, {"spec": {"nodeName": None}})
    stage.delete("nodes", "n2")
    stage.patch(SETS, "a/d", {"metadata": {"annotations": {"look": "again"}}})
    stage.at(10)
    assert stage.get("pods", key) is None
