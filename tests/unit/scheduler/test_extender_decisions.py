"""Decisions in which extenders have a say, without anybody on the line."""

import pytest

from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.extenders.extender import Extender, ManagedResource
from doorman.scheduler.extenders.extender_result import ExtenderRejection, ExtenderResult
from doorman.scheduler.outcomes import AskExtenders, AskExtendersAboutVictims, NodeVictims, Outcome, Placed, Rejected
from support.scheduling import Desk, make_pod

GPU = (ManagedResource(name="example.com/gpu"),)
EXTENDER = Extender(url_prefix="http://x", filter_verb="f", prioritize_verb="p", preempt_verb="v", weight=1)


def desk_with(*extenders: Extender) -> Desk:
    return Desk(SchedulerConfig(extenders=extenders))


@pytest.fixture
def desk() -> Desk:
    desk = desk_with(EXTENDER)
    for name in ("a", "b", "c"):
        desk.node(name)
    return desk


def begin(desk: Desk, name: str = "p") -> AskExtenders:
    desk.pod(name)
    (outcome,) = desk.run()
    assert isinstance(outcome, AskExtenders)
    return outcome


def answered(desk: Desk, result: ExtenderResult | str) -> Outcome | None:
    return desk.scheduler.extender_decisions.on_filter_result(result, desk.now)


def test_extenders_are_asked_about_the_nodes_that_filters_leave(desk: Desk) -> None:
    desk.node("d", taints="k:NoSchedule")
    ask_extenders = begin(desk)
    assert ask_extenders.nodes == ("a", "b", "c")
    assert ask_extenders.extenders == (EXTENDER,)


def test_nothing_else_is_decided_until_they_are_heard(desk: Desk) -> None:
    begin(desk)
    desk.pod("other")
    assert desk.run() == []
    assert desk.scheduler.next_wake() is None
    answered(desk, ExtenderResult(kept=frozenset({"a"})))
    (outcome,) = desk.run()
    assert outcome.pod.metadata.name == "other"


def test_best_of_the_nodes_that_are_kept_by_all_scores(desk: Desk) -> None:
    begin(desk)
    placed = answered(desk, ExtenderResult(kept=frozenset({"b", "c"}), scores={"c": 100, "a": 1000}))
    assert isinstance(placed, Placed)
    assert (placed.node, placed.feasible_nodes) == ("c", 2)


def test_single_node_that_is_kept_is_not_scored(desk: Desk) -> None:
    begin(desk)
    placed = answered(desk, ExtenderResult(kept=frozenset({"b"})))
    assert isinstance(placed, Placed)
    assert (placed.node, placed.score) == ("b", 0)


def test_reasons_of_extenders_are_counted_with_the_others(desk: Desk) -> None:
    desk.node("d", taints="k:NoSchedule")
    begin(desk)
    by_node = {"a": ExtenderRejection("no gpu left", False), "b": ExtenderRejection("no gpu left", False)}
    rejected = answered(desk, ExtenderResult(kept=frozenset(), rejected=by_node))
    assert isinstance(rejected, Rejected)
    assert rejected.message.startswith("0/4 nodes are available: 1 node(s) had untolerated taint(s), 2 no gpu left. ")
    assert desk.scheduler.statistics.unschedulable() == {
        ("Extender", "default-scheduler"): 1,
        ("TaintToleration", "default-scheduler"): 1,
    }


def test_pod_that_extenders_refused_is_tried_again_whatever_happens(desk: Desk) -> None:
    begin(desk)
    answered(desk, ExtenderResult(kept=frozenset(), rejected={"a": ExtenderRejection("full", True)}))
    desk.now += 5
    assert desk.run() == []
    desk.node("a", labels={"any": "change"})
    (outcome,) = desk.run()
    assert isinstance(outcome, AskExtenders)


def test_failure_of_an_extender_is_an_error(desk: Desk) -> None:
    begin(desk)
    rejected = answered(desk, "cannot reach it")
    assert isinstance(rejected, Rejected)
    assert (rejected.reason, rejected.message, rejected.nominated) == ("SchedulerError", "cannot reach it", "")
    assert desk.scheduler.statistics.pending()["backoff"] == 1


