"""Columns: nodes come and go, pods follow, rows are used again."""

import pytest

from doorman.scheduler.cache.cluster_state import CAPACITY_MIN, NO_PODS_PRIORITY, ClusterState
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import CPU_INDEX, ResourceIds
from support.scheduling import make_node, make_pod


def yard() -> tuple[ClusterState, ShapeTable]:
    resources = ResourceIds()
    cluster = ClusterState(resources)
    return cluster, cluster.shapes


def record(shapes: ShapeTable, name: str, node: str, *, priority: int = 0, cpu: str = "1") -> PodRecord:
    pod = make_pod(name, requests={"cpu": cpu, "example.com/gpu": "2"}, priority=priority)
    return PodRecord(pod.metadata.key, pod, shapes.take(pod), node, assumed=False)


def test_pods_are_summed_and_taken_off_again() -> None:
    cluster, shapes = yard()
    cluster.set_node(make_node("n1"))
    one, other = record(shapes, "a", "n1", priority=5), record(shapes, "b", "n1", priority=2)
    cluster.add_pod(one)
    cluster.add_pod(other)
    gpu = cluster.resources.index("example.com/gpu")
    assert (cluster.requested[CPU_INDEX][0], cluster.requested[gpu][0], cluster.pod_count[0]) == (2000, 4, 2)
    assert cluster.lowest_priority[0] == 2
    cluster.remove_pod(other)
    assert (cluster.requested[CPU_INDEX][0], cluster.pod_count[0], cluster.lowest_priority[0]) == (1000, 1, 5)
    cluster.remove_pod(one)
    assert (cluster.requested[gpu][0], cluster.lowest_priority[0]) == (0, NO_PODS_PRIORITY)


def test_pods_of_an_unknown_node_wait_for_it() -> None:
    cluster, shapes = yard()
    early = record(shapes, "a", "n1")
    cluster.add_pod(early)
    cluster.set_node(make_node("n1"))
    assert cluster.pod_count[0] == 1
    cluster.remove_node("n1")
    assert early.row == -1
    cluster.set_node(make_node("n2"))
    assert cluster.pod_count[0] == 0, "the row of n1 is used again, its pods are not there"
    cluster.set_node(make_node("n1"))
    assert cluster.pod_count[1] == 1
    cluster.remove_pod(early)
    cluster.remove_node("n1")
    cluster.set_node(make_node("n1"))
    assert cluster.pod_count[1] == 0


def test_row_of_a_deleted_node_forgets_labels_taints_and_images() -> None:
    cluster, _ = yard()
    zones = cluster.labels("zone")
    cluster.set_node(make_node("n1", labels={"zone": "a"}, taints="x:NoSchedule", images={"i": 1}))
    cluster.remove_node("n1")
    assert (zones.value(0), cluster.taints.value(0), cluster.images.get("i")) == (None, (), None)
    assert not cluster.present[0]
    assert cluster.node_count == 0


def test_columns_grow_with_the_cluster_and_keep_what_they_hold() -> None:
    cluster, shapes = yard()
    zones = cluster.labels("zone")
    for at in range(3 * CAPACITY_MIN):
        cluster.set_node(make_node(f"n{at}", labels={"zone": str(at)}, cpu=str(at)))
        cluster.add_pod(record(shapes, f"p{at}", f"n{at}"))
    last = 3 * CAPACITY_MIN - 1
    assert (zones.value(last), cluster.allocatable[CPU_INDEX][last]) == (str(last), 1000 * last)
    assert cluster.pod_count[: cluster.size].sum() == 3 * CAPACITY_MIN
    assert cluster.rank()[last] == last


def test_heartbeat_touches_no_row() -> None:
    cluster, _ = yard()
    cluster.set_node(make_node("n1"))
    before = cluster.log_end
    cluster.set_node(make_node("n1"))
    assert cluster.log_end == before
    cluster.set_node(make_node("n1", taints="x:NoSchedule"))
    assert cluster.touched_since(before) == {0: True}


def test_trial_leaves_no_trace() -> None:
    cluster, shapes = yard()
    cluster.set_node(make_node("n1"))
    held = record(shapes, "a", "n1")
    cluster.add_pod(held)
    before = cluster.log_end
    cluster.try_remove(held)
    assert cluster.pod_count[0] == 0
    cluster.try_add(held, 0)
    assert (cluster.pod_count[0], cluster.log_end) == (1, before)


def test_label_columns_nobody_uses_are_let_go_and_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorman.scheduler.cache.cluster_state.LABEL_COLUMNS_MAX", 2)
    cluster, _ = yard()
    cluster.set_node(make_node("n1", labels={"a": "1"}))
    held = cluster.labels("a")
    for key in ("b", "c", "d"):
        cluster.labels(key)
    cluster.set_node(make_node("n1", labels={"a": "2", "b": "3"}))
    assert held.value(0) == "2", "a column that is in use follows the nodes although it is not recent"
    assert cluster.labels("a") is held
    assert cluster.labels("b").value(0) == "3"
