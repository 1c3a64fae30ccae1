"""What the scheduler and the controllers have to say in `/metrics`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from doorman.base.tally import Tally
from doorman.client.runner import ControllerRunner
from doorman.runtime.scheduling import SchedulerRunner
from doorman.scheduler.measures import SchedulerMeasures

T = TypeVar("T")


def controller_source(runners: Sequence[ControllerRunner]) -> Callable[[], Iterable[Metric]]:
    """The metrics of controllers that have some, and the queues of all."""

    def collect() -> Iterable[Metric]:
        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait to be looked at.", labels=("name",))
        adds = CounterMetricFamily("workqueue_adds_total", "Keys that were put into the queue.", labels=("name",))
        retries = CounterMetricFamily("workqueue_retries_total", "Keys that are tried again.", labels=("name",))
        families: list[Metric] = [depth, adds, retries]
        for runner in runners:
            name = (runner.controller.name,)
            depth.add_metric(name, runner.depth)
            adds.add_metric(name, runner.adds)
            retries.add_metric(name, runner.retries)
            for metric in getattr(runner.controller, "metrics", ()):
                families += metric.collect()
        return families

    return collect


def scheduler_source(find: Callable[[], SchedulerRunner | None]) -> Callable[[], Iterable[Metric]]:
    """kube-scheduler's metrics, as far as one loop without extension points in parallel has them."""

    def collect() -> Iterable[Metric]:
        runner = find()
        return () if runner is None else (*_queue_metrics(runner), *_attempt_metrics(runner.scheduler.measures))

    return collect


def _queue_metrics(runner: SchedulerRunner) -> Iterable[Metric]:
    scheduler = runner.scheduler
    yield _gauge("pending_pods", "Pods that wait, by queue.", ("queue",), _keyed(scheduler.pending()))
    incoming = CounterMetricFamily(
        "scheduler_queue_incoming_pods_total",
        "Pods that came into a queue, by queue and by what brought them there.",
        labels=("queue", "event"),
    )
    for key, count in sorted(scheduler.incoming().items()):
        incoming.add_metric(key, count)
    yield incoming
    waiting = scheduler.unschedulable().items()
    yield _gauge("unschedulable_pods", "Pods that a plugin keeps waiting.", ("plugin", "profile"), waiting)
    yield _gauge("cache_size", "Nodes and pods that the scheduler knows.", ("type",), _keyed(scheduler.cache_sizes()))
    under_way = [(("binding",), runner.in_flight)]
    yield _gauge("goroutines", "Bindings and reports under way.", ("operation",), under_way)


def _attempt_metrics(measures: SchedulerMeasures) -> Iterable[Metric]:
    attempts = CounterMetricFamily(
        "scheduler_schedule_attempts_total",
        "Attempts to place a pod, by profile and result.",
        labels=("profile", "result"),
    )
    for key, count in sorted(measures.attempts.items()):
        attempts.add_metric(key, count)
    yield attempts
    preemptions = CounterMetricFamily("scheduler_preemption_attempts_total", "Attempts to make room by preemption.")
    preemptions.add_metric((), measures.preemption_attempts)
    yield preemptions
    by_result = ("profile", "result")
    yield _histogram(
        "scheduling_attempt_duration_seconds", "Deciding and binding.", by_result, measures.attempt_seconds.items()
    )
    alone = [((), measures.algorithm_seconds)]
    yield _histogram("scheduling_algorithm_duration_seconds", "Deciding alone.", (), alone)
    yield _histogram("pod_scheduling_attempts", "Attempts until a pod was placed.", (), [((), measures.pod_attempts)])
    waited = _keyed(measures.sli_seconds)
    yield _histogram(
        "pod_scheduling_sli_duration_seconds", "From a pod's first attempt until it was bound.", ("attempts",), waited
    )
    victims = [((), measures.preemption_victims)]
    yield _histogram("preemption_victims", "Pods that had to leave for another.", (), victims)


def _keyed(values: Mapping[str, T]) -> list[tuple[tuple[str, ...], T]]:
    return [((name,), value) for name, value in values.items()]


def _gauge(name: str, text: str, labels: Sequence[str], values: Iterable[tuple[tuple[str, ...], int]]) -> Metric:
    family = GaugeMetricFamily(f"scheduler_{name}", text, labels=labels)
    for key, value in sorted(values):
        family.add_metric(key, value)
    return family


def _histogram(name: str, text: str, labels: Sequence[str], tallies: Iterable[tuple[tuple[str, ...], Tally]]) -> Metric:
    family = HistogramMetricFamily(f"scheduler_{name}", text, labels=labels)
    for key, tally in sorted(tallies, key=lambda item: item[0]):
        family.add_metric(key, tally.cumulated(), tally.total)
    return family
