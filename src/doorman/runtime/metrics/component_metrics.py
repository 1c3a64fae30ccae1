"""What the scheduler and the controllers have to say in `/metrics`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from doorman.base.histograms import Histogram, MetricsSource
from doorman.client.controller_runner import ControllerRunner
from doorman.runtime.scheduling.scheduler_runner import SchedulerRunner
from doorman.scheduler.scheduler_metrics import SchedulerMetrics

T = TypeVar("T")


def controller_source(runners: Sequence[ControllerRunner]) -> MetricsSource:
    """The metrics of controllers that have some, and the queues of all."""

    def collect() -> Iterable[Metric]:
        families = _queues(runners)
        for runner in runners:
            for metric in getattr(runner.controller, "metrics", ()):
                families += metric.collect()
        return families

    return collect


def _queues(runners: Sequence[ControllerRunner]) -> list[Metric]:
    def gauge(name: str, text: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"workqueue_{name}", text, labels=("name",))

    def histogram(name: str, text: str) -> HistogramMetricFamily:
        return HistogramMetricFamily(f"workqueue_{name}_duration_seconds", text, labels=("name",))

    depth = gauge("depth", "Keys that wait to be looked at.")
    adds = CounterMetricFamily("workqueue_adds_total", "Keys that were put into the queue.", labels=("name",))
    retries = CounterMetricFamily("workqueue_retries_total", "Keys that are tried again.", labels=("name",))
    waited = histogram("queue", "How long keys waited.")
    worked = histogram("work", "How long keys were worked on.")
    unfinished = gauge("unfinished_work_seconds", "For how long keys are worked on that are not done, in sum.")
    longest = gauge("longest_running_processor_seconds", "For how long the longest of them is worked on.")
    for runner in runners:
        depths, under_way = runner.depths(), runner.under_way_seconds()
        for metrics in runner.metrics:
            name = (metrics.name,)
            depth.add_metric(name, depths[metrics.name])
            adds.add_metric(name, metrics.adds)
            retries.add_metric(name, metrics.retries)
            waited.add_metric(name, metrics.waited.cumulated(), metrics.waited.total)
            worked.add_metric(name, metrics.worked.cumulated(), metrics.worked.total)
            seconds = under_way.get(metrics.name, ())
            unfinished.add_metric(name, sum(seconds))
            longest.add_metric(name, max(seconds, default=0.0))
    return [depth, adds, retries, waited, worked, unfinished, longest]


def scheduler_source(find: Callable[[], SchedulerRunner | None]) -> MetricsSource:
    """kube-scheduler's metrics."""

    def collect() -> Iterable[Metric]:
        runner = find()
        if runner is None:
            return ()
        metrics = runner.scheduler.metrics
        return (*_queue_metrics(runner), *_attempt_metrics(metrics), *_preemption_metrics(metrics), *_parts(runner))

    return collect


def _queue_metrics(runner: SchedulerRunner) -> Iterable[Metric]:
    scheduler = runner.scheduler
    pending = scheduler.statistics.pending()
    yield _gauge("pending_pods", "Pods that wait, by queue.", ("queue",), _keyed(pending))
    entities = [((queue, "pod"), count) for queue, count in pending.items()]
    yield _gauge("queued_entities", "Pods that wait and belong to no group.", ("queue", "type"), entities)
    incoming = scheduler.statistics.incoming()
    text = "Pods that came into a queue, by queue and by what brought them there."
    yield _counter("queue_incoming_pods_total", text, ("queue", "event"), incoming.items())
    alone = (((queue, event, "pod"), count) for (queue, event), count in incoming.items())
    text = "Pods that belong to no group and came into a queue."
    yield _counter("queue_incoming_entities_total", text, ("queue", "event", "type"), alone)
    tracked = [(("PodPopped",), scheduler.statistics.in_flight())]
    yield _gauge("inflight_events", "Pods being tried or bound.", ("event",), tracked)
    waiting = scheduler.statistics.unschedulable().items()
    yield _gauge("unschedulable_pods", "Pods that a plugin keeps waiting.", ("plugin", "profile"), waiting)
    yield _gauge(
        "cache_size", "Nodes and pods that the scheduler knows.", ("type",), _keyed(scheduler.statistics.cache_sizes())
    )
    under_way = [(("binding",), runner.in_flight)]
    yield _gauge("goroutines", "Bindings and reports under way.", ("operation",), under_way)


