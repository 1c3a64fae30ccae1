"""Plans of clusters with volumes: a pod that cannot follow its disk stays pending, and says why."""

from typing import Any

from doorman.nodes.profile import NodeProfile
from doorman.plan.plan_actions import DrainNodes, LoseNodes, NodeChoice, Step, TaintNodes
from doorman.plan.plan_options import PlanOptions
from doorman.plan.plan_result import Plan
from doorman.plan.planner import plan
from doorman.runtime.defaults.default_objects import standard_class
from doorman.semantics.taints.taint_spec import parse_taint_change
from doorman.snapshot.snapshot_format import Snapshot, snapshot_of
from support.planning import Original, run_original
from support.volumes import ZONE, claim_spec

NODES = {f"{zone}-1": NodeProfile(zone=zone) for zone in ("a", "b")}


def stateful_set(replicas: int) -> dict[str, Any]:
    labels = {"app": "db"}
    mounts = [{"name": "data", "mountPath": "/d"}]
    spec = {"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], "nodeSelector": {ZONE: "a"}}
    return {
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim_spec()}],
        },
    }


def snapshot_with_disk_in_zone_a() -> Snapshot:
    taken: list[Snapshot] = []

    async def story(original: Original) -> None:
        await original.create("storageclasses.storage.k8s.io", standard_class(), namespace="")
        await original.create("statefulsets.apps", stateful_set(1))
        await original.advance(30)
        # From now on only its disk keeps it there.
        await original.patch("statefulsets.apps", "db", {"spec": {"template": {"spec": {"nodeSelector": None}}}})
        await original.advance(60)
        taken.append(original.snapshot())

    run_original(story, NODES)
    return taken[0]


def planned(snapshot: Snapshot) -> Plan:
    taint = TaintNodes(nodes=NodeChoice(names=("a-1",)), change=parse_taint_change(["k=v:NoExecute"]))
    return plan(snapshot, [Step(action=taint)], PlanOptions())


def test_pod_whose_disk_is_in_a_zone_that_is_closed_stays_pending() -> None:
    found = planned(snapshot_with_disk_in_zone_a())
    assert (found.summary.evicted, found.summary.pending) == (1, 1)
    assert "1 node(s) didn't match PersistentVolume's node affinity" in found.pending[0].message


def test_pod_whose_claim_was_left_out_of_the_dump_may_go_anywhere() -> None:
    whole = snapshot_with_disk_in_zone_a()
    kept = [doc for doc in whole.documents() if not doc["kind"].startswith("PersistentVolume")]
    found = planned(snapshot_of(kept, whole.taken_at))
    assert found.summary.pending == 0
    assert [move.replacement.node for move in found.pods if move.replacement is not None] == ["b-1"]


def deployment() -> dict[str, Any]:
    labels = {"app": "web"}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
    return {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def snapshot_with_a_disk_for_one_node() -> tuple[Snapshot, str]:
    """And the node that has it."""
    taken: list[tuple[Snapshot, str]] = []

    async def story(original: Original) -> None:
        await original.create("storageclasses.storage.k8s.io", standard_class(), namespace="")
        await original.create("persistentvolumeclaims", {"metadata": {"name": "data"}, "spec": claim_spec()})
        await original.create("deployments.apps", deployment())
        await original.advance(30)
        [pod] = original.plane.informers.lister("pods").list()
        taken.append((original.snapshot(), pod.spec.node_name))

    run_original(story, {"n-1": NodeProfile(), "n-2": NodeProfile()})
    return taken[0]


def test_pod_that_waits_for_the_disk_of_a_lost_node_says_so() -> None:
    snapshot, node = snapshot_with_a_disk_for_one_node()
    lose = LoseNodes(nodes=NodeChoice(names=(node,)))
    found = plan(snapshot, [Step(action=lose)], PlanOptions())
    [move] = found.pods
    assert move.gone_at_seconds is None
    assert move.replacement is not None
    assert (move.replacement.node is not None, move.replacement.ready_at_seconds) == (True, None)
    [note] = found.notes
    assert note.startswith(f"default/{move.replacement.name} does not start on {move.replacement.node}: ")
    assert note.endswith(f"Volume is already used by pod(s) {move.name}")


def test_node_out_of_service_lets_its_disk_go() -> None:
    snapshot, node = snapshot_with_a_disk_for_one_node()
    nodes = NodeChoice(names=(node,))
    change = parse_taint_change(["node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"])
    steps = [Step(action=LoseNodes(nodes=nodes)), Step(action=TaintNodes(nodes=nodes, change=change), at_seconds=600)]
    found = plan(snapshot, steps, PlanOptions())
    [move] = found.pods
    assert move.replacement is not None
    assert move.replacement.ready_at_seconds is not None
    assert move.replacement.ready_at_seconds >= 600
    assert found.notes == ()


def test_drained_pod_takes_its_disk_along() -> None:
    snapshot, node = snapshot_with_a_disk_for_one_node()
    found = plan(snapshot, [Step(action=DrainNodes(nodes=NodeChoice(names=(node,))))], PlanOptions())
    [move] = found.pods
    assert move.replacement is not None
    assert move.replacement.ready_at_seconds == move.at_seconds
