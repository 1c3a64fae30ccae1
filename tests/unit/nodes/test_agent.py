"""Simulated nodes heartbeat, judge, run and end pods as kubelets do."""

import itertools
from typing import Any

import pytest

from doorman.api.views.coordination import Lease
from doorman.client.actions import Create, Delete, Patch, Renew
from doorman.client.controller_contract import ObjectChange
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import NodeProfile, simulated_node
from support.objects import pod, taints
from support.stage import Stage

LEASES = "leases.coordination.k8s.io"


def stage_with(*names: str, profile: NodeProfile | None = None) -> Stage:
    stage = Stage({LEASES: Lease})
    for name in names:
        stage.create("nodes", simulated_node(name, profile))
    stage.add(SimulatedNodes(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES]))
    stage.settle()
    return stage


def found(stage: Stage, name: str) -> dict[str, Any]:
    document = stage.get("pods", f"default/{name}")
    assert document is not None
    return document


def conditions(document: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in document["status"].get("conditions", [])}


def marked(**marks: str) -> dict[str, Any]:
    return {"annotations": {f"doorman.dev/{name.replace('_', '-')}": value for name, value in marks.items()}}


def test_new_node_reports_good_health_in_the_kubelets_words() -> None:
    stage = stage_with("node-1")
    document = stage.get("nodes", "node-1")
    assert document is not None
    said = [(c["type"], c["status"], c["reason"], c["message"]) for c in document["status"]["conditions"]]
    assert said == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    assert stage.messages() == [(0.0, "Node node-1 status is now: NodeReady")]


def test_pods_of_other_kubelets_wake_nobody() -> None:
    stage = Stage({LEASES: Lease})
    stage.create("nodes", simulated_node("mine"))
    stage.create("nodes", {"metadata": {"name": "other"}})
    agent = SimulatedNodes(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES])
    stage.add(agent)
    for name, node in (("a", "mine"), ("b", "other"), ("c", "nowhere"), ("d", "")):
        stage.create("pods", pod(name, node))
    keys = {source.resource: source.keys for source in agent.sources}["pods"]
    woken = [key for one in stage.caches["pods"].list() for key in keys(ObjectChange("pods", None, one))]
    assert woken == ["pod/default/a"]


def test_lease_is_created_and_renewed_every_ten_seconds() -> None:
    stage = stage_with("node-1")
    assert len(stage.done(Create, LEASES)) == 1
    stage.at(100)
    renewals = [at for at, _ in stage.done(Renew)]
    assert len(renewals) == 10
    assert {round(later - earlier, 3) for earlier, later in itertools.pairwise(renewals)} == {10.0}


def test_unchanged_status_is_posted_every_five_minutes() -> None:
    stage = stage_with("node-1")
    stage.at(1000)
    assert [at for at, _ in stage.done(Patch, "nodes")] == [0.0, 300.0, 600.0, 900.0]


def test_node_made_by_hand_is_completed() -> None:
    stage = stage_with()
    stage.create("nodes", {"metadata": {"name": "x", "annotations": {"doorman.dev/simulated": "true"}}})
    stage.settle()
    document = stage.get("nodes", "x")
    assert document is not None
    assert document["status"]["allocatable"]["pods"] == "110"
    assert document["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.0"


def test_foreign_node_and_its_pods_are_left_alone() -> None:
    stage = stage_with()
    stage.create("nodes", {"metadata": {"name": "real"}})
    stage.create("pods", pod("p", "real"))
    stage.at(60)
    assert stage.actions == []


def test_bound_pod_is_running_and_ready() -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("p", "node-1", spec={"initContainers": [{"name": "i", "image": "x"}]}))
    stage.settle()
    status = found(stage, "p")["status"]
    assert status["phase"] == "Running"
    assert conditions(found(stage, "p")) == {
        "PodReadyToStartContainers": "True", "Initialized": "True", "Ready": "True", "ContainersReady": "True",
        "PodScheduled": "True",
    }  # fmt: skip
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    assert status["hostIP"] == "10.64.0.1"
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    container = status["containerStatuses"][0]
    assert (container["name"], container["ready"], container["started"], container["restartCount"]) == (
        "c",
        True,
        True,
        0,
    )
    assert container["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    assert status["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    assert status["observedGeneration"] == 1


def test_deleted_pod_is_gone_at_once() -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("p", "node-1"))
    stage.at(5)
    uid = found(stage, "p")["metadata"]["uid"]
    stage.delete("pods", "default/p")
    stage.settle()
    assert stage.get("pods", "default/p") is None
    delete = stage.done(Delete, "pods")[0][1]
    assert (delete.grace_seconds, delete.uid) == (0, uid)


