"""A soak: a whole cluster in virtual time under random disturbance, checked all along.

    .venv/bin/python tests/sim/soak.py --seed 1 --nodes 100 --pods 1000 --hours 24

One seed gives one run. When a check fails, the seed and the last things that happened are printed.
"""

import argparse
import contextlib
import gc
import hashlib
import random
import resource
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.base.errors import ApiError
from doorman.base.process_memory import COLLECTOR_THRESHOLDS
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionController, no_execute_taints
from doorman.nodes.node_annotations import SILENT
from doorman.nodes.node_commands import cut_off, not_ready, pressure, recover, shut_down
from doorman.semantics.taints.eviction_time import Never, Now, decide_eviction
from support.cluster import Story, run_story

CACHED = (
    "pods", "nodes", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
    "leases.coordination.k8s.io",
)  # fmt: skip
STEP_SECONDS = (5, 30, 120, 600)
TROUBLE_SECONDS = (60, 600, 3600, 6 * 3600)
"""How long a node stays as a disturbance left it: a week of troubles that never end would be a week without nodes."""
TROUBLES = ("taint", "fail", "sick", "cordon", "shutdown", "pressure")
PROGRESS_SECONDS = 3600
DISTURBANCES = (
    *("taint",) * 4,
    *("untaint", "fail", "sick", "recover", "scale", "rollout", "kill") * 2,
    *("cordon", "shutdown", "pressure", "restart"),
)
STATEFUL_REPLICAS = 3
SETS, DAEMONS, AGENT = "statefulsets.apps", "daemonsets.apps", "agent"


