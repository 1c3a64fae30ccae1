"""Pods that hold a place."""

import math

import msgspec

from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from support.scheduling import make_pod


def record(start_time: str = "", deletion_timestamp: str = "") -> PodRecord:
    pod = make_pod("p", priority=7)
    pod = msgspec.structs.replace(
        pod,
        status=msgspec.structs.replace(pod.status, start_time=start_time),
        metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=deletion_timestamp),
    )
    return PodRecord("a/p", pod, ShapeTable(ResourceIds()).take(pod), "n", assumed=False)


def test_pod_that_has_not_started_starts_after_all_that_have() -> None:
    assert record().started == math.inf
    assert record("2026-01-01T00:00:00Z").started < record("2026-01-01T00:00:01Z").started < math.inf


def test_what_the_pod_says_is_read_once() -> None:
    leaving = record(deletion_timestamp="2026-01-01T00:00:00Z")
    assert (leaving.leaving, leaving.priority, leaving.row) == (True, 7, -1)
    assert not record().leaving
