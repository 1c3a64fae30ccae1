"""Pods with bound claims through the HTTP API, as upstream's scheduler_perf has them: pods a second until bound.

    .venv/bin/python bench/volumes.py [WORKLOAD ...] [--nodes N] [--initial N] [--pods M] [--in-memory]

in-tree    SchedulingInTreePVs: every pod has a claim that is bound to an AWS disk of its own
migrated   SchedulingMigratedInTreePVs: the same, on nodes that leave those disks to their CSI driver, at most 39 each
csi        SchedulingCSIPVs: every pod has a claim that is bound to a volume of that driver, at most 39 a node
secrets    SchedulingSecrets: every pod mounts a secret
plain      the same cluster, with pods that have none: what volumes cost those who have none

Claims and volumes are there, and bound, before the clock starts. As upstream's, with 5,000 nodes:

    .venv/bin/python bench/volumes.py in-tree --nodes 5000 --initial 1000 --pods 2000
    .venv/bin/python bench/volumes.py migrated csi --nodes 5000 --initial 5000 --pods 5000
    .venv/bin/python bench/volumes.py secrets plain --nodes 5000 --initial 1000 --pods 10000

With --kubeconfig another server is measured, a Kubernetes say, whose controller manager must leave nodes alone that
nobody speaks for (--node-monitor-grace-period=24h). It must be empty, so there is one workload a run.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence

from api import NAMESPACE, burst, cpu_seconds, memory_mb, node, quantile

CLAIMS = "/api/v1/namespaces/bench/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
DRIVER = "ebs.csi.aws.com"
LIMIT = 39
WORKLOADS = ("in-tree", "migrated", "csi", "secrets", "plain")
WITH_CLAIMS = ("in-tree", "migrated", "csi")
CLIENTS = 2
"""Processes that send pods: each keeps a core busy for a part of the time."""


def csi_node(number: int, workload: str) -> dict:
    name = burst.node(number)["metadata"]["name"]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": LIMIT}}
    metadata = {"name": name, "annotations": annotations if workload == "migrated" else {}}
    return {"metadata": metadata, "spec": {"drivers": [driver]}}


def volume(number: int, workload: str) -> dict:
    source = {"csi": {"driver": DRIVER, "volumeHandle": f"vol-{number}"}}
    if workload != "csi":
        source = {"awsElasticBlockStore": {"volumeID": f"vol-{number}"}}
    spec = {
        "accessModes": ["ReadOnlyMany"], "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "bench", "name": f"claim-{number}"}, **source,
    }  # fmt: skip
    return {"metadata": {"name": f"volume-{number}"}, "spec": spec}


def claim(number: int) -> dict:
    spec = {
        "accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "",
        "volumeName": f"volume-{number}",
    }  # fmt: skip
    return {"metadata": {"name": f"claim-{number}"}, "spec": spec}


def pod(number: int, workload: str) -> dict:
    body = burst.pod(False)
    if workload in WITH_CLAIMS:
        source = {"persistentVolumeClaim": {"claimName": f"claim-{number}"}}
        body["spec"]["volumes"] = [{"name": "vol", **source}]
    elif workload == "secrets":
        body["spec"]["volumes"] = [{"name": "vol", "secret": {"secretName": "secret"}}]
    return body


def create_all(api, path: str, bodies: Sequence[dict]) -> None:
    def create(body: dict) -> None:
        status, _, answer = api.request("POST", path, body)
        assert status == 201, answer

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(create, bodies))


def send(kubeconfig: str, path: str, bodies: Sequence[dict]) -> None:
    """In a process of its own."""
    create_all(burst.Api.from_kubeconfig(kubeconfig), path, bodies)


def send_all(kubeconfig: str, path: str, bodies: Sequence[dict]) -> None:
    spawn = multiprocessing.get_context("spawn")
    parts = [bodies[at::CLIENTS] for at in range(CLIENTS)]
    with concurrent.futures.ProcessPoolExecutor(CLIENTS, mp_context=spawn) as pool:
        list(pool.map(send, [kubeconfig] * CLIENTS, [path] * CLIENTS, parts))


def prepare(api, kubeconfig: str, workload: str, options: argparse.Namespace) -> None:
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "bench"}})
    account = "/api/v1/namespaces/bench/serviceaccounts/default"
    burst.wait(lambda: api.request("GET", account)[0] == 200, 20, "service account")
    send_all(kubeconfig, "/api/v1/nodes", [node(number, workload) for number in range(options.nodes)])
    if workload in ("migrated", "csi"):
        send_all(kubeconfig, CSI_NODES, [csi_node(number, workload) for number in range(options.nodes)])
    clean = lambda: b"not-ready" not in json.dumps(api.request("GET", "/api/v1/nodes")[2]).encode()  # noqa: E731
    burst.wait(clean, 1200, "nodes without the not-ready taint")
    if workload in WITH_CLAIMS:
        numbers = range(options.initial + options.pods)
        send_all(kubeconfig, VOLUMES, [volume(number, workload) for number in numbers])
        send_all(kubeconfig, CLAIMS, [claim(number) for number in numbers])
        bound = lambda: all(  # noqa: E731
            item.get("status", {}).get("phase") == "Bound" for item in api.request("GET", CLAIMS)[2]["items"]
        )
        burst.wait(bound, 1200, "all claims bound")
    if workload == "secrets":
        create_all(api, "/api/v1/namespaces/bench/secrets", [{"metadata": {"name": "secret"}}])


def measure(workload: str, options: argparse.Namespace, api, kubeconfig: str, pid: int | None) -> dict:
    prepare(api, kubeconfig, workload, options)
    threading.excepthook = lambda _: None  # the counter's watch ends with the server
    counter = burst.Counter(api, NAMESPACE)
    counter.start()
    burst.wait(lambda: counter.rewatches == 0, 120, "the watch")
    send_all(kubeconfig, NAMESPACE, [pod(number, workload) for number in range(options.initial)])
    burst.wait(lambda: len(counter.bound) >= options.initial, 1200, "the first pods bound")
    bodies = [pod(options.initial + number, workload) for number in range(options.pods)]
    began, worked = time.monotonic(), cpu_seconds(pid) if pid is not None else 0.0
    send_all(kubeconfig, NAMESPACE, bodies)
    posted = time.monotonic()
    burst.wait(lambda: len(counter.bound) >= options.initial + options.pods, 1200, "all pods bound")
    figures = {
        "workload": workload, "nodes": options.nodes, "initial": options.initial, "pods": options.pods,
        "create_per_s": round(options.pods / (posted - began)),
        "bound_per_s": round(options.pods / (counter.last_bound - began)),
    }  # fmt: skip
    if pid is None:
        return figures
    metrics = api.request("GET", "/metrics")[2]
    return {
        **figures,
        "p99_cycle_us": round(1e6 * quantile(metrics, "scheduler_scheduling_algorithm_duration_seconds", 0.99)),
        "server_cpu_us_per_pod": round((cpu_seconds(pid) - worked) / options.pods * 1e6),
        "memory_mb": memory_mb(pid),
    }  # fmt: skip


def run(workload: str, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        kubeconfig = f"{scratch}/kubeconfig"
        place = ["--in-memory"] if options.in_memory else ["--data-dir", f"{scratch}/data"]
        flags = ["--nodes", "0", "--secure-port", "0", "--kubeconfig-out", kubeconfig, *place]
        flags += ["--node-monitor-grace-period", "24h"]  # nobody speaks for the nodes, and preparing takes a while
        command = [sys.executable, "-m", "doorman", "up", *flags]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server.stdout.readline()
            return measure(workload, options, burst.Api.from_kubeconfig(kubeconfig), kubeconfig, server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--initial", type=int, default=500, help="Pods that are there when the clock starts.")
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--kubeconfig", help="Of a server that is there already.")
    options = parser.parse_args()
    if options.kubeconfig:
        if len(options.workloads) != 1:
            parser.error("one workload with --kubeconfig")
        api = burst.Api.from_kubeconfig(options.kubeconfig)
        print(json.dumps(measure(options.workloads[0], options, api, options.kubeconfig, None)), flush=True)
        return 0
    for workload in options.workloads:
        print(json.dumps(run(workload, options)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
