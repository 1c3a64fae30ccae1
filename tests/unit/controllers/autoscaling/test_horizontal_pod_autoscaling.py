"""Autoscalers in virtual time, with figures that the test gives."""

from typing import Any

from doorman.api.views.apps import Deployment
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import RESOURCE, HorizontalPodAutoscaler
from doorman.api.views.pods import Pod
from doorman.base.errors import ApiError
from doorman.client.actions import Patch
from doorman.controllers.autoscaling.horizontal_pod_autoscaling import HorizontalPodAutoscalerController
from doorman.controllers.autoscaling.scale_targets import ScaleTargets
from support.stage import Stage

BEFORE = "2025-01-01T00:00:00Z"


class Scaled:
    """A deployment with pods that have been ready for long, and an autoscaler."""

    def __init__(self, replicas: int, cpu_milli: int, **spec: Any) -> None:
        self.stage = Stage({RESOURCE: HorizontalPodAutoscaler, "deployments.apps": Deployment, "pods": Pod})
        self.cpu_milli: int | None = cpu_milli
        stage = self.stage
        targets = ScaleTargets({"deployments.apps": stage.caches["deployments.apps"]})
        stage.add(
            HorizontalPodAutoscalerController(stage.caches[RESOURCE], targets, stage.caches["pods"], self._metrics)
        )
        self.give_deployment("web", replicas)
        self.give_autoscaler("web", **spec)
        stage.settle()

    def give_deployment(self, name: str, replicas: int) -> None:
        labels = {"app": "web"}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}}
        self.stage.create("deployments.apps", {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        resources = {"requests": {"cpu": "100m"}}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": BEFORE}
        for number in range(replicas):
            body = {
                "metadata": {"name": f"{name}-{number}", "namespace": "default", "labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
                "status": {"phase": "Running", "startTime": BEFORE, "conditions": [ready]},
            }
            self.stage.create("pods", body)

    def give_autoscaler(self, name: str, **spec: Any) -> None:
        target = {"type": "Utilization", "averageUtilization": 50}
        body = {
            "metadata": {"name": name, "namespace": "default", "generation": 1},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
                **spec,
            },
        }
        self.stage.create(RESOURCE, body)

    def _metrics(self, namespace: str) -> Any:
        if self.cpu_milli is None:
            return {}
        pods = self.stage.caches["pods"].by("namespace", namespace)
        return {pod.metadata.name: {"c": {"cpu": self.cpu_milli}} for pod in pods}

    def sizes(self) -> list[tuple[float, int]]:
        return [
            (at, patch.body["spec"]["replicas"])
            for at, patch in self.stage.done(Patch, "deployments.apps")
            if patch.subresource == "scale"
        ]

    def status(self, name: str = "web") -> dict[str, Any]:
        document = self.stage.get(RESOURCE, f"default/{name}")
        assert document is not None
        found: dict[str, Any] = document.get("status", {})
        return found

    def reasons(self, name: str = "web") -> dict[str, tuple[str, str]]:
        return {one["type"]: (one["status"], one["reason"]) for one in self.status(name)["conditions"]}


def test_more_use_means_more_replicas() -> None:
    scaled = Scaled(2, 100)
    assert scaled.sizes() == [(0.0, 4)]
    assert scaled.reasons() == {
        "AbleToScale": ("True", "SucceededRescale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
        "ScaledToZero": ("False", "NotScaledToZero"),
    }
    status = scaled.status()
    assert (status["currentReplicas"], status["desiredReplicas"], status["observedGeneration"]) == (2, 4, 1)
    current = {"averageUtilization": 100, "averageValue": "100m"}
    assert status["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    text = "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    assert scaled.stage.messages("SuccessfulRescale") == [(0.0, text)]


def test_rule_1_it_looks_every_fifteen_seconds_and_writes_nothing_new() -> None:
    scaled = Scaled(2, 50)
    written = len(scaled.stage.done(Patch, RESOURCE))
    scaled.stage.at(44)
    assert len(scaled.stage.done(Patch, RESOURCE)) == written
    scaled.cpu_milli = 100
    scaled.stage.at(60)
    assert scaled.sizes() == [(45.0, 4)]


def test_less_use_counts_after_five_minutes() -> None:
    scaled = Scaled(4, 50)
    scaled.cpu_milli = 10
    scaled.stage.at(299)
    assert scaled.sizes() == []
    assert scaled.reasons()["AbleToScale"] == ("True", "ScaleDownStabilized")
    scaled.stage.at(330)
    assert scaled.sizes() == [(315.0, 1)]
    assert "All metrics below target" in scaled.stage.messages("SuccessfulRescale")[0][1]


def test_behavior_limits_how_fast_it_grows() -> None:
    rules = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    }
    scaled = Scaled(2, 100, behavior={"scaleUp": rules, "scaleDown": rules})
    assert scaled.sizes() == [(0.0, 3)]
    assert scaled.reasons()["ScalingLimited"] == ("True", "ScaleUpLimit")
    scaled.stage.patch("deployments.apps", "default/web", {"spec": {"replicas": 3}})
    scaled.stage.at(80)
    assert scaled.sizes() == [(0.0, 3), (60.0, 4)]


def test_rule_2_bounds_are_kept_without_a_look_at_metrics() -> None:
    above = Scaled(12, 50)
    assert above.sizes() == [(0.0, 10)]
    assert "above Spec.MaxReplicas" in above.stage.messages("SuccessfulRescale")[0][1]
    below = Scaled(1, 50, minReplicas=3)
    assert below.sizes() == [(0.0, 3)]
    assert "below Spec.MinReplicas" in below.stage.messages("SuccessfulRescale")[0][1]


def test_rule_2_target_that_is_switched_off_is_left_alone() -> None:
    scaled = Scaled(0, 50)
    assert (scaled.sizes(), scaled.reasons()["ScalingActive"]) == ([], ("False", "ScalingDisabled"))


def test_rule_3_no_figures() -> None:
    scaled = Scaled(2, 50)
    scaled.cpu_milli = None
    scaled.stage.at(15)
    assert scaled.reasons()["ScalingActive"] == ("False", "FailedGetResourceMetric")
    error = (
        "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource "
        "metrics API"
    )
    assert scaled.stage.messages("FailedGetResourceMetric") == [(15.0, error)]
    whole = f"invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {error}"
    assert scaled.stage.messages("FailedComputeMetricsReplicas") == [(15.0, whole)]


def test_rule_3_metrics_that_fail_hold_back_scaling_down_only() -> None:
    good = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}
    bad = {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"averageValue": "1"}}}
    up = Scaled(2, 100, metrics=[good, bad])
    assert (up.sizes(), up.reasons()["ScalingActive"]) == ([(0.0, 4)], ("True", "ValidMetricFound"))
    down = Scaled(4, 10, metrics=[good, bad])
    down.stage.at(400)
    assert (down.sizes(), down.reasons()["ScalingActive"]) == ([], ("False", "FailedGetPodsMetric"))


