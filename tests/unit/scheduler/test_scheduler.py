"""Stories of one scheduler: placement, exact messages, requeueing, binding that fails."""

import pytest

from doorman.scheduler.outcomes import Placed, Rejected, Skipped
from support.scheduling import Desk, make_node, make_pod

NOT_HELPFUL = "preemption: 0/{n} nodes are available: {n} Preemption is not helpful for scheduling."


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_pod_goes_to_the_only_node_without_a_hard_taint(desk: Desk) -> None:
    desk.node("n1", taints="gpu=true:NoSchedule")
    desk.node("n2")
    desk.node("n3", taints="gpu=true:NoExecute")
    desk.pod("p")
    desk.settle()
    assert desk.where("p") == "n2"


def test_soft_taint_weighs_more_than_a_half_used_node(desk: Desk) -> None:
    desk.node("n1", taints="k:PreferNoSchedule")
    desk.node("n2")
    desk.pod("busy", node="n2", requests={"cpu": "2", "memory": "4Gi"})
    for name in ("p1", "p2", "p3"):
        desk.pod(name, requests={"cpu": "100m", "memory": "64Mi"})
        desk.settle()
        assert desk.where(name) == "n2"


def test_two_soft_taints_against_one_weigh_less_than_a_preferred_affinity(desk: Desk) -> None:
    desk.node("n1", taints="k:PreferNoSchedule l:PreferNoSchedule", labels={"disk": "ssd"})
    desk.node("n2", taints="m:PreferNoSchedule")
    preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    rule = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": preference}]}
    desk.pod("p", affinity={"nodeAffinity": rule})
    desk.settle()
    assert desk.where("p") == "n1"


@pytest.mark.parametrize(
    ("nodes", "pod", "message"),
    [
        pytest.param(
            [make_node("a", taints="x:NoSchedule"), make_node("b", unschedulable=True)],
            make_pod("p"),
            "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. "
            + NOT_HELPFUL.format(n=2),
            id="taint-and-cordon",
        ),
        pytest.param(
            [make_node("a", taints="x:NoSchedule", unschedulable=True)],
            make_pod("p"),
            "0/1 nodes are available: 1 node(s) were unschedulable. " + NOT_HELPFUL.format(n=1),
            id="cordon-comes-before-taint",
        ),
        pytest.param(
            [make_node("a", cpu="1", memory="1Gi"), make_node("b", taints="x:NoSchedule", cpu="1")],
            make_pod("p", requests={"cpu": "2", "memory": "2Gi"}),
            "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) had untolerated taint(s). "
            + NOT_HELPFUL.format(n=2),
            id="one-node-two-reasons-and-taint-hides-resources",
        ),
        pytest.param(
            [make_node("a", example_com__card="2"), make_node("b")],
            make_pod("p", requests={"example-com/card": "3"}),
            "0/2 nodes are available: 2 Insufficient example-com/card. " + NOT_HELPFUL.format(n=2),
            id="extended-resource",
        ),
        pytest.param(
            [make_node("a", pods="0")],
            make_pod("p"),
            "0/1 nodes are available: 1 Too many pods. "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="too-many-pods-is-curable",
        ),
        pytest.param(
            [make_node("a", labels={"disk": "hdd"}), make_node("b")],
            make_pod("p", nodeSelector={"disk": "ssd"}),
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. " + NOT_HELPFUL.format(n=2),
            id="selector",
        ),
        pytest.param(
            [make_node(f"n{at}", taints="x:NoSchedule") for at in range(10)] + [make_node("a", cpu="1")] * 1,
            make_pod("p", requests={"cpu": "2"}),
            "0/11 nodes are available: 1 Insufficient cpu, 10 node(s) had untolerated taint(s). "
            + NOT_HELPFUL.format(n=11),
            id="counts-sort-as-text",
        ),
        pytest.param([], make_pod("p"), "no nodes available to schedule pods", id="no-nodes"),
    ],
)
def test_message_of_a_pod_that_fits_nowhere(desk: Desk, nodes: list, pod: object, message: str) -> None:
    for node in nodes:
        desk.put_node(node)
    desk.put_pod(pod)
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "Unschedulable"
    assert outcome.message == message
    assert outcome.nominated == ""


def names_affinity(*names: str) -> dict:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in names]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_pod_that_names_nodes_looks_only_at_those(desk: Desk) -> None:
    for name in ("a", "b", "c"):
        desk.node(name, taints="x:NoSchedule" if name == "b" else "")
    desk.pod("free", affinity=names_affinity("c"))
    desk.pod("stuck", affinity=names_affinity("b"))
    desk.pod("lost", affinity=names_affinity("nowhere"))
    desk.settle()
    assert desk.where("free") == "c"
    assert desk.messages["stuck"] == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]. " + NOT_HELPFUL.format(n=3)
    )
    assert desk.messages["lost"] == (
        "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity]. " + NOT_HELPFUL.format(n=3)
    )


