"""The scheduler alone, in process: pods a second and the slowest cycles, shaped as upstream's scheduler_perf.

python bench/scheduler.py [WORKLOAD ...] [--nodes N] [--pods M] [--scale] [--json]

basic         identical pods
mixed         1,000 of 5,000 nodes tainted, four kinds of pods with different tolerations
unique        every pod asks for a different amount: nothing is shared
spread        hard topology spread over zones
anti          required anti-affinity by host, the newcomer's and the residents'
affinity      required affinity by zone
preferred     preferred affinity and anti-affinity
service       pods of a service: default spreading, scored only
daemon        every pod names its node, as those of a DaemonSet do
preemption    every node full of low pods, high ones arrive
unschedulable basic, with as many pods that fit nowhere between them
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.services import Service
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.scheduler.outcomes import Placed, Rejected
from doorman.scheduler.scheduler import Scheduler

ZONES = 10
START = 1000.0


def node(name: str, number: int, **more: Any) -> Node:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % ZONES}"}
    document = {
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}},
    }
    return msgspec.convert(document, Node)


def pod(name: str, *, cpu: str = "100m", memory: str = "500Mi", labels: dict | None = None, **spec: Any) -> Pod:
    container = {"name": "c", "image": "registry.example/pause:1", "resources": {"requests": {"cpu": cpu}}}
    container["resources"]["requests"]["memory"] = memory
    document = {
        "metadata": {"name": name, "namespace": "bench", "uid": name, "labels": labels or {}},
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
    }
    return msgspec.convert(document, Pod)


def affinity(kind: str, key: str, app: str, *, preferred: bool = False) -> dict:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    if preferred:
        weighted = {"weight": 50, "podAffinityTerm": term}
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def named(name: str) -> dict:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchFields": fields}]}}}  # fmt: skip


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SPREAD = [
    {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
     "labelSelector": {"matchLabels": {"app": "s"}}}
]  # fmt: skip


def tolerations(number: int) -> list[dict]:
    kinds = [
        [],
        [{"key": "team", "operator": "Equal", "value": "a"}],
        [{"key": "team", "operator": "Exists"}],
        [{"key": "sla", "operator": "Gt", "value": "900"}],
    ]
    return kinds[number % len(kinds)]


def taints(number: int) -> list[dict]:
    if number % 5:
        return []
    kinds = (("team", "a", "NoSchedule"), ("team", "b", "NoExecute"), ("sla", "950", "NoSchedule"))
    key, value, effect = kinds[number // 5 % len(kinds)]
    return [{"key": key, "value": value, "effect": effect}]


WORKLOADS: dict[str, Callable[[int], Pod]] = {
    "basic": lambda at: pod(f"p{at}"),
    "mixed": lambda at: pod(f"p{at}", tolerations=tolerations(at)),
    "unique": lambda at: pod(f"p{at}", cpu=f"{at % 97 + 1}m", memory=f"{at + 1}Ki"),
    "spread": lambda at: pod(f"p{at}", labels={"app": "s"}, topologySpreadConstraints=SPREAD),
    "anti": lambda at: pod(f"p{at}", labels={"app": "x"}, affinity=affinity("podAntiAffinity", HOST, "x")),
    "affinity": lambda at: pod(f"p{at}", labels={"app": "x"}, affinity=affinity("podAffinity", ZONE, "x")),
    "preferred": lambda at: pod(
        f"p{at}", labels={"app": "x"}, affinity=affinity("podAntiAffinity", HOST, "x", preferred=True)
    ),
    "service": lambda at: pod(f"p{at}", labels={"app": "x"}),
    "daemon": lambda at: pod(f"p{at}", affinity=named(f"node-{at}")),
    "preemption": lambda at: pod(f"p{at}", cpu="3", priority=10),
    "unschedulable": lambda at: pod(f"p{at}") if at % 2 else pod(f"p{at}", cpu="64"),
}


def prepared(workload: str, nodes: int) -> Scheduler:
    scheduler = Scheduler(SchedulerConfig(), comparison_operators=True)
    for at in range(nodes):
        spec = {"taints": taints(at)} if workload == "mixed" else {}
        scheduler.node_changed(None, node(f"node-{at}", at, **spec), START)
    if workload == "service":
        document = {"metadata": {"name": "s", "namespace": "bench"}, "spec": {"selector": {"app": "x"}}}
        scheduler.object_changed("services", None, msgspec.convert(document, Service), START)
    if workload == "preemption":
        for at in range(4 * nodes):
            low = pod(f"low{at}", cpu="900m", nodeName=f"node-{at % nodes}")
            scheduler.pod_changed(None, low, START)
    return scheduler


def run(workload: str, nodes: int, pods: int) -> dict[str, Any]:
    """Pods arrive and are decided one by one; only `schedule` is timed, in calls of one pod.

    Placed pods stay assumed and victims are never deleted: what bindings and deletions cost afterwards is not in here.
    `pods_per_s` counts decisions, rejections too; `bound` says how many of them placed (or preempted).
    """
    if workload in ("anti", "preemption", "daemon"):
        pods = min(pods, nodes)
    scheduler = prepared(workload, nodes)
    waiting = [WORKLOADS[workload](at) for at in range(pods)]
    began = time.perf_counter()
    for one in waiting:
        scheduler.pod_changed(None, one, START)
    queued = time.perf_counter()
    cycles, bound, decided = [], 0, 0
    for outcomes in decisions(scheduler, cycles):
        for outcome in outcomes:
            decided += 1
            bound += isinstance(outcome, Placed) or (isinstance(outcome, Rejected) and bool(outcome.victims))
    ended = time.perf_counter()
    spent = sum(cycles)
    cycles.sort()
    return {
        "workload": workload,
        "nodes": nodes,
        "pods": pods,
        "decided": decided,
        "bound": bound,
        "pods_per_s": round(decided / spent),
        "us_per_pod": round(1e6 * spent / decided, 1),
        "p99_cycle_us": round(1e6 * cycles[int(0.99 * (len(cycles) - 1))]),
        "queue_pods_per_s": round(pods / (queued - began)),
        "seconds": round(ended - began, 2),
    }


def decisions(scheduler: Scheduler, cycles: list[float]) -> Iterator[list]:
    while True:
        began = time.perf_counter()
        outcomes = scheduler.schedule(START + 1, pods_max=1)
        if not outcomes:
            return
        cycles.append(time.perf_counter() - began)
        yield outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--scale", action="store_true", help="basic with 100, 1,000, 5,000 and 20,000 nodes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    plan = [(name, options.nodes, options.pods) for name in options.workloads]
    if options.scale:
        # Forty of these pods fill a node; more would measure rejections.
        plan = [("basic", nodes, min(options.pods, 40 * nodes)) for nodes in (100, 1000, 5000, 20_000)]
    for name, nodes, pods in plan:
        figures = run(name, nodes, pods)
        print(json.dumps(figures) if options.json else "  ".join(f"{key}={value}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
