"""Whole timelines of failing nodes, at Kubernetes' real parameters."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.views.coordination import Lease
from doorman.api.views.meta import ObjectMeta
from doorman.base.errors import ApiError, GroupResource, stale
from doorman.client.actions import Delete, Patch, Renew
from doorman.client.informer_cache import InformerCache
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.node_annotations import SCRIPT
from doorman.nodes.profile import NodeProfile, simulated_node
from support.objects import node, pod
from support.stage import Stage

LEASES = "leases.coordination.k8s.io"
K8S = "node.kubernetes.io/"
SECONDS_300 = f"{K8S}not-ready:NoExecute@300 {K8S}unreachable:NoExecute@300"


def stage_with(**settings: Any) -> tuple[Stage, NodeLifecycleController]:
    stage = Stage({LEASES: Lease})
    caches = stage.caches
    controller = NodeLifecycleController(
        caches["nodes"], caches["pods"], caches[LEASES], NodeLifecycleSettings(**settings)
    )
    stage.add(controller)
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"]))
    return stage, controller


def add_nodes(stage: Stage, names: Iterable[str], script: str = "", zone: str = "") -> None:
    for name in names:
        stage.create("nodes", simulated_node(name, NodeProfile(zone=zone, script=script)))


def taints(stage: Stage, name: str) -> list[str]:
    document = stage.get("nodes", name)
    assert document is not None
    return [f"{t['key'].removeprefix(K8S)}:{t['effect']}" for t in document["spec"].get("taints") or []]


def tainted_at(stage: Stage, key: str) -> dict[str, float]:
    """When each node got its NoExecute taint with this key."""
    found: dict[str, float] = {}
    for at, _, action in stage.actions:
        if isinstance(action, Patch) and action.resource == "nodes" and "spec" in action.body:
            for taint in action.body["spec"]["taints"] or []:
                if taint["key"] == K8S + key and taint["effect"] == "NoExecute":
                    found.setdefault(action.name, at)
    return found


def condition(stage: Stage, resource: str, key: str, kind: str) -> str:
    document = stage.get(resource, key)
    assert document is not None
    return next(one["status"] for one in document["status"]["conditions"] if one["type"] == kind)


def test_dead_kubelet_is_unknown_after_the_grace_period_and_its_pods_leave_300_seconds_later() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="silent 100s-2000s")
    add_nodes(stage, ["n2", "n3"])
    stage.create("pods", pod("p", "n1", tolerations=SECONDS_300))
    stage.at(100)
    last_renewal = max(at for at, action in stage.done(Renew) if "n1" in action.nodes)
    stage.at(145)
    assert condition(stage, "nodes", "n1", "Ready") == "True"
    stage.at(156)
    assert [condition(stage, "nodes", "n1", t) for t in ("Ready", "MemoryPressure", "PIDPressure")] == ["Unknown"] * 3
    told = stage.messages("NodeNotReady")
    assert [text for _, text in told] == ["Node n1 status is now: NodeNotReady", "Node is not ready"]
    marked = told[0][0]
    assert 50 < marked - last_renewal <= 60
    assert condition(stage, "pods", "default/p", "Ready") == "False"
    assert taints(stage, "n1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert tainted_at(stage, "unreachable") == {"n1": pytest.approx(marked + 0.1)}
    stage.at(1000)
    deleted = [at for at, action in stage.done(Delete, "pods")]
    assert deleted == [pytest.approx(marked + 300.1)]
    assert stage.get("pods", "default/p") is not None
    stage.at(2010)
    assert stage.get("pods", "default/p") is None
    assert taints(stage, "n1") == []


def test_node_that_returns_in_time_keeps_its_pods_and_they_are_ready_again() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="silent 10s-200s")
    add_nodes(stage, ["n2", "n3"])
    stage.create("pods", pod("p", "n1", tolerations=SECONDS_300))
    stage.at(199)
    assert "unreachable:NoExecute" in taints(stage, "n1")
    stage.at(206)
    assert taints(stage, "n1") == []
    assert condition(stage, "pods", "default/p", "Ready") == "True"
    assert [text for _, text in stage.messages("TaintManagerEviction")] == ["Cancelling deletion of Pod default/p"]
    stage.at(1000)
    assert stage.done(Delete, "pods") == []


def test_lease_alone_keeps_a_node_alive() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1", "n2", "n3"])
    stage.at(3600)
    assert tainted_at(stage, "unreachable") == {}
    assert [text for _, text in stage.messages() if "NotReady" in text] == []


def test_not_ready_nodes_of_one_zone_are_tainted_ten_seconds_apart() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1", "n2"], script="Ready=False 20s-")
    add_nodes(stage, ["n3", "n4"])
    stage.at(21)
    assert [taints(stage, name) for name in ("n1", "n2")] == [
        ["not-ready:NoSchedule"] * 1 + ["not-ready:NoExecute"],
        ["not-ready:NoSchedule"],
    ]
    stage.at(60)
    assert tainted_at(stage, "not-ready") == {"n1": pytest.approx(20.1), "n2": pytest.approx(30.1)}


def test_three_of_four_down_stops_the_tainting_and_says_so() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["n1", "n2", "n3"], script="Ready=False 20s-100s")
    add_nodes(stage, ["n4"])
    stage.at(99)
    assert tainted_at(stage, "not-ready") == {}
    report = controller.zones()[0]
    assert (report.state, report.nodes_per_second, report.unhealthy, report.nodes) == ("PartialDisruption", 0.0, 3, 4)
    assert report.halted_because == "3 of 4 nodes are not ready and the zone is small"
    assert report.waiting == ("n1", "n2", "n3")
    stage.at(106)
    assert controller.zones()[0].state == "Normal"


@pytest.mark.parametrize(
    ("down", "gap"),
    [pytest.param(55, 100.0, id="55-of-100-partial"), pytest.param(54, 10.0, id="54-of-100-normal")],
)
def test_hundred_nodes_mostly_down(down: int, gap: float) -> None:
    stage, _ = stage_with()
    add_nodes(stage, [f"n{i:03d}" for i in range(down)], script="Ready=False 20s-")
    add_nodes(stage, [f"n{i:03d}" for i in range(down, 100)])
    stage.at(520)
    instants = sorted(tainted_at(stage, "not-ready").values())
    assert instants[0] == pytest.approx(20.1)
    assert len(instants) == 500 // gap
    assert instants[1] - instants[0] == pytest.approx(gap)


def test_last_pod_of_a_lost_zone_of_100_nodes_leaves_after_22_minutes() -> None:
    stage, controller = stage_with()
    for zone in ("a", "b", "c"):
        script = "silent 60s-" if zone == "a" else ""
        add_nodes(stage, [f"{zone}{i:02d}" for i in range(100)], script=script, zone=zone)
    for i in range(100):
        stage.create("pods", pod(f"p{i:02d}", f"a{i:02d}", tolerations=SECONDS_300))
    stage.at(300)
    states = {report.zone: (report.state, report.nodes_per_second) for report in controller.zones()}
    assert states == {"a": ("FullDisruption", 0.1), "b": ("Normal", 0.1), "c": ("Normal", 0.1)}
    stage.at(60 + 23 * 60)
    deleted = [at - 60 for at, _ in stage.done(Delete, "pods")]
    assert len(deleted) == 100
    assert 340 <= deleted[0] <= 365
    assert 22 * 60 <= deleted[-1] <= 23 * 60
    assert stage.messages("NodeNotReady")[-1][1] == "Node is not ready"


def test_all_zones_down_takes_the_no_execute_taints_off_and_adds_none() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["a"], script="Ready=False 20s-200s", zone="za")
    add_nodes(stage, ["b"], script="Ready=False 100s-200s", zone="zb")
    stage.at(99)
    assert taints(stage, "a") == ["not-ready:NoSchedule", "not-ready:NoExecute"]
    stage.at(110)
    assert taints(stage, "a") == ["not-ready:NoSchedule"]
    assert taints(stage, "b") == ["not-ready:NoSchedule"]
    assert controller.zones()[0].halted_because.startswith("every node of every zone")
    stage.at(190)
    assert tainted_at(stage, "not-ready") == {"a": pytest.approx(20.1)}
    stage.at(260)
    assert taints(stage, "a") == taints(stage, "b") == []


def test_when_the_first_node_is_well_again_all_others_get_a_new_grace_period() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["a"], script="Ready=False 20s-70s", zone="za")
    add_nodes(stage, ["b"], script="Ready=False 20s-; silent 40s-", zone="zb")
    stage.at(119)
    assert condition(stage, "nodes", "b", "Ready") == "False"
    stage.at(126)
    assert condition(stage, "nodes", "b", "Ready") == "Unknown"


def test_durations_of_judging_are_measured() -> None:
    readings = iter(range(1000))
    stage = Stage({LEASES: Lease})
    caches = stage.caches
    controller = NodeLifecycleController(
        caches["nodes"], caches["pods"], caches[LEASES], stopwatch=lambda: float(next(readings))
    )
    add_nodes(stage, ["n1", "n2", "n3"])
    stage.add(controller)
    stage.settle()
    found = {
        sample.name.removeprefix("node_collector_update_"): sample.value
        for metric in controller.metrics
        for family in metric.collect()
        for sample in family.samples
        if sample.name.endswith(("_seconds_count", "_seconds_sum"))
    }
    assert found == {
        "node_health_duration_seconds_count": 3.0,
        "node_health_duration_seconds_sum": 3.0,
        "all_nodes_health_duration_seconds_count": 1.0,
        "all_nodes_health_duration_seconds_sum": 3.0,
    }


def test_node_that_is_out_of_disk_is_tainted_until_it_is_not() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="OutOfDisk=True 20s-60s")
    stage.at(21)
    assert taints(stage, "n1") == ["out-of-disk:NoSchedule"]
    stage.at(61)
    assert taints(stage, "n1") == []


def test_one_node_cluster_never_gets_the_no_execute_taint() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="silent 20s-")
    stage.at(1000)
    assert taints(stage, "n1") == ["unreachable:NoSchedule"]


def test_excluded_node_does_not_count_for_its_zone() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["n1", "n2", "n3"], script="Ready=False 20s-")
    for name in ("n1", "n2"):
        stage.patch("nodes", name, {"metadata": {"labels": {"node.kubernetes.io/exclude-disruption": ""}}})
    add_nodes(stage, ["n4"])
    stage.at(60)
    assert (controller.zones()[0].state, controller.zones()[0].nodes) == ("Normal", 2)


def test_not_ready_then_silent_swaps_the_taint_at_once() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="Ready=False 20s-; silent 40s-")
    add_nodes(stage, ["n2", "n3"])
    stage.create("pods", pod("p", "n1", tolerations=SECONDS_300))
    stage.at(200)
    assert taints(stage, "n1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    stage.at(400)
    assert [at for at, _ in stage.done(Delete, "pods")] == [pytest.approx(320.1)]


def test_kubelet_that_says_not_ready_itself_is_no_transition_of_ours() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="Ready=False 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.create("pods", pod("p", "n1", tolerations=SECONDS_300))
    stage.at(60)
    events = [event for _, event in stage.events if event.component == "node-controller"]
    assert {event.reason for event in events} == {"RegisteredNode"}
    assert condition(stage, "pods", "default/p", "Ready") == "True"


def test_node_that_was_silent_while_not_ready_does_not_make_a_later_not_ready_ours() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="Ready=False 20s-150s; silent 40s-150s; Ready=False 200s-")
    add_nodes(stage, ["n2", "n3"])
    stage.create("pods", pod("p", "n1", tolerations=SECONDS_300))
    stage.at(140)
    assert condition(stage, "nodes", "n1", "Ready") == "Unknown"
    stage.at(230)
    assert condition(stage, "nodes", "n1", "Ready") == "False"
    assert condition(stage, "pods", "default/p", "Ready") == "True"
    told = [event.reason for _, event in stage.events if event.component == "node-controller"]
    assert set(told) == {"RegisteredNode"}


def test_mark_that_is_written_late_does_not_cost_the_node_its_turn() -> None:
    stage, _ = stage_with(node_monitor_period_seconds=5.02)
    add_nodes(stage, ["n1"], script="silent 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.at(60)
    stage.fail(Patch, 4, stale(GroupResource("", "nodes"), "n1"), "nodes")
    stage.at(80)
    (marked,) = [at for at, text in stage.messages("NodeNotReady") if text.startswith("Node n1")]
    # The health pass was at 70.28, and a tainting pass at 70.3.
    assert marked == pytest.approx(70.36)
    assert tainted_at(stage, "unreachable") == {"n1": pytest.approx(70.4)}


def test_node_that_cannot_be_marked_does_not_wait_for_a_taint() -> None:
    stage, controller = stage_with(node_monitor_period_seconds=5.03)
    add_nodes(stage, ["n1"], script="silent 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.at(60)
    stage.fail(Patch, 5, stale(GroupResource("", "nodes"), "n1"), "nodes")
    stage.at(80)
    (marked,) = [at for at, text in stage.messages("NodeNotReady") if text.startswith("Node n1")]
    assert tainted_at(stage, "unreachable") == {"n1": pytest.approx(marked + 0.1, abs=0.1)}
    assert controller.zones()[0].waiting == ()


def test_second_no_execute_taint_put_on_by_hand_is_taken_off() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="Ready=False 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.at(60)
    found = stage.get("nodes", "n1")
    assert found is not None
    by_hand = {"key": K8S + "unreachable", "effect": "NoExecute"}
    stage.patch("nodes", "n1", {"spec": {"taints": [*found["spec"]["taints"], by_hand]}})
    stage.at(66)
    assert taints(stage, "n1") == ["not-ready:NoSchedule", "not-ready:NoExecute"]


def test_pod_bound_to_a_not_ready_node_is_marked() -> None:
    stage = Stage({LEASES: Lease})
    stage.add(NodeLifecycleController(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES]))
    stage.create("nodes", node("n1", Ready="False"))
    stage.create("nodes", node("n2", Ready="True"))
    stage.at(6)
    for name in ("n1", "n2", "n9"):
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        stage.create("pods", pod(f"on-{name}", name, status=status))
    stage.at(7)
    assert [condition(stage, "pods", f"default/on-{name}", "Ready") for name in ("n1", "n2", "n9")] == [
        "False", "True", "True",
    ]  # fmt: skip


def test_new_node_without_status_loses_its_not_ready_taint_and_is_unknown_after_the_start_up_grace() -> None:
    stage = Stage({LEASES: Lease})
    stage.add(NodeLifecycleController(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES]))
    stage.create("nodes", node("n1", taints=f"{K8S}not-ready:NoSchedule", labels={"kubernetes.io/os": "linux"}))
    stage.settle()
    assert taints(stage, "n1") == []
    document = stage.get("nodes", "n1")
    assert document is not None
    assert document["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"
    stage.at(60)
    assert stage.get("nodes", "n1")["status"]["conditions"] == []  # type: ignore[index]
    stage.at(66)
    ready = stage.get("nodes", "n1")["status"]["conditions"][0]  # type: ignore[index]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "Unknown", "NodeStatusNeverUpdated")
    assert taints(stage, "n1") == ["unreachable:NoSchedule"]


def test_nodes_that_come_and_go_are_told_once() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["n1", "n2"])
    stage.at(12)
    stage.delete("nodes", "n1")
    stage.at(20)
    assert [text for _, text in stage.messages("RegisteredNode")] == [
        "Node n1 event: Registered Node n1 in Controller",
        "Node n2 event: Registered Node n2 in Controller",
    ]
    assert stage.messages("RemovingNode") == [(15.0, "Node n1 event: Removing Node n1 from Controller")]
    assert list(controller._memories) == ["n2"]


def test_restart_strips_the_no_execute_taints_and_applies_them_again() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["n1"], script="Ready=False 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.at(61)
    assert "not-ready:NoExecute" in taints(stage, "n1")
    caches = stage.caches
    stage.restart(controller, NodeLifecycleController(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.settle()
    assert "not-ready:NoExecute" not in taints(stage, "n1")
    stage.at(70)
    assert "not-ready:NoExecute" in taints(stage, "n1")


def test_restart_grants_a_full_grace_period() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["n1"], script="silent 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.at(50)
    caches = stage.caches
    stage.restart(controller, NodeLifecycleController(caches["nodes"], caches["pods"], caches[LEASES]))
    stage.at(100)
    assert condition(stage, "nodes", "n1", "Ready") == "True"
    stage.at(110)
    assert condition(stage, "nodes", "n1", "Ready") == "Unknown"


def test_user_taints_survive_and_conflicts_are_tried_again() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1", "n2"])
    stage.at(10)
    stage.fail(Patch, 2, stale(GroupResource("", "nodes"), "n1"), "nodes")
    stage.patch("nodes", "n1", {"spec": {"unschedulable": True, "taints": [{"key": "team", "effect": "NoSchedule"}]}})
    stage.at(12)
    assert taints(stage, "n1") == ["team:NoSchedule", "unschedulable:NoSchedule"]
    stage.patch("nodes", "n1", {"spec": {"unschedulable": None}})
    stage.at(13)
    assert taints(stage, "n1") == ["team:NoSchedule"]


def test_lease_that_the_cache_has_not_heard_of_stops_all_judgement_until_it_has() -> None:
    stage = Stage({LEASES: Lease})
    caches = stage.caches
    live: InformerCache[Lease] = InformerCache()
    controller = NodeLifecycleController(caches["nodes"], caches["pods"], caches[LEASES], live_leases=live)
    stage.add(controller)
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    add_nodes(stage, ["n1"], script="silent 20s-")
    add_nodes(stage, ["n2"], script="silent 60s-")
    add_nodes(stage, ["n3"])
    stage.at(30)
    heard = caches[LEASES].get("kube-node-lease/n1")
    newer = str(int(heard.metadata.resource_version) + 100)
    live.put("kube-node-lease/n1", msgspec.structs.replace(heard, metadata=ObjectMeta(resource_version=newer)))
    stage.at(200)
    assert [condition(stage, "nodes", name, "Ready") for name in ("n1", "n2")] == ["True", "True"]
    live.remove("kube-node-lease/n1")
    caught_up = msgspec.structs.replace(heard, metadata=ObjectMeta(resource_version=newer))
    caches[LEASES].put("kube-node-lease/n1", caught_up)
    stage.at(211)
    assert [condition(stage, "nodes", name, "Ready") for name in ("n1", "n2")] == ["Unknown", "Unknown"]


def test_failed_taint_is_tried_again_by_the_next_pass() -> None:
    stage, _ = stage_with()
    add_nodes(stage, ["n1"], script="Ready=False 20s-")
    add_nodes(stage, ["n2", "n3"])
    stage.at(20)
    stage.fail(Patch, 5, ApiError(500, "InternalError", "no"), "nodes")
    stage.at(40)
    assert taints(stage, "n1") == ["not-ready:NoSchedule", "not-ready:NoExecute"]


def collected(controller: NodeLifecycleController) -> dict[str, float]:
    """The metrics of zones, as `name zone`."""
    return {
        f"{sample.name.removeprefix('node_collector_')} {sample.labels['zone'].rpartition(':')[2]}": sample.value
        for metric in controller.metrics
        for family in metric.collect()
        for sample in family.samples
        if "zone" in sample.labels and not sample.name.endswith("_created")
    }


def test_metrics_count_nodes_tainted_in_their_turn_and_forget_zones_that_went() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["a1"], script="Ready=False 20s-; silent 40s-", zone="a")
    add_nodes(stage, ["a2", "a3", "a4"], zone="a")
    add_nodes(stage, ["b1"], zone="b")
    stage.at(200)
    assert taints(stage, "a1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert collected(controller) == {
        "evictions_total a": 1.0, "evictions_total b": 0.0,
        "zone_health a": 75.0, "zone_health b": 100.0,
        "zone_size a": 4.0, "zone_size b": 1.0,
        "unhealthy_nodes_in_zone a": 1.0, "unhealthy_nodes_in_zone b": 0.0,
    }  # fmt: skip
    for name in ("a1", "a2", "a3", "a4"):
        stage.delete("nodes", name)
    stage.at(210)
    found = collected(controller)
    assert [found[f"{name} a"] for name in ("zone_size", "zone_health", "unhealthy_nodes_in_zone")] == [0, 100, 0]
    assert [report.zone for report in controller.zones()] == ["b"]


def test_node_that_waits_and_moves_to_another_zone_waits_there() -> None:
    stage, controller = stage_with()
    add_nodes(stage, ["a1", "a2"], script="Ready=False 20s-", zone="a")
    add_nodes(stage, ["a3"], zone="a")
    stage.at(21)
    stage.patch("nodes", "a2", {"metadata": {"labels": {"topology.kubernetes.io/zone": "b"}}})
    stage.at(26)
    # Its new zone has a token; in the old one it would have waited until 30 s.
    assert tainted_at(stage, "not-ready") == {"a1": pytest.approx(20.1), "a2": pytest.approx(25.1)}
    assert [(report.zone, report.waiting) for report in controller.zones()] == [("a", ()), ("b", ())]


def test_waiting_node_whose_ready_condition_went_keeps_its_place() -> None:
    stage = Stage({LEASES: Lease})
    controller = NodeLifecycleController(stage.caches["nodes"], stage.caches["pods"], stage.caches[LEASES])
    stage.add(controller)
    for name, ready in (("n1", "False"), ("n2", "False"), ("n3", "True")):
        stage.create("nodes", node(name, Ready=ready))
    stage.at(2)
    document = stage.get("nodes", "n2")
    assert document is not None
    conditions = document["status"]["conditions"]
    stage.patch("nodes", "n2", {"status": {"conditions": []}})
    stage.at(22)
    assert controller.zones()[0].waiting == ("n2",)
    assert taints(stage, "n2") == []
    stage.patch("nodes", "n2", {"status": {"conditions": conditions}})
    stage.at(41)
    assert taints(stage, "n2") == ["not-ready:NoSchedule", "not-ready:NoExecute"]


class Copies:
    """A lister that gives every object anew, so that nobody can tell by the object itself that nothing has changed."""

    def __init__(self, cache: InformerCache[Any]) -> None:
        self._cache = cache

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, key: str) -> Any:
        found = self._cache.get(key)
        return copy.copy(found) if found is not None else None

    def list(self) -> Sequence[Any]:
        return [copy.copy(one) for one in self._cache.list()]

    def by(self, index: str, value: str) -> Sequence[Any]:
        return [copy.copy(one) for one in self._cache.by(index, value)]

    def places(self, index: str) -> Sequence[str]:
        return self._cache.places(index)


SCRIPTS = (
    "",
    "",
    "silent 20s-",
    "silent 40s-300s",
    "silent 33s-400s/500s",
    "Ready=False 50s-200s",
    "Ready=False 10s-; silent 90s-600s",
)
NODES = st.lists(st.tuples(st.sampled_from(SCRIPTS), st.sampled_from("ab")), min_size=1, max_size=9)


@settings(max_examples=25, deadline=None)
@given(nodes=NODES, late=NODES)
def test_nodes_that_are_not_looked_at_again_would_have_come_to_the_same(
    nodes: list[tuple[str, str]], late: list[tuple[str, str]]
) -> None:
    assert timeline(nodes, late, lambda cache: cache) == timeline(nodes, late, Copies)


def timeline(nodes: list[tuple[str, str]], late: list[tuple[str, str]], lister: Callable[[Any], Any]) -> Any:
    """All that is done, and when. Later nodes have names before the first ones'."""
    stage = Stage({LEASES: Lease})
    caches = stage.caches
    sure = NodeLifecycleSettings(is_alive_for_certain=lambda one: SCRIPT not in one.metadata.annotations)
    controller = NodeLifecycleController(lister(caches["nodes"]), caches["pods"], lister(caches[LEASES]), sure)
    stage.add(controller)
    stage.add(SimulatedNodes(caches["nodes"], caches["pods"], caches[LEASES]))
    reports = []
    for at, prefix, some in ((0, "n", nodes), (100, "m", late)):
        stage.at(at)
        for number, (script, zone) in enumerate(some):
            add_nodes(stage, [f"{prefix}{number}"], script=script, zone=zone)
    for at in range(200, 1400, 150):
        stage.at(at)
        reports.append(controller.zones())
    return stage.actions, reports
