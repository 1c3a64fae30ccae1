"""horizontal-pod-autoscaler-controller: as many replicas as what the pods use asks for.

It reads HorizontalPodAutoscalers, the workloads they name, pods, and what those use.

Rules
-----
1. An autoscaler is looked at when it is made or changed, and every fifteen seconds.
2. A target without replicas is left alone: somebody has switched it off. More than the maximum, or less than the
   minimum, is mended without a look at metrics.
3. Of what the metrics propose the most counts. If some fail, the others count only where they ask for no less than
   there is; if all fail, nothing is scaled. The conditions and events say so.
4. How fast it goes is limited (`scaling_limits`); what was recommended and changed is kept in memory, as upstream.
5. Pods that two autoscalers select are scaled by neither.

Keys: `<namespace>/<name>` of autoscalers.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import RESOURCE, HorizontalPodAutoscaler
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.client.actions import Action, Patch, PatchType, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Retry, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.autoscaling.autoscaler_status import AutoscalerStatus
from doorman.controllers.autoscaling.metric_proposals import (
    MetricFailure,
    MetricProposal,
    MetricsOf,
    Scene,
    propose,
    tolerances_of,
)
from doorman.controllers.autoscaling.scale_targets import ScaleTarget, ScaleTargets
from doorman.controllers.autoscaling.scaling_history import ScalingHistory
from doorman.controllers.autoscaling.scaling_limits import Bounds
from doorman.controllers.pods.status_reports import reference_to

NAME: Final = "horizontal-pod-autoscaler-controller"
COMPONENT: Final = "horizontal-pod-autoscaler"
SYNC_SECONDS: Final = 15.0
WORKERS: Final = 5
RETRY: Final = Retry(attempts_max=2)
_GOT_SCALE: Final = ("SucceededGetScale", "the HPA controller was able to get the target's current scale")


def autoscaler_keys(change: ObjectChange) -> Iterable[str]:
    return (change.newest.metadata.key,)


SOURCES: Final = (Source(RESOURCE, autoscaler_keys),)


class MetricsVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Rule 3: what all metrics together propose."""

    best: MetricProposal | None
    statuses: list[dict[str, Any]]
    failures: tuple[MetricFailure, ...]
    count: int

    @property
    def error(self) -> str:
        if not self.failures:
            return ""
        text = f"invalid metrics ({len(self.failures)} invalid out of {self.count})"
        return f"{text}, first error is: {self.failures[0].as_error}"


def decide_metrics(autoscaler: HorizontalPodAutoscaler, scene: Scene) -> MetricsVerdict:
    found = [propose(spec, scene) for spec in autoscaler.spec.metrics]
    proposals = [one for one in found if isinstance(one, MetricProposal)]
    failures = tuple(one for one in found if isinstance(one, MetricFailure))
    best = max(proposals, key=lambda one: one.replicas, default=None)
    if failures and best is not None and best.replicas < scene.current:
        best = None
    statuses = [one.status if isinstance(one, MetricProposal) else {"type": ""} for one in found]
    return MetricsVerdict(best=best, statuses=statuses, failures=failures, count=len(found))


