"""`/metrics`: what is going on here, in Prometheus' text form and under upstream's names.

Requests are counted as they come (`request_metrics.py`); everything else is asked for when somebody looks. Where many
kinds are asked for in many ways there are tens of thousands of lines: they are written some at a time.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from prometheus_client import disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from doorman.api.kinds import Kinds
from doorman.base.histograms import MetricsSource
from doorman.base.reader_faults import ReaderFaults
from doorman.registry.cache.watch_cache import WatchCache
from doorman.server.flowcontrol.flow_control import FlowControl
from doorman.server.request import Response

SAMPLES_AT_ONCE: Final = 256
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_QUOTE: Final = r"\""

# Series of when others began: upstream has none.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it says nothing of types


class Metrics:
    def __init__(self, *sources: MetricsSource, faults: ReaderFaults | None = None) -> None:
        self._faults = faults or ReaderFaults()
        self._sources = sources

    def answer(self) -> Response:
        return Response(content_type=CONTENT_TYPE, chunks=self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        for family in self.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            kind = "untyped" if family.type == "unknown" else family.type
            yield f"# HELP {name} {_escaped(family.documentation)}\n# TYPE {name} {kind}\n".encode()
            samples = iter(family.samples)
            while lines := "".join(map(_line, islice(samples, SAMPLES_AT_ONCE))):
                yield lines.encode()

    def collect(self) -> Iterator[Metric]:
        """All families, as prometheus_client takes them from a registry."""
        for source in self._sources:
            try:
                yield from list(source())
            except Exception as error:  # noqa: BLE001  the others are told
                self._faults.caught("metrics", error)


def _line(sample: Sample) -> str:
    """
    >>> _line(Sample("a_total", {"b": 'say "x"', "a": "1"}, 2.0))
    'a_total{a="1",b="say \\\\"x\\\\""} 2.0\\n'
    """
    labels = ",".join(
        [f'{name}="{_escaped(value).replace(chr(34), _QUOTE)}"' for name, value in sorted(sample.labels.items())]
    )
    value: str = floatToGoString(sample.value)  # type: ignore[no-untyped-call]  # it says nothing of types
    return f"{sample.name}{{{labels}}} {value}\n" if labels else f"{sample.name} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n") if "\\" in text or "\n" in text else text


def flow_source(flow: FlowControl) -> MetricsSource:
    """How many requests are worked on, wait and were refused, by priority level; and how many watches are open."""

    def collect() -> Iterable[Metric]:
        running = GaugeMetricFamily(
            "apiserver_current_inflight_requests", "Requests being worked on, by kind.", labels=("request_kind",)
        )
        for kind, count in flow.running.items():
            running.add_metric((kind,), count)
        by_level = ("priority_level",)
        head = "apiserver_flowcontrol"
        executing = GaugeMetricFamily(f"{head}_current_executing_seats", "Seats that are taken.", labels=by_level)
        waiting = GaugeMetricFamily(f"{head}_current_inqueue_requests", "Requests that wait.", labels=by_level)
        seats = GaugeMetricFamily(f"{head}_nominal_limit_seats", "Seats a level has of its own.", labels=by_level)
        dispatched = CounterMetricFamily(
            f"{head}_dispatched_requests_total", "Requests that had a seat.", labels=by_level
        )
        rejected = CounterMetricFamily(
            f"{head}_rejected_requests_total", "Requests that were refused.", labels=(*by_level, "reason")
        )
        for name, level in flow.levels.items():
            executing.add_metric((name,), level.running)
            waiting.add_metric((name,), level.waiting)
            seats.add_metric((name,), level.seats)
            dispatched.add_metric((name,), level.dispatched)
            for reason, count in level.rejected.items():
                rejected.add_metric((name, reason), count)
        watches = GaugeMetricFamily("apiserver_longrunning_requests", "Open watches.", labels=("verb", "component"))
        watches.add_metric(("WATCH", "apiserver"), flow.watches)
        return (running, executing, waiting, seats, dispatched, rejected, watches)

    return collect


def reader_source(faults: ReaderFaults) -> MetricsSource:
    """How often readers could not take what is stored, and how many objects are set aside for it."""

    def collect() -> Iterable[Metric]:
        family = CounterMetricFamily(
            "doorman_reader_faults_total", "What readers of stored objects could not take.", labels=("reader",)
        )
        for reader, count in sorted(faults.counts.items()):
            family.add_metric((reader,), count)
        aside = GaugeMetricFamily("doorman_objects_set_aside", "Stored objects that some reader could not take.")
        aside.add_metric((), len(faults.set_aside))
        return (family, aside)

    return collect


def storage_source(cache: WatchCache, kinds: Kinds) -> MetricsSource:
    """How many objects of each kind there are."""

    def collect() -> Iterable[Metric]:
        objects = GaugeMetricFamily("apiserver_storage_objects", "Stored objects by resource.", labels=("resource",))
        for storage in sorted({row.storage for row in kinds.rows if "list" in row.verbs}):
            objects.add_metric((storage,), len(cache.collection(storage).objects))
        return (objects,)

    return collect
