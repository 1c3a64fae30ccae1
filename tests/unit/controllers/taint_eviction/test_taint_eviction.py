"""Who must leave a tainted node, when, and what is said about it."""

from typing import Any

import msgspec
import pytest

from doorman.api.taints import Taint, Toleration
from doorman.api.views.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from doorman.api.views.policy import PodDisruptionBudget
from doorman.base.clock import VIRTUAL_START
from doorman.base.errors import ApiError
from doorman.base.instants import to_time
from doorman.client.actions import Create, Delete
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.cluster.disruption import DisruptionController, WorkloadScales
from doorman.controllers.taint_eviction.eviction_timers import decide_persistent_eviction
from doorman.controllers.taint_eviction.taint_eviction import (
    SOURCES,
    EvictionTimers,
    TaintEvictionController,
    TaintEvictionSettings,
)
from doorman.semantics.taints.taint_records import ANNOTATION, TaintRecord, to_annotation
from support.objects import node, pod, taint, taints, toleration
from support.stage import Stage

MARKING = "Marking for deletion Pod default/p"
CANCELLING = "Cancelling deletion of Pod default/p"


def stage_with(*nodes: dict[str, Any], **settings: Any) -> tuple[Stage, TaintEvictionController]:
    stage = Stage()
    for one in nodes:
        stage.create("nodes", one)
    controller = TaintEvictionController(
        stage.caches["nodes"], stage.caches["pods"], TaintEvictionSettings(**settings) if settings else None
    )
    stage.add(controller)
    return stage, controller


def told(stage: Stage) -> list[tuple[float, str]]:
    return stage.messages("TaintManagerEviction")


def deletions(stage: Stage) -> list[tuple[float, str]]:
    return [(at, action.name) for at, action in stage.done(Delete, "pods")]


@pytest.mark.parametrize(
    ("node_taints", "tolerations", "leaves_at"),
    [
        pytest.param("", "", None, id="2-untainted-node"),
        pytest.param("a:NoExecute", "", 0.0, id="3-intolerant"),
        pytest.param("a:NoExecute", "a:NoExecute@60", 60.0, id="4-finite"),
        pytest.param("a:NoExecute", "a:NoExecute", None, id="5-for-ever"),
        pytest.param("a:NoExecute", "b:NoExecute", 0.0, id="6-another-key"),
        pytest.param("a:NoExecute b:NoExecute", "a:NoExecute@60", 0.0, id="11-one-of-two-tolerated"),
        pytest.param("a:NoExecute b:NoExecute", "a:NoExecute@60 b:NoExecute@10", 10.0, id="13-minimum-of-used"),
        pytest.param("a:NoExecute b:NoExecute", "a:NoExecute b:NoExecute@10", 10.0, id="13-for-ever-is-passed-over"),
        pytest.param("a:NoExecute", "a:NoExecute@30 *", 30.0, id="first-match-counts"),
        pytest.param("a:NoExecute", "* a:NoExecute@30", None, id="first-match-for-ever"),
        pytest.param("a:NoExecute", "a:NoExecute@0", 0.0, id="zero-seconds"),
        pytest.param("a:NoExecute", "a:NoExecute@-5", 0.0, id="negative-seconds"),
        pytest.param("a:NoSchedule", "", None, id="no-schedule-does-not-evict"),
        pytest.param("a:PreferNoSchedule", "", None, id="prefer-no-schedule-does-not-evict"),
        pytest.param("a=1:NoExecute", "a=2:NoExecute", 0.0, id="another-value"),
        pytest.param("a=1:NoExecute", "a=1:NoExecute@5", 5.0, id="same-value"),
        pytest.param("a:NoExecute", "a:NoSchedule", 0.0, id="another-effect"),
    ],
)
def test_pod_bound_to_a_tainted_node_leaves(node_taints: str, tolerations: str, leaves_at: float | None) -> None:
    stage, _ = stage_with(node("n1", taints=node_taints))
    stage.create("pods", pod("p", "n1", tolerations=tolerations))
    stage.advance(3600)
    assert deletions(stage) == ([] if leaves_at is None else [(leaves_at, "p")])
    assert told(stage) == ([] if leaves_at is None else [(leaves_at, MARKING)])


