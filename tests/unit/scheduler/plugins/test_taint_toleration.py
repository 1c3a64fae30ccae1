"""TaintToleration: the specification's scores, and what is missing."""

import pytest

from doorman.api.taints import Taint
from doorman.scheduler.explain.explanation import Explanation
from doorman.scheduler.plugins.taint_toleration import missing_toleration
from support.scheduling import Desk, make_pod

SOFT = ["a:PreferNoSchedule", "b:PreferNoSchedule", "c:PreferNoSchedule"]


def scores(desk: Desk) -> list[int]:
    found: Explanation = desk.scheduler.explain(desk.pods["p"], desk.now)
    return [next(s.score for s in node.scores if s.plugin == "TaintToleration") for node in found.nodes]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param((0, 1, 2), [100, 50, 0], id="spread-evenly"),
        pytest.param((1, 1), [0, 0], id="all-equally-bad"),
        pytest.param((0, 3, 1), [100, 0, 67], id="truncated"),
        pytest.param((0, 0), [100, 100], id="none"),
    ],
)
def test_scores_of_soft_taints(raw: tuple[int, ...], expected: list[int]) -> None:
    desk = Desk()
    for at, count in enumerate(raw):
        desk.node(f"n{at}", taints=" ".join(SOFT[:count]))
    desk.pod("p")
    assert scores(desk) == expected


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param("a", [100, 100], id="no-effect-counts"),
        pytest.param("a:PreferNoSchedule", [100, 100], id="soft-effect-counts"),
        pytest.param("a:NoSchedule", [0, 100], id="hard-effect-does-not-count"),
        pytest.param("*", [100, 100], id="everything"),
    ],
)
def test_only_tolerations_of_no_or_soft_effect_count_for_scores(tolerations: str, expected: list[int]) -> None:
    desk = Desk()
    desk.node("n0", taints="a:PreferNoSchedule")
    desk.node("n1")
    desk.pod("p", tolerations=tolerations)
    assert scores(desk) == expected


def test_missing_toleration_is_the_narrowest() -> None:
    assert missing_toleration(Taint(key="a", value="1", effect="NoExecute")) == {
        "tolerations": [{"key": "a", "operator": "Equal", "value": "1", "effect": "NoExecute"}]
    }
    assert missing_toleration(Taint(key="a", effect="NoSchedule")) == {
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
    }


@pytest.mark.parametrize(("gate", "node"), [(True, "n1"), (False, "")], ids=["gate-on", "gate-off"])
def test_comparison_operators_follow_the_gate(gate: bool, node: str) -> None:
    desk = Desk(comparison_operators=gate)
    desk.node("n1", taints="sla=950:NoSchedule")
    desk.put_pod(make_pod("p", tolerations="sla"))
    desk.change_pod("p", spec={"tolerations": [{"key": "sla", "operator": "Gt", "value": "900"}]})
    desk.settle()
    assert desk.where("p") == node
