"""What the scheduler counts."""

from support.scheduling import Desk


def test_pods_are_counted_by_queue_and_by_who_keeps_them_waiting() -> None:
    desk = Desk()
    desk.node("n", taints="a:NoSchedule")
    desk.pod("p")
    desk.pod("gated", schedulingGates=[{"name": "g"}])
    desk.run()
    statistics = desk.scheduler.statistics
    assert statistics.pending() == {"active": 0, "backoff": 0, "unschedulable": 1, "gated": 1}
    assert statistics.unschedulable() == {
        ("TaintToleration", "default-scheduler"): 1,
        ("SchedulingGates", "default-scheduler"): 1,
    }
    assert (statistics.in_flight(), statistics.cache_sizes()) == (0, {"nodes": 1, "pods": 0, "assumed_pods": 0})
    assert statistics.incoming()["active", "TargetPodAdd"] == 1
    assert statistics.evaluated()["TaintToleration", "Filter", "default-scheduler"] == 1
