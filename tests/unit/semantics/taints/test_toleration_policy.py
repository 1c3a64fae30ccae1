"""Tolerations as sets, and policies: a row for each rule."""

import pytest

from doorman.api.taints import Toleration
from doorman.semantics.taints.toleration_policy import Denied, NotAllowed, decide_policy, has_common_taint, is_within

ALL = Toleration(operator="Exists")
GPU = Toleration(key="gpu", operator="Exists")
GPU_A = Toleration(key="gpu", value="a", effect="NoSchedule")


def number(operator: str, value: str) -> Toleration:
    return Toleration(key="sla", operator=operator, value=value)


@pytest.mark.parametrize(
    ("inner", "wider", "expected"),
    [
        pytest.param(GPU_A, GPU, True, id="rule-1-one-value-in-all"),
        pytest.param(GPU, GPU_A, False, id="rule-1-all-values-not-in-one"),
        pytest.param(GPU, ALL, True, id="rule-1-one-key-in-all"),
        pytest.param(ALL, GPU, False, id="rule-1-all-keys-not-in-one"),
        pytest.param(number("Equal", "951"), number("Gt", "950"), True, id="rule-1-number-above"),
        pytest.param(number("Equal", "950"), number("Gt", "950"), False, id="rule-1-number-not-above"),
        pytest.param(number("Gt", "960"), number("Gt", "950"), True, id="rule-1-above-within-above"),
        pytest.param(number("Lt", "960"), number("Gt", "950"), False, id="rule-1-below-not-within-above"),
        pytest.param(number("Equal", "high"), number("Gt", "950"), False, id="rule-1-no-number"),
        pytest.param(number("Exists", ""), number("Gt", "950"), False, id="rule-1-exists-not-within-above"),
        pytest.param(
            Toleration(key="k", effect="NoExecute", toleration_seconds=60),
            Toleration(key="k", effect="NoExecute", toleration_seconds=60), True, id="rule-2-as-many-seconds",
        ),
        pytest.param(
            Toleration(key="k", effect="NoExecute"),
            Toleration(key="k", effect="NoExecute", toleration_seconds=60), False, id="rule-2-for-ever-is-more",
        ),
    ],
)  # fmt: skip
def test_within(inner: Toleration, wider: Toleration, expected: bool) -> None:
    assert is_within(inner, wider) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(ALL, GPU_A, True, id="rule-3-all"),
        pytest.param(GPU, Toleration(key="disk", operator="Exists"), False, id="rule-3-other-key"),
        pytest.param(GPU_A, Toleration(key="gpu", value="a", effect="NoExecute"), False, id="rule-3-other-effect"),
        pytest.param(GPU_A, Toleration(key="gpu", value="b"), False, id="rule-3-other-value"),
        pytest.param(number("Lt", "10"), number("Gt", "9"), False, id="rule-3-nothing-between"),
        pytest.param(number("Lt", "11"), number("Gt", "9"), True, id="rule-3-ten"),
        pytest.param(number("Lt", "11"), number("Equal", "x"), False, id="rule-3-no-number"),
    ],
)
def test_common_taint(one: Toleration, other: Toleration, expected: bool) -> None:
    assert has_common_taint(one, other) is expected
    assert has_common_taint(other, one) is expected


@pytest.mark.parametrize(
    ("toleration", "allow", "deny", "expected"),
    [
        pytest.param(ALL, None, [GPU], Denied(ALL, GPU), id="rule-4-wide-words-do-not-help"),
        pytest.param(GPU, None, [], None, id="rule-5-no-list-allows"),
        pytest.param(GPU, [], [], NotAllowed(GPU), id="rule-5-empty-list-allows-none"),
        pytest.param(GPU_A, [GPU], [], None, id="rule-5-within"),
        pytest.param(Toleration(key="node.kubernetes.io/not-ready"), [], [], None, id="rule-6-servers-own"),
        pytest.param(Toleration(key="doorman.dev/dedicated"), [], [], None, id="rule-6-dedicated"),
        pytest.param(GPU_A, [GPU], [GPU_A], Denied(GPU_A, GPU_A), id="rule-7-deny-wins"),
    ],
)
def test_policy(toleration: Toleration, allow: object, deny: list[Toleration], expected: object) -> None:
    assert decide_policy([toleration], allow=allow, deny=deny) == expected  # type: ignore[arg-type]
