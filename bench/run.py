"""Run `burst` against a fresh Doorman on a durable store and append the figures to bench/history.jsonl.

scripts/bench [--nodes N] [--pods M] [--repeat K] [--in-memory | --etcd] [--servers N] [--attached-scheduler] [--no-log]
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.etcd import EtcdMember  # noqa: E402

KUBERNETES = {
    "create_per_s": 170,
    "bound_per_s": 170,
    "evict_per_s": 281,
    "list_mb_per_s": 85,
    "memory_mb": 1800,
    "start_s": 3.6,
}
"""Kubernetes v1.37 on two cores, same driver, 1,000 nodes and 5,000 pods."""
OTHER_PODS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: not-the-default-scheduler}]
"""
"""For the scheduler in the server's process, when another one is to do the work."""


def processes(pid: int) -> list[int]:
    """A server and what it has started."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def memory_mb(pid: int, measure: str = "VmHWM") -> int:
    """The most memory its processes ever held; what they share is counted for each. `VmRSS`: what they hold now."""
    held = 0
    for each in processes(pid):
        status = pathlib.Path(f"/proc/{each}/status").read_text()
        held += int(status.split(f"{measure}:")[1].split()[0])
    return held // 1024


def cpu_seconds(pid: int) -> float:
    """What a server's processes have worked, whatever else the machine did."""
    return sum(own_cpu_seconds(each) for each in processes(pid))


def own_cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def started(*arguments: str):
    """A command of doorman's, until it is no longer needed."""
    command = [sys.executable, "-m", "doorman", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout.readline().startswith("ready "), f"doorman {arguments[0]} did not start"
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def run_once(options: argparse.Namespace) -> dict:
    with contextlib.ExitStack() as stack:
        scratch = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place = ["--in-memory"] if options.in_memory else ["--data-dir", str(scratch / "data")]
        worked = {}
        if options.etcd:
            member = stack.enter_context(EtcdMember(scratch, "--quota-backend-bytes", str(8 * 1024**3)))
            place += ["--etcd-servers", member.url]
            worked["etcd"] = [member.process.pid]
        if options.attached_scheduler:
            config = scratch / "scheduler.yaml"
            config.write_text(OTHER_PODS)
            place += ["--config", str(config)]
        kubeconfigs = [str(scratch / f"kubeconfig-{number}") for number in range(options.servers)]
        began = time.monotonic()
        servers, starts = [], []
        for kubeconfig in kubeconfigs:
            flags = ("--nodes", "0", "--secure-port", "0", "--kubeconfig-out", kubeconfig)
            servers.append(stack.enter_context(started("up", *flags, *place)).pid)
            starts.append(time.monotonic() - began)
        worked |= {"server": servers, "helpers": [each for pid in servers for each in processes(pid)[1:]]}
        if options.attached_scheduler:
            flags = ("--kubeconfig", kubeconfigs[0], "--secure-port=0", "--kube-api-qps=0", "--leader-elect=false")
            worked["scheduler"] = [stack.enter_context(started("scheduler", *flags)).pid]
        driver = [sys.executable, str(ROOT / "bench" / "burst")]
        driver += ["--nodes", str(options.nodes), "--pods", str(options.pods)]
        for kubeconfig in kubeconfigs:
            driver += ["--kubeconfig", kubeconfig]
        for name, pids in worked.items():
            driver += ["--worked", f"{name}={','.join(map(str, pids))}"]
        done = subprocess.run(driver, stdout=subprocess.PIPE, text=True, check=True)
        figures = json.loads(done.stdout.splitlines()[-1])
        memory = sum(memory_mb(pid) for pid in servers)
        return {"start_s": round(starts[0], 2), **figures, "memory_mb": memory}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--etcd", action="store_true", help="one member, ETCD=PROGRAM or that of the set-up")
    parser.add_argument("--servers", type=int, default=1, help="API servers of that etcd; the load is spread over them")
    parser.add_argument("--attached-scheduler", action="store_true", help="`doorman scheduler` instead of the server's")
    parser.add_argument("--no-log", action="store_true", help="do not append to bench/history.jsonl")
    options = parser.parse_args()
    if options.servers > 1 and not options.etcd:
        parser.error("several servers need --etcd")
    for tool, package in (("ab", "apache2-utils"), ("curl", "curl")):
        if shutil.which(tool) is None:
            print(f"error: {tool} is needed\nhint: install the package {package}", file=sys.stderr)
            return 1
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for _ in range(options.repeat):
        figures = run_once(options)
        record = {
            "commit": commit.stdout.strip(),
            "time": int(time.time()),
            "store": "memory" if options.in_memory else "etcd" if options.etcd else "sqlite",
            "load": round(os.getloadavg()[0], 1),
        }
        if options.servers > 1:
            record["servers"] = options.servers
        if options.attached_scheduler:
            record["scheduler"] = "attached"
        if not options.no_log:
            with (ROOT / "bench" / "history.jsonl").open("a") as log:
                log.write(json.dumps(record | figures) + "\n")
        print(json.dumps(record | figures))
        print(f"{'':16} {'doorman':>10} {'kubernetes':>11} {'ratio':>7}")
        for name, theirs in KUBERNETES.items():
            ours = figures[name]
            ratio = theirs / ours if name in ("memory_mb", "start_s") else ours / theirs
            print(f"{name:16} {ours:>10} {theirs:>11} {ratio:>6.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