def test_contradicting_names_are_rejected_before_any_node_is_looked_at(desk: Desk) -> None:
    desk.node("a")
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    desk.pod("p", affinity={"nodeAffinity": rule})
    desk.settle()
    assert desk.messages["p"] == "0/1 nodes are available: pod affinity terms conflict. not found", "as upstream"


def test_host_port_in_use_keeps_the_second_pod_waiting_until_the_first_is_gone(desk: Desk) -> None:
    desk.node("n1")
    port = [{"containerPort": 80, "hostPort": 80}]
    desk.pod("a", ports=port)
    desk.pod("b", ports=port)
    desk.settle()
    assert desk.messages["b"] == (
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    desk.remove_pod("a")
    desk.settle()
    assert desk.where("b") == "n1"


def test_placed_pods_count_at_once_so_a_batch_fills_nodes_evenly(desk: Desk) -> None:
    for name in ("n1", "n2", "n3"):
        desk.node(name)
    for at in range(6):
        desk.pod(f"p{at}", requests={"cpu": "1"})
    desk.settle()
    assert [desk.where(f"p{at}") for at in range(6)] == ["n1", "n2", "n3", "n1", "n2", "n3"]


def test_pods_of_other_schedulers_and_bound_pods_are_left_alone(desk: Desk) -> None:
    desk.node("n1")
    desk.pod("theirs", schedulerName="my-scheduler")
    desk.pod("bound", node="n1")
    assert desk.run() == []
    assert desk.scheduler.next_wake() is None


def test_deleting_pod_is_skipped_and_dropped(desk: Desk) -> None:
    desk.node("n1")
    desk.pod("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    (outcome,) = desk.run()
    assert isinstance(outcome, Skipped)
    assert outcome.message == "skip schedule deleting pod: default/p"
    desk.change_pod("p", metadata={"labels": {"a": "b"}})
    assert desk.run() == []


def test_bind_failure_gives_the_place_back_and_tries_again_after_the_error_backoff() -> None:
    desk = Desk(binds=False)
    desk.node("n1", cpu="1")
    desk.pod("p", requests={"cpu": "1"})
    desk.pod("q", requests={"cpu": "1"})
    placed, waiting = desk.run()
    assert isinstance(placed, Placed)
    assert isinstance(waiting, Rejected)
    failed = desk.scheduler.bind_failed("default/p", 'running Bind plugin "DefaultBinder": no', desk.now)
    assert isinstance(failed, Rejected)
    assert failed.reason == "SchedulerError"
    assert failed.nominated == ""
    (second,) = desk.run()
    assert second.pod.metadata.name == "q"
    assert isinstance(second, Placed)
    assert desk.scheduler.bind_failed("default/p", "again", desk.now) is None
    assert desk.scheduler.next_wake() == 1002.0


def test_bound_by_somebody_else_while_waiting(desk: Desk) -> None:
    desk.node("n1", cpu="1")
    desk.node("n2", taints="x:NoSchedule")
    desk.pod("p", requests={"cpu": "2"})
    desk.settle()
    desk.change_pod("p", spec={"nodeName": "n2"})
    assert desk.run() == []
    assert desk.scheduler.statistics.pending() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}


def test_node_that_goes_keeps_its_pods_for_its_return(desk: Desk) -> None:
    desk.node("n1", cpu="1")
    desk.pod("a", requests={"cpu": "1"})
    desk.settle()
    desk.remove_node("n1")
    desk.node("n1", cpu="1")
    desk.pod("b", requests={"cpu": "1"})
    desk.settle()
    assert "Insufficient cpu" in desk.messages["b"]


def test_finished_pod_gives_its_place_back(desk: Desk) -> None:
    desk.node("n1", cpu="1")
    desk.pod("a", requests={"cpu": "1"})
    desk.pod("b", requests={"cpu": "1"})
    desk.settle()
    desk.change_pod("a", status={"phase": "Succeeded"})
    desk.settle()
    assert desk.where("b") == "n1"


@pytest.mark.parametrize(
    ("waiting", "change", "woken"),
    [
        pytest.param("taint", lambda d: d.put_node(make_node("n1")), True, id="taint-removed"),
        pytest.param("taint", lambda d: d.put_node(make_node("n1", taints="a=1:PreferNoSchedule")), True, id="soft"),
        pytest.param("taint", lambda d: d.put_node(make_node("n1", taints="b:NoSchedule")), False, id="other-taint"),
        pytest.param("taint", lambda d: d.node("n2"), True, id="node-added"),
        pytest.param("taint", lambda d: d.node("n2", taints="c:NoExecute"), False, id="tainted-node-added"),
        pytest.param("taint", lambda d: d.put_node(make_node("n1", taints="a=1:NoSchedule", cpu="9")), False, id="cpu"),
        pytest.param("taint", lambda d: d.pod("other", node="n1"), False, id="pod-added"),
        pytest.param("cordon", lambda d: d.put_node(make_node("n1")), True, id="uncordoned"),
        pytest.param("cordon", lambda d: d.put_node(make_node("n1", unschedulable=True, labels={"x": "y"})), False,
                     id="cordoned-node-labelled"),
        pytest.param("cpu", lambda d: d.put_node(make_node("n1", cpu="64")), True, id="cpu-grew"),
        pytest.param("cpu", lambda d: d.put_node(make_node("n1", memory="64Gi")), False, id="only-memory-grew"),
        pytest.param("cpu", lambda d: d.node("n2", cpu="2"), False, id="small-node-added"),
        pytest.param("cpu", lambda d: d.node("n2", cpu="16"), True, id="big-node-added"),
        pytest.param("cpu", lambda d: d.remove_pod("resident"), True, id="pod-deleted"),
        pytest.param("selector", lambda d: d.put_node(make_node("n1", labels={"disk": "ssd"})), True, id="labelled"),
        pytest.param("selector", lambda d: d.put_node(make_node("n1", labels={"disk": "hdd"})), False, id="hdd"),
    ],
)  # fmt: skip
def test_event_wakes_exactly_the_pods_it_may_help(desk: Desk, waiting: str, change: object, woken: bool) -> None:
    taints = "a=1:NoSchedule" if waiting == "taint" else ""
    desk.node("n1", taints=taints, unschedulable=waiting == "cordon")
    desk.pod("resident", node="n1")
    wants = {"cpu": {"requests": {"cpu": "8"}}, "selector": {"nodeSelector": {"disk": "ssd"}}}.get(waiting, {})
    desk.pod("p", **wants)
    desk.settle()
    desk.attempts.clear()
    assert callable(change)
    change(desk)
    desk.settle()
    assert (desk.attempts == ["p"]) is woken


def test_toleration_added_to_a_waiting_pod_wakes_it_but_a_changed_second_does_not(desk: Desk) -> None:
    desk.node("n1", taints="gpu=true:NoSchedule")
    desk.pod("p", tolerations="other:NoExecute@60")
    desk.settle()
    desk.attempts.clear()
    other = {"key": "other", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    desk.change_pod("p", spec={"tolerations": [other]})
    desk.settle()
    assert desk.attempts == []
    gpu = {"key": "gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    desk.change_pod("p", spec={"tolerations": [other, gpu]})
    desk.settle()
    assert desk.where("p") == "n1"


def test_gated_pod_waits_until_its_last_gate_goes(desk: Desk) -> None:
    desk.node("n1")
    desk.pod("p", schedulingGates=[{"name": "a"}, {"name": "b"}])
    desk.settle()
    desk.change_pod("p", spec={"schedulingGates": [{"name": "a"}]})
    desk.settle()
    assert desk.attempts == []
    assert desk.scheduler.statistics.pending()["gated"] == 1
    desk.change_pod("p", spec={"schedulingGates": []})
    desk.settle()
    assert desk.where("p") == "n1"


def test_uncordon_then_untaint_retries_twice(desk: Desk) -> None:
    cordon = "node.kubernetes.io/unschedulable:NoSchedule"
    desk.node("n1", unschedulable=True, taints=cordon)
    desk.pod("p")
    desk.settle()
    desk.put_node(make_node("n1", taints=cordon))
    desk.settle()
    assert "untolerated taint" in desk.messages["p"]
    desk.put_node(make_node("n1"))
    desk.settle()
    assert desk.where("p") == "n1"


def test_no_nodes_is_retried_after_growing_pauses_without_any_event(desk: Desk) -> None:
    desk.pod("p")
    tried_at = []
    for _ in range(6):
        wake = desk.scheduler.next_wake()
        assert wake is not None
        desk.now = max(desk.now, wake)
        desk.settle()
        tried_at.append(desk.now - 1000.0)
    assert tried_at == [0.0, 2.0, 5.0, 10.0, 19.0, 30.0]


def test_stale_pod_is_flushed_after_five_minutes(desk: Desk) -> None:
    desk.node("n1", taints="x:NoSchedule")
    desk.pod("p")
    desk.settle()
    desk.attempts.clear()
    assert desk.scheduler.next_wake() == 1320.0
    desk.advance(319)
    assert desk.attempts == []
    desk.advance(1)
    assert desk.attempts == ["p"]


def test_image_on_a_node_attracts(desk: Desk) -> None:
    desk.node("n1")
    desk.node("n2", images={"registry.example/app:1": 900 * 2**20})
    desk.pod("p")
    desk.settle()
    assert desk.where("p") == "n2"


def test_bind_failure_of_a_pod_long_gone_leaves_its_namesake_alone() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.pod("p")
    desk.run()
    desk.remove_pod("p")
    desk.pod("p", metadata={"uid": "second"})
    (again,) = desk.run()
    assert isinstance(again, Placed)
    assert desk.scheduler.bind_failed("default/p", "no", desk.now, uid="uid-p") is None
    assert desk.run() == []


def test_pods_deleted_while_their_binding_is_under_way_give_their_place_back() -> None:
    desk = Desk(binds=False)
    desk.node("n1", cpu="1")
    desk.pod("p", requests={"cpu": "1"})
    desk.run()
    desk.remove_pod("p")
    desk.pod("q", requests={"cpu": "1"})
    (placed,) = desk.run()
    assert isinstance(placed, Placed)
    assert desk.scheduler.bind_failed("default/p", "gone", desk.now) is None
