"""A cluster in virtual time of which a plan is made, and which then goes on: both must come to the same."""

import asyncio
from collections.abc import Callable, Coroutine, Set
from typing import Any

import msgspec

from doorman.base.clock import ManualClock
from doorman.client.actions import Create, Patch, PatchType
from doorman.nodes.profile import NodeProfile, simulated_node
from doorman.plan.action_runner import ActionRunner
from doorman.plan.plan_actions import PlanAction, Step
from doorman.plan.plan_options import PlanOptions
from doorman.plan.plan_result import Plan, PodMove
from doorman.plan.planner import plan
from doorman.plan.trails.cluster_trail import ClusterTrail
from doorman.plan.trails.event_trail import EventTrail
from doorman.runtime.api_server import ApiServer
from doorman.runtime.control_plane import ControlPlane
from doorman.runtime.settings import Settings
from doorman.runtime.virtual_time import VirtualLoop, run_virtual
from doorman.snapshot.cluster_capture import captured
from doorman.snapshot.snapshot_format import Snapshot
from doorman.store.memory_store import MemoryStore


class Original:
    """The cluster itself. It meets what `ClusterTrail` asks of a copy, so that it can be followed in the same way."""

    def __init__(self, settings: Settings, clock: ManualClock) -> None:
        self.settings = settings
        self.clock = clock
        self.events = EventTrail()
        self.plane = ControlPlane(ApiServer(MemoryStore(), settings, clock), settings, clock, recorder=self.events)
        self.client = self.plane.client_as("admin", "story", "system:masters")
        self.runner = ActionRunner(self.plane, self.client, clock)

    async def start(self, nodes: dict[str, NodeProfile]) -> None:
        await self.plane.prepare(port=6443, ca_certificate=b"test")
        self.plane.start()
        for name, profile in nodes.items():
            await self.create("nodes", simulated_node(name, profile, now=self.clock.now()), namespace="")
        await self.settle()

    async def settle(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        await loop.until_idle()

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.settle()

    async def create(self, resource: str, body: dict[str, Any], namespace: str = "default") -> None:
        await self.client.create(Create(resource=resource, namespace=namespace, body=body))
        await self.settle()

    async def patch(self, resource: str, name: str, body: dict[str, Any], namespace: str = "default") -> None:
        await self.client.patch(
            Patch(resource=resource, namespace=namespace, name=name, body=body, type=PatchType.MERGE)
        )
        await self.settle()

    async def do(self, *actions: PlanAction) -> None:
        for action in actions:
            await self.runner.do(action)
            await self.settle()

    def pod_names(self) -> frozenset[str]:
        """Of pods that have a node: which of several pending ones is tried first, its scheduler alone remembers."""
        pods = self.plane.informers.lister("pods").list()
        return frozenset(pod.metadata.name for pod in pods if pod.spec.node_name)

    def snapshot(self) -> Snapshot:
        return captured(self.plane.cache, self.clock.now())

    async def followed(self, action: PlanAction, seconds: float) -> Plan:
        """What happens when it is really done, told as a plan tells it."""
        trail = ClusterTrail(self, is_running=True)
        trail.begin()
        await self.do(action)
        await self.advance(seconds)
        options = PlanOptions(settings=self.settings, horizon_seconds=seconds)
        return trail.told(action="", options=options, notes=())


def run_original(
    story: Callable[[Original], Coroutine[Any, Any, None]], nodes: dict[str, NodeProfile], **settings: Any
) -> None:
    clock = ManualClock()

    async def main() -> None:
        original = Original(Settings(**{"seed": 7, "data_dir": None, **settings}), clock)
        await original.start(nodes)
        try:
            await story(original)
        finally:
            original.runner.stop()
            await original.plane.stop()

    run_virtual(main(), clock=clock)


async def plan_and_outcome(original: Original, action: PlanAction, seconds: float) -> tuple[Plan, Plan]:
    """What the plan says, and what then happens."""
    options = PlanOptions(settings=original.settings, horizon_seconds=seconds, until_quiet=False)
    planned = plan(original.snapshot(), [Step(action=action)], options)
    return planned, await original.followed(action, seconds)


def comparable(found: Plan, known: Set[str]) -> dict[str, Any]:
    """Without what is made up anew in every run (generated names but the `known` ones, texts that quote times), and in
    whole seconds: a taint says no more of when it was added.
    """
    first: dict[str, PodMove] = {}
    for move in found.pods:
        first.setdefault(move.name, move)
    # A name that is made up may be one that was there before.
    moves = [_comparable_move(move, known if first[move.name] is move else frozenset()) for move in found.pods]
    return {
        "pods": sorted(moves, key=repr),
        # Of pods that leave together, which replaces which is a matter of their names.
        "replacements": sorted((_comparable_place(move) for move in found.pods), key=repr),
        "pending": sorted((one.namespace, one.owner or one.name, one.message) for one in found.pending),
        # When a DaemonSet's controller looks at nodes again, and with it what it wants, depends on what it remembers.
        "workloads": [_in_whole_seconds(one) for one in found.workloads if one.kind != "DaemonSet"],
        "budgets": [_in_whole_seconds(one) for one in found.budgets],
        "preemptions": sorted((one.node, int(one.at_seconds)) for one in found.preemptions),
        "full": [(one.name, one.resource, one.percent_after) for one in found.full_nodes],
    }


def _comparable_move(move: PodMove, known: Set[str]) -> tuple[Any, ...]:
    return (
        move.name if move.name in known else "",
        move.owner,
        move.node,
        int(move.at_seconds),
        # Within its first second a timer may come before the action or after it.
        (move.because.reason, move.because.taint, str(move.because.toleration)) if move.at_seconds >= 1 else "",
        None if move.gone_at_seconds is None else int(move.gone_at_seconds),
    )


def _comparable_place(move: PodMove) -> tuple[Any, ...]:
    new = move.replacement
    if new is None:
        return (move.owner, int(move.at_seconds))
    ready = None if new.ready_at_seconds is None else int(new.ready_at_seconds)
    return (move.owner, int(move.at_seconds), new.node, int(new.at_seconds), ready)


def _in_whole_seconds(part: Any) -> dict[str, Any]:  # a part of a plan
    fields = msgspec.to_builtins(part)
    return {name: int(value) if isinstance(value, float) else value for name, value in fields.items()}
