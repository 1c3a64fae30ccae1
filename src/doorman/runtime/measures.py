"""What the scheduler and the controllers have to say in `/metrics`."""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from doorman.client.runner import ControllerRunner
from doorman.runtime.scheduling import SchedulerRunner


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
    def collect() -> Iterable[Metric]:
        runner = find()
        if runner is None:
            return ()
        pending = GaugeMetricFamily("scheduler_pending_pods", "Pods that wait, by queue.", labels=("queue",))
        for queue, count in runner.scheduler.pending().items():
            pending.add_metric((queue,), count)
        attempts = CounterMetricFamily(
            "scheduler_schedule_attempts_total",
            "Attempts to place a pod, by profile and result.",
            labels=("profile", "result"),
        )
        for (profile, result), count in sorted(runner.attempts.items()):
            attempts.add_metric((profile, result), count)
        return (pending, attempts)

    return collect
