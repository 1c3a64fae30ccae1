"""Requests as `/metrics` counts them, under upstream's names: those of clients, and those of components in process.

They are counted in plain dictionaries, because every request pays for it. Labels never come from a client's text: a
path that leads to no kind is counted under none.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.samples import Sample

from doorman.api.kinds import Kinds
from doorman.server.request import RequestInfo

BUCKETS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
)  # fmt: skip
"""Of a request's duration, in seconds."""

_BOUNDS: Final = (*map(str, BUCKETS), "+Inf")

_VERBS: Final = {
    "create": "POST", "update": "PUT", "get": "GET", "list": "LIST", "watch": "WATCH", "patch": "PATCH",
    "delete": "DELETE", "deletecollection": "DELETECOLLECTION",
}  # fmt: skip
_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope", "dry_run")
_DRY_RUN: Final = "All"
KNOWN_MAX: Final = 4096
"""Ways of asking that are remembered: a client may make up as many as it likes."""

Key = tuple[str, str, str, str, str, str, str]


class RequestSeries:
    """Requests of one key that were answered with one code."""

    __slots__ = ("buckets", "code", "count", "is_timed", "key", "seconds")

    def __init__(self, key: Key, code: int, *, is_timed: bool) -> None:
        self.key = key
        self.code = code
        self.count = 0
        self.is_timed = is_timed
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float, times: int = 1) -> None:
        self.count += times
        if self.is_timed:
            self.buckets[bisect_left(BUCKETS, seconds)] += times
            self.seconds += seconds * times


class RequestMetrics:
    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._series: dict[tuple[Key, int, bool], RequestSeries] = {}
        self._known: dict[tuple[object, ...], RequestSeries] = {}
        """The same by what a request is, for as long as no kind comes or goes: every request asks."""
        self._edition = -1

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
        self.series(info, code, is_dry=is_dry, is_apply=is_apply).observe(seconds, times)

    def series(self, info: RequestInfo, code: int, *, is_dry: bool = False, is_apply: bool = False) -> RequestSeries:
        """Where requests are counted that ask the same and get the same answer."""
        if self._edition != self._kinds.edition:
            self._edition = self._kinds.edition
            self._known.clear()
        known = (
            info.resource, info.subresource, info.verb, code, info.group, info.version,
            not info.name, not info.namespace, info.is_resource, is_dry, is_apply,
        )  # fmt: skip
        series = self._known.get(known)
        if series is None:
            series = self._find(info, code, is_dry=is_dry, is_apply=is_apply)
            if len(self._known) < KNOWN_MAX:
                self._known[known] = series
        return series

    def _find(self, info: RequestInfo, code: int, *, is_dry: bool, is_apply: bool) -> RequestSeries:
        key, is_timed = self._key(info, is_dry=is_dry, is_apply=is_apply), info.verb != "watch"
        found = self._series.get((key, code, is_timed))
        if found is None:
            found = self._series[key, code, is_timed] = RequestSeries(key, code, is_timed=is_timed)
        return found

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
        for series in self._series.values():
            family.add_metric((*series.key, str(series.code), "apiserver"), series.count)
        return family

    def _request_durations(self) -> Metric:
        family = Metric(
            "apiserver_request_duration_seconds",
            "How long answers took, by verb, group, version, resource and scope.",
            "histogram",
        )
        family.samples = _samples(family.name, self._timed())  # type: ignore[assignment]  # made as they are written
        return family

    def _timed(self) -> dict[Key, list[RequestSeries]]:
        out: dict[Key, list[RequestSeries]] = {}
        for series in self._series.values():
            if series.is_timed:
                out.setdefault(series.key, []).append(series)
        return out


def _samples(name: str, timed: dict[Key, list[RequestSeries]]) -> Iterator[Sample]:
    for key, several in timed.items():
        labels = {**dict(zip(_LABELS, key, strict=True)), "component": "apiserver"}
        counts = accumulate(map(sum, zip(*(series.buckets for series in several), strict=True)))
        total = 0
        for bound, total in zip(_BOUNDS, counts, strict=True):
            yield Sample(f"{name}_bucket", {**labels, "le": bound}, total)
        yield Sample(f"{name}_count", labels, total)
        yield Sample(f"{name}_sum", labels, sum(series.seconds for series in several))