def test_unbound_pod_is_ignored_until_it_is_bound() -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p"))
    stage.at(10)
    assert deletions(stage) == []
    stage.patch("pods", "default/p", {"spec": {"nodeName": "n1"}})
    stage.at(20)
    assert deletions(stage) == [(10.0, "p")]


def test_three_pods_leave_at_once_after_a_second_and_never() -> None:
    stage, _ = stage_with(node("n1"))
    for name, tolerations in (("none", ""), ("second", "a:NoExecute@1"), ("forever", "a:NoExecute")):
        stage.create("pods", pod(name, "n1", tolerations=tolerations))
    stage.at(5)
    stage.patch("nodes", "n1", taints("a:NoExecute"))
    stage.at(100)
    assert deletions(stage) == [(5.0, "none"), (6.0, "second")]


TIMELINES = [
    pytest.param(
        "a:NoExecute@60 b:NoExecute@10",
        [(0, taints("a:NoExecute")), (5, taints("a:NoExecute b:NoExecute"))],
        [(60.0, MARKING)],
        id="second-finite-taint-does-not-move-the-timer",
    ),
    pytest.param(
        "a:NoExecute@60",
        [(0, taints("a:NoExecute")), (50, taints("")), (55, taints("a:NoExecute"))],
        [(50.0, CANCELLING), (115.0, MARKING)],
        id="removed-and-put-back-starts-afresh",
    ),
    pytest.param(
        "a:NoExecute@60",
        [(0, taints("a:NoExecute")), (59, taints(""))],
        [(59.0, CANCELLING)],
        id="12-removed-before-expiry",
    ),
    pytest.param(
        "a:NoExecute@60",
        [(0, taints("a:NoExecute")), (20, taints("a:NoExecute b:NoExecute"))],
        [(20.0, CANCELLING), (20.0, MARKING)],
        id="8-not-tolerated-overtakes-the-timer",
    ),
    pytest.param(
        "a:NoExecute@4 b:NoExecute@300",
        [(0, taints("a:NoExecute b:NoExecute")), (1, taints("b:NoExecute"))],
        [(4.0, MARKING)],
        id="removing-the-short-taint-keeps-the-timer",
    ),
    pytest.param(
        "a:NoExecute@4 b:NoExecute",
        [(0, taints("a:NoExecute b:NoExecute")), (1, taints("b:NoExecute"))],
        [(1.0, CANCELLING)],
        id="rest-tolerated-for-ever-cancels",
    ),
    pytest.param(
        "a=1:NoExecute@300",
        [(0, taints("a=1:NoExecute")), (2, taints("a=2:NoExecute"))],
        [(2.0, CANCELLING), (2.0, MARKING)],
        id="changed-value-is-matched-anew",
    ),
    pytest.param(
        "a:NoExecute@30",
        [(0, taints("a=1:NoExecute")), (20, taints("a=2:NoExecute"))],
        [(30.0, MARKING)],
        id="changed-value-still-tolerated-keeps-the-timer",
    ),
    pytest.param(
        "a:NoExecute@30",
        [(0, taints("a:NoExecute")), (20, taints("a:NoExecute x:NoSchedule"))],
        [(30.0, MARKING)],
        id="no-schedule-change-is-ignored",
    ),
    pytest.param(
        "node.kubernetes.io/not-ready:NoExecute@300 node.kubernetes.io/unreachable:NoExecute@300",
        [
            (0, taints("node.kubernetes.io/not-ready:NoExecute")),
            (100, taints("node.kubernetes.io/not-ready:NoExecute node.kubernetes.io/unreachable:NoExecute")),
            (100.5, taints("node.kubernetes.io/unreachable:NoExecute")),
        ],
        [(300.0, MARKING)],
        id="not-ready-swapped-for-unreachable-does-not-restart",
    ),
]


