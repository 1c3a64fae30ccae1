"""Covering, merging and whitelisting of tolerations."""

import pytest

from doorman.api.taints import Toleration
from doorman.semantics.taints.toleration_lists import (
    add_or_update_toleration,
    is_same_toleration,
    is_superset,
    is_whitelisted,
    merge_tolerations,
    toleration_document,
)


def tol(key: str = "", operator: str = "", value: str = "", effect: str = "", seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator=operator, value=value, effect=effect, toleration_seconds=seconds)


ALL = tol("", "Exists")
K_EQUAL = tol("k", "Equal", "v", "NoSchedule")
K_BARE = tol("k", "", "v", "NoSchedule")


@pytest.mark.parametrize(
    ("wider", "other", "expected"),
    [
        pytest.param(K_BARE, K_BARE, True, id="rule-1-equal-in-every-field"),
        pytest.param(tol("k", "Gt", "5"), tol("k", "Gt", "5"), True, id="rule-1-equal-even-with-gt"),
        pytest.param(tol("k", "Exists"), tol("j", "Exists"), False, id="rule-2-other-key"),
        pytest.param(tol("", "Equal", "v"), tol("k", "Equal", "v"), False, id="rule-2-no-key-needs-exists"),
        pytest.param(ALL, tol("k", "Equal", "v", "NoSchedule"), True, id="rule-2-exists-without-key-covers-all"),
        pytest.param(
            tol("k", "Exists", effect="NoSchedule"), tol("k", "Exists"), False, id="rule-3-effect-does-not-cover-every"
        ),
        pytest.param(tol("k", "Exists"), tol("k", "Exists", effect="NoExecute"), True, id="rule-3-no-effect-covers"),
        pytest.param(
            tol("k", "Exists", effect="NoExecute", seconds=10),
            tol("k", "Exists", effect="NoExecute"),
            False,
            id="rule-4-for-ever-is-more",
        ),
        pytest.param(
            tol("k", "Exists", effect="NoExecute", seconds=10),
            tol("k", "Exists", effect="NoExecute", seconds=11),
            False,
            id="rule-4-longer-is-more",
        ),
        pytest.param(
            tol("k", "Exists", effect="NoExecute", seconds=10),
            tol("k", "Exists", effect="NoExecute", seconds=10),
            True,
            id="rule-4-as-long",
        ),
        pytest.param(
            tol("k", "Exists", effect="NoExecute"),
            tol("k", "Exists", effect="NoExecute", seconds=5),
            True,
            id="rule-4-no-limit-covers",
        ),
        pytest.param(K_EQUAL, K_BARE, False, id="rule-5-no-operator-is-not-equal"),
        pytest.param(K_BARE, K_EQUAL, True, id="rule-5-equal-in-so-many-words"),
        pytest.param(K_EQUAL, tol("k", "Equal", "w", "NoSchedule"), False, id="rule-5-other-value"),
        pytest.param(tol("k", "Exists"), K_EQUAL, True, id="rule-5-exists-covers-equal"),
        pytest.param(K_EQUAL, tol("k", "Exists", effect="NoSchedule"), False, id="rule-5-equal-does-not-cover-exists"),
        pytest.param(tol("k", "Gt", "5"), tol("k", "Gt", "6"), False, id="rule-5-gt-covers-nothing-else"),
    ],
)
def test_is_superset(wider: Toleration, other: Toleration, expected: bool) -> None:
    assert is_superset(wider, other) is expected


def test_rule_6_merge_drops_what_is_covered_before_or_later_and_keeps_order() -> None:
    other = tol("j", "Exists")
    wide = tol("k", "Exists")
    assert merge_tolerations([K_EQUAL, other], [wide]) == (other, wide)
    assert merge_tolerations([wide, other], [K_EQUAL]) == (wide, other)
    assert merge_tolerations([other, other], [other]) == (other,)
    assert merge_tolerations([K_EQUAL], [tol("k", "Equal", "w", "NoSchedule")]) == (
        K_EQUAL,
        tol("k", "Equal", "w", "NoSchedule"),
    )


def test_rule_7_whitelist() -> None:
    assert is_whitelisted([], [tol("k", "Exists")])
    assert is_whitelisted([K_EQUAL], [])
    assert is_whitelisted([K_EQUAL], [tol("j"), tol("k", "Exists")])
    assert not is_whitelisted([K_EQUAL, tol("j", "Exists")], [tol("k", "Exists")])


def test_rule_8_same_toleration_is_replaced_seconds_included() -> None:
    timed = tol("k", "Exists", effect="NoExecute", seconds=5)
    untimed = tol("k", "Exists", effect="NoExecute")
    assert is_same_toleration(timed, untimed)
    assert not is_same_toleration(K_EQUAL, K_BARE)
    assert add_or_update_toleration([ALL, timed], untimed) == ((ALL, untimed), True)
    assert add_or_update_toleration([ALL, untimed], untimed) == ((ALL, untimed), False)
    assert add_or_update_toleration([ALL], untimed) == ((ALL, untimed), True)


def test_toleration_document_leaves_out_what_is_empty() -> None:
    assert toleration_document(tol("k", "Exists", effect="NoExecute", seconds=0)) == {
        "key": "k",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 0,
    }
    assert toleration_document(tol()) == {}
