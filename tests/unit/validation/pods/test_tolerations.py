"""Tolerations: the rules by number of the specification, with the comparison operators on and off."""

from typing import Any

import pytest

from doorman.semantics.name_syntax import LABEL_VALUE_FAULT
from doorman.validation.pods.tolerations import (
    EMPTY_KEY,
    EXISTS_WITH_VALUE,
    SECONDS_WITHOUT_NO_EXECUTE,
    toleration_annotation_errors,
    toleration_errors,
    toleration_update_errors,
    uses_comparison_operators,
)

EFFECTS = 'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'


def texts(errors: Any) -> list[str]:
    return [str(error).removeprefix("t[0].") for error in errors]


def tol(**fields: Any) -> dict[str, Any]:
    return fields


@pytest.mark.parametrize(
    ("toleration", "gate", "expected"),
    [
        pytest.param(tol(operator="Exists"), True, [], id="V18-all"),
        pytest.param(tol(key="foo", value="bar"), True, [], id="V18-no-operator"),
        pytest.param(
            tol(key="foo", operator="Exists", effect="NoExecute", tolerationSeconds=-2), True, [], id="V19-negative"
        ),
        pytest.param(
            tol(key="/x", operator="Exists"),
            True,
            ['key: Invalid value: "/x": prefix part must be non-empty'],
            id="V18a",
        ),
        pytest.param(tol(), True, [f'operator: Invalid value: "": {EMPTY_KEY}'], id="V18b"),
        pytest.param(
            tol(operator="Gt", value="5"), True, [f'operator: Invalid value: "Gt": {EMPTY_KEY}'], id="V18b-gt"
        ),
        pytest.param(
            tol(key="foo", operator="Exists", tolerationSeconds=20),
            True,
            [f'effect: Invalid value: "": {SECONDS_WITHOUT_NO_EXECUTE}'],
            id="V18c-no-effect",
        ),
        pytest.param(
            tol(key="foo", operator="Exists", effect="Foo", tolerationSeconds=5),
            True,
            [
                f'effect: Invalid value: "Foo": {SECONDS_WITHOUT_NO_EXECUTE}',
                f'effect: Unsupported value: "Foo": {EFFECTS}',
            ],
            id="V18c-then-V18j",
        ),
        pytest.param(
            tol(key="foo", operator="Equal", value="a b"),
            True,
            [f'operator: Invalid value: "a b": {LABEL_VALUE_FAULT}'],
            id="V18d",
        ),
        pytest.param(
            tol(key="foo", operator="Exists", value="bar"),
            True,
            [f'operator: Invalid value: "bar": {EXISTS_WITH_VALUE}'],
            id="V18e",
        ),
        pytest.param(
            tol(key="s", operator="Lt", value="abc"),
            False,
            ['operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'],
            id="V18f-value-not-checked",
        ),
        pytest.param(tol(key="s", operator="Gt", value="950"), True, [], id="V18g-good"),
        pytest.param(
            tol(key="s", operator="Gt", value="0950"),
            True,
            ['value: Invalid value: "0950": must be a valid decimal integer in canonical form'],
            id="V18g",
        ),
        pytest.param(
            tol(key="s", operator="Gt", value="9223372036854775808"),
            True,
            [
                'value: Invalid value: "9223372036854775808": '
                'strconv.ParseInt: parsing "9223372036854775808": value out of range'
            ],
            id="V18h",
        ),
        pytest.param(
            tol(operator="In"),
            True,
            [
                f'operator: Invalid value: "In": {EMPTY_KEY}',
                'operator: Unsupported value: "In": supported values: "Equal", "Exists"',
            ],
            id="V18b-then-V18i",
        ),
    ],
)
def test_toleration_errors(toleration: dict[str, Any], gate: bool, expected: list[str]) -> None:
    assert texts(toleration_errors([toleration], "t", comparison_operators=gate)) == expected


A = tol(key="a", operator="Equal", value="1", effect="NoSchedule")
B = tol(key="b", operator="Exists", effect="NoExecute", tolerationSeconds=60)


@pytest.mark.parametrize(
    ("new", "old", "accepted"),
    [
        pytest.param([A, B], [A], True, id="V21-added"),
        pytest.param([B, A], [A, B], True, id="V21-order-is-free"),
        pytest.param([{**B, "tolerationSeconds": 5}], [B], True, id="V21-seconds-changed"),
        pytest.param([{k: v for k, v in B.items() if k != "tolerationSeconds"}], [B], True, id="V21-seconds-gone"),
        pytest.param([A], [A, A], True, id="V21-duplicates-collapse"),
        pytest.param([A], [A, B], False, id="V21-removed"),
        pytest.param([{**A, "value": "2"}], [A], False, id="V21-value-changed"),
        pytest.param([{k: v for k, v in A.items() if k != "operator"}], [A], False, id="V21-operator-dropped"),
    ],
)
def test_toleration_update_errors(new: list[Any], old: list[Any], accepted: bool) -> None:
    found = [str(error) for error in toleration_update_errors(new, old, "spec.tolerations")]
    refused = ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]
    assert found == ([] if accepted else refused)


def test_uses_comparison_operators() -> None:
    assert uses_comparison_operators([A, tol(key="k", operator="Lt", value="1")])
    assert not uses_comparison_operators([A])
    assert not uses_comparison_operators(None)


def test_toleration_annotation_is_checked() -> None:
    annotation = {"scheduler.alpha.kubernetes.io/tolerations": '[{"key":"k","operator":"Gt","value":"5"}]'}
    assert toleration_annotation_errors(annotation, "metadata.annotations", comparison_operators=True) == []
    (error,) = toleration_annotation_errors(annotation, "metadata.annotations", comparison_operators=False)
    assert error.field == "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator"