@pytest.mark.parametrize(("tolerations", "changes", "expected"), TIMELINES)
def test_taints_of_the_node_change(
    tolerations: str, changes: list[tuple[float, dict[str, Any]]], expected: list[tuple[float, str]]
) -> None:
    stage, controller = stage_with(node("n1"))
    stage.create("pods", pod("p", "n1", tolerations=tolerations))
    for at, patch in changes:
        stage.at(at)
        stage.patch("nodes", "n1", patch)
    stage.at(3600)
    assert told(stage) == expected
    assert controller.timers_pending == 0


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("a:NoExecute@60", "a:NoExecute@3600", [(60.0, MARKING)], id="9-lengthening"),
        pytest.param("a:NoExecute@60", "a:NoExecute@30", [(60.0, MARKING)], id="10-shortening"),
        pytest.param("a:NoExecute@60", "a:NoExecute@0", [(60.0, MARKING)], id="lowered-to-zero"),
        pytest.param("a:NoExecute@60", "a:NoExecute", [(20.0, CANCELLING)], id="lifted"),
        pytest.param("a:NoExecute", "a:NoExecute@60", [(80.0, MARKING)], id="null-to-seconds-starts-at-the-update"),
        pytest.param("a:NoExecute@60", "b:NoExecute", [(20.0, CANCELLING), (20.0, MARKING)], id="8-removed"),
        pytest.param("a:NoExecute@60", "* a:NoExecute@60", [(20.0, CANCELLING)], id="now-for-ever"),
    ],
)
def test_tolerations_of_the_pod_change_at_20_seconds(
    before: str, after: str, expected: list[tuple[float, str]]
) -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations=before))
    stage.at(20)
    stage.patch("pods", "default/p", {"spec": {"tolerations": [toleration(one) for one in after.split()]}})
    stage.at(7200)
    assert told(stage) == expected


def test_sequence_of_tolerations_none_forever_finite_forever() -> None:
    stage, controller = stage_with(node("n1", taints="a:NoExecute b:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute b:NoExecute"))
    stage.at(1)
    assert controller.timer_of("default/p") is None
    stage.patch("pods", "default/p", {"spec": {"tolerations": [toleration("a:NoExecute@100"), toleration("*")]}})
    stage.at(2)
    timer = controller.timer_of("default/p")
    assert timer is not None
    assert timer.fires == VIRTUAL_START + 101
    stage.patch("pods", "default/p", {"spec": {"tolerations": [toleration("*")]}})
    stage.at(300)
    assert told(stage) == [(2.0, CANCELLING)]


def test_deleting_a_pod_with_a_pending_timer_cancels_with_event() -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    stage.delete("pods", "default/p", grace_seconds=0)
    stage.at(100)
    assert told(stage) == [(10.0, CANCELLING)]


def test_namesake_bound_before_the_controller_looked_inherits_the_timer() -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    stage.delete("pods", "default/p", grace_seconds=0)
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(100)
    assert told(stage) == [(60.0, MARKING)]


def test_node_deletion_leaves_timers_running() -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    stage.delete("nodes", "n1")
    stage.create("pods", pod("late", "n1"))
    stage.at(100)
    assert deletions(stage) == [(60.0, "p")]


def test_pod_that_changes_after_its_node_was_deleted_keeps_its_timer() -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    stage.delete("nodes", "n1")
    stage.at(20)
    stage.patch("pods", "default/p", {"spec": {"tolerations": [toleration("a:NoExecute")]}})
    stage.at(70)
    assert told(stage) == [(60.0, MARKING)]


def test_restart_gives_every_timer_its_full_length_again() -> None:
    stage, controller = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(40)
    stage.restart(controller, TaintEvictionController(stage.caches["nodes"], stage.caches["pods"]))
    stage.at(3600)
    assert told(stage) == [(100.0, MARKING)]


def test_clock_set_back_starts_the_timer_again_from_its_old_beginning() -> None:
    stage, controller = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    timer = controller.timer_of("default/p")
    assert timer is not None
    result = controller.reconcile("pod/default/p/n1", timer.created - 20)
    assert [action.message for action in result.actions] == [CANCELLING]
    assert result.wakes == [("evict/default/p", timer.created - 20 + 40)]


def test_terminating_and_finished_pods_are_treated_like_others() -> None:
    stage, _ = stage_with(node("n1"))
    stage.create("pods", pod("done", "n1", status={"phase": "Succeeded"}))
    stage.create("pods", pod("going", "n1"))
    stage.delete("pods", "default/going")
    stage.patch("nodes", "n1", taints("a:NoExecute"))
    stage.settle()
    assert deletions(stage) == [(0.0, "done"), (0.0, "going")]


