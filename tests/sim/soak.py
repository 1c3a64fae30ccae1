"""A soak: a whole cluster in virtual time under random disturbance, checked all along.

    .venv/bin/python tests/sim/soak.py --seed 1 --nodes 100 --pods 1000 --hours 24

One seed gives one run. When a check fails, the seed and the last things that happened are printed.
"""

import argparse
import contextlib
import hashlib
import random
import sys
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from doorman.api.nodes import Node
from doorman.api.pods import Pod
from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.controllers.taint_eviction import TaintEvictionController, no_execute_taints
from doorman.nodes.marks import SILENT
from doorman.nodes.orders import cut_off, not_ready, recover
from doorman.registry.selection import Selection
from doorman.semantics.eviction import Now, decide_eviction
from support.cluster import Story, run_story

CACHED = ("pods", "nodes", "deployments.apps", "replicasets.apps", "leases.coordination.k8s.io")
STEP_SECONDS = (5, 30, 120, 600)
DISTURBANCES = ("taint",) * 4 + ("untaint", "fail", "sick", "recover", "scale", "rollout", "kill") * 2 + ("restart",)


class Soak:
    def __init__(self, story: Story, seed: int, pods: int) -> None:
        self._story = story
        self._rng = random.Random(seed)
        self._pods_wanted = pods
        self._workloads: dict[str, int] = {}
        self._trace: deque[str] = deque(maxlen=50)
        self._digest = hashlib.sha256()

    async def run(self, hours: float) -> str:
        """The digest of everything that happened."""
        await self._begin()
        end = self._story.clock.now() + hours * 3600
        while self._story.clock.now() < end:
            await self._disturb()
            await self._story.advance(self._rng.choice(STEP_SECONDS))
            self._check()
        await self._come_to_rest()
        self._check_rest()
        return self._digest.hexdigest()

    async def _begin(self) -> None:
        count = max(self._pods_wanted // 10, 1)
        for number in range(count):
            name = f"web-{number}"
            self._workloads[name] = 10
            tolerations = [[], [{"operator": "Exists"}], [_seconds(60)], [_seconds(3600)]][number % 4]
            await self._story.client.create(
                Create(resource="deployments.apps", namespace="default", body=_deployment(name, 10, tolerations))
            )
        await self._story.advance(60)

    async def _disturb(self) -> None:
        nodes: list[Node] = list(self._story.cluster.informers.lister("nodes").list())
        node = self._rng.choice(nodes).metadata.name
        kind = self._rng.choice(DISTURBANCES)
        self._note(f"{kind} {node}")
        match kind:
            case "taint":
                effect = self._rng.choice(("NoExecute", "NoSchedule", "PreferNoSchedule"))
                await self._story.taint(node, f"soak=x:{effect}")
            case "untaint":
                await self._clear(node)
            case "fail":
                await self._order(node, cut_off())
            case "sick":
                await self._order(node, not_ready())
            case "recover":
                await self._order(node, recover())
            case "scale":
                name = self._rng.choice(sorted(self._workloads))
                self._workloads[name] = self._rng.randrange(0, 15)
                await self._patch_deployment(name, {"spec": {"replicas": self._workloads[name]}})
            case "rollout":
                name = self._rng.choice(sorted(self._workloads))
                stamp = {"metadata": {"annotations": {"soak": str(self._rng.random())}}}
                await self._patch_deployment(name, {"spec": {"template": stamp}})
            case "kill":
                await self._kill()
            case "restart":
                await self._story.restart()

    async def _kill(self) -> None:
        pods: list[Pod] = list(self._story.cluster.informers.lister("pods").list())
        if pods:
            meta = self._rng.choice(pods).metadata
            with contextlib.suppress(ApiError):  # it may be gone
                await self._story.client.delete(Delete(resource="pods", namespace=meta.namespace, name=meta.name))

    async def _clear(self, node: str) -> None:
        view: Node = self._story.cluster.informers.lister("nodes").get(node)
        if any(taint.key == "soak" for taint in view.spec.taints):
            await self._story.taint(node, "soak-")

    async def _order(self, node: str, body: dict[str, Any]) -> None:
        await self._story.order(node, body)

    async def _patch_deployment(self, name: str, body: dict[str, Any]) -> None:
        await self._story.client.patch(
            Patch(resource="deployments.apps", namespace="default", name=name, body=body, type=PatchType.STRATEGIC)
        )

    async def _come_to_rest(self) -> None:
        for node in self._story.cluster.informers.lister("nodes").list():
            await self._order(node.metadata.name, recover())
            await self._clear(node.metadata.name)
        await self._story.advance(3600)

    # Checks

    def _check(self) -> None:
        """What must hold at any instant at which nothing more is to be done."""
        now = self._story.clock.now()
        nodes = {node.metadata.name: node for node in self._story.cluster.informers.lister("nodes").list()}
        for pod in self._story.cluster.informers.lister("pods").list():
            node = nodes.get(pod.spec.node_name)
            if node is None or pod.metadata.deletion_timestamp:
                continue
            decision = decide_eviction(no_execute_taints(node), pod.spec.tolerations, now, comparison_operators=True)
            if no_execute_taints(node) and isinstance(decision, Now):
                self._fail(f"{pod.metadata.key} does not tolerate {decision.taint} on {node.metadata.name} and stays")
        for resource in CACHED:
            self._check_cache(resource)
        self._digest.update(f"{now} {self._story.cluster.cache.revision} {len(nodes)}".encode())

    def _check_cache(self, resource: str) -> None:
        cluster = self._story.cluster
        kind = cluster.kinds.named(resource)
        stored = {s.key: s.revision for s in cluster.registry.collection(kind).select(Selection(storage=kind.storage))}
        seen = {o.metadata.key: int(o.metadata.resource_version) for o in cluster.informers.lister(resource).list()}
        if stored != seen:
            self._fail(f"the cache of {resource} differs from what is stored")

    def _check_rest(self) -> None:
        informers = self._story.cluster.informers
        for name, wanted in sorted(self._workloads.items()):
            found = informers.lister("deployments.apps").get(f"default/{name}")
            if (found.status.available_replicas, found.status.updated_replicas) != (wanted, wanted):
                self._fail(f"{name} wants {wanted} and has {found.status.available_replicas}")
        for node in informers.lister("nodes").list():
            if node.spec.taints or SILENT in node.metadata.annotations:
                self._fail(f"{node.metadata.name} is not as it was: {node.spec.taints}")
        for runner in self._story.cluster.runners:
            if isinstance(runner.controller, TaintEvictionController) and runner.controller.timers_pending:
                self._fail("timers are left over")
        pods = list(informers.lister("pods").list())
        if len(pods) != sum(self._workloads.values()):
            self._fail(f"{len(pods)} pods, {sum(self._workloads.values())} wanted")
        self._digest.update(repr(sorted((p.metadata.name, p.spec.node_name) for p in pods)).encode())

    def _note(self, what: str) -> None:
        self._trace.append(f"{self._story.clock.now():.0f} {what}")

    def _fail(self, why: str) -> None:
        raise AssertionError("\n".join((why, "the last things that happened:", *self._trace)))


def _seconds(seconds: int) -> dict[str, Any]:
    return {"key": "soak", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


def _deployment(name: str, replicas: int, tolerations: list[dict[str, Any]]) -> dict[str, Any]:
    labels = {"app": name}
    requests = {"cpu": "10m", "memory": "16Mi"}
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "tolerations": tolerations}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def soak(*, seed: int, nodes: int, pods: int, hours: float) -> str:
    digests: list[str] = []

    async def story(told: Story) -> None:
        digests.append(await Soak(told, seed, pods).run(hours))

    run_story(story, nodes=nodes, seed=seed)
    return digests[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--hours", type=float, default=24)
    options = parser.parse_args()
    print(soak(seed=options.seed, nodes=options.nodes, pods=options.pods, hours=options.hours))


if __name__ == "__main__":
    main()
