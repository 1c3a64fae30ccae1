"""Timelines in YAML."""

import pytest

from doorman.plan.plan_actions import ApplyObjects, DrainNodes, LoseNodes, NodeChoice, PlanError, Step, TaintNodes
from doorman.plan.plan_options import PlanOptions
from doorman.plan.plan_script import one_choice, parse_script, seconds_of
from doorman.plan.planner import check_steps

HEAD = "apiVersion: doorman.dev/v1alpha1\nkind: Script\n"


def parsed(steps: str, head: str = HEAD) -> list[Step]:
    return parse_script(head + steps, "s.yaml", lambda name: [{"kind": name}])


def test_every_verb() -> None:
    found = parsed(
        "steps:\n"
        "- {at: 0s, taint: {nodes: [n1], taints: ['k=v:NoExecute', 'old-'], overwrite: true}}\n"
        "- {at: 1m30s, lose: {zone: a, for: 10m}}\n"
        "- {at: 1h, drain: {selector: disk=old}}\n"
        "- {at: 1h, apply: more.yaml}\n"
    )
    assert [step.at_seconds for step in found] == [0.0, 90.0, 3600.0, 3600.0]
    taint, lose, drain, apply = [step.action for step in found]
    assert isinstance(taint, TaintNodes)
    assert ([str(one) for one in taint.change.additions], taint.change.removals[0].key) == (["k=v:NoExecute"], "old")
    assert taint.overwrite
    assert lose == LoseNodes(nodes=NodeChoice(zone="a"), seconds=600.0)
    assert drain == DrainNodes(nodes=NodeChoice(selector="disk=old"))
    assert apply == ApplyObjects(objects=(b'{"kind":"more.yaml"}',))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("steps: [", "no YAML", id="yaml"),
        pytest.param("steps: []", "has no steps", id="none"),
        pytest.param("steps: [x]", "step 1 is no step", id="text"),
        pytest.param("steps: [{at: 0s}]", "step 1 wants one of taint, drain, lose, apply", id="no-verb"),
        pytest.param("steps: [{at: 0s, drain: {all: true}, lose: {all: true}}]", "wants one of", id="two-verbs"),
        pytest.param("steps: [{at: soon, drain: {all: true}}]", "step 1: time: invalid duration", id="time"),
        pytest.param("steps: [{at: -5s, drain: {all: true}}]", "lies in the past", id="past"),
        pytest.param("steps: [{drain: {}}]", "no nodes are chosen", id="nobody"),
        pytest.param("steps: [{drain: {nodes: [a], zone: b}}]", "in more than one way", id="two-ways"),
        pytest.param("steps: [{drain: {node: a}}]", "wants members among nodes", id="typo"),
        pytest.param("steps: [{drain: {nodes: a}}]", "wants a list of nodes", id="no-list"),
        pytest.param("steps: [{taint: {all: true}}]", "names no taints", id="no-taints"),
        pytest.param("steps: [{taint: {all: true, taints: ['k:Maybe']}}]", "invalid taint effect", id="effect"),
        pytest.param(
            "steps: [{taint: {all: true, taints: ['k:NoSchedule', 'k-']}}]", "both modify and remove", id="both"
        ),
        pytest.param("steps: [{apply: [a]}]", "wants the name of a file", id="apply"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        parsed(text)
    assert "s.yaml" in str(caught.value) or "taint" in str(caught.value)
    assert caught.value.hint


def test_file_of_another_kind_is_no_script() -> None:
    with pytest.raises(PlanError, match="is no script"):
        parsed("steps: [{drain: {all: true}}]", head="apiVersion: v1\nkind: Pod\n")


def test_times_that_go_backwards_or_beyond_the_horizon_are_refused() -> None:
    steps = parse_script(
        HEAD + "steps: [{at: 5m, drain: {all: true}}, {at: 1m, drain: {all: true}}]", "s.yaml", lambda _: []
    )
    with pytest.raises(PlanError, match="time goes backwards: drain all nodes at 60s comes after 300s"):
        check_steps(steps, PlanOptions())
    with pytest.raises(PlanError, match="after the horizon of 60s"):
        check_steps(steps[:1], PlanOptions(horizon_seconds=60.0))
    with pytest.raises(PlanError, match="horizon must be more than nothing"):
        check_steps(steps[:1], PlanOptions(horizon_seconds=0.0))


def test_nodes_are_chosen_in_one_way() -> None:
    assert one_choice(zone="a") == NodeChoice(zone="a")
    assert seconds_of("2m", "--for") == 120.0
