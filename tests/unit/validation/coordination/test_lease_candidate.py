"""LeaseCandidates."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.coordination.lease_candidate import LEASE_CANDIDATE

SPEC = {"leaseName": "l", "binaryVersion": "1.2.3", "emulationVersion": "1.2.0", "strategy": "OldestEmulationVersion"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, [], id="good"),
        pytest.param({"leaseName": ""}, ["spec.leaseName"], id="no-lease"),
        pytest.param({"binaryVersion": "x"}, ["spec.binaryVersion"] * 2, id="no-version"),
        pytest.param({"binaryVersion": "1.1.9"}, ["spec.binaryVersion"], id="older-than-emulated"),
        pytest.param({"emulationVersion": ""}, ["spec.emulationVersion"], id="nothing-emulated"),
        pytest.param({"strategy": "x"}, ["spec.strategy.strategy"], id="strategy"),
        pytest.param({"strategy": "example.com/s"}, [], id="somebody-elses-strategy"),
    ],
)
def test_lease_candidate(given: Any, expected: list[str]) -> None:
    assert [
        error.field
        for error in LEASE_CANDIDATE.create({"metadata": {"name": "x"}, "spec": {**SPEC, **given}}, Context())
    ] == expected
