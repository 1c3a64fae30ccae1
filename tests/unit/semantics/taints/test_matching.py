"""Every rule of matching, a row each, and the answers recorded from the real library."""

import json
from pathlib import Path

import pytest

from doorman.api.taints import Taint, Toleration
from doorman.semantics.library import to_taint, to_toleration
from doorman.semantics.taints.matching import (
    EVICTS,
    first_untolerated_or_none,
    is_tolerated,
    preference_tolerations,
    tolerates,
    untolerated_taints,
    used_tolerations_or_none,
)

RECORDED = Path(__file__).parents[3] / "conformance" / "cases" / "matching.jsonl"


def tol(key: str = "", operator: str = "", value: str = "", effect: str = "", seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator=operator, value=value, effect=effect, toleration_seconds=seconds)


def taint(key: str = "", value: str = "", effect: str = "NoSchedule") -> Taint:
    return Taint(key=key, value=value, effect=effect)


@pytest.mark.parametrize(
    ("toleration", "against", "comparison_operators", "expected"),
    [
        pytest.param(tol("foo", "Exists", effect="NoSchedule"), taint("foo"), True, True, id="rule-1-same-effect"),
        pytest.param(
            tol("", "Exists", effect="NoSchedule"),
            taint("foo", effect="NoExecute"),
            True,
            False,
            id="rule-1-other-effect",
        ),
        pytest.param(
            tol("", "Exists"), taint("x", "y", "NoExecute"), True, True, id="rule-1-no-effect-is-every-effect"
        ),
        pytest.param(tol("foo", "Exists"), taint("bar"), True, False, id="rule-2-other-key"),
        pytest.param(
            tol("", "Exists", effect="NoSchedule"), taint("foo", "bar"), True, True, id="rule-2-no-key-is-every-key"
        ),
        pytest.param(tol("", "Equal", "v"), taint("any", "v"), True, True, id="rule-2-no-key-with-equal-unvalidated"),
        pytest.param(tol("foo", "Equal", "bar"), taint("foo", "bar"), True, True, id="rule-3-equal"),
        pytest.param(tol("foo", "", "bar"), taint("foo", "bar"), True, True, id="rule-3-no-operator-is-equal"),
        pytest.param(tol("foo", "Equal", "bar"), taint("foo", "Bar"), True, False, id="rule-3-case-counts"),
        pytest.param(tol("foo", "Equal"), taint("foo"), True, True, id="rule-3-empty-value-is-a-value"),
        pytest.param(tol("foo", "Equal"), taint("foo", "bar"), True, False, id="rule-3-empty-value-is-not-any-value"),
        pytest.param(tol(), taint("foo", effect="NoExecute"), True, True, id="rule-3-all-empty"),
        pytest.param(tol("foo", "Exists"), taint("foo", "bar"), True, True, id="rule-4-any-value"),
        pytest.param(
            tol("foo", "Exists", "nope"), taint("foo", "bar"), True, True, id="rule-4-own-value-not-looked-at"
        ),
        pytest.param(tol("sla", "Gt", "950"), taint("sla", "999"), False, False, id="rule-5-gate-off-gt"),
        pytest.param(tol("sla", "Lt", "950"), taint("sla", "1"), False, False, id="rule-5-gate-off-lt"),
        pytest.param(tol("foo", "In", "bar"), taint("foo", "bar"), True, False, id="rule-6-unknown-operator"),
        pytest.param(tol("foo", "exists"), taint("foo", "bar"), True, False, id="rule-6-operator-case-counts"),
        pytest.param(tol("sla", "Gt", "950"), taint("sla", "999"), True, True, id="rule-7-greater"),
        pytest.param(tol("sla", "Gt", "950"), taint("sla", "950"), True, False, id="rule-7-equal-is-not-greater"),
        pytest.param(tol("sla", "Gt", "950"), taint("sla", "800"), True, False, id="rule-7-less-is-not-greater"),
        pytest.param(tol("sla", "Lt", "950"), taint("sla", "800"), True, True, id="rule-7-less"),
        pytest.param(tol("sla", "Lt", "950"), taint("sla", "950"), True, False, id="rule-7-equal-is-not-less"),
        pytest.param(tol("sla", "Gt", "950"), taint("sla", "high"), True, False, id="rule-7-taint-no-number"),
        pytest.param(tol("sla", "Gt", "950"), taint("sla"), True, False, id="rule-7-taint-empty"),
        pytest.param(tol("sla", "Gt", "950"), taint("sla", "0999"), True, False, id="rule-7-leading-zero"),
        pytest.param(tol("sla", "Gt", "-100"), taint("sla", "0"), True, True, id="rule-7-negative"),
        pytest.param(
            tol("sla", "Gt", "9223372036854775806"),
            taint("sla", "9223372036854775807"),
            True,
            True,
            id="rule-7-largest",
        ),
        pytest.param(tol("sla", "Lt", "9223372036854775808"), taint("sla", "1"), True, False, id="rule-7-out-of-range"),
        pytest.param(tol("", "Gt", "5"), taint("any", "6"), True, True, id="rule-7-no-key-unvalidated"),
    ],
)
def test_tolerates_one_against_one(
    toleration: Toleration, against: Taint, comparison_operators: bool, expected: bool
) -> None:
    assert tolerates(toleration, against, comparison_operators=comparison_operators) is expected


def test_tolerates_every_recorded_line() -> None:
    lines = RECORDED.read_text().splitlines()
    assert len(lines) == 3000
    for number, line in enumerate(lines, 1):
        case = json.loads(line)
        found = tolerates(
            to_toleration(case["toleration"]),
            to_taint(case["taint"]),
            comparison_operators=case["comparison_operators"],
        )
        assert found is case["tolerates"], f"line {number}: {line}"


def test_rule_8_list_tolerates_when_one_element_does() -> None:
    one, other = tol("a", "Exists"), tol("b", "Exists")
    assert is_tolerated(taint("b"), [one, other])
    assert not is_tolerated(taint("b"), [one])
    assert not is_tolerated(taint("b"), [])


def test_rule_9_filter_keeps_order_and_passes_over_other_effects() -> None:
    taints = [taint("p", effect="PreferNoSchedule"), taint("e", effect="NoExecute"), taint("s")]
    assert untolerated_taints(taints, []) == taints[1:]
    assert first_untolerated_or_none(taints, []) == taints[1]
    assert first_untolerated_or_none(taints, [tol("e", "Exists")]) == taints[2]
    assert first_untolerated_or_none(taints, [tol("", "Exists")]) is None
    assert untolerated_taints(taints, [], effects=EVICTS) == [taints[1]]


def test_rule_10_first_matching_toleration_is_used_for_each_taint() -> None:
    short, unlimited = tol("k", "Exists", seconds=60), tol("k", "Equal", "v")
    taints = [taint("k", "v", "NoExecute"), taint("k", "w", "NoExecute")]
    assert used_tolerations_or_none(taints, [short, unlimited]) == [short, short]
    assert used_tolerations_or_none(taints, [unlimited, short]) == [unlimited, short]
    assert used_tolerations_or_none(taints, [unlimited]) is None
    assert used_tolerations_or_none([], []) == []


def test_preference_tolerations_are_those_for_every_effect_or_prefer_no_schedule() -> None:
    every, prefer, other = tol("a"), tol("b", effect="PreferNoSchedule"), tol("c", effect="NoSchedule")
    assert preference_tolerations([every, prefer, other]) == [every, prefer]