def test_rule_5_two_autoscalers_of_the_same_pods_do_nothing() -> None:
    scaled = Scaled(2, 50)
    scaled.give_deployment("other", 1)
    scaled.give_autoscaler("other")
    scaled.cpu_milli = 100
    scaled.stage.at(20)
    assert scaled.sizes() == []
    assert scaled.reasons()["ScalingActive"] == ("False", "AmbiguousSelector")
    text = "pods by selector app=web are controlled by more than one HPA (e.g. [{web default} {other default}])"
    assert (15.0, text) in scaled.stage.messages("AmbiguousSelector")


def test_target_that_is_not_there() -> None:
    scaled = Scaled(2, 50, scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"})
    assert scaled.reasons() == {"AbleToScale": ("False", "FailedGetScale")}
    assert scaled.stage.messages("FailedGetScale") == [(0.0, 'deployments.apps "gone" not found')]


def test_size_that_cannot_be_written_is_told_and_tried_again() -> None:
    scaled = Scaled(2, 50)
    scaled.stage.fail(Patch, 1, ApiError(403, "Forbidden", "no"), resource="deployments.apps")
    scaled.cpu_milli = 100
    scaled.stage.at(20)
    text = "New size: 4; reason: cpu resource utilization (percentage of request) above target; error: no"
    assert [message for _, message in scaled.stage.messages("FailedRescale")] == [text]
    assert scaled.reasons()["AbleToScale"] == ("False", "FailedUpdateScale")
    scaled.stage.at(40)
    assert [size for _, size in scaled.sizes()][-1] == 4
    assert scaled.reasons()["AbleToScale"] == ("True", "SucceededRescale")


def test_autoscaler_that_is_gone_is_forgotten() -> None:
    scaled = Scaled(2, 50)
    scaled.stage.delete(RESOURCE, "default/web")
    scaled.cpu_milli = 100
    scaled.stage.at(60)
    assert scaled.sizes() == []
