"""Explanations: every node, every plugin, names, amounts and remedies."""

import msgspec
import pytest

from doorman.scheduler.explain.explanation import Explanation, without_names
from support.scheduling import Desk, make_pod


@pytest.fixture
def desk() -> Desk:
    return Desk()


def explain(desk: Desk, name: str) -> Explanation:
    return desk.scheduler.explain(desk.pods[name], desk.now)


def test_blocking_taint_and_missing_toleration_are_named(desk: Desk) -> None:
    desk.node("n1", taints="gpu=true:NoSchedule team:NoExecute")
    desk.pod("p")
    desk.settle()
    found = explain(desk, "p")
    assert found.state == "Unschedulable"
    assert found.message == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    (node,) = found.nodes
    assert [each.what for each in node.objections] == ["gpu=true:NoSchedule", "team:NoExecute"]
    (group,) = found.groups
    assert group.tolerations == (
        {"key": "gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    )


def test_missing_tolerations_given_as_remedy_do_let_the_pod_in(desk: Desk) -> None:
    desk.node("n1", taints="gpu=true:NoSchedule team:NoExecute", unschedulable=True)
    desk.pod("p")
    desk.settle()
    (group,) = explain(desk, "p").groups
    desk.change_pod("p", spec={"tolerations": list(group.tolerations)})
    desk.settle()
    assert desk.where("p") == "n1"


def test_all_objections_are_listed_not_only_the_first_plugins(desk: Desk) -> None:
    desk.node("n1", taints="x:NoSchedule", cpu="1", memory="1Gi", labels={"disk": "hdd"})
    desk.pod("p", requests={"cpu": "2", "memory": "3Gi"}, nodeSelector={"disk": "ssd"})
    desk.settle()
    (node,) = explain(desk, "p").nodes
    assert [(each.plugin, each.what) for each in node.objections] == [
        ("TaintToleration", "x:NoSchedule"),
        ("NodeAffinity", "label disk is hdd, not ssd"),
        ("NodeResourcesFit", "cpu: asks 2000m, 0m of 1000m in use"),
        ("NodeResourcesFit", "memory: asks 3221225472, 0 of 1073741824 in use"),
    ]
    assert [each.shortfall for each in node.objections] == [0, 0, 1000, 2 * 2**30]
    assert explain(desk, "p").groups[0].tolerations == ()


def test_groups_are_counted_and_the_nearest_miss_comes_first(desk: Desk) -> None:
    for at in range(20):
        desk.node(f"n{at:02d}", cpu="1" if at != 7 else "1900m")
    for at in range(3):
        desk.node(f"t{at}", taints="x:NoSchedule", cpu="1")
    desk.pod("p", requests={"cpu": "2"})
    desk.settle()
    near, far = explain(desk, "p").groups
    assert (near.count, far.count) == (20, 3)
    assert near.nodes[0] == "n07"
    assert len(near.nodes) == 5
    assert near.objections[0].shortfall == 100
    assert len(far.objections) == 2


def test_scores_say_why_the_winner_won(desk: Desk) -> None:
    desk.node("n1", taints="soft:PreferNoSchedule")
    desk.node("n2")
    desk.pod("p", requests={"cpu": "1"})
    found = explain(desk, "p")
    assert (found.state, found.best, found.runner_up, found.feasible_nodes) == ("Schedulable", "n2", "n1", 2)
    (taints,) = found.lead
    assert (taints.plugin, taints.score, taints.weight) == ("TaintToleration", 100, 3)
    (placed,) = desk.run()
    assert placed.score == next(node.total for node in found.nodes if node.node == "n2")


def test_bound_pod_is_judged_as_if_it_had_no_node_yet(desk: Desk) -> None:
    desk.node("n1", cpu="1")
    desk.pod("p", requests={"cpu": "1"})
    desk.settle()
    found = explain(desk, "p")
    assert (found.state, found.bound_to, found.best) == ("Bound", "n1", "n1")
    desk.pod("q", requests={"cpu": "1"})
    desk.settle()
    assert "Insufficient cpu" in desk.messages["q"]


def test_gates_other_schedulers_names_and_contradictions(desk: Desk) -> None:
    desk.node("n1")
    desk.pod("gated", schedulingGates=[{"name": "a"}])
    assert explain(desk, "gated").state == "Gated"
    assert explain(desk, "gated").message == "waiting for scheduling gates: [a]"
    desk.pod("theirs", schedulerName="other")
    assert explain(desk, "theirs").state == "Unknown"
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    desk.pod("torn", affinity={"nodeAffinity": rule})
    assert explain(desk, "torn").groups[0].objections[0].reason == "pod affinity terms conflict"


def test_room_kept_for_a_nominated_pod_is_said(desk: Desk) -> None:
    desk.binds = False
    desk.node("n1")
    desk.pod("a", node="n1", requests={"cpu": "4"})
    desk.pod("high", requests={"cpu": "4"}, priority=9)
    desk.run()
    desk.remove_pod("a")
    desk.pod("p", requests={"cpu": "1"})
    (node,) = explain(desk, "p").nodes
    assert node.objections[0].what == "room is kept for a pod nominated to this node"


def test_spread_affinity_and_ports_are_named(desk: Desk) -> None:
    desk.node("n1", labels={"zone": "a"})
    desk.node("n2", labels={"zone": "b"}, cpu="0")
    desk.pod("w", node="n1", labels={"app": "w"}, ports=[{"hostPort": 80}])
    rule = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "w"}}}  # fmt: skip
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "w"}}}
    desk.pod(
        "p", labels={"app": "w"}, requests={"cpu": "1"}, ports=[{"hostPort": 80}], topologySpreadConstraints=[rule],
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    )  # fmt: skip
    desk.settle()
    first, second = explain(desk, "p").nodes
    assert [each.what for each in first.objections] == [
        "TCP 0.0.0.0:80 is in use", "zone: skew would be 2, at most 1", "app=w in zone",
    ]  # fmt: skip
    assert [each.what for each in second.objections] == ["cpu: asks 1000m, the node has none"]


