"""What the metrics of an autoscaler propose, each for itself: replicas, what to call it, and its part of the status.

Resource metrics are read (`MetricsOf`). Custom and external metrics have no API here, which is told as
kube-controller-manager tells it of a cluster where none is installed.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from doorman.api.machinery.quantity import milli_value, parse_quantity, quantity_text
from doorman.api.views.autoscaling.horizontal_pod_autoscalers import AutoscalerBehavior, MetricSource, MetricSpec
from doorman.api.views.meta import LabelSelector
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.controllers.autoscaling.replica_calculator import (
    PodMetric,
    Proposal,
    Tolerances,
    propose_by_utilization,
    propose_by_value,
)
from doorman.semantics.pods.pod_resources import MEMORY

WINDOW_SECONDS: Final = 15.0
_NO_CUSTOM_METRICS: Final = (
    "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
)

ContainerUsages = Mapping[str, Mapping[str, int]]
"""By container: what it uses of each resource, in thousandths."""
MetricsOf = Callable[[str], Mapping[str, ContainerUsages]]
"""From a namespace to what its pods use now, by name; those without figures are not in it."""


class MetricProposal(msgspec.Struct, frozen=True, kw_only=True):
    replicas: int
    name: str
    """For people: what asks for so many."""
    status: dict[str, Any]  # a MetricStatus as JSON


class MetricFailure(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    text: str
    """For the condition and its event."""
    as_error: str
    """The same as part of what is said of all metrics."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What metrics are held against."""

    namespace: str
    pods: Sequence[Pod]
    current: int
    usages: Mapping[str, ContainerUsages]
    tolerances: Tolerances
    now: Instant


def tolerances_of(behavior: AutoscalerBehavior | None) -> Tolerances:
    """
    >>> tolerances_of(None)
    Tolerances(down=0.1, up=0.1)
    """
    usual = Tolerances()
    if behavior is None:
        return usual
    down, up = behavior.scale_down.tolerance, behavior.scale_up.tolerance
    return Tolerances(
        down=float(parse_quantity(down)) if down is not None else usual.down,
        up=float(parse_quantity(up)) if up is not None else usual.up,
    )


def propose(spec: MetricSpec, scene: Scene) -> MetricProposal | MetricFailure:
    match spec.type:
        case "Resource" if spec.resource is not None:
            return _by_resource(spec.resource, scene)
        case "ContainerResource" if spec.container_resource is not None:
            return _by_container(spec.container_resource, scene)
        case "Pods" if spec.pods is not None:
            text = f"unable to get metric {spec.pods.metric.name}: {_NO_CUSTOM_METRICS}"
            return MetricFailure(
                reason="FailedGetPodsMetric", text=text, as_error=f"failed to get pods metric value: {text}"
            )
        case "Object" if spec.object is not None:
            return _object_failure(spec.object, scene.namespace)
        case "External" if spec.external is not None:
            return _external_failure(spec.external, scene.namespace)
    text = f'unknown metric source type "{spec.type}"'
    return MetricFailure(reason="InvalidMetricSourceType", text=text, as_error=text)


def _by_resource(source: MetricSource, scene: Scene) -> MetricProposal | MetricFailure:
    found = _measured(source, "", scene)
    if isinstance(found, str):
        return MetricFailure(
            reason="FailedGetResourceMetric",
            text=found,
            as_error=f"failed to get {source.name} resource metric value: {found}",
        )
    name = f"{source.name} resource"
    if found.utilization is not None:
        name += " utilization (percentage of request)"
    status = {"type": "Resource", "resource": {"name": source.name, "current": _current(source.name, found)}}
    return MetricProposal(replicas=found.replicas, name=name, status=status)


def _by_container(source: MetricSource, scene: Scene) -> MetricProposal | MetricFailure:
    found = _measured(source, source.container, scene)
    if isinstance(found, str):
        return MetricFailure(
            reason="FailedGetContainerResourceMetric",
            text=found,
            as_error=f"failed to get {source.container} container metric value: {found}",
        )
    name = f"{source.name} resource"
    if found.utilization is not None:
        name = f"{source.name} container resource utilization (percentage of request)"
    current = {"name": source.name, "container": source.container, "current": _current(source.name, found)}
    status = {"type": "ContainerResource", "containerResource": current}
    return MetricProposal(replicas=found.replicas, name=name, status=status)


