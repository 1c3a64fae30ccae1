"""One list of very many pods: its speed, the memory it costs, and how long others wait meanwhile.

.venv/bin/python bench/list_many.py [--pods 100000]
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from api import NAMESPACE, burst, post
from run import memory_mb


def rss_mb(pid: int) -> int:
    return memory_mb(pid, "VmRSS")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        kubeconfig = f"{scratch}/kubeconfig"
        flags = ["--nodes", "0", "--in-memory", "--secure-port", "0", "--kubeconfig-out", kubeconfig]
        command = [sys.executable, "-m", "doorman", "up", *flags]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server.stdout.readline()
            api = burst.Api.from_kubeconfig(kubeconfig)
            api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "bench"}})
            account = "/api/v1/namespaces/bench/serviceaccounts/default"
            burst.wait(lambda: api.request("GET", account)[0] == 200, 20, "service account")
            body = burst.pod(True)
            body["spec"]["schedulerName"] = "nobody"
            post(api, body, options.pods, 16)
            print(json.dumps(measure(api, server.pid)))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(20)
    return 0


def measure(api, pid: int) -> dict:
    waits: list[float] = []
    done = threading.Event()

    def others() -> None:
        while not done.is_set():
            began = time.monotonic()
            api.request("GET", "/api/v1/namespaces/default")
            waits.append(time.monotonic() - began)

    before = rss_mb(pid)
    most = before
    thread = threading.Thread(target=others)
    thread.start()
    began, size = time.monotonic(), 0
    connection = api.connect(120)
    connection.request("GET", NAMESPACE, headers=api.headers(None))
    answer = connection.getresponse()
    while piece := answer.read(1 << 20):
        size += len(piece)
        most = max(most, rss_mb(pid))
    took = time.monotonic() - began
    done.set()
    thread.join()
    return {
        "list_mb": round(size / 1e6), "list_s": round(took, 2), "mb_per_s": round(size / 1e6 / took),
        "memory_before_mb": before, "memory_most_mb": most,
        "others": len(waits), "others_longest_ms": round(max(waits) * 1000, 1),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
