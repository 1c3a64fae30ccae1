"""Plans of whole clusters in virtual time, with what they must say written down."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.nodes.profile import NodeProfile
from doorman.plan.failover_planner import FailoverRequest, failover
from doorman.plan.plan_actions import (
    ApplyObjects,
    DrainNodes,
    LoseNodes,
    NodeChoice,
    PlanAction,
    PlanError,
    Step,
    TaintNodes,
)
from doorman.plan.plan_options import PlanOptions
from doorman.plan.plan_result import Plan
from doorman.plan.planner import plan
from doorman.plan.reports.failover_text import failover_text
from doorman.plan.reports.plan_html import plan_html
from doorman.plan.reports.plan_text import comparison_text, plan_text
from doorman.runtime.settings import Settings
from doorman.semantics.taints.taint_spec import parse_taint_change
from doorman.snapshot.snapshot_file import save
from doorman.snapshot.snapshot_format import Snapshot
from support.planning import Original, run_original

BEARS_A_MINUTE = [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]


def nodes(count: int, zones: str = "", cpu: str = "4") -> dict[str, NodeProfile]:
    return {
        f"node-{number}": NodeProfile(zone=zones[number % len(zones)] if zones else "", capacity={"cpu": cpu})
        for number in range(1, count + 1)
    }


def workload(name: str, replicas: int, *, kind: str = "Deployment", cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def snapshot_with(*workloads: dict[str, Any], on: dict[str, NodeProfile], budget: int | None = None) -> Snapshot:
    taken: list[Snapshot] = []

    async def story(original: Original) -> None:
        for one in workloads:
            await original.create(f"{one['kind'].lower()}s.apps", one)
        if budget is not None:
            spec = {"minAvailable": budget, "selector": {"matchLabels": {"app": "web"}}}
            await original.create("poddisruptionbudgets.policy", {"metadata": {"name": "web"}, "spec": spec})
        await original.advance(30)
        taken.append(original.snapshot())

    run_original(story, on)
    return taken[0]


def planned(snapshot: Snapshot, action: PlanAction, **options: Any) -> Plan:
    return plan(snapshot, [Step(action=action)], PlanOptions(**options))


def tainted(*names: str, spec: str = "k=v:NoExecute") -> TaintNodes:
    return TaintNodes(nodes=NodeChoice(names=names), change=parse_taint_change([spec]))


def test_pod_that_bears_a_taint_for_a_minute_leaves_then_and_the_other_at_once() -> None:
    # A pod that bears the taint may come to the node again; these may not, for another taint there.
    snapshot = snapshot_with(workload("web", 2), workload("slow", 2, tolerations=BEARS_A_MINUTE), on=nodes(2))
    change = parse_taint_change(["k=v:NoExecute", "closed:NoSchedule"])
    found = planned(snapshot, TaintNodes(nodes=NodeChoice(names=("node-1",)), change=change))
    assert [(move.owner, move.at_seconds, move.node) for move in found.pods] == [
        ("Deployment/web", 0.0, "node-1"),
        ("Deployment/slow", 60.0, "node-1"),
    ]
    first, second = (move.because for move in found.pods)
    assert (first.reason, first.taint, first.toleration) == ("NotTolerated", "k=v:NoExecute", None)
    assert (second.reason, second.toleration) == ("TolerationSecondsOver", BEARS_A_MINUTE[0])
    assert {move.replacement.node for move in found.pods if move.replacement} == {"node-2"}
    assert (found.summary.evicted, found.summary.pending, found.summary.quiet_at_seconds) == (2, 0, 60.0)
    assert [(one.name, one.desired, one.lowest_ready) for one in found.workloads] == [("slow", 2, 1), ("web", 2, 1)]


def test_replacements_without_room_stay_pending_and_it_says_what_they_need() -> None:
    snapshot = snapshot_with(workload("web", 2, cpu="3"), on=nodes(2))
    found = planned(snapshot, tainted("node-1"))
    assert (found.summary.evicted, found.summary.pending) == (1, 1)
    assert found.pods[0].replacement is not None
    assert found.pods[0].replacement.node is None
    pending = found.pending[0]
    assert "1 Insufficient cpu" in pending.message
    assert "1 node(s) had untolerated taint" in pending.message
    assert any("toleration {key: k" in need for need in pending.needs)
    assert any("cpu" in need for need in pending.needs)
    assert [(one.lowest_ready, one.below_desired_seconds > 0) for one in found.workloads] == [(1, True)]


def test_drain_honours_budgets_asks_again_every_5_seconds_and_tells_what_it_waits_for() -> None:
    slow = {"doorman.dev/startup": "8s"}
    web = workload("web", 3)
    web["spec"]["template"]["metadata"]["annotations"] = slow
    snapshot = snapshot_with(web, on=nodes(3), budget=2)
    found = planned(snapshot, DrainNodes(nodes=NodeChoice(names=("node-1", "node-2"))))
    # The first goes at once; its replacement is ready after 8 s, and the next is asked for every 5 s.
    assert [(move.node, move.at_seconds, move.because.reason) for move in found.pods] == [
        ("node-1", 0.0, "Drained"), ("node-2", 11.0, "Drained"),
    ]  # fmt: skip
    assert found.summary.budgets_broken == 0
    assert any("drain waits: The disruption budget web" in note for note in found.notes)


def test_taint_breaks_the_budget_that_a_drain_would_have_honoured() -> None:
    snapshot = snapshot_with(workload("web", 3), on=nodes(3), budget=3)
    found = planned(snapshot, tainted("node-1"))
    assert [(one.name, one.at_seconds, one.lowest_healthy, one.desired_healthy) for one in found.budgets] == [
        ("web", 0.0, 2, 3)
    ]


def test_pods_that_nobody_makes_again_are_told_by_drain_and_plan() -> None:
    taken: list[Snapshot] = []

    async def story(original: Original) -> None:
        volume = {"name": "v", "emptyDir": {}}
        spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume], "nodeName": "node-1"}
        await original.create("pods", {"metadata": {"name": "alone"}, "spec": spec})
        taken.append(original.snapshot())

    run_original(story, nodes(2))
    found = planned(taken[0], DrainNodes(nodes=NodeChoice(names=("node-1",))))
    assert (found.pods[0].owner, found.pods[0].replacement, found.summary.not_replaced) == (None, None, 1)
    assert [note.partition(": ")[0] for note in found.notes] == [
        "drain of node-1 needs --force",
        "drain of node-1 needs --delete-emptydir-data",
    ]


def test_lost_zone_of_100_nodes_takes_about_22_minutes() -> None:
    snapshot = snapshot_with(workload("web", 300, cpu="10m"), on=nodes(200, "ab"))
    report = failover(snapshot, FailoverRequest(workload="web", zone="a"), PlanOptions(horizon_seconds=7200.0))
    (web,) = report.failovers
    assert web.total_seconds is not None
    assert 21.5 * 60 < web.total_seconds < 23 * 60
    seconds = {phase.name: phase.seconds for phase in web.phases}
    assert web.dominant == "limiter"
    assert seconds["limiter"] == pytest.approx(990, abs=15)
    assert seconds["toleration"] == 300
    assert "limiter is changed by --node-eviction-rate" in failover_text(report)


def test_small_zone_with_most_nodes_lost_halts_evictions_and_says_why() -> None:
    snapshot = snapshot_with(workload("web", 10), on=nodes(10, "ab"))
    lost = LoseNodes(nodes=NodeChoice(names=("node-1", "node-3", "node-5")))
    found = planned(snapshot, lost)
    (zone,) = [one for one in found.zones if len(one.moments) > 1]
    assert (zone.zone, zone.moments[-1].state) == ("b", "PartialDisruption")
    assert zone.moments[-1].halted_because == "3 of 5 nodes are not ready and the zone is small"
    assert found.summary.evicted == 0
    assert "evictions halted, because 3 of 5 nodes" in plan_text(found)


def test_nodes_that_come_back_in_time_lose_nobody() -> None:
    snapshot = snapshot_with(workload("web", 4), on=nodes(4))
    lost = NodeChoice(names=("node-1",))
    assert planned(snapshot, LoseNodes(nodes=lost, seconds=200.0)).summary.evicted == 0
    assert planned(snapshot, LoseNodes(nodes=lost)).summary.evicted == 1


def test_flag_of_the_controller_manager_changes_the_answer() -> None:
    snapshot = snapshot_with(workload("web", 4), on=nodes(4))
    lost = LoseNodes(nodes=NodeChoice(names=("node-1",)))
    usual = planned(snapshot, lost)
    fast = Settings(node_lifecycle=NodeLifecycleSettings(node_monitor_grace_period_seconds=20.0))
    quick = planned(snapshot, lost, settings=fast)
    assert usual.pods[0].at_seconds - quick.pods[0].at_seconds == pytest.approx(30, abs=5.1)
    assert "with the change" in comparison_text(usual, quick)


def test_preemptions_are_told_with_their_preemptor() -> None:
    snapshot = snapshot_with(
        workload("low", 2, cpu="3"),
        workload("high", 1, cpu="3", priorityClassName="system-cluster-critical"),
        on=nodes(3),
    )
    high = next(doc for doc in snapshot.documents() if doc["kind"] == "Pod" and "high" in doc["metadata"]["name"])
    found = planned(snapshot, tainted(high["spec"]["nodeName"], spec="k=v:NoSchedule"))
    assert found.summary.evicted == 0
    found = planned(snapshot, tainted(high["spec"]["nodeName"]))
    assert found.summary.preempted == 1
    assert found.preemptions[0].preemptor.startswith("default/high-")
    assert {move.because.reason for move in found.pods} == {"NotTolerated", "Preempted"}


def test_apply_scales_and_a_full_node_is_told() -> None:
    web = workload("web", 2, cpu="1")
    snapshot = snapshot_with(web, on=nodes(1, cpu="4"))
    more = workload("web", 4, cpu="1")
    found = planned(snapshot, ApplyObjects(objects=(msgspec.json.encode(more),)))
    assert found.summary.evicted == 0
    assert [(one.name, one.resource, one.percent_before, one.percent_after) for one in found.full_nodes] == [
        ("node-1", "cpu", 50, 100)
    ]


def test_pods_that_quota_forbids_are_noted() -> None:
    taken: list[Snapshot] = []

    async def story(original: Original) -> None:
        await original.create("deployments.apps", workload("web", 2))
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
        await original.create("resourcequotas", quota)
        await original.advance(5)
        taken.append(original.snapshot())

    run_original(story, nodes(2))
    lost = planned(taken[0], LoseNodes(nodes=NodeChoice(names=("node-1",))))
    assert any("cannot make a pod" in note and "exceeded quota: q" in note for note in lost.notes)


def test_timer_that_runs_goes_on_and_signs_of_life_count_from_when_they_were_given() -> None:
    taken: list[Snapshot] = []

    async def story(original: Original) -> None:
        await original.create("deployments.apps", workload("web", 2, tolerations=BEARS_A_MINUTE))
        await original.do(tainted("node-1"), LoseNodes(nodes=NodeChoice(names=("node-2",))))
        await original.advance(40)
        taken.append(original.snapshot())

    run_original(story, nodes(3))
    found = plan(taken[0], [])
    assert found.action == "nothing is done"
    assert (found.pods[0].node, found.pods[0].at_seconds) == ("node-1", 20.0)
    (lost,) = [one for one in found.nodes_changed if one.node == "node-2"]
    assert lost.unknown_at_seconds == 20.0, "silent since the beginning, which a pass saw after 5 s; then 50 s of grace"


def test_nothing_moves_when_nothing_is_done() -> None:
    snapshot = snapshot_with(workload("web", 5), workload("db", 3, kind="StatefulSet"), on=nodes(3), budget=2)
    found = plan(snapshot, [])
    assert (found.pods, found.pending, found.workloads, found.budgets, found.notes) == ((), (), (), (), ())


def test_steps_happen_at_their_times() -> None:
    snapshot = snapshot_with(workload("web", 3), on=nodes(3))
    steps = [Step(action=tainted("node-1")), Step(action=tainted("node-2"), at_seconds=600.0)]
    found = plan(snapshot, steps)
    assert {move.at_seconds for move in found.pods} == {0.0, 600.0}
    assert found.action == "taint node-1 k=v:NoExecute; at 600s taint node-2 k=v:NoExecute"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        pytest.param(tainted("node-9"), 'no node "node-9"', id="unknown-node"),
        pytest.param(tainted("node-1", spec="k:NoSchedule-"), "not found", id="taint-that-is-not-there"),
        pytest.param(ApplyObjects(objects=(b'{"apiVersion":"v9","kind":"X"}',)), "no matches for kind", id="kind"),
        pytest.param(
            ApplyObjects(objects=(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{}}',)),
            "spec.containers: Required value", id="invalid-object",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_a_hint(action: PlanAction, message: str) -> None:
    snapshot = snapshot_with(workload("web", 1), on=nodes(1))
    with pytest.raises(PlanError, match=message) as caught:
        planned(snapshot, action)
    assert caught.value.hint


def test_failover_names_what_dominates_and_proposes_settings_for_a_target() -> None:
    snapshot = snapshot_with(workload("web", 3), workload("db", 1, kind="StatefulSet"), on=nodes(3))
    report = failover(snapshot, FailoverRequest(target_seconds=60.0), PlanOptions())
    web = next(one for one in report.failovers if one.workload == "default/Deployment/web")
    assert (web.dominant, web.total_seconds) == ("toleration", pytest.approx(352, abs=4))
    db = next(one for one in report.failovers if one.workload == "default/StatefulSet/db")
    assert (db.total_seconds, db.dominant) == (None, "termination")
    told = "\n".join(report.proposals)
    assert "--node-monitor-grace-period=30s" in told
    proposed = int(told.partition("default/Deployment/web: tolerationSeconds: ")[2].split()[0])
    lifecycle = NodeLifecycleSettings(node_monitor_grace_period_seconds=30.0, node_monitor_period_seconds=3.0)
    again = failover(
        snapshot, FailoverRequest(workload="web"), PlanOptions(settings=Settings(node_lifecycle=lifecycle))
    )
    rest = sum(phase.seconds for phase in again.failovers[0].phases if phase.name != "toleration")
    assert 50 < rest + proposed <= 60, "as asked for, and not much faster"
    assert "default/StatefulSet/db: no setting helps" in told


def test_failover_of_a_workload_that_is_not_there_is_refused() -> None:
    snapshot = snapshot_with(workload("web", 1), on=nodes(1))
    with pytest.raises(PlanError, match='no workload "wbe"'):
        failover(snapshot, FailoverRequest(workload="wbe"), PlanOptions())


def test_page_holds_the_plan_and_asks_nobody_for_anything() -> None:
    snapshot = snapshot_with(workload("web", 2), on=nodes(2))
    page = plan_html(planned(snapshot, tainted("node-1", spec="k=v:NoExecute")))
    data = page.partition('type="application/json">')[2].partition("</script>")[0]
    assert msgspec.json.decode(data)["summary"]["evicted"] == 1
    assert "</" not in data
    for asks in ("src=", "href=", "@import", "url(", "fetch("):
        assert asks not in page


def test_one_snapshot_and_one_seed_give_one_plan_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "cluster.jsonl"
    save(snapshot_with(workload("web", 12), workload("db", 3, kind="StatefulSet"), on=nodes(6, "abc")), file)
    outputs = set()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "doorman", "plan", "lose", "--zone", "a", "--from", str(file), "-o", "json"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        outputs.add(subprocess.run(command, capture_output=True, env=environment, check=True, timeout=120).stdout)
    assert len(outputs) == 1
    assert msgspec.json.decode(outputs.pop())["summary"]["evicted"] > 0
