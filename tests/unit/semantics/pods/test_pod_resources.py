"""What a pod asks for as a whole."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from doorman.api.views.pods import PodSpec
from doorman.semantics.pods.pod_resources import AMOUNT_MAX, pod_amounts, pod_requests, scoring_requests


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
        pytest.param({"containers": [c("2")], "initContainers": [c("1")]}, 2, id="rule-3-init-needs-less"),
        pytest.param({"containers": [c("1")], "overhead": {"cpu": "250m"}}, Fraction(5, 4), id="rule-5-overhead"),
    ],
)
def test_pod_amounts_and_requests(spec: dict[str, Any], cpu: Fraction) -> None:
    assert pod_amounts(spec, "requests") == {"cpu": cpu}
    assert pod_requests(msgspec.convert(spec, PodSpec)) == {"cpu": cpu * 1000}


def test_rule_4_no_other_resources_of_the_pod_as_a_whole() -> None:
    whole = {"requests": {"example.com/gpu": "4", "hugepages-2Mi": "4Mi"}}
    spec: dict[str, Any] = {"containers": [c("1")], "resources": whole}
    assert pod_amounts(spec, "requests") == {"cpu": 1, "hugepages-2Mi": 4 * 2**20}
    assert pod_requests(msgspec.convert(spec, PodSpec)) == {"cpu": 1000, "hugepages-2Mi": 4 * 2**20}


def test_rule_5_overhead_is_added_to_limits_that_exist() -> None:
    spec = {"containers": [{"resources": {"limits": {"cpu": "1"}}}], "overhead": {"cpu": "1", "memory": "1"}}
    assert pod_amounts(spec, "limits") == {"cpu": 2}


@pytest.mark.parametrize(
    ("containers", "cpu"),
    [
        pytest.param([c("100u"), c("100u")], 1, id="rule-6-rounded-up-once"),
        pytest.param([c("1e18")], AMOUNT_MAX, id="rule-6-cut"),
    ],
)
def test_counting(containers: list[dict[str, Any]], cpu: int) -> None:
    assert pod_requests(msgspec.convert({"containers": containers}, PodSpec)) == {"cpu": cpu}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [{}]}, (100, 200 * 2**20), id="rule-7-nothing-asked"),
        pytest.param({"containers": [c("1"), {}]}, (1100, 400 * 2**20), id="rule-7-per-container"),
        pytest.param(
            {"containers": [{"resources": {"requests": {"cpu": "0", "memory": "0"}}}]}, (0, 0), id="rule-7-zero-is-said"
        ),
        pytest.param({"containers": [{}], "overhead": {"cpu": "50m"}}, (150, 200 * 2**20), id="rule-7-with-overhead"),
    ],
)
def test_scoring_requests(spec: dict[str, Any], expected: tuple[int, int]) -> None:
    assert scoring_requests(msgspec.convert(spec, PodSpec)) == expected
