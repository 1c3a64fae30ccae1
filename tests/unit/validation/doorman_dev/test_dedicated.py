"""DedicatedNodes and toleration policies."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.doorman_dev.dedicated import DEDICATED_NODES, TOLERATION_POLICY

CONTEXT = Context(comparison_operators=True, subresource="")
SELECTOR = {"matchLabels": {"team": "ml"}}


def faults(validator: Any, **spec: Any) -> list[str]:
    return [error.field for error in validator.create({"metadata": {"name": "x"}, "spec": spec}, CONTEXT)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"nodeSelector": SELECTOR, "namespaces": ["a"]}, [], id="good"),
        pytest.param({"namespaces": ["a"]}, ["spec.nodeSelector"], id="every-node"),
        pytest.param({"nodeSelector": SELECTOR}, ["spec.namespaces"], id="for-nobody"),
        pytest.param(
            {"nodeSelector": SELECTOR, "groups": ["g"], "effect": "PreferNoSchedule"}, ["spec.effect"], id="effect"
        ),
    ],
)
def test_dedicated_nodes(spec: Any, expected: list[str]) -> None:
    assert faults(DEDICATED_NODES, **spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"allow": []}, [], id="allow-none"),
        pytest.param({}, ["spec.deny"], id="says-nothing"),
        pytest.param({"deny": [{"key": "a", "operator": "Around"}]}, ["spec.deny[0].operator"], id="operator"),
    ],
)
def test_policy(spec: Any, expected: list[str]) -> None:
    assert faults(TOLERATION_POLICY, **spec) == expected
