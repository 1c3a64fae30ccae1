"""Leases."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.coordination.lease import validate_lease_create, validate_lease_update


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"leaseDurationSeconds": 40, "leaseTransitions": 0}, [], id="good"),
        pytest.param(
            {"leaseDurationSeconds": 0},
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
            id="no-duration",
        ),
        pytest.param(
            {"leaseTransitions": -1},
            ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
            id="transitions",
        ),
        pytest.param(
            {"strategy": "Other"},
            ['spec.strategy.strategy: Unsupported value: "Other": supported values: "OldestEmulationVersion"'],
            id="strategy",
        ),
        pytest.param(
            {"preferredHolder": "x"},
            ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
            id="holder",
        ),
    ],
)
def test_validate_lease(spec: dict[str, Any], expected: list[str]) -> None:
    doc = {"metadata": {"name": "l"}, "spec": spec}
    assert [str(error) for error in validate_lease_create(doc, Context())] == expected
    assert [str(error) for error in validate_lease_update(doc, doc, Context())] == expected
