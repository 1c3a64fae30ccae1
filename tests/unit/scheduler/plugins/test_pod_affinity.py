"""InterPodAffinity: one row a rule, scores, and what wakes a pod."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.core import Namespace
from support.scheduling import Desk, make_node

DB = {"matchLabels": {"app": "db"}}
X = {"matchLabels": {"app": "x"}}
HOST = "kubernetes.io/hostname"


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def preferred(weight: int, term: dict[str, Any]) -> dict[str, Any]:
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}


def term(key: str = "zone", selector: Any = DB, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": selector, **more}


@pytest.fixture
def desk() -> Desk:
    """Zones a (a1, a2) and b (b1), a node without zone; a pod `app=db` on a1."""
    desk = Desk()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        desk.put_node(make_node(name, labels={"zone": zone}))
    desk.node("bare")
    desk.pod("db", node="a1", labels={"app": "db"})
    return desk


def feasible(desk: Desk) -> list[str]:
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    return sorted(verdict.node for verdict in found.nodes if verdict.fits)


ALL = ["a1", "a2", "b1", "bare"]


@pytest.mark.parametrize(
    ("affinity", "labels", "expected"),
    [
        pytest.param({"podAffinity": required(term())}, {}, ["a1", "a2"], id="rule-1-zone"),
        pytest.param({"podAffinity": required(term(HOST))}, {}, ["a1"], id="rule-1-host"),
        pytest.param({"podAffinity": required(term(), term(HOST))}, {}, ["a1"], id="rule-1-all-terms"),
        pytest.param({"podAffinity": required(term(selector=X))}, {}, [], id="rule-1-nobody"),
        pytest.param({"podAffinity": required(term(selector=X))}, {"app": "x"}, ["a1", "a2", "b1"],
                     id="rule-2-first-of-its-kind"),
        pytest.param({"podAffinity": required(term(selector=None))}, {}, [], id="rule-1-nil-selector"),
        pytest.param({"podAffinity": required(term(namespaces=["elsewhere"]))}, {}, [], id="rule-1-other-namespace"),
        pytest.param({"podAffinity": required(term(namespaceSelector={}))}, {}, ["a1", "a2"], id="rule-1-anywhere"),
        pytest.param({"podAffinity": required(term(namespaceSelector={"matchLabels": {"team": "red"}}))}, {},
                     ["a1", "a2"], id="rule-1-namespace-labels"),
        pytest.param({"podAffinity": required(term(namespaceSelector={"matchLabels": {"team": "blue"}}))}, {}, [],
                     id="rule-1-other-namespace-labels"),
        pytest.param({"podAntiAffinity": required(term())}, {}, ["b1", "bare"], id="rule-3-zone"),
        pytest.param({"podAntiAffinity": required(term(HOST))}, {}, ["a2", "b1", "bare"], id="rule-3-host"),
        pytest.param({"podAntiAffinity": required(term("nokey"))}, {}, ALL, id="rule-3-node-without-key-passes"),
    ],
)  # fmt: skip
def test_required_terms(desk: Desk, affinity: dict, labels: dict, expected: list[str]) -> None:
    document = {"metadata": {"name": "default", "labels": {"team": "red"}}}
    desk.scheduler.object_changed("namespaces", None, msgspec.convert(document, Namespace), desk.now)
    desk.pod("p", labels=labels, affinity=affinity)
    assert feasible(desk) == expected


def test_anti_affinity_of_others_holds_against_the_newcomer_rule_4(desk: Desk) -> None:
    desk.pod("hermit", node="a1", affinity={"podAntiAffinity": required(term(selector={"matchLabels": {"app": "p"}}))})
    desk.pod("p", labels={"app": "p"})
    assert feasible(desk) == ["b1", "bare"]
    desk.remove_pod("hermit")
    assert feasible(desk) == ALL


def test_messages_in_order_of_judgement_rule_5(desk: Desk) -> None:
    desk.pod("hermit", node="b1", affinity={"podAntiAffinity": required(term(selector={"matchLabels": {"app": "p"}}))})
    desk.pod("p", labels={"app": "p"}, affinity={"podAntiAffinity": required(term())})
    desk.remove_node("bare")
    desk.settle()
    assert desk.messages["p"].startswith(
        "0/3 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules, "
        "2 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: "
        "3 No preemption victims found for incoming pod."
    )
    desk.pod("q", affinity={"podAffinity": required(term(selector={"matchLabels": {"app": "none"}}))})
    desk.settle()
    assert desk.messages["q"] == (
        "0/3 nodes are available: 3 node(s) didn't match pod affinity rules. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def scores(desk: Desk) -> dict[str, int]:
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    return {
        verdict.node: score.score
        for verdict in found.nodes
        for score in verdict.scores
        if score.plugin == "InterPodAffinity"
    }


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        pytest.param({"podAffinity": preferred(10, term())}, None, {"a1": 100, "a2": 100, "b1": 0, "bare": 0},
                     id="near"),
        pytest.param({"podAntiAffinity": preferred(10, term(HOST))}, None, {"a1": 0, "a2": 100, "b1": 100, "bare": 100},
                     id="far"),
        pytest.param(None, {"podAffinity": preferred(5, term(HOST, {}))}, {"a1": 0, "a2": 0, "b1": 100, "bare": 0},
                     id="others-like-it"),
        pytest.param(None, {"podAntiAffinity": preferred(5, term(HOST, {}))},
                     {"a1": 100, "a2": 100, "b1": 0, "bare": 100}, id="others-do-not"),
        pytest.param(None, {"podAffinity": required(term("zone", {}))}, {"a1": 0, "a2": 0, "b1": 100, "bare": 0},
                     id="others-need-it"),
        pytest.param(None, None, {}, id="nobody-cares"),
    ],
)  # fmt: skip
def test_scores_rule_6(desk: Desk, own: Any, others: Any, expected: dict[str, int]) -> None:
    desk.pod("other", node="b1", affinity=others)
    desk.pod("p", affinity=own)
    assert scores(desk) == expected


NEAR_X = {"podAffinity": required(term(selector=X))}
FAR_FROM_X = {"podAntiAffinity": required(term("all", selector=X))}


@pytest.mark.parametrize(
    ("affinity", "change", "woken"),
    [
        pytest.param(NEAR_X, lambda d: d.pod("x2", node="a1", labels={"app": "x"}), True, id="wanted-pod-added"),
        pytest.param(NEAR_X, lambda d: d.pod("y", node="a1"), False, id="other-pod-added"),
        pytest.param(NEAR_X, lambda d: d.change_pod("db", metadata={"labels": {"app": "x"}}), True, id="starts"),
        pytest.param(NEAR_X, lambda d: d.put_node(make_node("new", labels={"zone": "n"})), True, id="node-with-key"),
        pytest.param(NEAR_X, lambda d: d.node("new"), False, id="node-without-key"),
        pytest.param(FAR_FROM_X, lambda d: d.remove_pod("x"), True, id="unwanted-pod-deleted"),
        pytest.param(FAR_FROM_X, lambda d: d.remove_pod("db"), False, id="other-pod-deleted"),
        pytest.param(FAR_FROM_X, lambda d: d.change_pod("x", metadata={"labels": {}}), True, id="stops-matching"),
        pytest.param(FAR_FROM_X, lambda d: d.node("new"), True, id="any-node-added"),
    ],
)
def test_what_wakes_a_pod(affinity: dict, change: Any, woken: bool) -> None:
    desk = Desk()
    desk.put_node(make_node("a1", labels={"zone": "a", "all": "yes"}))
    desk.pod("db", node="a1", labels={"app": "db"})
    if affinity is FAR_FROM_X:
        desk.pod("x", node="a1", labels={"app": "x"})
    desk.pod("p", affinity=affinity)
    desk.settle()
    assert "p" in desk.messages
    desk.attempts.clear()
    change(desk)
    desk.settle()
    assert ("p" in desk.attempts) is woken