class HorizontalPodAutoscalerController:
    name = NAME
    workers = WORKERS
    sources = SOURCES

    def __init__(
        self,
        autoscalers: ListerOf[HorizontalPodAutoscaler],
        targets: ScaleTargets,
        pods: ListerOf[Pod],
        metrics_of: MetricsOf,
    ) -> None:
        self._autoscalers = autoscalers
        self._targets = targets
        self._pods = pods
        self._metrics_of = metrics_of
        self._history = ScalingHistory()
        self._looked: dict[str, tuple[Instant, int]] = {}
        """By key: when it is due again, and the generation that was looked at."""
        self._refused: dict[str, tuple[int, str, str]] = {}
        """By key: a size that could not be written, why it was wanted and why it could not."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        autoscaler = self._autoscalers.get(key)
        if autoscaler is None:
            self._history.forget(key)
            self._looked.pop(key, None)
            self._refused.pop(key, None)
            return DONE
        due, generation = self._looked.get(key, (now, autoscaler.metadata.generation))
        if now < due and generation == autoscaler.metadata.generation and key not in self._refused:
            return Result(wakes=((key, due),))
        self._looked[key] = (now + SYNC_SECONDS, autoscaler.metadata.generation)
        actions = self._scale(key, autoscaler, now)
        return Result(actions=actions, wakes=((key, now + SYNC_SECONDS),), retry=RETRY)

    def failed(self, key: str, error: ApiError) -> None:
        """The size could not be written, or else the status; the next look tells of the first."""
        change = self._history.take_back(key)
        if change is not None:
            self._refused[key] = (*change, error.message)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """It is looked at again after its fifteen seconds."""
        self._refused.pop(key, None)

    def _scale(self, key: str, autoscaler: HorizontalPodAutoscaler, now: Instant) -> list[Action]:
        status, actions = AutoscalerStatus(autoscaler, now), list[Action]()
        spec = autoscaler.spec
        target = self._targets.find(spec.scale_target_ref, autoscaler.metadata.namespace)
        if isinstance(target, str):
            actions.append(_event(autoscaler, "FailedGetScale", target))
            text = f"the HPA controller was unable to get the target's current scale: {target}"
            status.set_condition("AbleToScale", "False", ("FailedGetScale", text))
            return _with_status(actions, status)
        status.set_condition("AbleToScale", "True", _GOT_SCALE)
        current = target.replicas
        self._history.begin(key, current, now)
        if key in self._refused:
            self._tell_of_refusal(key, autoscaler, current, status, actions)
            return _with_status(actions, status)
        bounds = Bounds(
            min_replicas=1 if spec.min_replicas is None else spec.min_replicas, max_replicas=spec.max_replicas
        )
        wanted = self._wanted(key, autoscaler, target, bounds, status, actions, now)
        if wanted is None:
            return _with_status(actions, status)
        desired, reason, statuses = wanted
        rescales = desired != current
        if rescales:
            actions.append(_scale_patch(autoscaler, target.resource, desired))
            text = f"the HPA controller was able to update the target scale to {desired}"
            status.set_condition("AbleToScale", "True", ("SucceededRescale", text))
            why = ("NotScaledToZero", "the HPA controller did not scale the workload to zero")
            status.set_condition("ScaledToZero", "False", why)
            message = f"New size: {desired}; reason: {reason}"
            actions.append(_event(autoscaler, "SuccessfulRescale", message, kind="Normal"))
            self._history.changed(key, current, desired, reason, now)
        status.set_numbers(current, desired, statuses, rescaled=rescales)
        return _with_status(actions, status)

    def _wanted(
        self,
        key: str,
        autoscaler: HorizontalPodAutoscaler,
        target: ScaleTarget,
        bounds: Bounds,
        status: AutoscalerStatus,
        actions: list[Action],
        now: Instant,
    ) -> tuple[int, str, list[dict[str, Any]]] | None:
        """Rules 2 to 4: how many, why, and the metrics' statuses. None: it cannot be told."""
        current = target.replicas
        if current == 0:
            text = "scaling is disabled since the replica count of the target is zero"
            status.set_condition("ScalingActive", "False", ("ScalingDisabled", text))
            return 0, "", []
        if current > bounds.max_replicas:
            return bounds.max_replicas, "Current number of replicas above Spec.MaxReplicas", []
        if current < bounds.min_replicas:
            return bounds.min_replicas, "Current number of replicas below Spec.MinReplicas", []
        verdict = self._metrics_verdict(autoscaler, target, status, actions, now)
        if isinstance(verdict, str) or verdict.best is None:
            error = verdict if isinstance(verdict, str) else verdict.error
            statuses = [] if isinstance(verdict, str) else verdict.statuses
            status.set_numbers(current, autoscaler.status.desired_replicas, statuses, rescaled=False)
            actions.append(_event(autoscaler, "FailedComputeMetricsReplicas", error))
            return None
        best = verdict.best
        text = f"the HPA was able to successfully calculate a replica count from {best.name}"
        status.set_condition("ScalingActive", "True", ("ValidMetricFound", text))
        steady, limit = self._history.limit(key, autoscaler.spec.behavior, current, best.replicas, bounds, now)
        status.set_condition("AbleToScale", "True", steady.why)
        is_limited = "False" if limit.replicas == steady.replicas else "True"
        status.set_condition("ScalingLimited", is_limited, limit.why)
        reason = f"{best.name} above target" if best.replicas > current else "All metrics below target"
        return limit.replicas, reason, verdict.statuses

    def _metrics_verdict(
        self,
        autoscaler: HorizontalPodAutoscaler,
        target: ScaleTarget,
        status: AutoscalerStatus,
        actions: list[Action],
        now: Instant,
    ) -> MetricsVerdict | str:
        pods = self._selected(autoscaler, target, status, actions)
        if isinstance(pods, str):
            return pods
        namespace = autoscaler.metadata.namespace
        scene = Scene(
            namespace=namespace,
            pods=pods,
            current=target.replicas,
            usages=self._metrics_of(namespace),
            tolerances=tolerances_of(autoscaler.spec.behavior),
            now=now,
        )
        verdict = decide_metrics(autoscaler, scene)
        actions += [_event(autoscaler, failure.reason, failure.text) for failure in verdict.failures]
        if verdict.best is None and verdict.failures:
            first = verdict.failures[0]
            text = f"the HPA was unable to compute the replica count: {first.text}"
            status.set_condition("ScalingActive", "False", (first.reason, text))
        return verdict

    def _selected(
        self,
        autoscaler: HorizontalPodAutoscaler,
        target: ScaleTarget,
        status: AutoscalerStatus,
        actions: list[Action],
    ) -> Sequence[Pod] | str:
        """The target's pods, or why they cannot be told. Rule 5."""
        selector = target.selector
        if selector is None:
            actions.append(_event(autoscaler, "SelectorRequired", "selector is required"))
            why = ("InvalidSelector", "the HPA target's scale is missing a selector")
            status.set_condition("ScalingActive", "False", why)
            return "selector is required"
        namespace = autoscaler.metadata.namespace
        pods = [pod for pod in self._pods.by(BY_NAMESPACE, namespace) if selector.matches(pod.metadata.labels)]
        rivals = [autoscaler, *self._rivals(autoscaler, pods)]
        if len(rivals) == 1:
            return pods
        names = " ".join(f"{{{one.metadata.name} {namespace}}}" for one in rivals[:2])
        text = f"pods by selector {selector} are controlled by more than one HPA (e.g. [{names}])"
        actions.append(_event(autoscaler, "AmbiguousSelector", text))
        status.set_condition("ScalingActive", "False", ("AmbiguousSelector", text))
        return text

    def _rivals(self, autoscaler: HorizontalPodAutoscaler, pods: Sequence[Pod]) -> Iterable[HorizontalPodAutoscaler]:
        namespace = autoscaler.metadata.namespace
        for other in self._autoscalers.by(BY_NAMESPACE, namespace):
            if other.metadata.uid == autoscaler.metadata.uid:
                continue
            found = self._targets.find(other.spec.scale_target_ref, namespace)
            selector = found.selector if isinstance(found, ScaleTarget) else None
            if selector is not None and any(selector.matches(pod.metadata.labels) for pod in pods):
                yield other

    def _tell_of_refusal(
        self,
        key: str,
        autoscaler: HorizontalPodAutoscaler,
        current: int,
        status: AutoscalerStatus,
        actions: list[Action],
    ) -> None:
        size, reason, error = self._refused.pop(key)
        text = f"New size: {size}; reason: {reason}; error: {error}"
        actions.append(_event(autoscaler, "FailedRescale", text))
        message = f"the HPA controller was unable to update the target scale: {error}"
        status.set_condition("AbleToScale", "False", ("FailedUpdateScale", message))
        metrics = list(autoscaler.status.current_metrics)
        status.set_numbers(current, autoscaler.status.desired_replicas, metrics, rescaled=False)


def _with_status(actions: list[Action], status: AutoscalerStatus) -> list[Action]:
    patch = status.patch()
    return [*actions, patch] if patch is not None else actions


def _scale_patch(autoscaler: HorizontalPodAutoscaler, resource: str, replicas: int) -> Patch:
    return Patch(
        resource=resource,
        namespace=autoscaler.metadata.namespace,
        name=autoscaler.spec.scale_target_ref.name,
        subresource="scale",
        body={"spec": {"replicas": replicas}},
        type=PatchType.MERGE,
    )


def _event(autoscaler: HorizontalPodAutoscaler, reason: str, message: str, *, kind: str = "Warning") -> RecordEvent:
    regarding = reference_to(autoscaler.metadata, api_version="autoscaling/v2", kind="HorizontalPodAutoscaler")
    return RecordEvent(regarding=regarding, type=kind, reason=reason, message=message, component=COMPONENT)