def test_eviction_of_a_pod_that_was_going_already_is_counted_at_once_and_over() -> None:
    stage, controller = stage_with(node("n1"))
    stage.create("pods", pod("p", "n1"))
    stage.delete("pods", "default/p")
    stage.at(10)
    stage.patch("nodes", "n1", taints("a:NoExecute"))
    stage.at(11)
    samples = {s.name: s.value for metric in controller.metrics for family in metric.collect() for s in family.samples}
    assert samples["taint_eviction_controller_pod_deletions_total"] == 1
    assert samples["taint_eviction_controller_pod_deletion_duration_seconds_sum"] == 0
    assert controller._pending == {}


def test_eviction_actions_are_event_detail_and_delete_with_condition() -> None:
    stage, _ = stage_with(node("n1"))
    stage.create("pods", pod("p", "n1", status={"conditions": [{"type": "Ready", "status": "True"}]}))
    stage.settle()
    stage.patch("nodes", "n1", taints("maint=now:NoExecute"))
    stage.settle()
    names = [(type(action).__name__, getattr(action, "reason", "")) for _, _, action in stage.actions]
    assert names == [
        ("RecordEvent", "TaintManagerEviction"),
        ("RecordEvent", "TaintEvictionDetail"),
        ("Delete", ""),
    ]
    marking = stage.events[0][1]
    assert msgspec.to_builtins(marking.regarding) == {
        "kind": "Pod",
        "namespace": "default",
        "name": "p",
        "apiVersion": "v1",
    }
    assert marking.type == "Normal"
    assert marking.component == "taint-eviction-controller"
    delete = stage.done(Delete)[0][1]
    patch = delete.patch_before()
    assert (patch.resource, patch.namespace, patch.name, patch.subresource) == ("pods", "default", "p", "status")
    assert not patch.is_waited_for, "the deletion waits for both"
    uid = patch.body["metadata"]["uid"]
    assert patch.body == {
        "metadata": {"uid": uid},
        "status": {
            "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "DisruptionTarget"}],
            "conditions": [
                {
                    "lastProbeTime": None,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "message": "Taint manager: deleting due to NoExecute taint",
                    "observedGeneration": 1,
                    "reason": "DeletionByTaintManager",
                    "status": "True",
                    "type": "DisruptionTarget",
                }
            ],
        },
    }
    assert (delete.grace_seconds, delete.uid, delete.propagation) == (None, "", "")
    document = stage.get("pods", "default/p")
    assert document is not None
    assert document["metadata"]["deletionGracePeriodSeconds"] == 30


def test_failing_delete_is_tried_five_times_ten_milliseconds_apart_and_told_once() -> None:
    stage, controller = stage_with(node("n1"))
    stage.create("pods", pod("p", "n1"))
    stage.settle()
    stage.fail(Delete, 99, ApiError(500, "InternalError", "no"))
    stage.patch("nodes", "n1", taints("a:NoExecute"))
    stage.advance(10)
    assert [round(at, 3) for at, _ in deletions(stage)] == [0.0, 0.01, 0.02, 0.03, 0.04]
    assert told(stage) == [(0.0, MARKING)]
    stage.failures.clear()
    stage.patch("nodes", "n1", taints("a:NoExecute b:NoExecute"))
    stage.advance(1)
    assert len(told(stage)) == 2
    assert controller._deletions._value.get() == 1


def test_failing_delete_is_tried_again_until_it_works() -> None:
    stage, controller = stage_with(node("n1"))
    stage.create("pods", pod("p", "n1"))
    stage.settle()
    stage.fail(Delete, 2, ApiError(409, "Conflict", "no"))
    stage.patch("nodes", "n1", taints("a:NoExecute"))
    stage.advance(1)
    assert [round(at, 3) for at, _ in deletions(stage)] == [0.0, 0.01, 0.02]
    document = stage.get("pods", "default/p")
    assert document is not None
    assert [one["type"] for one in document["status"]["conditions"]] == ["DisruptionTarget"]
    assert controller._deletions._value.get() == 1
    assert controller._pending == {}


def test_pod_that_vanished_meanwhile_is_only_told() -> None:
    stage, controller = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(1)
    stage.caches["pods"].remove("default/p")
    stage.at(100)
    assert told(stage) == [(60.0, MARKING)]
    assert deletions(stage) == []
    assert controller._pending == {}


