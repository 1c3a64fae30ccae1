"""Which pods must leave for a more important one: one row a rule, and stories of what follows."""

import pytest

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.scheduler.outcomes import Placed, Rejected
from support.scheduling import Desk, make_node, make_pod

FULL = {"cpu": "4"}


def low(name: str, node: str, *, cpu: str = "4", priority: int = 0, day: int = 1, app: str = "") -> Pod:
    return make_pod(
        name, node=node, requests={"cpu": cpu}, priority=priority, labels={"app": app} if app else {},
        status={"startTime": f"2026-01-{day:02d}T00:00:00Z"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "pods", "budgets", "node", "victims"),
    [
        pytest.param(
            [make_node("n1")], [low("a", "n1", cpu="1"), low("b", "n1", cpu="3", day=2)], [], "n1", ["a", "b"],
            id="rule-4-all-must-go",
        ),
        pytest.param(
            [make_node("n1", cpu="6")], [low("a", "n1", cpu="1"), low("b", "n1", cpu="5", priority=5)], [], "n1", ["b"],
            id="rule-4-who-still-fits-stays",
        ),
        pytest.param(
            [make_node("n1", cpu="8")], [low("a", "n1", day=2), low("b", "n1", day=1)], [], "n1", ["a"],
            id="rule-5-the-younger-goes",
        ),
        pytest.param(
            [make_node("n1", cpu="8")], [low("a", "n1", priority=1), low("b", "n1", priority=2)], [], "n1", ["a"],
            id="rule-5-the-lower-goes",
        ),
        pytest.param(
            [make_node("n1", cpu="8")], [low("a", "n1", day=1, app="web"), low("b", "n1", day=2, app="x")],
            [("web", 0)], "n1", ["b"], id="rule-6-budget-shields",
        ),
        pytest.param(
            [make_node("n1", cpu="8")], [low("a", "n1", day=2, app="web"), low("b", "n1", day=1, app="x")],
            [("web", 1)], "n1", ["a"], id="rule-6-budget-allows",
        ),
        pytest.param(
            [make_node("n1"), make_node("n2")], [low("a", "n1", app="web"), low("b", "n2", priority=9)],
            [("web", 0)], "n2", ["b"], id="rule-7-fewest-broken-budgets",
        ),
        pytest.param(
            [make_node("n1"), make_node("n2")], [low("a", "n1", priority=9), low("b", "n2", priority=3)], [], "n2",
            ["b"], id="rule-7-lowest-priority",
        ),
        pytest.param(
            [make_node("n1"), make_node("n2")],
            [low("a", "n1", cpu="2"), low("b", "n1", cpu="2"), low("c", "n2")], [], "n2", ["c"],
            id="rule-7-smallest-sum",
        ),
        pytest.param(
            [make_node("n1"), make_node("n2")], [low("a", "n1", day=1), low("b", "n2", day=2)], [], "n2", ["b"],
            id="rule-7-latest-start",
        ),
        pytest.param(
            [make_node("n1", taints="x:NoSchedule"), make_node("n2")], [low("a", "n1"), low("b", "n2", priority=9)], [],
            "n2", ["b"], id="rule-2-never-behind-a-taint",
        ),
    ],
)  # fmt: skip
def test_victims_and_node(
    nodes: list[Node], pods: list[Pod], budgets: list[tuple[str, int]], node: str, victims: list[str]
) -> None:
    desk = Desk(binds=False)
    for one in nodes:
        desk.put_node(one)
    for pod in pods:
        desk.put_pod(pod)
    for app, allowed in budgets:
        desk.budget(f"for-{app}", allowed, {"app": app})
    desk.pod("high", requests=FULL, priority=100)
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert outcome.nominated == outcome.node == node
    assert sorted(victim.pod.metadata.name for victim in outcome.victims) == victims
    assert outcome.message.endswith(
        f"preemption: found a potential placement for pod on node {node}, preempting {len(victims)} victims"
    )


def test_equal_priority_is_never_preempted() -> None:
    desk = Desk()
    desk.node("n1")
    desk.put_pod(low("a", "n1", priority=100))
    desk.pod("high", requests=FULL, priority=100)
    desk.settle()
    assert desk.messages["high"].endswith("1 No preemption victims found for incoming pod.")


def test_preemption_policy_never_waits_rule_1() -> None:
    desk = Desk()
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("polite", requests=FULL, priority=100, preemptionPolicy="Never")
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert outcome.message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    )
    assert outcome.nominated is None