@pytest.mark.parametrize(
    ("termination", "grace", "gone_after"),
    [
        pytest.param("3s", 30, 3.0, id="takes-its-time"),
        pytest.param("60s", 30, 30.0, id="killed-when-the-grace-period-is-over"),
        pytest.param("soon", 30, 0.0, id="unreadable-is-at-once"),
    ],
)
def test_deleted_pod_with_a_termination_time(termination: str, grace: int, gone_after: float) -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("p", "node-1", metadata=marked(termination=termination)))
    stage.at(5)
    stage.delete("pods", "default/p", grace_seconds=grace)
    stage.at(200)
    assert [at for at, _ in stage.done(Delete, "pods")] == [5 + gone_after]


def test_pod_that_does_not_say_takes_as_long_to_stop_as_its_node_says() -> None:
    stage = stage_with("node-1", profile=NodeProfile(pod_termination="2s"))
    stage.create("pods", pod("p", "node-1"))
    stage.create("pods", pod("q", "node-1", metadata=marked(termination="7s")))
    stage.at(5)
    stage.delete("pods", "default/p")
    stage.delete("pods", "default/q")
    stage.at(200)
    assert [(at, one.name) for at, one in stage.done(Delete, "pods")] == [(7.0, "p"), (12.0, "q")]


def test_pod_that_sleeps_before_it_stops_is_terminating_meanwhile_and_told_of_once() -> None:
    stage = stage_with("node-1")
    hook = {"preStop": {"sleep": {"seconds": 9}}}
    stage.create("pods", pod("p", "node-1", spec={"containers": [{"name": "c", "image": "i", "lifecycle": hook}]}))
    stage.at(5)
    stage.delete("pods", "default/p")
    stage.at(13)
    assert found(stage, "p")["status"]["phase"] == "Running"
    stage.patch("pods", "default/p", {"metadata": {"labels": {"seen": "yes"}}})
    stage.at(14)
    assert stage.get("pods", "default/p") is None
    assert [text for text in stage.messages() if "Stopping" in text[1]] == [(5.0, "Stopping container c")]


def test_deleted_pod_with_a_finalizer_ends_and_is_deleted_once() -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("p", "node-1", metadata={"finalizers": ["example.com/hold"]}))
    stage.at(5)
    stage.delete("pods", "default/p")
    stage.at(50)
    assert found(stage, "p")["status"]["phase"] == "Failed"
    assert len(stage.done(Delete, "pods")) == 1


