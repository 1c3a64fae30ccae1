"""Counters of a workload's status."""

from typing import Any

import pytest

from doorman.validation.apps.workload_status import (
    DAEMON_SET_STATUS,
    DEPLOYMENT_STATUS,
    REPLICA_SET_STATUS,
    STATEFUL_SET_STATUS,
    StatusRules,
    status_errors,
)

HEALTHY = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "observedGeneration": 4}


@pytest.mark.parametrize(
    ("rules", "new", "expected"),
    [
        pytest.param(REPLICA_SET_STATUS, {}, [], id="empty"),
        pytest.param(REPLICA_SET_STATUS, HEALTHY | {"fullyLabeledReplicas": 3}, [], id="replica-set"),
        pytest.param(
            DEPLOYMENT_STATUS, HEALTHY | {"updatedReplicas": 3, "unavailableReplicas": 9}, [], id="deployment"
        ),
        pytest.param(STATEFUL_SET_STATUS, HEALTHY | {"currentReplicas": 3}, [], id="stateful-set"),
        pytest.param(
            DAEMON_SET_STATUS,
            {"numberReady": 9, "desiredNumberScheduled": 1, "numberUnavailable": -1},
            ["status.numberUnavailable: Invalid value: -1: must be greater than or equal to 0"],
            id="1-negative",
        ),
        pytest.param(
            DEPLOYMENT_STATUS,
            HEALTHY | {"updatedReplicas": 4},
            ["status.updatedReplicas: Invalid value: 4: cannot be greater than status.replicas"],
            id="2-more-than-there-are",
        ),
        pytest.param(
            REPLICA_SET_STATUS,
            HEALTHY | {"availableReplicas": 3},
            ["status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas"],
            id="2-more-than-are-ready",
        ),
        pytest.param(
            STATEFUL_SET_STATUS,
            HEALTHY | {"availableReplicas": 3},
            ["status.availableReplicas: Invalid value: 3: cannot be greater than status.readyReplicas"],
            id="2-more-than-are-ready-stateful-set",
        ),
    ],
)
def test_status(rules: StatusRules, new: dict[str, Any], expected: list[str]) -> None:
    assert [f"{error.field}: {error.body}" for error in status_errors(rules, new, {})] == expected


@pytest.mark.parametrize(
    ("before", "after", "faults"),
    [
        pytest.param(2, 2, 0, id="3-same"),
        pytest.param(2, 3, 0, id="3-grows"),
        pytest.param(2, 1, 1, id="3-falls"),
        pytest.param(2, None, 1, id="3-gone"),
    ],
)
def test_collisions(before: int, after: int | None, faults: int) -> None:
    new = {} if after is None else {"collisionCount": after}
    assert len(status_errors(DAEMON_SET_STATUS, new, {"collisionCount": before})) == faults
