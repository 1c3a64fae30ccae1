"""The view of a HorizontalPodAutoscaler, as it is stored: autoscaling/v2."""

from typing import Any, Final

from doorman.api.views.meta import Condition, LabelSelector, ObjectMeta, View

RESOURCE: Final = "horizontalpodautoscalers.autoscaling"


class ScaleTargetReference(View, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""
    api_version: str = ""


class MetricTarget(View, frozen=True, kw_only=True):
    type: str = ""
    value: str | None = None
    average_value: str | None = None
    average_utilization: int | None = None


class MetricIdentifier(View, frozen=True, kw_only=True):
    name: str = ""
    selector: LabelSelector | None = None


class MetricSource(View, frozen=True, kw_only=True):
    """The members of all kinds of metrics together: each has some of them."""

    name: str = ""
    container: str = ""
    metric: MetricIdentifier = MetricIdentifier()
    described_object: ScaleTargetReference = ScaleTargetReference()
    target: MetricTarget = MetricTarget()


class MetricSpec(View, frozen=True, kw_only=True):
    type: str = ""
    resource: MetricSource | None = None
    container_resource: MetricSource | None = None
    pods: MetricSource | None = None
    object: MetricSource | None = None
    external: MetricSource | None = None


class ScalingPolicy(View, frozen=True, kw_only=True):
    type: str = ""
    value: int = 0
    period_seconds: int = 0


class ScalingRules(View, frozen=True, kw_only=True):
    stabilization_window_seconds: int | None = None
    select_policy: str = "Max"
    policies: tuple[ScalingPolicy, ...] = ()
    tolerance: str | None = None


class AutoscalerBehavior(View, frozen=True, kw_only=True):
    scale_up: ScalingRules = ScalingRules()
    scale_down: ScalingRules = ScalingRules()


class HorizontalPodAutoscalerSpec(View, frozen=True, kw_only=True):
    scale_target_ref: ScaleTargetReference = ScaleTargetReference()
    min_replicas: int | None = None
    max_replicas: int = 0
    metrics: tuple[MetricSpec, ...] = ()
    behavior: AutoscalerBehavior | None = None


class HorizontalPodAutoscalerStatus(View, frozen=True, kw_only=True):
    observed_generation: int | None = None
    last_scale_time: str | None = None
    current_replicas: int = 0
    desired_replicas: int = 0
    current_metrics: tuple[dict[str, Any], ...] = ()  # as JSON: written, and compared with what is to be written
    conditions: tuple[Condition, ...] = ()


class HorizontalPodAutoscaler(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()
