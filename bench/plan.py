"""How long a plan takes: a zone of three is lost, in a cluster of so many nodes and pods.

    .venv/bin/python bench/plan.py --nodes 1000 --pods 20000
    .venv/bin/python bench/plan.py --nodes 5000 --pods 150000 --json

The snapshot is made up, saved to a file and loaded again; what is timed begins with the file. Figures are seconds of
this process' CPU and of the clock, and its greatest memory.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorman.base.clock import VIRTUAL_START
from doorman.base.instants import to_micro_time, to_time
from doorman.nodes.profile import NodeProfile, simulated_node
from doorman.nodes.status.node_status import good_conditions
from doorman.plan.plan_actions import LoseNodes, NodeChoice, Step
from doorman.plan.plan_options import PlanOptions
from doorman.plan.planner import plan
from doorman.snapshot.snapshot_file import load, save
from doorman.snapshot.snapshot_format import snapshot_of

ZONES = ("a", "b", "c")
PODS_PER_DEPLOYMENT = 50
NOW = VIRTUAL_START + 86_400.0
CREATED = to_time(VIRTUAL_START)
Document = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--horizon", type=float, default=3600.0, help="seconds")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.jsonl"
        save(snapshot_of(documents(given.nodes, given.pods), NOW), file)
        figures = measured(file, given.horizon)
    figures = {"nodes": given.nodes, "pods": given.pods, **figures}
    print(json.dumps(figures) if given.json else "\n".join(f"{name:>16} {value}" for name, value in figures.items()))


def measured(file: Path, horizon_seconds: float) -> dict[str, Any]:
    began, cpu_began = time.perf_counter(), time.process_time()
    snapshot = load(file)
    steps = [Step(action=LoseNodes(nodes=NodeChoice(zone="a")))]
    found = plan(snapshot, steps, PlanOptions(horizon_seconds=horizon_seconds), progress=_progress)
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - cpu_began, 2),
        "max_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "evicted": found.summary.evicted,
        "pending": found.summary.pending,
        "quiet_at": found.summary.quiet_at_seconds,
    }


def _progress(what: str, share: float) -> None:
    if sys.stderr.isatty():
        print(f"\r{what} {share:4.0%} ", end="", file=sys.stderr, flush=True)


def documents(nodes: int, pods: int) -> Iterator[Document]:
    """A cluster at rest: as a server would list it."""
    for name in ("default", "kube-system", "kube-node-lease", "kube-public"):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name), "status": {"phase": "Active"}}
        account = {"metadata": meta("default", name, f"account-{name}")}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", **account}
    yield from node_documents(nodes)
    for number in range(0, pods, PODS_PER_DEPLOYMENT):
        yield from workload(f"app-{number // PODS_PER_DEPLOYMENT}", min(PODS_PER_DEPLOYMENT, pods - number), nodes)


def node_documents(nodes: int) -> Iterator[Document]:
    for number in range(nodes):
        name = f"node-{number}"
        profile = NodeProfile(zone=ZONES[number % len(ZONES)], capacity={"cpu": "64", "memory": "256Gi"})
        node = simulated_node(name, profile)
        node["metadata"] |= meta(name)
        node["status"]["conditions"] = good_conditions(to_time(NOW - number % 300))
        yield node
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        yield {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {**meta(name, "kube-node-lease", f"lease-{name}"), "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": 40,
                "renewTime": to_micro_time(NOW - number % 100 / 10),
            },
        }


def workload(name: str, replicas: int, nodes: int) -> Iterator[Document]:
    labels = {"app": name, "pod-template-hash": "0"}
    container = {
        "name": "c", "image": "registry.k8s.io/pause:3.10", "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    }  # fmt: skip
    spec = {
        "containers": [container], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "securityContext": {},
    }  # fmt: skip
    template = {"metadata": {"labels": labels}, "spec": spec}
    selector = {"matchLabels": {"app": name}}
    counts = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1}
    top = {**meta(name, "default", f"deployment-{name}"), "generation": 1}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    deployment_spec = {
        "replicas": replicas, "selector": selector, "strategy": strategy, "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10, "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
    }  # fmt: skip
    yield {
        "apiVersion": "apps/v1", "kind": "Deployment", "spec": deployment_spec,
        "metadata": {**top, "annotations": {"deployment.kubernetes.io/revision": "1"}},
        "status": {**counts, "updatedReplicas": replicas},
    }  # fmt: skip
    middle = {**meta(f"{name}-0", "default", f"replicaset-{name}"), "generation": 1, "labels": labels}
    annotations = {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": str(replicas),
        "deployment.kubernetes.io/max-replicas": str(replicas + (replicas + 3) // 4),
    }
    yield {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {**middle, "annotations": annotations, "ownerReferences": [owner_of("Deployment", top)]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {**counts, "fullyLabeledReplicas": replicas},
    }  # fmt: skip
    for number in range(replicas):
        yield pod(f"{name}-0-{number:05d}", labels, spec, owner_of("ReplicaSet", middle), nodes)


def pod(name: str, labels: Document, spec: Document, owner: Document, nodes: int) -> Document:
    metadata = {**meta(name, "default"), "generateName": name[:-5], "labels": labels, "ownerReferences": [owner]}
    node = f"node-{hash_of(name) % nodes}"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": CREATED, "lastProbeTime": None}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    running = {"running": {"startedAt": CREATED}}
    container = {
        "name": "c", "image": "registry.k8s.io/pause:3.10", "imageID": "sha256:0", "ready": True, "started": True,
        "restartCount": 0, "state": running, "lastState": {},
    }  # fmt: skip
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "generation": 1},
        "spec": {**spec, "nodeName": node, "tolerations": tolerations, "serviceAccountName": "default", "priority": 0,
                 "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority"},
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [container], "qosClass":
                   "Burstable", "startTime": CREATED, "observedGeneration": 1, "hostIP": "10.0.0.1",
                   "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]},
    }  # fmt: skip


def meta(name: str, namespace: str = "", uid: str = "") -> Document:
    place = {"namespace": namespace} if namespace else {}
    return {"name": name, **place, "uid": uid or f"uid-{namespace}-{name}", "creationTimestamp": CREATED}


def owner_of(kind: str, metadata: Document) -> Document:
    return {
        "apiVersion": "apps/v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"], "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip


def hash_of(text: str) -> int:
    """The same in every process."""
    value = 0
    for byte in text.encode():
        value = (value * 31 + byte) % 1_000_003
    return value


if __name__ == "__main__":
    main()
