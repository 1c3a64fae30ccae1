"""Quality-of-service classes."""

from typing import Any

import pytest

from doorman.semantics.pods.qos import qos_class


def container(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}


BOTH = {"cpu": "1", "memory": "1Gi"}
FULL = container(BOTH, BOTH)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [container({"cpu": "1"})]}, "Burstable", id="rule-1-request-without-limit"),
        pytest.param(
            {"containers": [container({"cpu": "1", "memory": "1Gi"}, {"cpu": "1000m", "memory": "1024Mi"})]},
            "Guaranteed",
            id="rule-1-values-not-texts",
        ),
        pytest.param(
            {"containers": [container({"example.com/gpu": "1"}, {"example.com/gpu": "1"})]},
            "BestEffort",
            id="rule-1-other-resources",
        ),
        pytest.param({"containers": [container({"cpu": "0"}, {"cpu": "0"})]}, "BestEffort", id="rule-1-zero"),
        pytest.param({"containers": [{"name": "c"}]}, "BestEffort", id="rule-2-nothing"),
        pytest.param(
            {"containers": [container({"cpu": "1"}, {"cpu": "1"})]}, "Burstable", id="rule-2-only-one-resource"
        ),
        pytest.param({"containers": [FULL]}, "Guaranteed", id="rule-2-both"),
        pytest.param(
            {"containers": [container()], "resources": {"requests": BOTH, "limits": BOTH}},
            "Guaranteed",
            id="rule-3-pod-level",
        ),
        pytest.param(
            {"containers": [FULL], "resources": {"requests": {"cpu": "1"}}},
            "Burstable",
            id="rule-3-pod-level-decides-alone",
        ),
        pytest.param({"containers": [FULL, container()]}, "Burstable", id="rule-4-mixed"),
        pytest.param(
            {"containers": [FULL], "initContainers": [container()]}, "Burstable", id="rule-4-init-containers-count"
        ),
        pytest.param(
            {"containers": [FULL], "ephemeralContainers": [container()]}, "Guaranteed", id="rule-4-ephemeral-do-not"
        ),
        pytest.param({}, "BestEffort", id="rule-4-none"),
    ],
)
def test_qos_class(spec: dict[str, Any], expected: str) -> None:
    assert qos_class(spec) == expected
