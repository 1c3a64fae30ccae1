"""The general way of a cycle: what happens beside the kept evaluation."""

from doorman.scheduler.config.scheduler_config import DEFAULT_ORDER, Profile, SchedulerConfig
from doorman.scheduler.cycle.scheduling_cycle import EVALUATIONS_MAX
from doorman.scheduler.outcomes import Placed, Rejected
from support.scheduling import Desk, make_pod


def names_affinity(*names: str) -> dict:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in names]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def test_named_nodes_are_scored_like_others() -> None:
    desk = Desk()
    desk.node("n1", taints="soft:PreferNoSchedule")
    desk.node("n2")
    desk.node("n3")
    desk.pod("p", affinity=names_affinity("n1", "n3"))
    (outcome,) = desk.run()
    assert isinstance(outcome, Placed)
    assert (outcome.node, outcome.feasible_nodes) == ("n3", 2)


def test_more_demands_than_evaluations_are_kept_right() -> None:
    desk = Desk()
    for at in range(4):
        desk.node(f"n{at}", cpu="64", pods="1000")
    for turn in range(2):
        for at in range(EVALUATIONS_MAX + 8):
            desk.pod(f"p{turn}-{at}", requests={"cpu": f"{at + 1}m"})
    desk.settle()
    counts = [sum(desk.where(name) == node for name in desk.pods) for node in desk.nodes]
    assert sum(counts) == 2 * (EVALUATIONS_MAX + 8)
    assert max(counts) - min(counts) <= 2


def test_profile_without_scores_takes_the_first_feasible_node() -> None:
    desk = Desk(SchedulerConfig(profiles=(Profile(filters=DEFAULT_ORDER, scores=()),)))
    desk.node("n1", cpu="1")
    desk.node("n2", cpu="64")
    for name in ("a", "b"):
        desk.pod(name, requests={"cpu": "600m"})
    desk.settle()
    assert (desk.where("a"), desk.where("b")) == ("n1", "n2")


def test_profile_whose_affinity_names_no_nodes_looks_at_all_of_them() -> None:
    pre_filters = tuple(name for name in DEFAULT_ORDER if name != "NodeAffinity")
    desk = Desk(SchedulerConfig(profiles=(Profile(pre_filters=pre_filters),)))
    desk.node("n1")
    desk.pod("p", affinity=names_affinity("n2"))
    (outcome,) = desk.run()
    assert isinstance(outcome, Rejected)
    assert outcome.message.startswith("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.")


def test_profile_without_a_filter_does_not_apply_it() -> None:
    filters = tuple(name for name in DEFAULT_ORDER if name != "TaintToleration")
    desk = Desk(SchedulerConfig(profiles=(Profile(name="lenient", filters=filters), Profile())))
    desk.node("n1", taints="x:NoSchedule")
    desk.pod("strict")
    desk.pod("lenient", schedulerName="lenient")
    desk.settle()
    assert (desk.where("strict"), desk.where("lenient")) == ("", "n1")


def test_nominated_pods_of_equal_priority_are_respected_by_pods_with_affinity_too() -> None:
    desk = Desk(binds=False)
    desk.node("n1")
    desk.pod("a", node="n1", requests={"cpu": "4"})
    desk.pod("high", requests={"cpu": "4"}, priority=9)
    desk.run()
    desk.remove_pod("a")
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    desk.put_pod(make_pod("p", requests={"cpu": "1"}, priority=9, affinity=rule))
    desk.run()
    assert "Insufficient cpu" in desk.messages["p"]
