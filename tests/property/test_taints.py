"""Laws of taint lists, toleration lists and kubectl's short form."""

from hypothesis import given
from hypothesis import strategies as st

from doorman.api.taints import Taint, Toleration
from doorman.semantics.taints.matching import is_tolerated, tolerates
from doorman.semantics.taints.taint_lists import add_or_update_taint, delete_taint, diff_taints, has_taint
from doorman.semantics.taints.taint_spec import Changed, TaintChange, apply_taint_change, parse_taint
from doorman.semantics.taints.toleration_lists import is_superset, merge_tolerations

KEYS = st.sampled_from(["a", "b", "example.com/c"])
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
TAINTS = st.builds(Taint, key=KEYS, value=st.sampled_from(["", "1", "v.w"]), effect=EFFECTS)
TOLERATIONS = st.builds(
    Toleration,
    key=st.sampled_from(["", "a", "b"]),
    operator=st.sampled_from(["", "Equal", "Exists", "Gt"]),
    value=st.sampled_from(["", "1"]),
    effect=st.sampled_from(["", "NoSchedule", "NoExecute"]),
    toleration_seconds=st.none() | st.integers(0, 9),
)


@given(TAINTS)
def test_short_form_is_read_back(taint: Taint) -> None:
    assert parse_taint(str(taint)) == taint


@given(st.lists(TAINTS), TAINTS)
def test_adding_twice_changes_once(taints: list[Taint], taint: Taint) -> None:
    once, _ = add_or_update_taint(taints, taint)
    assert taint in once
    assert add_or_update_taint(once, taint) == (once, False)


@given(st.lists(TAINTS), TAINTS)
def test_deleting_leaves_none_and_touches_no_other(taints: list[Taint], taint: Taint) -> None:
    left, dropped = delete_taint(taints, taint)
    assert not has_taint(left, taint)
    assert dropped == has_taint(taints, taint)
    assert [one for one in taints if one in left] == list(left)


@given(st.lists(TAINTS), st.lists(TAINTS))
def test_applying_a_difference_gives_the_same_identities(new: list[Taint], old: list[Taint]) -> None:
    to_add, to_remove = diff_taints(new, old)
    result = tuple(old)
    for taint in to_remove:
        result, _ = delete_taint(result, taint)
    for taint in to_add:
        result, _ = add_or_update_taint(result, taint)
    assert {(t.key, t.effect) for t in result} == {(t.key, t.effect) for t in new}


@given(st.lists(TAINTS, unique_by=lambda t: (t.key, t.effect)), TAINTS)
def test_tainting_then_untainting_with_overwrite_removes_it(taints: list[Taint], taint: Taint) -> None:
    added = apply_taint_change(taints, TaintChange(additions=(taint,)), node_name="n", overwrite=True)
    assert isinstance(added, Changed)
    removed = apply_taint_change(added.taints, TaintChange(removals=(taint,)), node_name="n", overwrite=False)
    assert isinstance(removed, Changed)
    assert removed.taints == delete_taint(taints, taint)[0]


@given(TOLERATIONS, TOLERATIONS, TAINTS)
def test_a_superset_tolerates_whatever_the_other_does(wider: Toleration, other: Toleration, taint: Taint) -> None:
    if is_superset(wider, other) and tolerates(other, taint):
        assert tolerates(wider, taint)


@given(st.lists(TOLERATIONS), st.lists(TOLERATIONS), TAINTS)
def test_merging_tolerates_what_either_list_does(
    first: list[Toleration], second: list[Toleration], taint: Taint
) -> None:
    merged = merge_tolerations(first, second)
    assert is_tolerated(taint, merged) == is_tolerated(taint, [*first, *second])


@given(st.lists(TOLERATIONS), st.lists(TOLERATIONS))
def test_merging_again_changes_nothing(first: list[Toleration], second: list[Toleration]) -> None:
    merged = merge_tolerations(first, second)
    assert merge_tolerations(merged, ()) == merged
