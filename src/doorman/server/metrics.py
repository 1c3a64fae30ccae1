"""`/metrics`: what is going on here, in Prometheus' text form and under upstream's names.

Requests are counted in plain dictionaries, because every one of them pays for it; everything else is asked for when
somebody looks. Labels never come from a client's text: a path that leads to no kind is counted under none.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from doorman.api.kinds import Kinds
from doorman.base.reader_faults import ReaderFaults
from doorman.registry.cache.watch_cache import WatchCache
from doorman.server.flow_control import FlowControl
from doorman.server.request import RequestInfo, Response

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
)  # fmt: skip
"""Of a request's duration, in seconds."""

_VERBS: Final = {
    "create": "POST", "update": "PUT", "get": "GET", "list": "LIST", "watch": "WATCH", "patch": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETECOLLECTION",
}  # fmt: skip
_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope")

# Series of when others began: upstream has none.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it says nothing of types

MetricsSource = Callable[[], Iterable[Metric]]
Key = tuple[str, str, str, str, str, str]


class _Durations:
    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0


class Metrics:
    def __init__(self, kinds: Kinds, *sources: MetricsSource, faults: ReaderFaults | None = None) -> None:
        self._kinds = kinds
        self._faults = faults or ReaderFaults()
        self._sources = sources
        self._counts: dict[tuple[Key, int], int] = {}
        self._durations: dict[Key, _Durations] = {}

    def observe(self, info: RequestInfo, code: int, seconds: float) -> None:
        """One request was answered. Watches are counted when they begin; how long they last says nothing."""
        key = self._key(info)
        count = (key, code)
        self._counts[count] = self._counts.get(count, 0) + 1
        if info.verb != "watch":
            durations = self._durations.get(key)
            if durations is None:
                durations = self._durations[key] = _Durations()
            durations.buckets[bisect_left(BUCKETS, seconds)] += 1
            durations.seconds += seconds

    def answer(self) -> Response:
        return Response(content_type=CONTENT_TYPE, body=generate_latest(self))

    def collect(self) -> Iterator[Metric]:
        """All families, as prometheus_client takes them from a registry."""
        yield self._request_total()
        yield self._request_durations()
        for source in self._sources:
            try:
                yield from list(source())
            except Exception as error:  # noqa: BLE001  the others are told
                self._faults.caught("metrics", error)

    def _key(self, info: RequestInfo) -> Key:
        verb = _VERBS.get(info.verb, "other")
        if not info.is_resource:
            return (info.verb.upper() if info.verb in ("get", "head", "post") else "other", "", "", "", "", "")
        kind = self._kinds.at(info.group, info.version, info.resource)
        if kind is None:
            return (verb, "", "", "", "", "")
        subresource = info.subresource
        if subresource and kind.subresource(subresource) is None:
            subresource = ""
        scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
        return (verb, info.group, info.version, info.resource, subresource, scope)

    def _request_total(self) -> Metric:
        family = CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, group, version, resource, scope and answer.",
            labels=(*_LABELS, "code", "component", "dry_run"),
        )
        for (key, code), count in list(self._counts.items()):
            family.add_metric((*key, str(code), "apiserver", ""), count)
        return family

    def _request_durations(self) -> Metric:
        family = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "How long answers took, by verb, group, version, resource and scope.",
            labels=(*_LABELS, "component", "dry_run"),
        )
        for key, durations in list(self._durations.items()):
            total = 0
            buckets: list[tuple[str, float]] = []
            for bound, count in zip((*BUCKETS, float("inf")), durations.buckets, strict=True):
                total += count
                buckets.append(("+Inf" if bound == float("inf") else str(bound), total))
            family.add_metric((*key, "apiserver", ""), buckets, durations.seconds)
        return family


def flow_source(flow: FlowControl) -> MetricsSource:
    """How many requests are worked on, how many wait, and how many watches are open."""

    def collect() -> Iterable[Metric]:
        running = GaugeMetricFamily(
            "apiserver_current_inflight_requests", "Requests being worked on, by kind.", labels=("request_kind",)
        )
        waiting = GaugeMetricFamily(
            "apiserver_current_inqueue_requests", "Requests that wait for a place, by kind.", labels=("request_kind",)
        )
        for name, lane in (("mutating", flow.mutating), ("readOnly", flow.read_only)):
            running.add_metric((name,), lane.running)
            waiting.add_metric((name,), lane.waiting)
        watches = GaugeMetricFamily("apiserver_longrunning_requests", "Open watches.", labels=("verb", "component"))
        watches.add_metric(("WATCH", "apiserver"), flow.watches)
        return (running, waiting, watches)

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