@pytest.mark.parametrize(
    ("marks", "spec", "timeline"),
    [
        pytest.param(
            {"startup": "5s"}, {}, [(1, "Pending", "False", 0), (5, "Running", "True", 0)], id="start-up"
        ),
        pytest.param(
            {"startup": "2s", "ready_after": "3s"}, {},
            [(1, "Pending", "False", 0), (3, "Running", "False", 0), (5, "Running", "True", 0)], id="readiness",
        ),
        pytest.param(
            {"runs_for": "10s"}, {"restartPolicy": "Never"},
            [(9, "Running", "True", 0), (10, "Succeeded", "False", 0)], id="completes",
        ),
        pytest.param(
            {"runs_for": "10s", "exit_codes": "3"}, {"restartPolicy": "Never"}, [(10, "Failed", "False", 0)], id="fails"
        ),
        pytest.param(
            {"runs_for": "10s", "exit_codes": "1,1,0"}, {"restartPolicy": "OnFailure"},
            [(9, "Running", "True", 0), (11, "Running", "True", 1), (21, "Running", "False", 1),
             (31, "Running", "True", 2), (41, "Succeeded", "False", 2)],
            id="fails-twice-then-succeeds",
        ),
        pytest.param(
            {"runs_for": "1s", "exit_codes": "0"}, {"restartPolicy": "Always"},
            [(1, "Running", "True", 1), (2, "Running", "False", 1), (12, "Running", "True", 2),
             (13, "Running", "False", 2), (33, "Running", "True", 3)],
            id="always-restarts-with-back-off",
        ),
        pytest.param({}, {"restartPolicy": "Never"}, [(3600, "Running", "True", 0)], id="runs-on-if-not-told"),
        pytest.param(
            {}, {"activeDeadlineSeconds": 60}, [(59, "Running", "True", 0), (60, "Failed", "False", 0)], id="deadline"
        ),
    ],
)  # fmt: skip
def test_life_by_annotation(
    marks: dict[str, str], spec: dict[str, Any], timeline: list[tuple[float, str, str, int]]
) -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("p", "node-1", metadata=marked(**marks), spec=spec))
    for at, phase, ready, restarts in timeline:
        stage.at(at)
        document = found(stage, "p")
        restarted = document["status"]["containerStatuses"][0]["restartCount"]
        assert (at, document["status"]["phase"], conditions(document)["Ready"], restarted) == (
            at,
            phase,
            ready,
            restarts,
        )


def test_pod_of_a_job_succeeds_after_a_moment() -> None:
    stage = stage_with("node-1")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    stage.create("pods", pod("p", "node-1", metadata={"ownerReferences": [owner]}, spec={"restartPolicy": "Never"}))
    stage.at(2)
    assert found(stage, "p")["status"]["phase"] == "Succeeded"


def test_refused_pod_fails_with_the_kubelets_reason() -> None:
    stage = stage_with("node-1")
    stage.patch("nodes", "node-1", taints("a:NoExecute"))
    stage.create("pods", pod("p", "node-1", status={"qosClass": "BestEffort"}))
    stage.at(5)
    text = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    status = found(stage, "p")["status"]
    assert (status["phase"], status["reason"], status["qosClass"]) == ("Failed", "TaintToleration", "BestEffort")
    assert status["message"] == f"Pod was rejected: {text}"
    event = stage.events[-1][1]
    assert (event.type, event.reason, event.message, event.component) == ("Warning", "TaintToleration", text, "kubelet")
    assert "containerStatuses" not in status


def test_running_pod_is_not_evicted_by_a_taint() -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("p", "node-1"))
    stage.at(5)
    stage.patch("nodes", "node-1", taints("a:NoExecute"))
    stage.at(60)
    assert found(stage, "p")["status"]["phase"] == "Running"


def test_pods_beyond_the_capacity_are_refused_until_one_goes() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"cpu": "1"}))
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "600m"}}}]}
    stage.create("pods", pod("a", "node-1", spec=spec))
    stage.create("pods", pod("b", "node-1", spec=spec))
    stage.settle()
    assert found(stage, "a")["status"]["phase"] == "Running"
    assert found(stage, "b")["status"]["reason"] == "OutOfcpu"
    stage.delete("pods", "default/a")
    stage.create("pods", pod("c", "node-1", spec=spec))
    stage.settle()
    assert found(stage, "c")["status"]["phase"] == "Running"


def test_cut_off_node_is_silent_and_its_pods_learn_of_their_deletion_late() -> None:
    stage = stage_with("node-1", profile=NodeProfile(script="silent 30s-90s"))
    stage.create("pods", pod("p", "node-1"))
    stage.at(40)
    stage.delete("pods", "default/p")
    stage.create("pods", pod("late", "node-1"))
    stage.at(89)
    assert found(stage, "p")["metadata"]["deletionTimestamp"]
    assert found(stage, "late")["status"]["phase"] == "Pending"
    assert max(at for at, _ in stage.done(Renew)) <= 30
    stage.at(90)
    assert stage.get("pods", "default/p") is None
    assert found(stage, "late")["status"]["phase"] == "Running"
    assert stage.done(Patch, LEASES)[-1][0] == 90.0