def _measured(source: MetricSource, container: str, scene: Scene) -> Proposal | str:
    resource, target = source.name, source.target
    by_value = target.average_value is not None
    kind = "usage" if by_value else "utilization"
    known = {pod.metadata.name for pod in scene.pods}
    usages = {name: usage for name, usage in scene.usages.items() if name in known}
    if not usages:
        found: Proposal | str = (
            f"unable to get metrics for resource {resource}: no metrics returned from resource metrics API"
        )
    elif target.average_value is not None:
        found = propose_by_value(
            scene.pods,
            pod_metrics(usages, resource, container, scene.now),
            resource=resource,
            current=scene.current,
            target=milli_value(target.average_value),
            tolerances=scene.tolerances,
            now=scene.now,
        )
    elif target.average_utilization is not None:
        found = propose_by_utilization(
            scene.pods,
            pod_metrics(usages, resource, container, scene.now),
            resource=resource,
            container=container,
            current=scene.current,
            target_percent=target.average_utilization,
            tolerances=scene.tolerances,
            now=scene.now,
        )
    else:
        return (
            "invalid resource metric source: neither an average utilization target nor an average value (usage) "
            "target was set"
        )
    return f"failed to get {resource} {kind}: {found}" if isinstance(found, str) else found


def pod_metrics(
    usages: Mapping[str, ContainerUsages], resource: str, container: str, now: Instant
) -> dict[str, PodMetric]:
    """Of one container, or of all together; a pod of which a part is not known is left out."""
    found: dict[str, PodMetric] = {}
    for name, containers in usages.items():
        wanted = [containers[container]] if container in containers else list(containers.values())
        if (container and container not in containers) or not wanted or not all(resource in one for one in wanted):
            continue
        value = sum(one[resource] for one in wanted)
        found[name] = PodMetric(value=value, at=now, window_seconds=WINDOW_SECONDS)
    return found


def _current(resource: str, found: Proposal) -> dict[str, Any]:  # a MetricValueStatus as JSON
    average = quantity_text(Fraction(found.average, 1000), is_binary=resource == MEMORY)
    current: dict[str, Any] = {"averageValue": average}
    if found.utilization is not None:
        current["averageUtilization"] = found.utilization
    return current


def _object_failure(source: MetricSource, namespace: str) -> MetricFailure:
    of = source.described_object
    text = f"unable to get metric {source.metric.name} on {of.kind} {namespace}/{of.name}: {_NO_CUSTOM_METRICS}"
    # What is wanted for each pod is wrapped once more.
    outer = f"failed to get {source.metric.name} object metric: {text}" if source.target.average_value else text
    return MetricFailure(
        reason="FailedGetObjectMetric", text=text, as_error=f"failed to get object metric value: {outer}"
    )


def _external_failure(source: MetricSource, namespace: str) -> MetricFailure:
    name, selector = source.metric.name, _selector_text(source.metric.selector)
    missing = f"the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
    why = f"unable to fetch metrics from external metrics API: {missing}"
    text = f"unable to get external metric {namespace}/{name}/{selector}: {why}"
    per_pod = source.target.average_value is not None
    outer = (
        f"failed to get {name} external metric: {text}" if per_pod else f"failed to get external metric {name}: {text}"
    )
    return MetricFailure(
        reason="FailedGetExternalMetric", text=text, as_error=f"failed to get {name} external metric value: {outer}"
    )


def _selector_text(selector: LabelSelector | None) -> str:
    """As Go prints a pointer to one.

    >>> _selector_text(None), _selector_text(LabelSelector(match_labels={"a": "b"}))
    ('nil', '&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}')
    """
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.match_labels.items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{one.key},Operator:{one.operator},Values:[{' '.join(one.values)}],}},"
        for one in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
