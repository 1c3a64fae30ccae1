"""The Targets column of autoscalers."""

from typing import Any

import pytest

from doorman.server.tables.autoscaling_columns import metric_targets


def resource(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def used(name: str, **current: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "current": current}}


EXTERNAL = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "30"}}}
OBJECT = {"type": "Object", "object": {"metric": {"name": "q"}, "target": {"value": "7"}}}
PODS = {"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"averageValue": "5"}}}


@pytest.mark.parametrize(
    ("metrics", "current", "expected"),
    [
        pytest.param([], [], "<none>", id="none"),
        pytest.param([resource("cpu", averageUtilization=80)], [], "cpu: <unknown>/80%", id="not-measured"),
        pytest.param(
            [resource("cpu", averageUtilization=80)], [used("cpu", averageUtilization=0)], "cpu: 0%/80%", id="idle"
        ),
        pytest.param(
            [resource("memory", averageValue="1Gi")],
            [used("memory", averageValue="2Gi")],
            "memory: 2Gi/1Gi",
            id="value",
        ),
        pytest.param([EXTERNAL, OBJECT], [], "<unknown>/30 (avg), <unknown>/7", id="external-and-object"),
        pytest.param([EXTERNAL, OBJECT, PODS], [], "<unknown>/30 (avg), <unknown>/7 + 1 more...", id="three"),
        pytest.param([PODS], [{"type": "Pods", "pods": {"current": {"averageValue": "4"}}}], "4/5", id="pods"),
    ],
)
def test_metric_targets(metrics: list[Any], current: list[Any], expected: str) -> None:
    assert metric_targets({"spec": {"metrics": metrics}, "status": {"currentMetrics": current}}) == expected