def test_annotation_cuts_a_node_off_and_brings_it_back() -> None:
    stage = stage_with("node-1")
    stage.at(20)
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/silent": "true"}}})
    stage.at(50)
    assert max(at for at, _ in stage.done(Renew)) <= 20
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/silent": None}}})
    stage.at(51)
    assert stage.done(Patch, LEASES)[-1][0] == 50.0
    stage.at(100)
    assert len([at for at, _ in stage.done(Renew) if at > 50]) == 5


def test_node_marked_unknown_says_ready_again_and_restores_its_pods() -> None:
    stage = stage_with("node-1", profile=NodeProfile(script="silent 10s-100s"))
    stage.create("pods", pod("p", "node-1"))
    stage.at(60)
    document = stage.get("nodes", "node-1")
    assert document is not None
    for one in document["status"]["conditions"]:
        one["status"] = "Unknown"
    stage.patch("nodes", "node-1", {"status": {"conditions": document["status"]["conditions"]}})
    not_ready = [
        {**one, "status": "False"} if one["type"] == "Ready" else one
        for one in found(stage, "p")["status"]["conditions"]
    ]
    stage.patch("pods", "default/p", {"status": {"conditions": not_ready}})
    stage.at(99)
    assert conditions(found(stage, "p"))["Ready"] == "False"
    stage.at(101)
    assert conditions(found(stage, "p"))["Ready"] == "True"
    assert stage.messages("NodeReady")[-1] == (100.0, "Node node-1 status is now: NodeReady")


def test_scripted_pressure_is_reported_and_told() -> None:
    stage = stage_with("node-1", profile=NodeProfile(script="MemoryPressure=True 10s-20s"))
    stage.at(60)
    assert [message for _, message in stage.messages()] == [
        "Node node-1 status is now: NodeReady",
        "Node node-1 status is now: NodeHasInsufficientMemory",
        "Attempting to reclaim memory",
        "Node node-1 status is now: NodeHasSufficientMemory",
    ]


def test_script_that_cannot_be_read_is_told_once() -> None:
    stage = stage_with("node-1", profile=NodeProfile(script="nonsense"))
    stage.at(60)
    assert len(stage.messages("InvalidSimulation")) == 1


def test_annotations_that_cannot_be_obeyed_are_told_once_and_change_nothing() -> None:
    stage = stage_with("node-1")
    stage.create("nodes", {"metadata": {"name": "odd", "annotations": {"doorman.dev/simulated": "yes"}}})
    stage.create("pods", pod("p", "node-1", metadata=marked(startup="soon")))
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/silent": "maybe"}}})
    stage.at(60)
    assert sorted(message for _, message in stage.messages("InvalidSimulation")) == [
        'Cannot simulate: doorman.dev/silent: want "true" or "false", not "maybe"',
        'Cannot simulate: doorman.dev/simulated: want "true" or "false", not "yes"',
        'Cannot simulate: doorman.dev/startup: time: invalid duration "soon"',
    ]
    assert found(stage, "p")["status"]["phase"] == "Running"


def test_back_off_and_deadline_are_told() -> None:
    stage = stage_with("node-1")
    crashing = marked(runs_for="1s", exit_codes="1")
    stage.create("pods", pod("crash", "node-1", metadata={**crashing, "uid": "u1"}))
    stage.create("pods", pod("late", "node-1", spec={"activeDeadlineSeconds": 5}))
    stage.at(8)
    assert stage.messages("BackOff") == [(2.0, "Back-off restarting failed container c in pod crash_default(u1)")]
    assert stage.messages("DeadlineExceeded") == [
        (5.0, "Pod was active on the node longer than the specified deadline")
    ]
    assert [event.type for _, event in stage.events if event.reason == "DeadlineExceeded"] == ["Normal"]


