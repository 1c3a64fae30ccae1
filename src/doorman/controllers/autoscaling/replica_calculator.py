"""How many replicas a metric asks for: from what pods use to a number.

Rules
-----
1. Pods that are being deleted or have failed do not count. Pods that are Pending, and for CPU those that are not ready
   or whose figures reach back before they were, are unready. Running pods without figures are missing.
2. The ratio is what the others use on average over what is wanted; of utilization, as whole percent of their requests.
3. A ratio within the tolerance changes nothing. Otherwise, with neither unready nor missing pods in the way, what is
   wanted is the number of those that are ready, times the ratio, rounded up.
4. When less is wanted, missing pods count as if they used all they request (utilization; more, where more than 100 % is
   the target) or just what is wanted (value). When more is wanted, missing and unready pods count as using nothing.
5. If the ratio then is within the tolerance, or on the other side of one, or the number on the other side of what there
   is now, nothing changes.
6. Without figures, or where a container requests nothing of what is measured, there is no answer but why.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.machinery.quantity import milli_value
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.semantics.pods.pod_resources import CPU, SIDECAR_POLICY, pod_requests

CPU_INITIALIZATION_SECONDS: Final = 300.0
INITIAL_READINESS_SECONDS: Final = 30.0
NO_PODS: Final = "no pods returned by selector while calculating replica count"
NO_METRICS: Final = "did not receive metrics for targeted pods (pods might be unready)"


class PodMetric(msgspec.Struct, frozen=True, kw_only=True):
    """In thousandths, at an instant, over so long."""

    value: int
    at: Instant = 0.0
    window_seconds: float = 0.0


class Tolerances(msgspec.Struct, frozen=True, kw_only=True):
    down: float = 0.1
    up: float = 0.1

    def is_within(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    replicas: int
    average: int
    """What a pod uses, in thousandths."""
    utilization: int | None = None
    """The same in percent of what it requests."""


RatioOf = Callable[[Mapping[str, PodMetric]], float]
"""From what pods use to what they use over what is wanted."""


class PodGroups(msgspec.Struct, frozen=True, kw_only=True):
    """Rule 1. Names of pods."""

    ready_count: int
    unready: tuple[str, ...]
    missing: tuple[str, ...]
    ignored: tuple[str, ...]


def propose_by_utilization(
    pods: Sequence[Pod],
    metrics: Mapping[str, PodMetric],
    *,
    resource: str,
    container: str,
    current: int,
    target_percent: int,
    tolerances: Tolerances,
    now: Instant,
) -> Proposal | str:
    """For a share of what is requested. `metrics` by name of pod."""
    found = _counted(pods, metrics, resource, now)
    if isinstance(found, str):
        return found
    groups, counted = found
    requests = requests_of(pods, resource, container)
    if isinstance(requests, str):
        return requests
    first = _utilization(counted, requests)
    if first is None:
        return "no metrics returned matched known pods"
    percent, average = first
    fallback = max(100, target_percent)
    assumed = {name: requests[name] * fallback // 100 for name in groups.missing}

    def ratio_of(some: Mapping[str, PodMetric]) -> float:
        used = _utilization(some, requests)
        return (used[0] if used is not None else 0) / target_percent

    replicas = _replicas(current, counted, groups, percent / target_percent, assumed, tolerances, ratio_of)
    return Proposal(replicas=replicas, average=average, utilization=percent)


def propose_by_value(
    pods: Sequence[Pod],
    metrics: Mapping[str, PodMetric],
    *,
    resource: str,
    current: int,
    target: int,
    tolerances: Tolerances,
    now: Instant,
) -> Proposal | str:
    """For an average, in thousandths."""
    found = _counted(pods, metrics, resource, now)
    if isinstance(found, str):
        return found
    groups, counted = found

    def ratio_of(some: Mapping[str, PodMetric]) -> float:
        return _average(some) / target

    assumed = dict.fromkeys(groups.missing, target)
    replicas = _replicas(current, counted, groups, ratio_of(counted), assumed, tolerances, ratio_of)
    return Proposal(replicas=replicas, average=_average(counted))


def _counted(
    pods: Sequence[Pod], metrics: Mapping[str, PodMetric], resource: str, now: Instant
) -> tuple[PodGroups, Mapping[str, PodMetric]] | str:
    """The pods in their groups, and the metrics of those that count; or why there are none."""
    if not pods:
        return NO_PODS
    groups = group_pods(pods, metrics, resource, now)
    counted = _without(metrics, groups)
    return (groups, counted) if counted else NO_METRICS


def group_pods(pods: Sequence[Pod], metrics: Mapping[str, PodMetric], resource: str, now: Instant) -> PodGroups:
    unready, missing, ignored = [], [], []
    ready_count = 0
    for pod in pods:
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp or pod.status.phase == "Failed":
            ignored.append(name)
        elif pod.status.phase == "Pending":
            unready.append(name)
        elif name not in metrics:
            missing.append(name)
        elif resource == CPU and _is_unready(pod, metrics[name], now):
            unready.append(name)
        else:
            ready_count += 1
    return PodGroups(ready_count=ready_count, unready=tuple(unready), missing=tuple(missing), ignored=tuple(ignored))


def requests_of(pods: Sequence[Pod], resource: str, container: str) -> dict[str, int] | str:
    """In thousandths, by name of pod; of one container if one is named. Or why there is no answer."""
    found: dict[str, int] = {}
    for pod in pods:
        name = pod.metadata.name
        request = _pod_level_request(pod, resource) if not container and pod.spec.resources.requests else None
        if request is None:
            request = _container_requests(pod, resource, container)
        if isinstance(request, str):
            return request
        found[name] = request
    return found


def _replicas(
    current: int,
    counted: Mapping[str, PodMetric],
    groups: PodGroups,
    ratio: float,
    assumed: Mapping[str, int],
    tolerances: Tolerances,
    ratio_of: RatioOf,
) -> int:
    """Rules 3 to 5. `assumed`: what missing pods count as using when less is wanted."""
    grows_with_unready = bool(groups.unready) and ratio > 1.0
    if not grows_with_unready and not groups.missing:
        return current if tolerances.is_within(ratio) else math.ceil(ratio * groups.ready_count)
    all_pods = dict(counted)
    if ratio < 1.0:
        all_pods |= {name: PodMetric(value=value) for name, value in assumed.items()}
    elif ratio > 1.0:
        all_pods |= {name: PodMetric(value=0) for name in groups.missing}
    if grows_with_unready:
        all_pods |= {name: PodMetric(value=0) for name in groups.unready}
    again = ratio_of(all_pods)
    if tolerances.is_within(again) or (ratio < 1.0 < again) or (again < 1.0 < ratio):
        return current
    replicas = math.ceil(again * len(all_pods))
    if (again < 1.0 and replicas > current) or (again > 1.0 and replicas < current):
        return current
    return replicas


def _without(metrics: Mapping[str, PodMetric], groups: PodGroups) -> dict[str, PodMetric]:
    left_out = {*groups.ignored, *groups.unready}
    return {name: metric for name, metric in metrics.items() if name not in left_out}


def _average(metrics: Mapping[str, PodMetric]) -> int:
    return sum(metric.value for metric in metrics.values()) // len(metrics)


def _utilization(metrics: Mapping[str, PodMetric], requests: Mapping[str, int]) -> tuple[int, int] | None:
    """Percent of what is requested, and the average."""
    known = {name: metric for name, metric in metrics.items() if name in requests}
    requested = sum(requests[name] for name in known)
    if not requested:
        return None
    used = sum(metric.value for metric in known.values())
    return used * 100 // requested, used // len(known)


def _is_unready(pod: Pod, metric: PodMetric, now: Instant) -> bool:
    ready = pod.status.condition("Ready")
    if ready is None or not pod.status.start_time:
        return True
    started = from_time(pod.status.start_time)
    since = from_time(ready.last_transition_time) if ready.last_transition_time else 0.0
    if now < started + CPU_INITIALIZATION_SECONDS:
        return ready.status == "False" or metric.at < since + metric.window_seconds
    return ready.status == "False" and since < started + INITIAL_READINESS_SECONDS


def _pod_level_request(pod: Pod, resource: str) -> int | str:
    amount = pod_requests(pod.spec).get(resource)
    if amount is None:
        return f"missing pod-level request for {resource} in Pod {pod.metadata.name}"
    return amount if resource == CPU else amount * 1000


def _container_requests(pod: Pod, resource: str, container: str) -> int | str:
    name = pod.metadata.name
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == SIDECAR_POLICY]
    total = 0
    for one in (*pod.spec.containers, *sidecars):
        if container not in ("", one.name):
            continue
        text = one.resources.requests.get(resource)
        if text is None:
            return f"missing request for {resource} in container {one.name} of Pod {name}"
        total += milli_value(text)
        if container:
            return total
    return f"container {container} not found in Pod {name}" if container else total
