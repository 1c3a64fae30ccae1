"""Run `burst` against a fresh Doorman on a durable store and append the figures to bench/history.jsonl.

scripts/bench [--nodes N] [--pods M] [--repeat K] [--in-memory] [--no-log]
"""

import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KUBERNETES = {
    "create_per_s": 170,
    "bound_per_s": 170,
    "evict_per_s": 281,
    "list_mb_per_s": 85,
    "memory_mb": 1800,
    "start_s": 3.6,
}
"""Kubernetes v1.37 on two cores, same driver, 1,000 nodes and 5,000 pods."""


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


def run_once(options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        kubeconfig = f"{scratch}/kubeconfig"
        place = ["--in-memory"] if options.in_memory else ["--data-dir", f"{scratch}/data"]
        command = [
            sys.executable,
            "-m",
            "doorman",
            "up",
            "--nodes",
            "0",
            "--secure-port",
            "0",
            "--kubeconfig-out",
            kubeconfig,
        ]
        began = time.monotonic()
        server = subprocess.Popen([*command, *place], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout.readline().startswith("ready "), "Doorman did not start"
            start = time.monotonic() - began
            driver = [sys.executable, str(ROOT / "bench" / "burst"), "--kubeconfig", kubeconfig]
            driver += ["--nodes", str(options.nodes), "--pods", str(options.pods)]
            done = subprocess.run(driver, stdout=subprocess.PIPE, text=True, check=True)
            figures = json.loads(done.stdout.splitlines()[-1])
            return {"start_s": round(start, 2), **figures, "memory_mb": memory_mb(server.pid)}
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--no-log", action="store_true", help="do not append to bench/history.jsonl")
    options = parser.parse_args()
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
            "store": "memory" if options.in_memory else "sqlite",
        }
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
