"""PodTopologySpread: one row a rule, the specification's score, and what wakes a pod."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import ReplicaSet
from doorman.api.views.services import Service
from support.scheduling import Desk, make_node, make_pod

APP = {"matchLabels": {"app": "w"}}


def rule(**more: Any) -> dict[str, Any]:
    basis = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
    return {**basis, **more}


def desk_with(counts: dict[str, int], **nodes: Any) -> Desk:
    """A node for each zone, named after it, with so many pods `app=w`."""
    desk = Desk()
    for zone, count in counts.items():
        desk.put_node(make_node(zone, labels={"zone": zone}, **nodes.get(zone, {})))
        for at in range(count):
            desk.pod(f"{zone}{at}", node=zone, labels={"app": "w"})
    return desk


@pytest.mark.parametrize(
    ("counts", "constraint", "labels", "nodes", "feasible"),
    [
        pytest.param({"a": 1, "b": 0}, rule(), {"app": "w"}, {}, ["b"], id="rule-3-skew"),
        pytest.param({"a": 1, "b": 0}, rule(), {}, {}, ["a", "b"], id="rule-3-pod-does-not-match-itself"),
        pytest.param({"a": 1, "b": 0}, rule(maxSkew=2), {"app": "w"}, {}, ["a", "b"], id="rule-3-max-skew"),
        pytest.param({"a": 1, "b": 1}, rule(minDomains=3), {"app": "w"}, {}, [], id="rule-3-min-domains"),
        pytest.param({"a": 1, "b": 1}, rule(minDomains=2), {"app": "w"}, {}, ["a", "b"], id="rule-3-enough-domains"),
        pytest.param({"a": 5, "b": 0}, rule(labelSelector={}), {}, {}, ["a", "b"], id="rule-2-empty-counts-nobody"),
        pytest.param({"a": 5, "b": 0}, rule(labelSelector=None), {"app": "w"}, {}, ["a", "b"], id="rule-2-nil"),
        pytest.param({"a": 1, "b": 0}, rule(), {"app": "w"}, {"b": {"taints": "x:NoSchedule"}}, [],
                     id="rule-1-taints-ignored"),
        pytest.param({"a": 1, "b": 0}, rule(nodeTaintsPolicy="Honor"), {"app": "w"}, {"b": {"taints": "x:NoSchedule"}},
                     ["a"], id="rule-1-taints-honoured"),
        pytest.param({"a": 1, "b": 0}, rule(topologyKey="other"), {"app": "w"}, {}, [], id="rule-3-key-is-missing"),
    ],
)  # fmt: skip
def test_hard_constraint(
    counts: dict[str, int], constraint: dict, labels: dict, nodes: dict, feasible: list[str]
) -> None:
    desk = desk_with(counts, **nodes)
    desk.pod("p", labels=labels, topologySpreadConstraints=[constraint])
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    assert [verdict.node for verdict in found.nodes if verdict.fits] == feasible


@pytest.mark.parametrize(("policy", "feasible"), [("Honor", ["a"]), ("Ignore", [])], ids=["rule-1-yes", "rule-1-no"])
def test_nodes_the_pod_does_not_select_count_or_not(policy: str, feasible: list[str]) -> None:
    desk = Desk()
    desk.put_node(make_node("a", labels={"zone": "a", "disk": "ssd"}))
    desk.put_node(make_node("b", labels={"zone": "b"}))
    desk.pod("there", node="a", labels={"app": "w"})
    constraint = rule(nodeAffinityPolicy=policy)
    desk.pod("p", labels={"app": "w"}, nodeSelector={"disk": "ssd"}, topologySpreadConstraints=[constraint])
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    assert [verdict.node for verdict in found.nodes if verdict.fits] == feasible


def spread_scores(desk: Desk) -> dict[str, int]:
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    return {
        verdict.node: score.score
        for verdict in found.nodes
        for score in verdict.scores
        if score.plugin == "PodTopologySpread"
    }


def test_soft_constraint_scores_as_specified_rule_4() -> None:
    desk = desk_with({"a": 3, "b": 1})
    desk.pod("p", labels={"app": "w"}, topologySpreadConstraints=[rule(whenUnsatisfiable="ScheduleAnyway")])
    assert spread_scores(desk) == {"a": 25, "b": 100}


def test_leaving_pods_do_not_count_rule_2() -> None:
    desk = desk_with({"a": 1, "b": 0})
    desk.change_pod("a0", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    desk.pod("p", labels={"app": "w"}, topologySpreadConstraints=[rule()])
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    assert found.feasible_nodes == 2


def test_match_label_keys_narrow_the_selector_rule_2() -> None:
    desk = desk_with({"a": 1, "b": 0})
    desk.pod("p", labels={"app": "w", "rev": "2"}, topologySpreadConstraints=[rule(matchLabelKeys=["rev"])])
    assert desk.scheduler.explain(desk.pods["p"], desk.now).feasible_nodes == 2


def test_node_without_a_key_of_own_soft_constraints_scores_zero_rule_6() -> None:
    desk = desk_with({"a": 3, "b": 1})
    desk.node("bare")
    desk.pod("p", labels={"app": "w"}, topologySpreadConstraints=[rule(whenUnsatisfiable="ScheduleAnyway")])
    assert spread_scores(desk)["bare"] == 0


def test_pods_of_a_service_are_spread_by_default_rule_5() -> None:
    desk = desk_with({"a": 2, "b": 0})
    desk.pod("p", labels={"app": "w"})
    assert spread_scores(desk) == {}
    document = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "w"}}}
    service = msgspec.convert(document, Service)
    desk.scheduler.object_changed("services", None, service, desk.now)
    scores = spread_scores(desk)
    assert scores["b"] > scores["a"]
    desk.scheduler.object_changed("services", service, None, desk.now)
    assert spread_scores(desk) == {}


def test_pods_of_a_replica_set_are_spread_by_default_rule_5() -> None:
    desk = desk_with({"a": 2, "b": 0})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}
    desk.pod("p", labels={"app": "w"}, metadata={"labels": {"app": "w"}, "ownerReferences": [owner]})
    document = {"metadata": {"name": "r", "namespace": "default"}, "spec": {"selector": APP}}
    desk.scheduler.object_changed("replicasets.apps", None, msgspec.convert(document, ReplicaSet), desk.now)
    scores = spread_scores(desk)
    assert scores["b"] > scores["a"]


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(lambda d: d.remove_pod("a0"), True, id="matching-pod-deleted"),
        pytest.param(lambda d: d.remove_pod("stranger"), False, id="other-pod-deleted"),
        pytest.param(lambda d: d.pod("late", node="b", labels={"app": "w"}), True, id="matching-pod-added"),
        pytest.param(lambda d: d.pod("late", node="b", namespace="other", labels={"app": "w"}), False, id="elsewhere"),
        pytest.param(lambda d: d.change_pod("a0", metadata={"labels": {}}), True, id="label-flips"),
        pytest.param(lambda d: d.put_node(make_node("c", labels={"zone": "c"})), True, id="node-with-key-added"),
        pytest.param(lambda d: d.node("bare"), False, id="node-without-key-added"),
        pytest.param(lambda d: d.remove_node("b"), True, id="node-deleted"),
        pytest.param(lambda d: d.put_node(make_node("b", labels={"zone": "z"})), True, id="value-changed"),
        pytest.param(lambda d: d.put_node(make_node("b", labels={"zone": "b", "x": "y"})), False, id="other"),
    ],
)
def test_what_wakes_a_pod_that_would_skew(change: Any, woken: bool) -> None:
    desk = Desk()
    desk.put_node(make_node("a", labels={"zone": "a"}))
    desk.put_node(make_node("b", labels={"zone": "b"}))
    desk.pod("a0", node="a", labels={"app": "w"})
    desk.pod("b0", node="b", labels={"app": "w"})
    desk.pod("stranger", node="a")
    desk.put_pod(make_pod("p", labels={"app": "w"}, topologySpreadConstraints=[rule(minDomains=3)]))
    desk.settle()
    assert "topology spread" in desk.messages["p"]
    desk.attempts.clear()
    change(desk)
    desk.settle()
    assert ("p" in desk.attempts) is woken