def test_pod_that_is_given_less_makes_room() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"cpu": "2"}))

    def asking(cpu: str) -> dict[str, Any]:
        return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}

    stage.create("pods", pod("a", "node-1", spec=asking("2"), metadata={"generation": 1}))
    stage.at(1)
    stage.patch("pods", "default/a", {"spec": asking("1"), "metadata": {"generation": 2}})
    stage.at(2)
    assert found(stage, "a")["status"]["observedGeneration"] == 2
    stage.create("pods", pod("b", "node-1", spec=asking("1")))
    stage.at(3)
    assert found(stage, "b")["status"]["phase"] == "Running"


def test_agent_that_starts_again_takes_up_running_pods() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"cpu": "1"}))
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    stage.create("pods", pod("a", "node-1", spec=spec))
    stage.at(5)
    old = stage._controllers[0]
    stage.restart(old, SimulatedNodes(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES]))
    stage.create("pods", pod("b", "node-1", spec=spec))
    stage.at(10)
    assert found(stage, "a")["status"]["phase"] == "Running"
    assert found(stage, "b")["status"]["reason"] == "OutOfcpu"


def test_agent_that_starts_again_counts_running_pods_before_it_judges() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"cpu": "1"}))
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    stage.create("pods", pod("z", "node-1", spec=spec))
    stage.at(5)
    stage.create("pods", pod("a", "node-1", spec=spec))  # while no agent looks
    old = stage._controllers[0]
    stage.restart(old, SimulatedNodes(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES]))
    stage.at(10)
    assert (found(stage, "z")["status"]["phase"], found(stage, "a")["status"]["reason"]) == ("Running", "OutOfcpu")


def test_pods_that_came_while_the_node_was_cut_off_are_judged_in_order_of_their_age() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"cpu": "1"}))
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/silent": "true"}}})
    stage.at(5)
    stage.create("pods", pod("older", "node-1", spec=spec))
    stage.at(8)
    stage.create("pods", pod("newer", "node-1", spec=spec))
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/silent": None}}})
    stage.at(10)
    assert found(stage, "older")["status"]["phase"] == "Running"
    assert found(stage, "newer")["status"]["reason"] == "OutOfcpu"


def test_refusals_are_counted_by_reason_and_taints_among_others() -> None:
    stage = stage_with("node-1")
    agent = stage._controllers[0]
    assert isinstance(agent, SimulatedNodes)
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "9"}}}]}
    stage.create("pods", pod("big", "node-1", spec=spec))
    stage.settle()
    stage.patch("nodes", "node-1", taints("a:NoExecute"))
    stage.create("pods", pod("p", "node-1"))
    stage.at(60)
    (family,) = agent.metrics[0].collect()
    counts = {
        sample.labels["reason"]: sample.value for sample in family.samples if sample.name.endswith("rejections_total")
    }
    assert counts == {"OutOfcpu": 1.0, "Other": 1.0}


def test_memories_of_pods_that_are_gone_are_dropped() -> None:
    stage = stage_with("node-1")
    agent = stage._controllers[0]
    assert isinstance(agent, SimulatedNodes)
    for number in range(50):
        stage.create("pods", pod(f"p{number}", "node-1"))
    stage.at(5)
    for number in range(50):
        stage.delete("pods", f"default/p{number}")
    stage.at(50)
    kubelet = agent._kubelet
    assert (kubelet._uids, kubelet._since, kubelet._seen_deleted) == ({}, {}, {})
    assert kubelet._loads.pods_of("node-1") == []


def test_node_short_of_memory_evicts_one_pod_every_ten_seconds_while_it_lasts() -> None:
    stage = stage_with("node-1")
    requests = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "1Gi"}}}]}
    stage.create("pods", pod("guaranteed", "node-1", spec=requests))
    for name in ("a", "b", "c"):
        stage.create("pods", pod(name, "node-1"))
    stage.at(5)
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/conditions": "MemoryPressure=True"}}})
    stage.at(6)
    assert found(stage, "a")["status"]["reason"] == "Evicted"
    stage.at(16)
    assert found(stage, "b")["status"]["reason"] == "Evicted"
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/conditions": None}}})
    stage.at(100)
    phases = {name: found(stage, name)["status"]["phase"] for name in ("a", "b", "c", "guaranteed")}
    assert phases == {"a": "Failed", "b": "Failed", "c": "Running", "guaranteed": "Running"}
    assert [at for at, _ in stage.messages("Evicted")] == [5.0, 15.0]
    assert stage.messages("EvictionThresholdMet") == [(at, "Attempting to reclaim memory") for at in (5.0, 15.0)]


