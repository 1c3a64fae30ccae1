"""A page that Prometheus can read."""

from prometheus_client import Counter, Histogram
from prometheus_client.parser import text_string_to_metric_families

from doorman.server.flow_control import FlowControl
from doorman.server.metrics import Metrics, flow_source


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = metrics.answer().body.decode()
    return {
        (sample.name, tuple(sorted((k, v) for k, v in sample.labels.items() if v))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_in_flight_are_told_by_lane() -> None:
    flow = FlowControl()
    assert flow.mutating.try_enter()
    metrics = Metrics(flow_source(flow))
    found = samples(metrics)
    assert found["apiserver_current_inflight_requests", (("request_kind", "mutating"),)] == 1
    assert found["apiserver_current_inflight_requests", (("request_kind", "readOnly"),)] == 0


def test_nobody_is_told_when_a_series_began() -> None:
    counter = Counter("things_total", "Things.", registry=None)
    histogram = Histogram("seconds", "Seconds.", registry=None)
    metrics = Metrics(counter.collect, histogram.collect)
    names = {name for name, _ in samples(metrics)}
    assert {"things_total", "seconds_count"} <= names
    assert not [name for name in names if name.endswith("_created")]
