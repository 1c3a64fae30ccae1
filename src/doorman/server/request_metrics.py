"""Requests as `/metrics` counts them, under upstream's names: those of clients, and those of components in process.

They are counted in plain dictionaries, because every request pays for it. Labels never come from a client's text: a
path that leads to no kind is counted under none.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from doorman.api.kinds import Kinds
from doorman.server.request import RequestInfo

BUCKETS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
)  # fmt: skip
"""Of a request's duration, in seconds."""

_VERBS: Final = {
    "create": "POST", "update": "PUT", "get": "GET", "list": "LIST", "watch": "WATCH", "patch": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETECOLLECTION",
}  # fmt: skip
_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope", "dry_run")
_DRY_RUN: Final = "All"

Key = tuple[str, str, str, str, str, str, str]


class _Durations:
    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0


class RequestMetrics:
    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._counts: dict[tuple[Key, int], int] = {}
        self._durations: dict[Key, _Durations] = {}

    def observe(
        self,
        info: RequestInfo,
        code: int,
        seconds: float,
        *,
        is_dry: bool = False,
        is_apply: bool = False,
        times: int = 1,
    ) -> None:
        """Requests were answered. Watches are counted when they begin; how long they last says nothing."""
        key = self._key(info, is_dry=is_dry, is_apply=is_apply)
        count = (key, code)
        self._counts[count] = self._counts.get(count, 0) + times
        if info.verb != "watch":
            durations = self._durations.get(key)
            if durations is None:
                durations = self._durations[key] = _Durations()
            durations.buckets[bisect_left(BUCKETS, seconds)] += times
            durations.seconds += seconds * times

    def collect(self) -> Iterable[Metric]:
        return (self._request_total(), self._request_durations())

    def _key(self, info: RequestInfo, *, is_dry: bool, is_apply: bool) -> Key:
        verb = "APPLY" if is_apply else _VERBS.get(info.verb, "other")
        dry_run = _DRY_RUN if is_dry else ""
        if not info.is_resource:
            return (info.verb.upper() if info.verb in ("get", "head", "post") else "other", "", "", "", "", "", "")
        kind = self._kinds.at(info.group, info.version, info.resource)
        if kind is None:
            return (verb, "", "", "", "", "", "")
        subresource = info.subresource
        if subresource and kind.subresource(subresource) is None:
            subresource = ""
        is_one = bool(info.name) or info.verb == "create"
        scope = "resource" if is_one else "namespace" if info.namespace else "cluster"
        return (verb, info.group, info.version, info.resource, subresource, scope, dry_run)

    def _request_total(self) -> Metric:
        family = CounterMetricFamily(
            "apiserver_request_total",
            "Requests by verb, group, version, resource, scope and answer.",
            labels=(*_LABELS, "code", "component"),
        )
        for (key, code), count in list(self._counts.items()):
            family.add_metric((*key, str(code), "apiserver"), count)
        return family

    def _request_durations(self) -> Metric:
        family = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "How long answers took, by verb, group, version, resource and scope.",
            labels=(*_LABELS, "component"),
        )
        for key, durations in list(self._durations.items()):
            total = 0
            buckets: list[tuple[str, float]] = []
            for bound, count in zip((*BUCKETS, float("inf")), durations.buckets, strict=True):
                total += count
                buckets.append(("+Inf" if bound == float("inf") else str(bound), total))
            family.add_metric((*key, "apiserver"), buckets, durations.seconds)
        return family
