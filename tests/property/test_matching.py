"""Laws of matching that hold for every taint and every toleration."""

from hypothesis import given
from hypothesis import strategies as st

from doorman.api.taints import Taint, Toleration
from doorman.semantics.taints.matching import first_untolerated_or_none, is_tolerated, tolerates, untolerated_taints

KEYS = st.sampled_from(["", "a", "b"])
VALUES = st.sampled_from(["", "v", "w", "0", "5", "-5", "05", "9223372036854775807"])
EFFECTS = st.sampled_from(["", "NoSchedule", "PreferNoSchedule", "NoExecute", "Odd"])
OPERATORS = st.sampled_from(["", "Equal", "Exists", "Gt", "Lt", "In"])

TAINTS = st.builds(Taint, key=KEYS, value=VALUES, effect=EFFECTS)
TOLERATIONS = st.builds(
    Toleration, key=KEYS, operator=OPERATORS, value=VALUES, effect=EFFECTS, toleration_seconds=st.none() | st.integers()
)


@given(TOLERATIONS, TAINTS, st.none() | st.integers())
def test_seconds_and_time_added_play_no_part(toleration: Toleration, taint: Taint, seconds: int | None) -> None:
    other = Toleration(
        key=toleration.key,
        operator=toleration.operator,
        value=toleration.value,
        effect=toleration.effect,
        toleration_seconds=seconds,
    )
    stamped = Taint(key=taint.key, value=taint.value, effect=taint.effect, time_added="2026-01-01T00:00:00Z")
    assert tolerates(other, stamped) == tolerates(toleration, taint)


@given(TOLERATIONS, TAINTS)
def test_gate_off_never_makes_more_tolerated(toleration: Toleration, taint: Taint) -> None:
    if tolerates(toleration, taint, comparison_operators=False):
        assert tolerates(toleration, taint, comparison_operators=True)


@given(TAINTS)
def test_exists_without_key_and_effect_tolerates_everything(taint: Taint) -> None:
    assert tolerates(Toleration(operator="Exists"), taint)


@given(st.lists(TAINTS), st.lists(TOLERATIONS), TOLERATIONS)
def test_adding_a_toleration_never_makes_a_pod_less_schedulable(
    taints: list[Taint], tolerations: list[Toleration], one_more: Toleration
) -> None:
    before = untolerated_taints(taints, tolerations)
    after = untolerated_taints(taints, [*tolerations, one_more])
    assert [taint for taint in before if taint in after] == after


@given(st.data(), st.lists(TAINTS), st.lists(TOLERATIONS))
def test_order_does_not_matter_for_being_let_in(
    data: st.DataObject, taints: list[Taint], tolerations: list[Toleration]
) -> None:
    shuffled_taints = data.draw(st.permutations(taints))
    shuffled = data.draw(st.permutations(tolerations))
    accepted = first_untolerated_or_none(taints, tolerations) is None
    assert accepted == (first_untolerated_or_none(shuffled_taints, shuffled) is None)


@given(st.lists(TAINTS), st.lists(TOLERATIONS))
def test_first_untolerated_is_the_first_of_all_untolerated(taints: list[Taint], tolerations: list[Toleration]) -> None:
    found = untolerated_taints(taints, tolerations)
    assert first_untolerated_or_none(taints, tolerations) == (found[0] if found else None)


@given(st.integers(), st.integers())
def test_gt_and_lt_compare_numbers_and_exclude_each_other(asked: int, found: int) -> None:
    in_range = -(2**63) <= asked < 2**63 and -(2**63) <= found < 2**63
    taint = Taint(key="k", value=str(found), effect="NoSchedule")
    gt = tolerates(Toleration(key="k", operator="Gt", value=str(asked)), taint)
    lt = tolerates(Toleration(key="k", operator="Lt", value=str(asked)), taint)
    assert gt == (in_range and found > asked)
    assert lt == (in_range and found < asked)


@given(TAINTS, st.lists(TOLERATIONS))
def test_is_tolerated_agrees_with_the_single_rule(taint: Taint, tolerations: list[Toleration]) -> None:
    assert is_tolerated(taint, tolerations) == any(tolerates(one, taint) for one in tolerations)