def test_critical_pod_displaces_another_and_runs() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"cpu": "1"}))
    request = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "800m"}}}]}
    stage.create("pods", pod("ordinary", "node-1", spec=request, status={"qosClass": "Burstable"}))
    stage.settle()
    critical = {**request, "priority": 2_000_000_000}
    stage.create("pods", pod("critical", "node-1", spec=critical, status={"qosClass": "Burstable"}))
    stage.settle()
    gone = found(stage, "ordinary")["status"]
    assert (gone["phase"], gone["reason"]) == ("Failed", "Preempting")
    assert found(stage, "critical")["status"]["phase"] == "Running"
    assert stage.messages("Preempting") == [(0.0, "Preempted in order to admit critical pod")]


def test_node_told_to_shut_down_ends_critical_pods_last_and_is_off() -> None:
    stage = stage_with("node-1")
    stage.create("pods", pod("slow", "node-1", metadata=marked(termination="5s")))
    stage.create("pods", pod("critical", "node-1", spec={"priority": 2_000_000_000}, metadata=marked(termination="2s")))
    stage.at(100)
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/shutdown": "30s/10s"}}})
    stage.settle()
    node = stage.get("nodes", "node-1")
    assert node is not None
    ready = node["status"]["conditions"][-1]
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "KubeletNotReady", "node is shutting down")
    assert stage.messages("Shutdown") == [(100.0, "Shutdown manager detected shutdown event")]
    stage.create("pods", pod("late", "node-1"))
    stage.settle()
    assert found(stage, "late")["status"]["reason"] == "NodeShutdown"
    refused = "Pod was rejected: Pod was rejected as the node is shutting down."
    assert found(stage, "late")["status"]["message"] == refused
    stage.at(104.9)
    assert found(stage, "slow")["status"]["phase"] == "Running"
    stage.at(105)
    assert found(stage, "slow")["status"]["reason"] == "Terminated"
    assert found(stage, "critical")["status"]["phase"] == "Running"
    stage.at(107)
    assert found(stage, "critical")["status"]["reason"] == "Terminated"
    stage.at(200)
    assert max(at for at, _ in stage.done(Renew)) <= 108
    stage.patch("nodes", "node-1", {"metadata": {"annotations": {"doorman.dev/shutdown": None}}})
    stage.settle()
    node = stage.get("nodes", "node-1")
    assert node is not None
    assert node["status"]["conditions"][-1]["status"] == "True"
    assert stage.done(Patch, LEASES)[-1][0] == 200.0


def test_cordon_is_told_once_each_way() -> None:
    stage = stage_with("node-1")
    for unschedulable in (True, True, None):
        stage.patch("nodes", "node-1", {"spec": {"unschedulable": unschedulable}})
        stage.settle()
    assert [text for _, text in stage.messages()][1:] == [
        "Node node-1 status is now: NodeNotSchedulable",
        "Node node-1 status is now: NodeSchedulable",
    ]


def test_pods_that_come_again_and_again_are_refused_one_after_another() -> None:
    stage = stage_with("node-1", profile=NodeProfile(capacity={"pods": "0"}))
    for number in range(3):
        stage.create("pods", pod(f"p{number}", "node-1"))
    stage.settle()
    assert [found(stage, f"p{number}")["status"]["phase"] for number in range(3)] == ["Failed", "Pending", "Pending"]
    stage.at(0.25)
    assert [found(stage, f"p{number}")["status"]["phase"] for number in range(3)] == ["Failed"] * 3
