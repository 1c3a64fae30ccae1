"""What single metrics propose, and what is said when they cannot."""

from typing import Any

import pytest

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import AutoscalerBehavior, MetricSpec, ScalingRules
from doorman.api.views.meta import to_view
from doorman.api.views.pods import Pod
from doorman.controllers.autoscaling.metric_proposals import (
    MetricFailure,
    MetricProposal,
    Scene,
    pod_metrics,
    propose,
    tolerances_of,
)
from doorman.controllers.autoscaling.replica_calculator import Tolerances

LONG_AGO = "1970-01-01T00:00:00Z"
NO_API = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"


def scene(**usages: Any) -> Scene:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    document = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "resources": resources}, {"name": "b", "resources": resources}]},
        "status": {
            "phase": "Running",
            "startTime": LONG_AGO,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}],
        },
    }
    return Scene(
        namespace="default", pods=[to_view(document, Pod)], current=1, usages=usages, tolerances=Tolerances(), now=1e6
    )


USED = {"a": {"cpu": 300, "memory": 1000 << 20}, "b": {"cpu": 100, "memory": 3000 << 20}}


@pytest.mark.parametrize(
    ("spec", "replicas", "name", "current"),
    [
        pytest.param(
            {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}},
            4, "cpu resource utilization (percentage of request)", {"averageUtilization": 200, "averageValue": "400m"},
            id="utilization",
        ),
        pytest.param(
            {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Mi"}}},
            4, "memory resource", {"averageValue": "4Mi"}, id="value",
        ),
        pytest.param(
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": "b", "target": {"averageUtilization": 50}},
            },
            2, "cpu container resource utilization (percentage of request)",
            {"averageUtilization": 100, "averageValue": "100m"}, id="container",
        ),
    ],
)  # fmt: skip
def test_proposal(spec: Any, replicas: int, name: str, current: Any) -> None:
    found = propose(to_view(spec, MetricSpec), scene(p=USED))
    assert isinstance(found, MetricProposal)
    assert (found.replicas, found.name) == (replicas, name)
    (shown,) = (value for key, value in found.status.items() if key != "type")
    assert shown["current"] == current


CPU = {"name": "cpu", "target": {"averageUtilization": 50}}
NONE = "unable to get metrics for resource cpu: no metrics returned from resource metrics API"


@pytest.mark.parametrize(
    ("spec", "reason", "text", "error"),
    [
        pytest.param(
            {"type": "Resource", "resource": CPU}, "FailedGetResourceMetric",
            f"failed to get cpu utilization: {NONE}",
            f"failed to get cpu resource metric value: failed to get cpu utilization: {NONE}", id="resource",
        ),
        pytest.param(
            {"type": "ContainerResource", "containerResource": {**CPU, "container": "a"}},
            "FailedGetContainerResourceMetric", f"failed to get cpu utilization: {NONE}",
            f"failed to get a container metric value: failed to get cpu utilization: {NONE}", id="container",
        ),
        pytest.param(
            {"type": "Pods", "pods": {"metric": {"name": "hits"}}}, "FailedGetPodsMetric",
            f"unable to get metric hits: {NO_API}",
            f"failed to get pods metric value: unable to get metric hits: {NO_API}", id="pods",
        ),
        pytest.param(
            {"type": "Object", "object": {"metric": {"name": "hits"}, "describedObject": {"kind": "A", "name": "b"}}},
            "FailedGetObjectMetric", f"unable to get metric hits on A default/b: {NO_API}",
            f"failed to get object metric value: unable to get metric hits on A default/b: {NO_API}", id="object",
        ),
        pytest.param(
            {"type": "External", "external": {"metric": {"name": "hits"}, "target": {"value": "1"}}},
            "FailedGetExternalMetric",
            "unable to get external metric default/hits/nil: unable to fetch metrics from external metrics API: the "
            "server could not find the requested resource (get hits.external.metrics.k8s.io)",
            "failed to get hits external metric value: failed to get external metric hits: unable to get external "
            "metric default/hits/nil: unable to fetch metrics from external metrics API: the server could not find "
            "the requested resource (get hits.external.metrics.k8s.io)", id="external",
        ),
        pytest.param(
            {"type": "Magic"}, "InvalidMetricSourceType", 'unknown metric source type "Magic"',
            'unknown metric source type "Magic"', id="unknown",
        ),
    ],
)  # fmt: skip
def test_failure(spec: Any, reason: str, text: str, error: str) -> None:
    found = propose(to_view(spec, MetricSpec), scene())
    assert found == MetricFailure(reason=reason, text=text, as_error=error)


def test_pods_of_which_a_part_is_not_known_have_no_figures() -> None:
    usages = {"p": USED, "q": {"a": {"memory": 1}}, "r": {}}
    assert {name: one.value for name, one in pod_metrics(usages, "cpu", "", 0.0).items()} == {"p": 400}
    assert {name: one.value for name, one in pod_metrics(usages, "cpu", "a", 0.0).items()} == {"p": 300}


def test_tolerances_of_a_behavior() -> None:
    behavior = AutoscalerBehavior(scale_up=ScalingRules(tolerance="50m"))
    assert tolerances_of(behavior) == Tolerances(down=0.1, up=0.05)
