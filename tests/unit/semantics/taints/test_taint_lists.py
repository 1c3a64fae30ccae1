"""Lists of taints: adding, replacing, deleting, differing."""

import pytest

from doorman.api.taints import Taint
from doorman.semantics.taints.taint_lists import (
    add_or_update_taint,
    delete_taint,
    delete_taints_by_key,
    diff_taints,
    has_taint,
    is_same_taint,
)
from doorman.semantics.taints.taint_spec import parse_taint as t

A, A2, AX, B = t("a=1:NoSchedule"), t("a=2:NoSchedule"), t("a=1:NoExecute"), t("b:NoSchedule")
A_STAMPED = Taint(key="a", value="1", effect="NoSchedule", time_added="2026-01-02T03:04:05Z")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(A, A2, True, id="rule-1-value-is-payload"),
        pytest.param(A, A_STAMPED, True, id="rule-1-time-is-payload"),
        pytest.param(A, AX, False, id="rule-1-effect-counts"),
        pytest.param(A, B, False, id="rule-1-key-counts"),
    ],
)
def test_is_same_taint(one: Taint, other: Taint, expected: bool) -> None:
    assert is_same_taint(one, other) is expected
    assert has_taint([other], one) is expected


@pytest.mark.parametrize(
    ("taints", "taint", "expected", "changed"),
    [
        pytest.param((A, B), A, (A, B), False, id="rule-2-equal-is-no-change"),
        pytest.param((A, B), A2, (A2, B), True, id="rule-3-replaced-in-place"),
        pytest.param((A,), A_STAMPED, (A_STAMPED,), True, id="rule-3-other-time-is-a-change"),
        pytest.param((A,), B, (A, B), True, id="rule-3-appended"),
        pytest.param((), B, (B,), True, id="rule-3-into-empty"),
    ],
)
def test_add_or_update_taint(
    taints: tuple[Taint, ...], taint: Taint, expected: tuple[Taint, ...], changed: bool
) -> None:
    assert add_or_update_taint(taints, taint) == (expected, changed)


def test_rule_4_delete_drops_all_that_are_the_same() -> None:
    assert delete_taint((A, AX, A2), A) == ((AX,), True)
    assert delete_taint((AX,), A) == ((AX,), False)
    assert delete_taints_by_key((A, AX, B), "a") == ((B,), True)
    assert delete_taints_by_key((B,), "a") == ((B,), False)


def test_rule_5_diff_goes_by_sameness() -> None:
    assert diff_taints((A2, B), (A, AX)) == ((B,), (AX,))
    assert diff_taints((A2,), (A,)) == ((), ())