def test_without_names_keeps_reasons_and_counts_only(desk: Desk) -> None:
    desk.node("n1", taints="secret=plan:NoSchedule")
    desk.pod("p")
    public = without_names(explain(desk, "p"))
    text = msgspec.json.encode(public).decode()
    assert "secret" not in text
    assert "n1" not in text
    assert public.groups[0].count == 1
    assert public.groups[0].objections[0].reason == "node(s) had untolerated taint(s)"


def test_explaining_changes_nothing(desk: Desk) -> None:
    desk.node("n1")
    for at in range(3):
        desk.pod(f"p{at}", requests={"cpu": "1"})
    desk.settle()
    before = explain(desk, "p1")
    assert explain(desk, "p1") == before
    desk.scheduler.explain(make_pod("never-seen"), desk.now)
    desk.pod("last", requests={"cpu": "1"})
    desk.settle()
    assert desk.where("last") == "n1"


def test_nodes_that_have_too_little_stand_apart_from_nodes_that_have_nothing_of_it(desk: Desk) -> None:
    desk.node("plain-1")
    desk.node("gpu", **{"nvidia.com/gpu": "2"})
    desk.node("plain-2")
    desk.pod("p", requests={"nvidia.com/gpu": "9"})
    desk.settle()
    assert sorted(group.nodes for group in explain(desk, "p").groups) == [("gpu",), ("plain-1", "plain-2")]


def test_nodes_that_are_full_stand_apart_from_nodes_that_have_nothing_of_it(desk: Desk) -> None:
    desk.node("plain-1")
    desk.node("plain-2")
    desk.node("gpu", **{"nvidia.com/gpu": "2"})
    desk.pod("full", node="gpu", requests={"nvidia.com/gpu": "2"})
    desk.pod("p", requests={"nvidia.com/gpu": "2"})
    desk.settle()
    groups = explain(desk, "p").groups
    assert [group.nodes for group in groups] == [("gpu",), ("plain-1", "plain-2")]
    assert [group.objections[0].what for group in groups] == [
        "nvidia.com/gpu: asks 2, 2 of 2 in use", "nvidia.com/gpu: asks 2, the node has none",
    ]  # fmt: skip
