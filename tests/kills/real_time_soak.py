"""A soak in real time: real processes, simulated nodes, disturbance without a pause, watched all along.

    .venv/bin/python tests/kills/real_time_soak.py --minutes 60 --seed 1

Nodes are tainted, cut off and brought back; deployments are scaled, pods are killed, other objects come and go. A
client watches all pods, and takes up its watch again wherever it ends. What must hold: no request fails, nobody logs a
fault, memory levels off, the watch and a list come to the same, and when the disturbance ends every deployment is
whole again.
The counterpart in virtual time, for days, is `tests/sim/soak.py`.
"""

import argparse
import http.client
import json
import random
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from doorman.nodes.node_commands import cut_off, recover
from support.fuzzing import FuzzedRequest, Line, plain
from support.server import Server, authority_of

NODES, DEPLOYMENTS, REPLICAS = 30, 10, 10
PAUSE_SECONDS = 0.2
MERGE = "application/merge-patch+json"
PODS, NODE_PATH = "/api/v1/pods", "/api/v1/nodes"
APPS, MAPS = "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/configmaps"
GROWTH_MAX = 1.25
"""Of the last quarter's memory over the second quarter's."""
REST_SECONDS_MAX = 180


class PodWatch(threading.Thread):
    """What a client knows that lists once and then only watches."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        config = yaml.safe_load(server.kubeconfig.read_text())
        self._headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        self._address = urllib.parse.urlsplit(server.address).netloc
        self._context = ssl.create_default_context(cadata=authority_of(config))
        self.known: dict[str, str] = {}
        self.revision = 0
        self.events = self.restarts = 0
        self.faults: list[str] = []
        self.is_over = threading.Event()
        listed = self._get(PODS)
        self._take_list(json.loads(listed.read()))
        self.start()

    def run(self) -> None:
        while not self.is_over.is_set():
            try:
                self._follow()
            except OSError as error:
                if not self.is_over.is_set():
                    self.faults.append(f"the watch broke: {error!r}")

    def _follow(self) -> None:
        answer = self._get(f"{PODS}?watch=1&resourceVersion={self.revision}&timeoutSeconds=60&allowWatchBookmarks=true")
        self.restarts += 1
        for line in answer:
            self._take(json.loads(line))

    def _get(self, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=120)
        connection.request("GET", path, headers=self._headers)
        return connection.getresponse()

    def _take_list(self, listed: dict[str, Any]) -> None:
        self.revision = int(listed["metadata"]["resourceVersion"])
        self.known = {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in listed["items"]}

    def _take(self, event: dict[str, Any]) -> None:
        meta = event["object"].get("metadata", {})
        if event["type"] == "ERROR":
            self.faults.append(f"the watch ended with {event['object']}")
            return
        revision = int(meta["resourceVersion"])
        if revision < self.revision or (revision == self.revision and event["type"] != "BOOKMARK"):
            self.faults.append(f"revision {revision} came after {self.revision}")
        self.revision = revision
        if event["type"] == "BOOKMARK":
            return
        self.events += 1
        uid = meta["uid"]
        if (uid in self.known) is (event["type"] == "ADDED"):
            self.faults.append(f"{event['type']} of {meta['name']}, which is {'known' if uid in self.known else 'new'}")
        if event["type"] == "DELETED":
            self.known.pop(uid, None)
        else:
            self.known[uid] = meta["resourceVersion"]


class Disturbance:
    def __init__(self, server: Server, seed: int) -> None:
        self._rng = random.Random(seed)
        self._line = Line(server)
        self._wanted = dict.fromkeys((f"app-{number}" for number in range(DEPLOYMENTS)), REPLICAS)
        self._troubled: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.waits: list[float] = []
        for name in self._wanted:
            self.ask(plain("POST", APPS, deployment(name)))

    def ask(self, request: FuzzedRequest, *accepted: int) -> Any:  # any JSON
        began = time.perf_counter()
        status, body = self._line.ask(request)
        self.waits.append((time.perf_counter() - began) * 1000)
        if status not in (200, 201, *accepted):
            self.faults.append(f"{status} for {request.method} {request.path}: {body[:300]!r}")
        return json.loads(body) if body else None

    def once(self) -> None:
        what = self._rng.choice(("taint", "fail", "heal", "heal", "scale", "kill", "kill", "map", "page"))
        self.counts[what] += 1
        node = f"node-{self._rng.randint(1, NODES)}"
        match what:
            case "taint" if len(self._troubled) < NODES // 3:
                self._troubled.add(node)
                self._patch_node(node, {"spec": {"taints": [{"key": "soak", "effect": "NoExecute"}]}})
            case "fail" if len(self._troubled) < NODES // 3:
                self._troubled.add(node)
                self._patch_node(node, cut_off())
            case "heal" if self._troubled:
                self._heal(self._rng.choice(sorted(self._troubled)))
            case "scale":
                name = self._rng.choice(sorted(self._wanted))
                self._wanted[name] = self._rng.randint(1, 2 * REPLICAS)
                self._patch(f"{APPS}/{name}", {"spec": {"replicas": self._wanted[name]}})
            case "kill":
                pods = self.ask(plain("GET", f"{PODS}?limit=50"))["items"]
                pod = self._rng.choice(pods)["metadata"]
                self.ask(plain("DELETE", f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}"), 404)
            case "map":
                name = f"m-{self.counts['map']}"
                self.ask(plain("POST", MAPS, {"metadata": {"name": name}, "data": {"a": "x" * 10_000}}))
                self.ask(plain("DELETE", f"{MAPS}/{name}"))
            case "page":
                page = self.ask(plain("GET", f"{PODS}?limit=20"))
                while following := page["metadata"].get("continue"):
                    page = self.ask(plain("GET", f"{PODS}?limit=20&continue={following}"))

    def end(self) -> None:
        for node in sorted(self._troubled):
            self._heal(node)

    def is_whole(self) -> bool:
        found = self.ask(plain("GET", APPS))["items"]
        ready = {each["metadata"]["name"]: each["status"].get("readyReplicas", 0) for each in found}
        return ready == self._wanted

    def _heal(self, node: str) -> None:
        self._troubled.discard(node)
        self._patch_node(node, recover())
        taints = self.ask(plain("GET", f"{NODE_PATH}/{node}"))["spec"].get("taints", [])
        others = [taint for taint in taints if taint["key"] != "soak"]
        if others != taints:
            self._patch_node(node, {"spec": {"taints": others}})

    def _patch_node(self, node: str, body: Any) -> None:  # a merge patch
        self._patch(f"{NODE_PATH}/{node}", body)

    def _patch(self, path: str, body: Any) -> None:  # a merge patch
        self.ask(FuzzedRequest("PATCH", path, (("Content-Type", MERGE),), json.dumps(body).encode()))


def deployment(name: str) -> dict[str, Any]:
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations, "terminationGracePeriodSeconds": 1}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template},
    }


def megabytes(server: Server) -> float:
    total = 0
    for pid in (server.process.pid, *server.children()):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1])
    return total / 1024


def soak(folder: Path, seed: int, minutes: float) -> list[str]:
    log = folder / "log"
    flags = ("--nodes", str(NODES), "--node-monitor-grace-period", "10s")
    with log.open("w") as told, Server(folder, *flags, in_memory=False, log=told) as server:
        watch, disturbance = PodWatch(server), Disturbance(server, seed)
        memory: list[float] = []
        began, pause = time.monotonic(), threading.Event()
        while (elapsed := time.monotonic() - began) < minutes * 60:
            disturbance.once()
            if elapsed >= len(memory) * 60:
                memory.append(megabytes(server))
                said = f"{elapsed / 60:.0f} min: {sum(disturbance.counts.values())} disturbances, {watch.events} events"
                print(f"{said}, {memory[-1]:.0f} MB", file=sys.stderr, flush=True)
            pause.wait(PAUSE_SECONDS)
        disturbance.end()
        until = time.monotonic() + REST_SECONDS_MAX
        while not disturbance.is_whole() and time.monotonic() < until:
            pause.wait(1)
        faults = [*disturbance.faults, *watch.faults]
        if not disturbance.is_whole():
            faults.append(f"after {REST_SECONDS_MAX} s of rest not every deployment is whole")
        faults += compared(disturbance, watch, pause)
        watch.is_over.set()
    faults += [line for line in log.read_text().splitlines() if "ERROR" in line or "Traceback" in line]
    faults += grown(memory)
    waits = sorted(disturbance.waits)
    print(f"{sum(disturbance.counts.values())} disturbances {dict(disturbance.counts)}, {len(waits)} requests")
    print(f"{watch.events} events in {watch.restarts} watches; memory {', '.join(f'{each:.0f}' for each in memory)} MB")
    print(f"requests took p50 {waits[len(waits) // 2]:.1f}, p99 {waits[len(waits) * 99 // 100]:.1f} ms")
    return faults


def compared(disturbance: Disturbance, watch: PodWatch, pause: threading.Event) -> list[str]:
    """A list, and the watch once it has come as far."""
    listed = disturbance.ask(plain("GET", PODS))
    wanted = {pod["metadata"]["uid"]: pod["metadata"]["resourceVersion"] for pod in listed["items"]}
    for _ in range(100):
        if watch.known == wanted:
            return []
        pause.wait(0.1)
    return [f"the watch knows {len(watch.known)} pods, a list {len(wanted)}, or others"]


def grown(memory: list[float]) -> list[str]:
    quarter = len(memory) // 4
    if not quarter:
        return []
    before = sum(memory[quarter : 2 * quarter]) / quarter
    after = sum(memory[-quarter:]) / quarter
    return [f"memory grew from {before:.0f} to {after:.0f} MB"] if after > GROWTH_MAX * before else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="doorman-soak-") as folder:
        faults = soak(Path(folder), options.seed, options.minutes)
    for fault in faults:
        print(f"FAULT {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
