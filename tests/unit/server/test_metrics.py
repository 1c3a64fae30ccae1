"""A page that Prometheus can read."""

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from doorman.server.flowcontrol.flow_control import Flow, FlowControl
from doorman.server.metrics import SAMPLES_AT_ONCE, Metrics, flow_source
from doorman.server.request import Query, parse_request_info


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = b"".join(metrics.answer().chunks or ()).decode()
    return {
        (sample.name, tuple(sorted((k, v) for k, v in sample.labels.items() if v))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_in_flight_are_told_by_kind() -> None:
    flow = FlowControl()
    creating = parse_request_info("POST", "/api/v1/namespaces/d/pods", Query(""))
    assert flow.try_enter(Flow(None, "", ()), creating)
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


def test_many_lines_are_written_some_at_a_time() -> None:
    """Whoever looks at a server with many kinds holds up nobody."""
    family = GaugeMetricFamily("many", "Many.", labels=("n",))
    for number in range(3 * SAMPLES_AT_ONCE):
        family.add_metric((str(number),), number)
    head, *pieces = Metrics(lambda: (family,)).answer().chunks or ()
    assert head == b"# HELP many Many.\n# TYPE many gauge\n"
    assert [piece.count(b"\n") for piece in pieces] == [SAMPLES_AT_ONCE] * 3