def _attempt_metrics(metrics: SchedulerMetrics) -> Iterable[Metric]:
    by_result = ("profile", "result")
    text = "Attempts to place a pod, by profile and result."
    yield _counter("schedule_attempts_total", text, by_result, metrics.attempts.items())
    yield _histogram(
        "scheduling_attempt_duration_seconds", "Deciding and binding.", by_result, metrics.attempt_seconds.items()
    )
    alone = [((), metrics.algorithm_seconds)]
    yield _histogram("scheduling_algorithm_duration_seconds", "Deciding alone.", (), alone)
    yield _histogram("pod_scheduling_attempts", "Attempts until a pod was placed.", (), [((), metrics.pod_attempts)])
    waited = _keyed(metrics.sli_seconds)
    yield _histogram(
        "pod_scheduling_sli_duration_seconds", "From a pod's first attempt until it was bound.", ("attempts",), waited
    )
    text = "Pods placed after nothing but time had brought them back."
    yield _counter("pod_scheduled_after_flush_total", text, (), [((), metrics.after_flush)])


def _preemption_metrics(metrics: SchedulerMetrics) -> Iterable[Metric]:
    text = "Attempts to make room by preemption."
    yield _counter("preemption_attempts_total", text, (), [((), metrics.preemption_attempts)])
    victims = [((), metrics.preemption_victims)]
    yield _histogram("preemption_victims", "Pods that had to leave for another.", (), victims)
    text = "Victims whose leaving broke a disruption budget."
    yield _counter("preemption_pdb_violations_total", text, ("preemptor",), [(("pod",), metrics.broken_budgets)])
    text = "Having victims deleted."
    yield _histogram("preemption_goroutines_duration_seconds", text, ("result",), metrics.preempting_seconds.items())
    text = "How often victims were had deleted."
    counts = ((labels, histogram.count) for labels, histogram in metrics.preempting_seconds.items())
    yield _counter("preemption_goroutines_execution_total", text, ("result",), counts)


def _parts(runner: SchedulerRunner) -> Iterable[Metric]:
    """What is inside a decision."""
    metrics = runner.scheduler.metrics
    yield _histogram(
        "framework_extension_point_duration_seconds",
        "All plugins of an extension point, of some decisions.",
        ("extension_point", "status", "profile"),
        metrics.point_seconds.items(),
    )
    yield _histogram(
        "plugin_execution_duration_seconds",
        "One plugin at an extension point, of some decisions.",
        ("plugin", "extension_point", "status"),
        metrics.plugin_seconds.items(),
    )
    yield _counter(
        "plugin_evaluation_total",
        "Pods that a plugin judged.",
        ("plugin", "extension_point", "profile"),
        runner.scheduler.statistics.evaluated().items(),
    )
    yield _histogram(
        "queueing_hint_execution_duration_seconds",
        "Whether an event is worth another try, as a plugin sees it; of some.",
        ("plugin", "event", "hint"),
        metrics.hint_seconds.items(),
    )
    yield _histogram(
        "event_handling_duration_seconds", "Taking in a change; of some.", ("event",), metrics.event_seconds.items()
    )


def _keyed(values: Mapping[str, T]) -> list[tuple[tuple[str, ...], T]]:
    return [((name,), value) for name, value in values.items()]


def _gauge(name: str, text: str, labels: Sequence[str], values: Iterable[tuple[tuple[str, ...], int]]) -> Metric:
    family = GaugeMetricFamily(f"scheduler_{name}", text, labels=labels)
    for key, value in sorted(values):
        family.add_metric(key, value)
    return family


def _counter(
    name: str, text: str, labels: Sequence[str], values: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"scheduler_{name}", text, labels=labels)
    for key, value in sorted(values):
        family.add_metric(key, value)
    return family


def _histogram(
    name: str, text: str, labels: Sequence[str], histograms: Iterable[tuple[tuple[str, ...], Histogram]]
) -> Metric:
    family = HistogramMetricFamily(f"scheduler_{name}", text, labels=labels)
    for key, histogram in sorted(histograms, key=lambda item: item[0]):
        family.add_metric(key, histogram.cumulated(), histogram.total)
    return family
