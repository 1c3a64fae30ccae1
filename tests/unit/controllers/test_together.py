"""All controllers on one stage, through hours of random taints, failures and rollouts: everything comes right again."""

import hashlib
import random
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.api.views.apps import ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet
from doorman.api.views.coordination import Lease
from doorman.api.views.meta import Object
from doorman.controllers.cluster.garbage_collector import GarbageCollector, kind_finder
from doorman.controllers.daemonset.daemonset import DaemonSetController
from doorman.controllers.deployment.deployment import DeploymentController
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from doorman.controllers.pods.pod_gc import PodGcController
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicaset import REPLICA_SETS
from doorman.controllers.statefulset.statefulset import StatefulSetController
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController
from doorman.nodes.agent import SimulatedNodes
from doorman.nodes.profile import NodeProfile, simulated_node
from support.binder import Binder
from support.objects import taint
from support.stage import Stage

LEASES = "leases.coordination.k8s.io"
KINDS = {
    "deployments.apps": Deployment,
    "replicasets.apps": ReplicaSet,
    "daemonsets.apps": DaemonSet,
    "statefulsets.apps": StatefulSet,
    "controllerrevisions.apps": ControllerRevision,
    "persistentvolumeclaims": Object,
    LEASES: Lease,
}
DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def stage_with(nodes: int) -> Stage:
    stage = Stage(KINDS)
    caches = stage.caches
    for number in range(nodes):
        stage.create("nodes", simulated_node(f"n{number:02d}", NodeProfile(zone=f"z{number % 3}")))
    pods, all_nodes, revisions = caches["pods"], caches["nodes"], caches["controllerrevisions.apps"]
    stage.add(NodeLifecycleController(all_nodes, pods, caches[LEASES]))
    stage.add(TaintEvictionController(all_nodes, pods))
    stage.add(SimulatedNodes(all_nodes, pods, caches[LEASES]))
    stage.add(Binder(all_nodes, pods))
    stage.add(PodGcController(pods, all_nodes))
    stage.add(DeploymentController(caches["deployments.apps"], caches["replicasets.apps"], pods))
    stage.add(ReplicaController(REPLICA_SETS, caches["replicasets.apps"], pods))
    stage.add(DaemonSetController(caches["daemonsets.apps"], revisions, pods, all_nodes))
    stage.add(StatefulSetController(caches["statefulsets.apps"], revisions, pods, caches["persistentvolumeclaims"]))
    stage.add(
        GarbageCollector({name: stage.caches[name] for name in (*KINDS, "pods", "nodes")}, kind_finder(builtin_kinds()))
    )
    return stage


def workload(name: str, replicas: int | None, strategy: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels, "annotations": {"doorman.dev/startup": "2s"}},
        "spec": {"containers": [{"name": "c", "image": "i:0"}], "tolerations": DEFAULT_TOLERATIONS},
    }
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": template,
        strategy: {"type": "RollingUpdate"},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {"metadata": {"namespace": "a", "name": name}, "spec": spec}


def disturb(stage: Stage, rng: random.Random, step: int) -> None:
    name = rng.choice(sorted(stage.documents["nodes"]))
    match rng.randrange(7):
        case 0:
            effect = rng.choice(["NoSchedule", "NoExecute"])
            kept = [t for t in stage.documents["nodes"][name]["spec"].get("taints") or [] if t["key"] != "chaos"]
            stage.patch("nodes", name, {"spec": {"taints": [*kept, taint(f"chaos:{effect}")]}})
        case 1:
            kept = [t for t in stage.documents["nodes"][name]["spec"].get("taints") or [] if t["key"] != "chaos"]
            stage.patch("nodes", name, {"spec": {"taints": kept or None}})
        case 2:
            stage.patch("nodes", name, {"metadata": {"annotations": {"doorman.dev/silent": "true"}}})
        case 3:
            stage.patch("nodes", name, {"metadata": {"annotations": {"doorman.dev/silent": None}}})
        case 4:
            image = [{"name": "c", "image": f"i:{step}"}]
            resource, key = rng.choice(
                [("deployments.apps", "a/web"), ("daemonsets.apps", "a/agent"), ("statefulsets.apps", "a/db")]
            )
            stage.patch(resource, key, {"spec": {"template": {"spec": {"containers": image}}}})
        case 5:
            stage.patch("deployments.apps", "a/web", {"spec": {"replicas": rng.randrange(1, 20)}})
        case _:
            pods = sorted(stage.documents["pods"])
            if pods:
                stage.delete("pods", rng.choice(pods))


def heal(stage: Stage) -> None:
    for name, document in list(stage.documents["nodes"].items()):
        kept = [t for t in document["spec"].get("taints") or [] if t["key"] != "chaos"]
        healthy = {"metadata": {"annotations": {"doorman.dev/silent": None}}, "spec": {"taints": kept or None}}
        stage.patch("nodes", name, healthy)


def run(seed: int, steps: int) -> Stage:
    rng = random.Random(seed)
    stage = stage_with(12)
    stage.create("deployments.apps", workload("web", 8, "strategy"))
    stage.create("daemonsets.apps", workload("agent", None, "updateStrategy"))
    stage.create("statefulsets.apps", workload("db", 3, "updateStrategy"))
    stage.advance(60)
    for step in range(1, steps):
        disturb(stage, rng, step)
        stage.advance(rng.choice([1, 10, 60, 400]))
    heal(stage)
    stage.advance(3600)
    return stage


def digest(stage: Stage) -> str:
    told = "\n".join(f"{at} {who} {action}" for at, who, action in stage.actions)
    return hashlib.sha256(told.encode()).hexdigest()


@pytest.mark.parametrize("seed", [1, 2])
def test_everything_converges_after_hours_of_disturbance(seed: int) -> None:
    stage = run(seed, 60)
    nodes = stage.documents["nodes"]
    assert [d["spec"].get("taints") for d in nodes.values() if d["spec"].get("taints")] == []
    web = stage.documents["deployments.apps"]["a/web"]
    wanted = web["spec"]["replicas"]
    assert (web["status"]["availableReplicas"], web["status"]["updatedReplicas"]) == (wanted, wanted)
    agent = stage.documents["daemonsets.apps"]["a/agent"]["status"]
    assert (agent["desiredNumberScheduled"], agent["numberAvailable"], agent["updatedNumberScheduled"]) == (12, 12, 12)
    db = stage.documents["statefulsets.apps"]["a/db"]["status"]
    assert (db["readyReplicas"], db["updatedReplicas"], db["currentRevision"]) == (3, 3, db["updateRevision"])
    pods = [d for d in stage.documents["pods"].values() if d["status"]["phase"] not in ("Failed", "Succeeded")]
    assert len(pods) == wanted + 12 + 3
    assert not any("deletionTimestamp" in d["metadata"] for d in pods)
    eviction = next(c for c in stage._controllers if isinstance(c, TaintEvictionController))
    assert (eviction._timers, eviction._pending, eviction._tainted) == ({}, {}, {})


def test_one_seed_gives_one_run() -> None:
    assert digest(run(4, 20)) == digest(run(4, 20))
