"""Scheduling through the HTTP API: pods a second from the first POST until the last pod has a node.

    .venv/bin/python bench/api.py [WORKLOAD ...] [--nodes N] [--pods M] [--in-memory]

basic          identical pods
mixed          a fifth of the nodes tainted, half of the pods tolerate it
spread         hard topology spread over three zones
anti           required anti-affinity by host
unschedulable  basic, with a tenth as many pods that fit nowhere before them
preemption     every node full of four pods of low priority; as many pods of high priority as nodes, each of which
               needs the room of three
"""

import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("burst", str(ROOT / "bench" / "burst"))
spec = importlib.util.spec_from_loader("burst", loader)
burst = importlib.util.module_from_spec(spec)
loader.exec_module(burst)
sys.path.insert(0, str(ROOT / "bench"))
from run import cpu_seconds, memory_mb  # noqa: E402

NAMESPACE = "/api/v1/namespaces/bench/pods"
LOW_PODS_PER_NODE = 4
WORKLOADS = ["basic", "mixed", "spread", "anti", "unschedulable", "preemption"]


def node(number: int, workload: str) -> dict:
    doc = burst.node(number)
    tainted = workload == "mixed" and number % 5 == 0
    doc["spec"]["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if tainted else []
    return doc


def pods(workload: str, count: int) -> list[tuple[dict, int]]:
    """Bodies and how many of each."""
    plain = burst.pod(False)
    plain["metadata"]["labels"] = {"app": "bench"}
    match workload:
        case "mixed":
            tolerant = burst.pod(True)
            return [(plain, count // 2), (tolerant, count // 2)]
        case "spread":
            selector = {"matchLabels": {"app": "bench"}}
            rule = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
            plain["spec"]["topologySpreadConstraints"] = [{**rule, "labelSelector": selector}]
        case "anti":
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "bench"}}}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            plain["spec"]["affinity"] = {"podAntiAffinity": required}
        case "preemption":
            plain["spec"]["priorityClassName"] = "high"
            plain["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "3", "memory": "500Mi"}
    return [(plain, count // 2), (plain, count // 2)]


def fill(api, nodes: int) -> int:
    """Low priority everywhere. They go at once when they must: nobody stops them here."""
    scheduling = "/apis/scheduling.k8s.io/v1/priorityclasses"
    status, _, body = api.request("POST", scheduling, {"metadata": {"name": "high"}, "value": 1000})
    assert status == 201, body
    low = burst.pod(False)
    low["spec"]["terminationGracePeriodSeconds"] = 0
    low["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "900m", "memory": "500Mi"}
    return post(api, low, LOW_PODS_PER_NODE * nodes, 16)


def run(workload: str, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        kubeconfig = f"{scratch}/kubeconfig"
        place = ["--in-memory"] if options.in_memory else ["--data-dir", f"{scratch}/data"]
        flags = ["--nodes", "0", "--secure-port", "0", "--kubeconfig-out", kubeconfig, *place]
        server = subprocess.Popen(
            [sys.executable, "-m", "doorman", "up", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            server.stdout.readline()
            return measure(workload, options, burst.Api.from_kubeconfig(kubeconfig), server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def measure(workload: str, options: argparse.Namespace, api, pid: int) -> dict:
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "bench"}})
    burst.wait(
        lambda: api.request("GET", "/api/v1/namespaces/bench/serviceaccounts/default")[0] == 200, 20, "service account"
    )
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: api.request("POST", "/api/v1/nodes", node(n, workload)), range(options.nodes)))
    clean = lambda: b"not-ready" not in json.dumps(api.request("GET", "/api/v1/nodes")[2]).encode()  # noqa: E731
    burst.wait(clean, 120, "nodes without the not-ready taint")
    wanted = min(options.pods, options.nodes) if workload in ("anti", "preemption") else options.pods
    filled = fill(api, options.nodes) if workload == "preemption" else 0
    if workload == "unschedulable":
        fit_error = burst.pod(False)
        fit_error["spec"]["nodeSelector"] = {"nope": "nope"}
        fit_error["metadata"]["labels"] = {"app": "misfit"}
        post(api, fit_error, wanted // 10, 8)
    threading.excepthook = lambda _: None  # the counter's watch ends with the server
    counter = burst.Counter(api, NAMESPACE)
    counter.start()
    burst.wait(lambda: counter.rewatches == 0 and len(counter.bound) >= filled, 120, "the watch")
    began, worked = time.monotonic(), cpu_seconds(pid)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(post, api, body, count, 8) for body, count in pods(workload, wanted)]
        total = sum(job.result() for job in jobs)
    posted = time.monotonic()
    burst.wait(lambda: len(counter.bound) >= filled + total, 600, "all pods bound")
    metrics = api.request("GET", "/metrics")[2]
    return {
        "workload": workload, "nodes": options.nodes, "pods": total, "create_per_s": round(total / (posted - began)),
        "bound_per_s": round(total / (counter.last_bound - began)),
        "p99_cycle_us": round(1e6 * quantile(metrics, "scheduler_scheduling_algorithm_duration_seconds", 0.99)),
        "p99_cycle_and_bind_ms": round(1e3 * quantile(metrics, "scheduler_scheduling_attempt_duration_seconds", 0.99)),
        "server_cpu_us_per_pod": round((cpu_seconds(pid) - worked) / total * 1e6),
        "memory_mb": memory_mb(pid),
    }  # fmt: skip


def quantile(metrics: str, name: str, share: float) -> float:
    """Of a histogram, over all its labels, as Prometheus works it out."""
    buckets: dict[float, float] = {}
    for line in metrics.splitlines():
        if line.startswith(f"{name}_bucket"):
            limit = float(line.partition('le="')[2].partition('"')[0])
            buckets[limit] = buckets.get(limit, 0.0) + float(line.rpartition(" ")[2])
    wanted = share * max(buckets.values(), default=0.0)
    below, seen = 0.0, 0.0
    for limit, count in sorted(buckets.items()):
        if count >= wanted and count > seen:
            return below if limit == float("inf") else below + (limit - below) * (wanted - seen) / (count - seen)
        below, seen = limit, count
    return 0.0


def post(api, body: dict, count: int, clients: int) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(body, file)
        file.flush()
        url = f"https://{api.host}:{api.port}{NAMESPACE}"
        command = ["ab", "-q", "-k", "-n", str(count), "-c", str(clients), "-p", file.name, "-T", "application/json"]
        command += ["-s", "120", "-H", f"Authorization: Bearer {api.token}", url]
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        assert "Non-2xx" not in text, text
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "workloads", nargs="*", default=["basic", "mixed", "spread", "anti", "unschedulable", "preemption"]
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--in-memory", action="store_true")
    options = parser.parse_args()
    for workload in options.workloads:
        print(json.dumps(run(workload, options)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