def test_victims_that_still_fail_report_the_filter_reason() -> None:
    desk = Desk()
    desk.node("n1")
    desk.put_pod(low("big", "n1", cpu="2", priority=200))
    desk.put_pod(low("small", "n1", cpu="1"))
    desk.pod("high", requests={"cpu": "3"}, priority=100)
    desk.settle()
    assert desk.messages["high"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_preemptor_is_gated_until_its_victims_are_asked_to_leave_and_takes_their_place() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1", cpu="2"))
    desk.put_pod(low("b", "n1", cpu="2"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.remove_pod("a")
    assert desk.run() == []
    assert desk.scheduler.statistics.pending()["gated"] == 1
    desk.scheduler.preempting_last("default/high", "default/b", desk.now)
    desk.remove_pod("b")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)
    assert outcome.node == "n1"


def test_victim_asked_to_leave_opens_the_gate_but_only_its_end_wakes_the_preemptor() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.scheduler.preempting_last("default/high", "default/a", desk.now)
    desk.change_pod("a", metadata={"deletionTimestamp": "2026-01-02T00:00:00Z"})
    assert desk.scheduler.statistics.pending()["gated"] == 0
    assert desk.run() == []
    desk.remove_pod("a")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)


def test_last_victim_that_is_gone_before_its_turn_leaves_the_preemptor_to_a_later_try() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.remove_pod("a")
    desk.scheduler.preempting_last("default/high", "default/a", desk.now)
    assert desk.run() == []
    desk.scheduler.preempted("default/high", desk.now, failed=True)
    desk.now += 10
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)


def test_victims_that_all_terminate_already_leave_the_gate_open() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.change_pod("a", metadata={"deletionTimestamp": "2026-01-02T00:00:00Z"})
    desk.pod("high", requests=FULL, priority=100)
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert [victim.terminating for victim in outcome.victims] == [True]
    assert desk.scheduler.statistics.pending()["gated"] == 0
    desk.remove_pod("a")
    (placed,) = desk.run()
    assert isinstance(placed, Placed)


def test_victim_that_leaves_after_the_gate_opened_wakes_the_preemptor() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.scheduler.preempted("default/high", desk.now)
    assert desk.run() == []
    desk.remove_pod("a")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)


def test_victims_still_terminating_make_the_preemptor_not_eligible_rule_1() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.scheduler.preempted("default/high", desk.now)
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    desk.change_pod("a", metadata={"deletionTimestamp": "2026-01-02T00:00:00Z"}, status={"conditions": [condition]})
    desk.node("n2", cpu="1")
    desk.advance(400)
    assert desk.messages["high"] == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


def test_room_is_kept_for_the_nominated_pod_from_lower_but_not_from_higher_priority() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.remove_pod("a")
    desk.pod("middle", requests=FULL, priority=50)
    (middle,) = desk.run()
    assert isinstance(middle, Rejected)
    assert middle.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    desk.pod("top", requests=FULL, priority=500)
    (top,) = desk.run()
    assert isinstance(top, Placed)


def test_preempting_a_nominated_node_takes_the_nomination_from_lower_pods() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.pod("top", requests=FULL, priority=500)
    (top,) = desk.run()
    assert isinstance(top, Rejected)
    assert [pod.metadata.name for pod in top.unnominated] == ["high"]


def test_deleted_preemptor_gives_its_room_to_the_next() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.put_pod(low("a", "n1"))
    desk.pod("high", requests=FULL, priority=100)
    desk.run()
    desk.remove_pod("a")
    desk.pod("middle", requests=FULL, priority=50)
    desk.run()
    desk.remove_pod("high")
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)
    assert outcome.pod.metadata.name == "middle"


def test_preemption_frees_a_host_port() -> None:
    desk = Desk()
    desk.node("n1")
    desk.pod("a", ports=[{"hostPort": 80}])
    desk.settle()
    desk.pod("high", ports=[{"hostPort": 80}], priority=10)
    desk.settle()
    assert desk.where("high") == "n1"
    assert "a" not in desk.pods


@pytest.mark.parametrize("younger", [0, 1])
def test_pod_that_has_started_since_counts_by_when_rule_7(younger: int) -> None:
    desk = Desk(binds=False)
    nodes = ["n1", "n2", "n3"]
    for name in nodes:
        desk.node(name)
        desk.put_pod(make_pod(f"on-{name}", node=name, requests=FULL))
    desk.pod("first", requests=FULL, priority=100)
    (first,) = desk.run()
    assert isinstance(first, Rejected)
    left = [name for name in nodes if name != first.nominated]
    for place, name in enumerate(left):
        day = "02" if place == younger else "01"
        desk.change_pod(f"on-{name}", status={"startTime": f"2026-01-{day}T00:00:00Z"})
    desk.pod("second", requests=FULL, priority=100)
    (second,) = desk.run()
    assert isinstance(second, Rejected)
    assert second.nominated == left[younger]
