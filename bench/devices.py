"""Devices through the HTTP API, shaped as upstream's scheduler_perf: pods a second from first POST to last binding.

    .venv/bin/python bench/devices.py [WORKLOAD ...] [--nodes N] [--pods M] [--in-memory] [--costs] [--no-log]

templates  SchedulingWithResourceClaimTemplate: every pod has a claim from a template, one device each; 5,000 pods on
           500 nodes
extended   every pod asks for one of an extended resource that a DeviceClass stands for; 5,000 pods on 5,000 nodes
taint      as templates, 10,000 pods on 1,000 nodes; then one rule taints every device NoExecute: until the last pod is
           marked for deletion
plain      the same cluster, with pods that ask for no device: what devices cost those who have none; 5,000 pods on 500
           nodes

With `--costs` the server is sampled while it works, which makes it a little slower, and a table says what costs what.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from api import NAMESPACE, ROOT, burst, cpu_seconds, memory_mb, node, post, quantile
from run import processes

GROUP = "/apis/resource.k8s.io/v1"
DRIVER = "bench.example.com"
EXTENDED = "bench.example.com/gpu"
SHAPES = {"templates": (500, 5000), "extended": (5000, 5000), "taint": (1000, 10_000), "plain": (500, 5000)}
"""Nodes and pods."""

PARTS = {
    "FrontLink.data_received": "requests of clients",
    "FrontLink._serve": "requests of clients",
    "FrontLink._write_stream": "watches of clients",
    "SchedulerRunner._turn": "scheduler: nodes and devices are chosen",
    "ClaimBinder._create": "scheduler: makes a claim",
    "ClaimBinder._bind_one": "scheduler: finalizer, allocation, reservation of a claim",
    "SchedulerRunner._make_binding": "scheduler: binds the pod",
    "SchedulerRunner._bind": "scheduler: rest of a binding",
    "ControllerRunner._act": "controllers: what they write (claims from templates; what pods are told)",
    "ControllerRunner._turn": "controllers: decide",
    "EventRecorder._write_waiting": "events",
    "WatchCacheInformer._drain": "informers, and who listens to them",
    "_Writer.data_received": "watch cache: takes what is durable",
    "SqliteStore._flush": "store: hands a group to the writer",
}
"""What a function does, and all that it calls: of a stack the last one counts."""


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


def sizes(workload: str, options: argparse.Namespace) -> argparse.Namespace:
    """The options, with the workload's own size where none was asked for."""
    nodes, pods = SHAPES[workload]
    return argparse.Namespace(**{**vars(options), "nodes": options.nodes or nodes, "pods": options.pods or pods})


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


def measure(workload: str, options: argparse.Namespace, api, pid: int, stacks: pathlib.Path) -> dict:
    prepare(api, options)
    threading.excepthook = lambda _: None  # the counter's watch ends with the server
    counter = burst.Counter(api, NAMESPACE)
    counter.start()
    burst.wait(lambda: counter.rewatches == 0, 120, "the watch")
    if options.costs:
        os.kill(pid, signal.SIGUSR2)
    began, worked, shares = time.monotonic(), cpu_seconds(pid), cpu_by_process(pid)
    total = create(api, pod(workload), options.pods)
    posted = time.monotonic()
    burst.wait(lambda: len(counter.bound) >= total, 1200, "all pods bound")
    if options.costs:
        print_costs(pid, shares, total, stacks)
    metrics = api.request("GET", "/metrics")[2]
    found = {
        "workload": workload, "nodes": options.nodes, "pods": total, "create_per_s": round(total / (posted - began)),
        "bound_per_s": round(total / (counter.last_bound - began)),
        "p99_cycle_us": round(1e6 * quantile(metrics, "scheduler_scheduling_algorithm_duration_seconds", 0.99)),
        "server_cpu_us_per_pod": round((cpu_seconds(pid) - worked) / total * 1e6),
        "memory_mb": memory_mb(pid),
    }  # fmt: skip
    if workload == "taint":
        worked = cpu_seconds(pid)
        found["marked_s"] = round(taint_all(api, counter, total), 2)
        found["server_cpu_us_per_marked_pod"] = round((cpu_seconds(pid) - worked) / total * 1e6)
    return found


def cpu_by_process(pid: int) -> dict[str, float]:
    """Seconds of the server and of its helpers."""
    found = {}
    for each in processes(pid):
        command = pathlib.Path(f"/proc/{each}/cmdline").read_text()
        name = "server" if each == pid else "writer" if "writer" in command else "front"
        fields = pathlib.Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        found[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def print_costs(pid: int, before: dict[str, float], pods: int, stacks: pathlib.Path) -> None:
    """Microseconds of the processor for a pod, by what they were spent on."""
    spent = {name: 1e6 * (seconds - before[name]) / pods for name, seconds in cpu_by_process(pid).items()}
    os.kill(pid, signal.SIGUSR2)
    burst.wait(stacks.exists, 20, "the stacks")
    counts: collections.Counter[str] = collections.Counter()
    for line in stacks.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        known = [PARTS[name] for name in stack.split(";") if name in PARTS]
        counts[known[-1] if known else "the loop, and the rest"] += int(count)
    rows = [(part, spent["server"] * count / counts.total()) for part, count in counts.most_common()]
    rows += [(f"process: {name}", spent[name]) for name in sorted(spent)]
    for part, microseconds in rows:
        print(f"{microseconds:8.0f} us  {part}")


def taint_all(api, counter, pods: int) -> float:
    """Seconds from the rule until every pod is marked for deletion, or gone."""
    rule = {"deviceSelector": {"driver": DRIVER}, "taint": {"key": "bench", "effect": "NoExecute"}}
    began = time.monotonic()
    status, _, answer = api.request("POST", f"{GROUP}/devicetaintrules", {"metadata": {"name": "r"}, "spec": rule})
    assert status == 201, answer

    burst.wait(lambda: len(counter.deleted) >= pods, 600, "all pods marked")
    return counter.last_deleted - began


def run(workload: str, options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        kubeconfig = f"{scratch}/kubeconfig"
        place = ["--in-memory"] if options.in_memory else ["--data-dir", f"{scratch}/data"]
        flags = ["--nodes", "0", "--secure-port", "0", "--kubeconfig-out", kubeconfig, *place]
        stacks = pathlib.Path(scratch) / "stacks"
        sampled = [str(ROOT / "bench" / "sampled_server.py"), str(stacks)]
        command = [sys.executable, *(sampled if options.costs else ("-m", "doorman")), "up", *flags]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server.stdout.readline()
            return measure(workload, options, burst.Api.from_kubeconfig(kubeconfig), server.pid, stacks)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=list(SHAPES), metavar="WORKLOAD")
    parser.add_argument("--nodes", type=int, help="instead of the workload's own number")
    parser.add_argument("--pods", type=int, help="instead of the workload's own number")
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--costs", action="store_true", help="print what costs what; such runs are not logged")
    parser.add_argument("--no-log", action="store_true", help="do not append to bench/history.jsonl")
    options = parser.parse_args()
    if unknown := [name for name in options.workloads if name not in SHAPES]:
        parser.error(f"no such workload: {unknown[0]} (there are {', '.join(SHAPES)})")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for workload in options.workloads:
        record = {"commit": commit.stdout.strip(), "time": int(time.time()), "bench": "devices"}
        record["load_before"] = round(os.getloadavg()[0], 1)
        record |= run(workload, sizes(workload, options))
        if not options.no_log and not options.costs:
            with (ROOT / "bench" / "history.jsonl").open("a") as log:
                log.write(json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
