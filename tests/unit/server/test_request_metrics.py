"""Requests counted by what they were."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from doorman.api.kinds import builtin_kinds
from doorman.server.metrics import Metrics
from doorman.server.request import Query, parse_request_info
from doorman.server.request_metrics import RequestMetrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = b"".join(metrics.answer().chunks or ()).decode()
    return {
        (sample.name, tuple(sorted((k, v) for k, v in sample.labels.items() if v))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def seen(method: str, path: str, query: str = "", *, code: int = 200) -> dict[str, str]:
    metrics = RequestMetrics(builtin_kinds())
    metrics.observe(parse_request_info(method, path, Query(query)), code, 0.01)
    (found,) = [dict(labels) for name, labels in samples(Metrics(metrics.collect)) if name == "apiserver_request_total"]
    del found["component"]
    return found


POD = {"version": "v1", "resource": "pods"}


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param(
            "POST",
            "/api/v1/namespaces/a/pods",
            "",
            {**POD, "verb": "POST", "scope": "resource", "code": "200"},
            id="create",
        ),
        pytest.param("GET", "/api/v1/pods", "", {**POD, "verb": "LIST", "scope": "cluster", "code": "200"}, id="list"),
        pytest.param(
            "GET",
            "/api/v1/namespaces/a/pods",
            "watch=1",
            {**POD, "verb": "WATCH", "scope": "namespace", "code": "200"},
            id="watch",
        ),
        pytest.param(
            "PATCH",
            "/api/v1/namespaces/a/pods/p/status",
            "",
            {**POD, "verb": "PATCH", "scope": "resource", "subresource": "status", "code": "200"},
            id="subresource",
        ),
        pytest.param(
            "GET",
            "/apis/apps/v1/deployments",
            "",
            {
                "verb": "LIST",
                "group": "apps",
                "version": "v1",
                "resource": "deployments",
                "scope": "cluster",
                "code": "200",
            },
            id="group",
        ),
        pytest.param("GET", "/apis/x.example/v1/zzz", "", {"verb": "LIST", "code": "200"}, id="no-such-kind"),
        pytest.param(
            "GET",
            "/api/v1/namespaces/a/pods/p/zzz",
            "",
            {**POD, "verb": "GET", "scope": "resource", "code": "200"},
            id="no-such-subresource",
        ),
        pytest.param("GET", "/healthz", "", {"verb": "GET", "code": "200"}, id="plain-path"),
        pytest.param("BREW", "/coffee", "", {"verb": "other", "code": "200"}, id="strange-method"),
    ],
)
def test_request_is_counted_under_known_names_only(
    method: str, path: str, query: str, expected: dict[str, str]
) -> None:
    assert seen(method, path, query) == expected


def test_durations_add_up_in_buckets() -> None:
    metrics = RequestMetrics(builtin_kinds())
    info = parse_request_info("GET", "/api/v1/nodes", Query(""))
    for seconds in (0.005, 0.01, 0.3, 99.0):
        metrics.observe(info, 200, seconds)
    found = samples(Metrics(metrics.collect))
    buckets = {dict(labels)["le"]: value for (name, labels), value in found.items() if name.endswith("seconds_bucket")}
    assert (buckets["0.005"], buckets["0.025"], buckets["0.4"], buckets["60.0"], buckets["+Inf"]) == (1, 2, 3, 3, 4)
    (total,) = [value for (name, _), value in found.items() if name.endswith("seconds_sum")]
    assert total == pytest.approx(99.315)


def test_watches_have_no_duration() -> None:
    metrics = RequestMetrics(builtin_kinds())
    metrics.observe(parse_request_info("GET", "/api/v1/nodes", Query("watch=true")), 200, 5.0)
    assert [name for name, _ in samples(Metrics(metrics.collect))] == ["apiserver_request_total"]


def test_dry_runs_and_applied_configurations_are_told_apart() -> None:
    metrics = RequestMetrics(builtin_kinds())
    info = parse_request_info("PATCH", "/api/v1/namespaces/a/pods/p", Query(""))
    metrics.observe(info, 200, 0.1, is_dry=True, is_apply=True)
    (found,) = [dict(labels) for name, labels in samples(Metrics(metrics.collect)) if name == "apiserver_request_total"]
    assert (found["verb"], found["dry_run"]) == ("APPLY", "All")
