"""Disruption budgets."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.policy.disruption_budget import (
    validate_disruption_budget_create,
    validate_disruption_budget_update,
)


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param({"minAvailable": 1}, [], id="min"),
        pytest.param({"maxUnavailable": "30%"}, [], id="max"),
        pytest.param({"minAvailable": 1, "maxUnavailable": 1}, ["spec"], id="both"),
        pytest.param({"minAvailable": "ten"}, ["spec.minAvailable"], id="no-percentage"),
        pytest.param({"minAvailable": "101%"}, ["spec.minAvailable"], id="too-many-percent"),
        pytest.param({"unhealthyPodEvictionPolicy": "X"}, ["spec.unhealthyPodEvictionPolicy"], id="policy"),
        pytest.param({"selector": {"matchLabels": {"a": "b c"}}}, ["spec.selector.matchLabels"], id="selector"),
    ],
)
def test_validate_disruption_budget(spec: dict[str, Any], fields: list[str]) -> None:
    doc = {"metadata": {"name": "b"}, "spec": spec}
    assert [error.field for error in validate_disruption_budget_create(doc, Context())] == fields
    assert [error.field for error in validate_disruption_budget_update(doc, doc, Context())] == fields


def test_metadata_is_looked_at_when_the_spec_is_good() -> None:
    doc: dict[str, Any] = {"metadata": {"name": "b", "labels": {"a": "-"}}, "spec": {"minAvailable": -1}}
    assert [error.field for error in validate_disruption_budget_create(doc, Context())] == ["spec.minAvailable"]
    doc["spec"]["minAvailable"] = 1
    assert [error.field for error in validate_disruption_budget_create(doc, Context())] == ["metadata.labels"]


def test_status_counts_are_not_negative() -> None:
    doc = {"metadata": {"name": "b"}, "status": {"currentHealthy": -1}}
    (error,) = validate_disruption_budget_update(doc, doc, Context(subresource="status"))
    assert error.field == "status.currentHealthy"