class Soak:
    def __init__(self, story: Story, seed: int, pods: int, progress: Callable[[str], None]) -> None:
        self._story = story
        self._rng = random.Random(seed)
        self._pods_wanted = pods
        self._workloads: dict[str, int] = {}
        self._stateful: list[str] = []
        self._troubled: dict[str, float] = {}
        """Nodes, and when their trouble is over."""
        self._faults: list[str] = []
        self._trace: deque[str] = deque(maxlen=50)
        self._digest = hashlib.sha256()
        self._progress = progress

    async def run(self, hours: float) -> str:
        """The digest of everything that happened."""
        await self._begin()
        begun = self._story.clock.now()
        told = 0
        while (elapsed := self._story.clock.now() - begun) < hours * 3600:
            if elapsed >= told * PROGRESS_SECONDS:
                told += 1
                self._tell(elapsed)
            await self._heal()
            await self._disturb()
            await self._story.advance(self._rng.choice(STEP_SECONDS))
            self._check()
        await self._come_to_rest()
        self._tell(self._story.clock.now() - begun)
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
        for number in range(max(self._pods_wanted // 200, 1)):
            name = f"db-{number}"
            self._stateful.append(name)
            await self._create(SETS, name, {"serviceName": name, "replicas": STATEFUL_REPLICAS})
        await self._create(DAEMONS, AGENT, {})
        self._follow()
        await self._story.advance(60)

    async def _create(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        body = _deployment(name, 0, [])
        del body["spec"]["replicas"]
        body["spec"] |= spec
        await self._story.client.create(Create(resource=kind, namespace="default", body=body))

    def _follow(self) -> None:
        self._story.cluster.informers.of("pods").listen(self._pod_changed)

    async def _disturb(self) -> None:
        nodes: list[Node] = list(self._story.cluster.informers.lister("nodes").list())
        kind = self._rng.choice(DISTURBANCES)
        names = [node.metadata.name for node in nodes]
        node = self._rng.choice(list(self._troubled) if kind in ("untaint", "recover") and self._troubled else names)
        self._note(f"{kind} {node}")
        if kind in TROUBLES:
            self._troubled[node] = self._story.clock.now() + self._rng.choice(TROUBLE_SECONDS)
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
            case "cordon":
                await self._order(node, {"spec": {"unschedulable": self._rng.random() < 0.5 or None}})
            case "shutdown":
                await self._order(node, shut_down("5s", "1s"))
            case "pressure":
                await self._order(node, pressure(["memory"]))
            case "restart":
                await self._story.restart()
                gc.collect()  # what has ended is one large cycle; a real restart is a new process
                self._follow()

    async def _kill(self) -> None:
        pods: list[Pod] = list(self._story.cluster.informers.lister("pods").list())
        if pods:
            meta = self._rng.choice(pods).metadata
            with contextlib.suppress(ApiError):  # it may be gone
                await self._story.client.delete(Delete(resource="pods", namespace=meta.namespace, name=meta.name))

    async def _heal(self) -> None:
        now = self._story.clock.now()
        for node in [node for node, until in self._troubled.items() if until <= now]:
            del self._troubled[node]
            self._note(f"heal {node}")
            await self._mend(node)

    async def _mend(self, node: str) -> None:
        await self._order(node, {**recover(), "spec": {"unschedulable": None}})
        await self._clear(node)

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
            await self._mend(node.metadata.name)
        await self._story.advance(3600)

    # Checks

    def _check(self) -> None:
        """What must hold at any instant at which nothing more is to be done."""
        if self._faults:
            self._fail(self._faults[0])
        now = self._story.clock.now()
        informers = self._story.cluster.informers
        nodes: list[Node] = list(informers.lister("nodes").list())
        for node in nodes:
            taints = no_execute_taints(node)
            if not taints:
                continue
            for pod in informers.lister("pods").by("nodeName", node.metadata.name):
                if pod.metadata.deletion_timestamp:
                    continue
                decision = decide_eviction(taints, pod.spec.tolerations, now, comparison_operators=True)
                if isinstance(decision, Now):
                    self._fail(
                        f"{pod.metadata.key} does not tolerate {decision.taint} on {node.metadata.name} and stays"
                    )
        for kind in CACHED:
            self._check_cache(kind)
        self._digest.update(f"{now} {self._story.cluster.cache.revision} {len(nodes)}".encode())

    def _pod_changed(self, change: ObjectChange) -> None:
        """Nobody is evicted who may stay."""
        old: Pod | None = change.old
        new: Pod | None = change.new
        if new is None or not _is_evicted(new) or (old is not None and _is_evicted(old)):
            return
        node: Node | None = self._story.cluster.informers.lister("nodes").get(new.spec.node_name)
        taints = no_execute_taints(node) if node is not None else ()
        now = self._story.clock.now()
        if isinstance(decide_eviction(taints, new.spec.tolerations, now, comparison_operators=True), Never):
            # Raised by the next check: here it would only end the informer's turn.
            self._faults.append(f"{new.metadata.key} tolerates {taints} on {new.spec.node_name} and was evicted")

    def _check_cache(self, kind: str) -> None:
        """An informer's cache holds the very views of what is stored."""
        cluster = self._story.cluster
        stored = cluster.registry.collection(cluster.kinds.named(kind)).objects
        seen = cluster.informers.lister(kind)
        if len(stored) != len(seen) or any(
            kept.view is not view for kept, view in zip(stored.values(), seen, strict=True)
        ):
            self._fail(f"the cache of {kind} differs from what is stored")

    def _check_rest(self) -> None:
        informers = self._story.cluster.informers
        for name, wanted in sorted(self._workloads.items()):
            found = informers.lister("deployments.apps").get(f"default/{name}")
            if (found.status.available_replicas, found.status.updated_replicas) != (wanted, wanted):
                self._fail(f"{name} wants {wanted} and has {found.status.available_replicas}")
        for name in self._stateful:
            ready = informers.lister(SETS).get(f"default/{name}").status.ready_replicas
            if ready != STATEFUL_REPLICAS:
                self._fail(f"{name} wants {STATEFUL_REPLICAS} and has {ready}")
        nodes = len(informers.lister("nodes"))
        daemons = informers.lister(DAEMONS).get(f"default/{AGENT}").status
        if (daemons.desired_number_scheduled, daemons.number_ready, daemons.number_misscheduled) != (nodes, nodes, 0):
            self._fail(f"{AGENT} is not on all {nodes} nodes: {daemons}")
        for node in informers.lister("nodes").list():
            if node.spec.taints or SILENT in node.metadata.annotations:
                self._fail(f"{node.metadata.name} is not as it was: {node.spec.taints}")
        for runner in self._story.cluster.runners:
            if isinstance(runner.controller, TaintEvictionController) and runner.controller.timers_pending:
                self._fail("timers are left over")
        pods = [pod for pod in informers.lister("pods").list() if not pod.is_finished]
        wanted = sum(self._workloads.values()) + STATEFUL_REPLICAS * len(self._stateful) + nodes
        if len(pods) != wanted:
            self._fail(f"{len(pods)} pods, {wanted} wanted")
        self._check_scheduler(len(pods))
        self._digest.update(repr(sorted((p.metadata.name, p.spec.node_name) for p in pods)).encode())

    def _check_scheduler(self, pods: int) -> None:
        """At rest nobody waits, nothing is under way, and the scheduler knows every pod once."""
        runner = self._story.cluster.scheduler
        assert runner is not None, "a story has a scheduler"
        if any(runner.scheduler.statistics.pending().values()) or runner.in_flight:
            self._fail(f"pods wait: {runner.scheduler.statistics.pending()}, {runner.in_flight} under way")
        sizes = runner.scheduler.statistics.cache_sizes()
        if (sizes["pods"], sizes["assumed_pods"]) != (pods, 0):
            self._fail(f"the scheduler knows {sizes}, and there are {pods} pods")
        depths = {one.controller.name: one.depth for one in self._story.cluster.runners if one.depth}
        if depths:
            self._fail(f"keys wait: {depths}")

    def _tell(self, elapsed: float) -> None:
        cluster = self._story.cluster
        pods, revision = len(cluster.informers.lister("pods")), cluster.cache.revision
        self._progress(f"{elapsed / 3600:7.2f} h  {pods} pods  revision {revision}")

    def _note(self, what: str) -> None:
        self._trace.append(f"{self._story.clock.now():.0f} {what}")

    def _fail(self, why: str) -> None:
        raise AssertionError("\n".join((why, "the last things that happened:", *self._trace)))


def _is_evicted(pod: Pod) -> bool:
    target = pod.status.condition("DisruptionTarget")
    return target is not None and target.reason == "DeletionByTaintManager"


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


def soak(*, seed: int, nodes: int, pods: int, hours: float, progress: Callable[[str], None] = lambda _: None) -> str:
    digests: list[str] = []

    async def story(told: Story) -> None:
        digests.append(await Soak(told, seed, pods, progress).run(hours))

    run_story(story, nodes=nodes, seed=seed)
    return digests[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--progress", action="store_true", help="a line on standard error for every hour")
    options = parser.parse_args()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)  # as the server has them
    say = _say_on_stderr if options.progress else lambda _: None
    print(soak(seed=options.seed, nodes=options.nodes, pods=options.pods, hours=options.hours, progress=say))


def _say_on_stderr(line: str) -> None:
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{line}  {time.process_time():.0f} s of CPU  {megabytes} MB at most", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
