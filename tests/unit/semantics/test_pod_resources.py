"""What a pod asks for as a whole."""

from fractions import Fraction
from typing import Any

import pytest

from doorman.semantics.pod_resources import pod_amounts


def c(cpu: str, **more: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"containers": [c("1"), c("500m")]}, Fraction(3, 2), id="rule-1-sum"),
        pytest.param({"containers": [c("1")], "initContainers": [c("1", **SIDECAR)]}, 2, id="rule-2-sidecar-adds"),
        pytest.param(
            {"containers": [c("1")], "initContainers": [c("1", **SIDECAR), c("3")]}, 4, id="rule-2-sidecar-beside-init"
        ),
        pytest.param(
            {"containers": [c("1")], "initContainers": [c("3"), c("1", **SIDECAR)]},
            3,
            id="rule-2-not-before-it-started",
        ),
        pytest.param({"containers": [c("1")], "initContainers": [c("2"), c("3")]}, 3, id="rule-3-most-of-any-moment"),
        pytest.param(
            {"containers": [c("1")], "resources": {"requests": {"cpu": "5"}}}, 5, id="rule-4-pod-level-stands-in"
        ),
        pytest.param({"containers": [c("1")], "overhead": {"cpu": "250m"}}, Fraction(5, 4), id="rule-5-overhead"),
    ],
)
def test_pod_amounts(spec: dict[str, Any], cpu: Fraction) -> None:
    assert pod_amounts(spec, "requests") == {"cpu": cpu}


def test_rule_5_overhead_is_added_to_limits_that_exist() -> None:
    spec = {"containers": [{"resources": {"limits": {"cpu": "1"}}}], "overhead": {"cpu": "1", "memory": "1"}}
    assert pod_amounts(spec, "limits") == {"cpu": 2}