def test_pod_that_has_gone_is_not_decided_upon(desk: Desk) -> None:
    begin(desk)
    desk.remove_pod("p")
    assert answered(desk, ExtenderResult(kept=frozenset({"a"}))) is None
    assert not desk.scheduler.extender_decisions.is_open


def test_node_that_has_filled_up_meanwhile_is_not_chosen(desk: Desk) -> None:
    desk.pod("p", requests={"cpu": "3"})
    desk.run()
    desk.put_pod(make_pod("squatter", node="a", requests={"cpu": "3"}))
    placed = answered(desk, ExtenderResult(kept=frozenset({"a", "b"}), scores={"a": 1000}))
    assert isinstance(placed, Placed)
    assert placed.node == "b"


def test_only_pods_of_interest_wait() -> None:
    desk = desk_with(Extender(url_prefix="u", filter_verb="f", managed_resources=GPU))
    desk.node("a")
    desk.pod("p")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)


def test_extender_that_only_binds_has_no_say() -> None:
    desk = desk_with(Extender(url_prefix="u", bind_verb="b"))
    desk.node("a")
    desk.pod("p")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)


def test_nobody_leaves_for_a_pod_that_only_extenders_refuse(desk: Desk) -> None:
    desk.pod("low", node="a", requests={"cpu": "1"})
    desk.pod("p", priority=9)
    desk.run()
    by_node = {name: ExtenderRejection("no gpu left", False) for name in ("a", "b", "c")}
    rejected = answered(desk, ExtenderResult(kept=frozenset(), rejected=by_node))
    assert isinstance(rejected, Rejected)
    assert rejected.message == (
        "0/3 nodes are available: 3 no gpu left. "
        "preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
    )


def preempting(desk: Desk) -> AskExtendersAboutVictims:
    for name in ("a", "b", "c"):
        desk.pod(f"low-{name}", node=name, requests={"cpu": "4"})
    desk.pod("high", priority=9, requests={"cpu": "4"})
    (outcome,) = desk.run()
    assert isinstance(outcome, AskExtendersAboutVictims)
    return outcome


def test_extenders_are_asked_who_must_leave(desk: Desk) -> None:
    ask_extenders = preempting(desk)
    victims = {one.node: [pod.metadata.name for pod in one.pods] for one in ask_extenders.candidates}
    assert victims == {"a": ["low-a"], "b": ["low-b"], "c": ["low-c"]}


def test_only_candidates_that_extenders_leave_are_cleared(desk: Desk) -> None:
    ask_extenders = preempting(desk)
    left = [one for one in ask_extenders.candidates if one.node == "b"]
    rejected = desk.scheduler.extender_decisions.on_preemption_result(left, desk.now)
    assert isinstance(rejected, Rejected)
    assert (rejected.node, rejected.nominated) == ("b", "b")
    assert [victim.pod.metadata.name for victim in rejected.victims] == ["low-b"]
    assert rejected.message.endswith("preemption: found a potential placement for pod on node b, preempting 1 victims")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param([], "preemption: no candidate node for preemption", id="none-left"),
        pytest.param("it is down", "preemption: it is down", id="failed"),
        pytest.param(
            [NodeVictims(node="a", pods=(make_pod("stranger"),))],
            "preemption: no candidate node for preemption",
            id="gone-meanwhile",
        ),
    ],
)
def test_nobody_leaves(desk: Desk, answer: list[NodeVictims] | str, message: str) -> None:
    preempting(desk)
    rejected = desk.scheduler.extender_decisions.on_preemption_result(answer, desk.now)
    assert isinstance(rejected, Rejected)
    assert rejected.message.endswith(message)
    assert (rejected.victims, rejected.nominated) == ((), None)


def test_pod_on_a_node_is_found_by_its_uid(desk: Desk) -> None:
    desk.pod("x", node="a")
    found = desk.scheduler.pod_on("a", "uid-x")
    assert found is not None
    assert desk.scheduler.pod_on("b", "uid-x") is None
    assert desk.scheduler.pod_on("nowhere", "uid-x") is None
