"""Devices through the HTTP API, shaped as upstream's scheduler_perf: pods a second from first POST to last binding.

    .venv/bin/python bench/devices.py [WORKLOAD ...] [--nodes N] [--pods M] [--in-memory]

templates  SchedulingWithResourceClaimTemplate: every pod has a claim from a template, one device each
extended   every pod asks for one of an extended resource that a DeviceClass stands for
taint      as templates; then one rule taints every device NoExecute: until the last pod is marked for deletion
plain      the same cluster, with pods that ask for no device: what devices cost those who have none
"""

import argparse
import concurrent.futures
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from api import NAMESPACE, burst, cpu_seconds, memory_mb, node, post, quantile

GROUP = "/apis/resource.k8s.io/v1"
DRIVER = "bench.example.com"
EXTENDED = "bench.example.com/gpu"


def slice_of(number: int, devices: int) -> dict:
    name = burst.node(number)["metadata"]["name"]
    return {
        "metadata": {"name": f"{name}-devices"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"d{place}"} for place in range(devices)],
        },
    }


def pod(workload: str) -> dict:
    body = burst.pod(False)
    container = body["spec"]["containers"][0]
    if workload in ("templates", "taint"):
        body["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimTemplateName": "t"}]
        container["resources"]["claims"] = [{"name": "d"}]
    elif workload == "extended":
        container["resources"].setdefault("requests", {})[EXTENDED] = "1"
        container["resources"]["limits"] = {EXTENDED: "1"}
    return body


def create(api, body: dict, count: int) -> int:
    """With `ab` if there is one; without, the client is what is measured."""
    if shutil.which("ab"):
        return post(api, body, count, 16)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = [status for status, _, _ in pool.map(lambda _: api.request("POST", NAMESPACE, body), range(count))]
    assert set(statuses) == {201}, statuses
    return count


def prepare(api, options: argparse.Namespace) -> None:
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "bench"}})
    account = "/api/v1/namespaces/bench/serviceaccounts/default"
    burst.wait(lambda: api.request("GET", account)[0] == 200, 20, "service account")
    each = -(-options.pods // options.nodes)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        numbers = range(options.nodes)
        list(pool.map(lambda number: api.request("POST", "/api/v1/nodes", node(number, "devices")), numbers))
        list(pool.map(lambda n: api.request("POST", f"{GROUP}/resourceslices", slice_of(n, each)), numbers))
    clean = lambda: b"not-ready" not in json.dumps(api.request("GET", "/api/v1/nodes")[2]).encode()  # noqa: E731
    burst.wait(clean, 120, "nodes without the not-ready taint")
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"selectors": [selector], "extendedResourceName": EXTENDED}
    request = {"name": "r", "exactly": {"deviceClassName": "bench"}}
    for path, body in (
        (f"{GROUP}/deviceclasses", {"metadata": {"name": "bench"}, "spec": spec}),
        (
            f"{GROUP}/namespaces/bench/resourceclaimtemplates",
            {"metadata": {"name": "t"}, "spec": {"spec": {"devices": {"requests": [request]}}}},
        ),
    ):
        status, _, answer = api.request("POST", path, body)
        assert status == 201, answer


def measure(workload: str, options: argparse.Namespace, api, pid: int) -> dict:
    prepare(api, options)
    threading.excepthook = lambda _: None  # the counter's watch ends with the server
    counter = burst.Counter(api, NAMESPACE)
    counter.start()
    burst.wait(lambda: counter.rewatches == 0, 120, "the watch")
    began, worked = time.monotonic(), cpu_seconds(pid)
    total = create(api, pod(workload), options.pods)
    posted = time.monotonic()
    burst.wait(lambda: len(counter.bound) >= total, 1200, "all pods bound")
    metrics = api.request("GET", "/metrics")[2]
    found = {
        "workload": workload, "nodes": options.nodes, "pods": total, "create_per_s": round(total / (posted - began)),
        "bound_per_s": round(total / (counter.last_bound - began)),
        "p99_cycle_us": round(1e6 * quantile(metrics, "scheduler_scheduling_algorithm_duration_seconds", 0.99)),
        "server_cpu_us_per_pod": round((cpu_seconds(pid) - worked) / total * 1e6),
        "memory_mb": memory_mb(pid),
    }  # fmt: skip
    if workload == "taint":
        found["marked_s"] = round(taint_all(api, total), 2)
    return found


def taint_all(api, pods: int) -> float:
    """Seconds from the rule until every pod is marked for deletion, or gone."""
    rule = {"deviceSelector": {"driver": DRIVER}, "taint": {"key": "bench", "effect": "NoExecute"}}
    began = time.monotonic()
    status, _, answer = api.request("POST", f"{GROUP}/devicetaintrules", {"metadata": {"name": "r"}, "spec": rule})
    assert status == 201, answer

    def marked() -> bool:
        items = api.request("GET", NAMESPACE)[2]["items"]
        left = [item for item in items if "deletionTimestamp" not in item["metadata"]]
        return not left and len(items) <= pods

    burst.wait(marked, 600, "all pods marked")
    return time.monotonic() - began


def run(workload: str, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        kubeconfig = f"{scratch}/kubeconfig"
        place = ["--in-memory"] if options.in_memory else ["--data-dir", f"{scratch}/data"]
        flags = ["--nodes", "0", "--secure-port", "0", "--kubeconfig-out", kubeconfig, *place]
        command = [sys.executable, "-m", "doorman", "up", *flags]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server.stdout.readline()
            return measure(workload, options, burst.Api.from_kubeconfig(kubeconfig), server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=["templates", "extended", "taint", "plain"])
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--in-memory", action="store_true")
    options = parser.parse_args()
    for workload in options.workloads:
        print(json.dumps(run(workload, options)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