def test_unchanged_no_execute_taints_wake_nothing() -> None:
    stage = Stage()
    stage.create("nodes", node("n1", taints="a:NoExecute"))
    old = stage.caches["nodes"].get("n1")
    stage.patch("nodes", "n1", taints("a:NoExecute b:NoSchedule"))
    new = stage.caches["nodes"].get("n1")
    keys = SOURCES[0].keys
    assert list(keys(ObjectChange("nodes", old, new))) == []
    assert list(keys(ObjectChange("nodes", None, new))) == ["node/n1"]
    assert list(keys(ObjectChange("nodes", old, None))) == ["node/n1"]
    stage.patch("nodes", "n1", {"spec": {"taints": [{**taint("a:NoExecute"), "timeAdded": "2026-01-01T00:00:01Z"}]}})
    assert list(keys(ObjectChange("nodes", new, stage.caches["nodes"].get("n1")))) == ["node/n1"]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"metadata": {"labels": {"a": "b"}}}, [], id="labels"),
        pytest.param({"status": {"phase": "Running"}}, [], id="status"),
        pytest.param({"spec": {"nodeName": "n2"}}, ["pod/default/p/n2"], id="node"),
        pytest.param({"spec": {"tolerations": [{"key": "a"}]}}, ["pod/default/p/n1"], id="tolerations"),
        pytest.param({"metadata": {"deletionTimestamp": "x", "finalizers": ["f"]}}, ["ended/default/p"], id="deletion"),
    ],
)
def test_pod_updates_wake(patch: dict[str, Any], expected: list[str]) -> None:
    stage = Stage()
    stage.create("pods", pod("p", "n1"))
    old = stage.caches["pods"].get("default/p")
    stage.patch("pods", "default/p", patch)
    assert list(SOURCES[1].keys(ObjectChange("pods", old, stage.caches["pods"].get("default/p")))) == expected


def timed(text: str, added: float) -> dict[str, Any]:
    return {**taint(text), "timeAdded": to_time(VIRTUAL_START + added)}


def test_persistent_timer_counts_from_the_taints_time_and_survives_a_restart() -> None:
    stage, controller = stage_with(node("n1"), timers=EvictionTimers.PERSISTENT)
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    stage.patch("nodes", "n1", {"spec": {"taints": [timed("a:NoExecute", 5)]}})
    stage.at(40)
    settings = TaintEvictionSettings(timers=EvictionTimers.PERSISTENT)
    stage.restart(controller, TaintEvictionController(stage.caches["nodes"], stage.caches["pods"], settings))
    stage.at(1000)
    assert told(stage) == [(65.0, MARKING)]


def test_persistent_timer_of_a_taint_without_a_time_counts_from_its_record() -> None:
    stage, _ = stage_with(node("n1"), timers=EvictionTimers.PERSISTENT)
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(10)
    record = TaintRecord(key="a", effect="NoExecute", added=to_time(VIRTUAL_START + 5))
    annotations = {ANNOTATION: to_annotation([record])}
    stage.patch("nodes", "n1", {"metadata": {"annotations": annotations}, "spec": {"taints": [taint("a:NoExecute")]}})
    stage.at(1000)
    assert told(stage) == [(65.0, MARKING)]


@pytest.mark.parametrize(
    ("scheduled", "leaves_at"),
    [pytest.param(None, 160.0, id="when-it-was-made"), pytest.param(130, 190.0, id="when-it-got-its-node")],
)
def test_persistent_timer_does_not_count_before_the_pod_came(scheduled: int | None, leaves_at: float) -> None:
    stage, _ = stage_with(node("n1"), timers=EvictionTimers.PERSISTENT)
    stage.patch("nodes", "n1", {"spec": {"taints": [timed("a:NoExecute", 0)]}})
    stage.at(100)
    status: dict[str, Any] = {}
    if scheduled is not None:
        time = to_time(VIRTUAL_START + scheduled)
        status = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}]}
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60", status=status))
    stage.at(1000)
    assert told(stage) == [(leaves_at, MARKING)]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param("a:NoExecute@90", [(90.0, MARKING)], id="lengthened"),
        pytest.param("a:NoExecute@30", [(30.0, MARKING)], id="shortened"),
        pytest.param("a:NoExecute@10", [(20.0, MARKING)], id="already-over"),
        pytest.param("a:NoExecute", [(20.0, CANCELLING)], id="lifted"),
    ],
)
def test_persistent_timer_follows_changed_seconds(after: str, expected: list[tuple[float, str]]) -> None:
    stage, _ = stage_with(node("n1"), timers=EvictionTimers.PERSISTENT)
    stage.patch("nodes", "n1", {"spec": {"taints": [timed("a:NoExecute", 0)]}})
    stage.create("pods", pod("p", "n1", tolerations="a:NoExecute@60"))
    stage.at(20)
    stage.patch("pods", "default/p", {"spec": {"tolerations": [toleration(after)]}})
    stage.at(1000)
    assert told(stage) == expected


