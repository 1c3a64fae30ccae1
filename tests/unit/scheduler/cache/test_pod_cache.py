"""Pods that hold a place: what the columns show of them, and which shapes are held for them."""

import msgspec
import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_cache import PodCache, on_node
from doorman.scheduler.cache.resource_ids import CPU_INDEX, ResourceIds
from support.scheduling import make_node, make_pod


class Yard:
    def __init__(self) -> None:
        resources = ResourceIds()
        self.cluster = ClusterState(resources)
        self.shapes = self.cluster.shapes
        self.pods = PodCache(self.cluster, self.shapes)
        for name in ("n1", "n2"):
            self.cluster.set_node(make_node(name))

    def cpu(self) -> list[int]:
        return [int(amount) for amount in self.cluster.requested[CPU_INDEX][:2]]


@pytest.fixture
def yard() -> Yard:
    return Yard()


def test_placed_pod_is_counted_until_it_is_gone(yard: Yard) -> None:
    yard.pods.place("a", make_pod("a", node="n1", requests={"cpu": "1"}))
    assert (yard.cpu(), "a" in yard.pods, len(yard.pods), yard.pods.assumed_count) == ([1000, 0], True, 1, 0)
    record = yard.pods.get("a")
    assert record is not None
    yard.pods.remove(record)
    assert (yard.cpu(), "a" in yard.pods) == ([0, 0], False)


def test_assumed_pod_is_counted_at_once_and_no_longer_assumed_when_it_is_bound(yard: Yard) -> None:
    pod = make_pod("a", requests={"cpu": "1"})
    yard.pods.assume("a", pod, yard.shapes.take(pod), "n2")
    record = yard.pods.get("a")
    assert record is not None
    assert (yard.cpu(), yard.pods.assumed_count, on_node(record).spec.node_name) == ([0, 1000], 1, "n2")
    yard.pods.replace(record, make_pod("a", node="n2", requests={"cpu": "1"}, labels={"zone": "z"}))
    assert (yard.cpu(), yard.pods.assumed_count) == ([0, 1000], 0)
    assert yard.pods.get("a") is record


def test_pod_that_turns_up_elsewhere_moves(yard: Yard) -> None:
    pod = make_pod("a", requests={"cpu": "1"})
    yard.pods.assume("a", pod, yard.shapes.take(pod), "n2")
    record = yard.pods.get("a")
    assert record is not None
    yard.pods.replace(record, make_pod("a", node="n1", requests={"cpu": "1"}))
    assert yard.cpu() == [1000, 0]


def test_pod_that_is_resized_is_counted_anew(yard: Yard) -> None:
    yard.pods.place("a", make_pod("a", node="n1", requests={"cpu": "1"}))
    record = yard.pods.get("a")
    assert record is not None
    yard.pods.replace(record, make_pod("a", node="n1", requests={"cpu": "3"}))
    assert yard.cpu() == [3000, 0]


def test_status_alone_changes_no_column_but_is_taken_over(yard: Yard) -> None:
    pod = make_pod("a", node="n1", requests={"cpu": "1"})
    yard.pods.place("a", pod)
    record, end = yard.pods.get("a"), yard.cluster.log_end
    assert record is not None
    shape = record.shape
    new = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Running"))
    yard.pods.replace(record, new)
    assert (record.pod, record.shape, yard.cluster.log_end) == (new, shape, end)


def test_pod_that_is_deleted_is_leaving(yard: Yard) -> None:
    pod = make_pod("a", node="n1")
    yard.pods.place("a", pod)
    record = yard.pods.get("a")
    assert record is not None
    going = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    yard.pods.replace(record, msgspec.structs.replace(pod, metadata=going))
    assert record.leaving
