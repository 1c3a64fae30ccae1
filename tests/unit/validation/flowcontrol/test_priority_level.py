"""PriorityLevelConfigurations."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.flowcontrol.priority_level import PRIORITY_LEVEL

QUEUING = {"queues": 8, "handSize": 3, "queueLengthLimit": 10}
LIMITED = {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Queue", "queuing": QUEUING}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"type": "Limited", "limited": LIMITED}, [], id="good"),
        pytest.param({}, ["spec.type"], id="no-type"),
        pytest.param({"type": "Limited"}, ["spec.limited"], id="nothing-limited"),
        pytest.param({"type": "Limited", "limited": LIMITED, "exempt": {}}, ["spec.exempt"], id="both"),
        pytest.param({"type": "x", "exempt": {}}, ["spec.type", "spec.exempt"], id="exempt-of-no-type"),
        pytest.param({"type": "Exempt"}, ["spec.type"], id="exempt-by-name"),
        pytest.param(
            {"type": "Limited", "limited": {**LIMITED, "borrowingLimitPercent": -1, "lendablePercent": 101}},
            ["spec.limited.lendablePercent", "spec.limited.borrowingLimitPercent"],
            id="percents",
        ),
        pytest.param(
            {"type": "Limited", "limited": {**LIMITED, "limitResponse": {"queuing": QUEUING}}},
            ["spec.limited.limitResponse.queuing", "spec.limited.limitResponse.type"],
            id="response",
        ),
        pytest.param(
            {
                "type": "Limited",
                "limited": {**LIMITED, "limitResponse": {"type": "Queue", "queuing": {**QUEUING, "queues": 1}}},
            },
            ["spec.limited.limitResponse.queuing.handSize"],
            id="hand",
        ),
        pytest.param(
            {"limited": {"nominalConcurrencyShares": -1, "limitResponse": {"queuing": {"queues": -1}}}},
            [
                "spec.type",
                "spec.limited",
                "spec.limited.limitResponse.queuing",
                "spec.limited.limitResponse.type",
            ],
            id="response-of-no-type",
        ),
    ],
)
def test_priority_level(given: Any, expected: list[str]) -> None:
    assert [
        error.field for error in PRIORITY_LEVEL.create({"metadata": {"name": "x"}, "spec": given}, Context())
    ] == expected
