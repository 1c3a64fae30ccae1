"""Priority classes."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.scheduling.priority_class import validate_priority_class_create, validate_priority_class_update

RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
)


def priority_class(name: str, value: int, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "value": value, **fields}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(priority_class("a", 1_000_000_000), [], id="user-maximum"),
        pytest.param(
            priority_class("a", 1_000_000_001),
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
            id="above-user-maximum",
        ),
        pytest.param(priority_class("system-node-critical", 2_000_001_000), [], id="system"),
        pytest.param(
            priority_class("system-x", 5),
            [f"{RESERVED}system-x is not a known system priority class"],
            id="unknown-system",
        ),
        pytest.param(
            priority_class("system-node-critical", 5),
            [f"{RESERVED}value of system-node-critical PriorityClass must be 2000001000"],
            id="system-with-other-value",
        ),
        pytest.param(
            priority_class("a", 5, preemptionPolicy="X"),
            ['preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"'],
            id="policy",
        ),
    ],
)
def test_validate_priority_class_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in validate_priority_class_create(doc, Context())] == expected


def test_value_and_policy_stay() -> None:
    old = priority_class("a", 5, preemptionPolicy="Never")
    new = priority_class("a", 6, preemptionPolicy="PreemptLowerPriority")
    assert [str(error) for error in validate_priority_class_update(new, old, Context())] == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "PreemptLowerPriority": field is immutable',
    ]