def test_persistent_decision_takes_the_soonest_of_all_taints() -> None:
    node_taints = [
        Taint(key="a", effect="NoExecute", time_added="1970-01-01T00:00:00Z"),
        Taint(key="b", effect="NoExecute", time_added="1970-01-01T00:01:00Z"),
    ]
    tolerations = [
        Toleration(key="a", operator="Exists", toleration_seconds=100),
        Toleration(key="b", operator="Exists"),
    ]
    decision = decide_persistent_eviction(node_taints, tolerations, 70.0, comparison_operators=True)
    assert msgspec.to_builtins(decision)["instant"] == 100.0


def test_paced_evictions_leave_one_after_another() -> None:
    stage, _ = stage_with(node("n1"), evictions_per_second=0.5)
    for number in range(4):
        stage.create("pods", pod(f"p{number}", "n1"))
    stage.settle()
    stage.patch("nodes", "n1", taints("a:NoExecute"))
    stage.at(60)
    assert deletions(stage) == [(0.0, "p0"), (2.0, "p1"), (4.0, "p2"), (6.0, "p3")]


def test_nothing_but_status_patches_and_deletes_is_written() -> None:
    stage, _ = stage_with(node("n1", taints="a:NoExecute"))
    stage.create("pods", pod("p", "n1"))
    stage.at(60)
    assert stage.done(Create) == []


def test_eviction_that_respects_budgets_waits_until_one_may_go() -> None:
    kinds = {
        "poddisruptionbudgets.policy": PodDisruptionBudget,
        "replicasets.apps": ReplicaSet,
        "deployments.apps": Deployment,
        "statefulsets.apps": StatefulSet,
        "replicationcontrollers": ReplicationController,
    }
    stage = Stage(kinds)
    caches = stage.caches
    stage.create("nodes", node("n1"))
    budgets = caches["poddisruptionbudgets.policy"]
    settings = TaintEvictionSettings(respects_budgets=True)
    stage.add(TaintEvictionController(caches["nodes"], caches["pods"], settings, budgets=budgets))
    workloads = WorkloadScales(*(caches[name] for name in list(kinds)[1:]))
    stage.add(DisruptionController(budgets, caches["pods"], workloads))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("a", "b", "c"):
        stage.create("pods", pod(name, "n1", metadata={"labels": {"app": "x"}}, status=ready))
    stage.create("pods", pod("free", "n1", status=ready))
    selector = {"matchLabels": {"app": "x"}}
    meta = {"namespace": "default", "name": "pdb"}
    stage.create("poddisruptionbudgets.policy", {"metadata": meta, "spec": {"selector": selector, "minAvailable": 2}})
    stage.settle()
    stage.patch("nodes", "n1", taints("x:NoExecute"))
    stage.at(30)
    assert deletions(stage) == [(0.0, "a"), (0.0, "free")]
    held = [text for _, text in stage.messages("TaintEvictionDetail") if "does not let it go" in text]
    assert len(held) == 2
    stage.delete("pods", "default/a", grace_seconds=0)
    stage.create("pods", pod("d", "n2", metadata={"labels": {"app": "x"}}, status=ready))
    stage.at(40)
    assert [name for _, name in deletions(stage)] == ["a", "free", "b"]
    stage.create("pods", pod("e", "n2", metadata={"labels": {"app": "x"}}, status=ready))
    stage.delete("pods", "default/b", grace_seconds=0)
    stage.at(60)
    assert [name for _, name in deletions(stage)] == ["a", "free", "b", "c"]
