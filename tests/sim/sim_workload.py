"""Pods, nodes and taints of a simulated cluster: somebody who disturbs them, and what must hold of them.

Nobody is evicted who may stay; nobody stays who must leave, once the server was there for as long as it takes; and when
nobody disturbs any more everything is as it is wanted.
"""

import asyncio
from typing import Any

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.controllers.taint_eviction.taint_eviction import no_execute_taints
from doorman.nodes.node_commands import cut_off, not_ready, recover
from doorman.registry.cache.stored_object import ITEM_HEAD, Stored
from doorman.semantics.taints.eviction_time import At, Now, decide_eviction
from doorman.store.store_contract import Entry
from sim.sim_clients import Lost, SimClient
from sim.sim_truth import TrueEvent, Truth
from sim.sim_world import World

NODES = 3
WINDOW_SECONDS = 6.0
"""What somebody decided upon may have changed since, so long ago: until it is done and told."""
LATE_SECONDS = 15.0
WORKLOADS: dict[str, list[dict[str, Any]]] = {
    "plain": [],
    "stoic": [{"operator": "Exists"}],
    "patient": [{"key": "sim", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"

_decode_node = msgspec.json.Decoder(Node).decode
_decode_pod = msgspec.json.Decoder(Pod).decode


class PodWatch:
    """Follows the truth of pods and nodes."""

    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self.well_since: float | None = None
        """Since when the server is there and nothing is wrong; None: it is not."""
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.evictions = 0
        self._taint_history: dict[str, list[tuple[float, Node]]] = {}
        self._tainted_at: dict[tuple[str, str], float] = {}
        """By node and key of a taint: when it came, by the world's time: what clocks show does not matter."""
        self._since: dict[str, float] = {}
        """The same for pods and when they came to their node."""
        self._uids_evicted: set[str] = set()
        truth.listeners.append(self._hear)

    def _hear(self, event: TrueEvent) -> None:
        if event.key.startswith("nodes/"):
            self._hear_node(event.key.removeprefix("nodes/"), event)
        elif event.key.startswith("pods/"):
            self._hear_pod(event.key.removeprefix("pods/"), event)

    def _hear_node(self, name: str, event: TrueEvent) -> None:
        if event.value is None:
            self.nodes.pop(name, None)
            return
        node = _view(event, _decode_node)
        history = self._taint_history.setdefault(name, [])
        history.append((self._world.now(), node))
        while len(history) > 2 and history[1][0] < self._world.now() - WINDOW_SECONDS:
            del history[0]
        keys = {taint.key for taint in no_execute_taints(node)}
        for place in [place for place in self._tainted_at if place[0] == name and place[1] not in keys]:
            del self._tainted_at[place]
        for key in keys:
            self._tainted_at.setdefault((name, key), self._world.now())
        self.nodes[name] = node

    def _hear_pod(self, key: str, event: TrueEvent) -> None:
        before = self.pods.get(key)
        if event.value is None:
            self.pods.pop(key, None)
            self._since.pop(key, None)
            return
        pod = self.pods[key] = _view(event, _decode_pod)
        if before is None or before.metadata.uid != pod.metadata.uid or before.spec.node_name != pod.spec.node_name:
            self._since[key] = self._world.now()
        if _is_evicted(pod) and pod.metadata.uid not in self._uids_evicted:
            self._uids_evicted.add(pod.metadata.uid)
            self.evictions += 1
            self._check_eviction(key, pod)

    def _check_eviction(self, key: str, pod: Pod) -> None:
        """At some moment not long ago it must have been right."""
        name = pod.spec.node_name
        for _, node in self._taint_history.get(name, []):
            taints = no_execute_taints(node)
            decision = decide_eviction(taints, pod.spec.tolerations, 0.0, comparison_operators=True)
            if isinstance(decision, Now):
                return
            if isinstance(decision, At):
                tainted = [moment for (held, _), moment in self._tainted_at.items() if held == name]
                if any(self._world.now() - began >= decision.instant - 1.0 for began in (self._since[key], *tainted)):
                    return
        self._world.fail(f"{key} was evicted from {name} and may stay: {self._taint_history.get(name, [])[-1:]}")

    def check(self) -> None:
        """Nobody stays who must leave, once the server was there long enough."""
        if self.well_since is None:
            return
        now = self._world.now()
        for key in sorted(self.pods):
            pod = self.pods[key]
            node = self.nodes.get(pod.spec.node_name)
            if node is None or pod.metadata.deletion_timestamp or pod.is_finished:
                continue
            decision = decide_eviction(no_execute_taints(node), pod.spec.tolerations, 0.0, comparison_operators=True)
            wait = 0.0 if isinstance(decision, Now) else decision.instant if isinstance(decision, At) else None
            if wait is None:
                continue
            tainted = [moment for (held, _), moment in self._tainted_at.items() if held == node.metadata.name]
            since = max(self.well_since, self._since[key], *tainted)
            if now > since + wait + LATE_SECONDS:
                self._world.fail(f"{key} must leave {node.metadata.name} after {wait} s and stays since {since}")


class Disturber:
    """Taints come and go, nodes fail and return, pods are made, killed and scaled."""

    def __init__(self, world: World, client: SimClient, watch: PodWatch) -> None:
        self._world = world
        self._client = client
        self._watch = watch
        self.replicas = dict.fromkeys(WORKLOADS, 2)
        self.troubled: set[str] = set()
        self._bare = 0

    async def begin(self) -> None:
        for name, tolerations in WORKLOADS.items():
            await self._until_done(
                "POST", "/apis/apps/v1/namespaces/default/deployments", _deployment(name, 2, tolerations)
            )

    async def act(self) -> None:
        rng = self._world.rng
        node = f"node-{rng.randrange(1, NODES + 1)}"
        what = rng.choice(("taint", "taint", "untaint", "fail", "sick", "recover", "kill", "scale", "pod"))
        self._world.note(f"disturb {what} {node}")
        try:
            match what:
                case "taint":
                    self.troubled.add(node)
                    effect = rng.choice(("NoExecute", "NoExecute", "NoSchedule"))
                    await self._taint(node, [{"key": "sim", "effect": effect}])
                case "untaint":
                    await self._taint(node, None)
                case "fail" | "sick":
                    self.troubled.add(node)
                    await self._order(node, cut_off() if what == "fail" else not_ready())
                case "recover":
                    await self._order(node, recover())
                case "kill":
                    await self._kill()
                case "scale":
                    name = rng.choice(sorted(WORKLOADS))
                    self.replicas[name] = rng.randrange(4)
                    await self._scale(name)
                case "pod":
                    await self._make_pod()
        except (Lost, ConnectionRefusedError):
            pass

    async def taint_all_but_one(self) -> None:
        """With what evicts: pods of all workloads are somewhere, and those that must leave have to."""
        taints = {"spec": {"taints": [{"key": "sim", "effect": "NoExecute"}]}}
        for number in range(2, NODES + 1):
            await self._until_done("PATCH", f"/api/v1/nodes/node-{number}", {**recover(), **taints}, MERGE)

    async def mend(self) -> None:
        """Everything as it is wanted: until it is acknowledged."""
        for number in range(1, NODES + 1):
            node = f"/api/v1/nodes/node-{number}"
            await self._until_done("PATCH", node, {**recover(), "spec": {"taints": None, "unschedulable": None}}, MERGE)
        for name in sorted(WORKLOADS):
            body = {"spec": {"replicas": self.replicas[name]}}
            await self._until_done("PATCH", f"{DEPLOYMENTS}/{name}", body, MERGE)
        self.troubled.clear()

    async def _until_done(self, method: str, path: str, body: Any, media: str = "application/json") -> None:
        while True:
            try:
                status, _ = await self._client.ask(method, path, body, media)
            except (Lost, ConnectionRefusedError):
                status = 0
            if status in (200, 201, 409):
                return
            await asyncio.sleep(1)

    async def _taint(self, node: str, taints: list[dict[str, Any]] | None) -> None:
        await self._client.ask("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": taints}}, MERGE)

    async def _order(self, node: str, body: dict[str, Any]) -> None:
        await self._client.ask("PATCH", f"/api/v1/nodes/{node}", body, MERGE)

    async def _scale(self, name: str) -> None:
        body = {"spec": {"replicas": self.replicas[name]}}
        await self._client.ask("PATCH", f"{DEPLOYMENTS}/{name}", body, MERGE)

    async def _kill(self) -> None:
        if self._watch.pods:
            namespace, _, name = self._world.rng.choice(sorted(self._watch.pods)).partition("/")
            await self._client.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}")

    async def _make_pod(self) -> None:
        self._bare += 1
        tolerations = self._world.rng.choice(list(WORKLOADS.values()))
        spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations}
        body = {"metadata": {"name": f"bare-{self._bare}"}, "spec": spec}
        await self._client.ask("POST", "/api/v1/namespaces/default/pods", body)


def _view(event: TrueEvent, decode: Any) -> Any:  # a decoder, and its view
    assert event.value is not None, "it is there"
    stored = Stored(Entry(event.key, event.value, event.revision, 0), event.key, decode)
    return decode(stored.json(ITEM_HEAD))


def _is_evicted(pod: Pod) -> bool:
    target = pod.status.condition("DisruptionTarget")
    return target is not None and target.reason == "DeletionByTaintManager"


def _deployment(name: str, replicas: int, tolerations: list[dict[str, Any]]) -> dict[str, Any]:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": tolerations},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}
