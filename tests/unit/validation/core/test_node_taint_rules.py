"""Taints of a node, where the recorded cases say nothing."""

from typing import Any

import pytest

from doorman.validation.core.node_taint_rules import taint_annotation_errors, taint_errors

EFFECTS = 'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        pytest.param(
            [{"key": "k", "effect": "NoSchedule"}, {"key": "k", "effect": "NoExecute"}], [], id="other-effect"
        ),
        pytest.param([{"key": "k"}], ["metadata.taints[0].effect: Required value"], id="no-effect"),
        pytest.param(
            [{"key": "k", "effect": "X"}] * 2,
            [
                f'metadata.taints[0].effect: Unsupported value: "X": {EFFECTS}',
                f'metadata.taints[1].effect: Unsupported value: "X": {EFFECTS}',
                'metadata.taints[1]: Duplicate value: {"Key":"k","Value":"","Effect":"X","TimeAdded":null}: '
                "taints must be unique by key and effect pair",
            ],
            id="same-invalid-effect-is-a-duplicate-too",
        ),
        pytest.param(
            [
                {"key": "k", "effect": "NoSchedule"},
                {"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
            ],
            [
                'metadata.taints[1]: Duplicate value: {"Key":"k","Value":"","Effect":"NoSchedule",'
                '"TimeAdded":"2026-01-01T00:00:00Z"}: taints must be unique by key and effect pair'
            ],
            id="time-is-shown",
        ),
    ],
)
def test_taint_errors(taints: list[dict[str, Any]], expected: list[str]) -> None:
    assert texts(taint_errors(taints)) == expected


def test_taint_value_too_long_and_malformed_is_one_error() -> None:
    (error,) = taint_errors([{"key": "k", "value": "-" * 64, "effect": "NoSchedule"}])
    assert "must be no more than 63 bytes;a valid label must be" in error.body


def test_taint_annotation_is_checked_but_may_be_empty() -> None:
    assert taint_annotation_errors({}) == []
    assert taint_annotation_errors({"scheduler.alpha.kubernetes.io/taints": ""}) == []
    assert texts(taint_annotation_errors({"scheduler.alpha.kubernetes.io/taints": "{}"})) == [
        'metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": '
        "json: cannot unmarshal object into Go value of type []core.Taint"
    ]
