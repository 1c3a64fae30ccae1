"""Nodes while a plan is made: when each was given up for lost, and when it got a taint that evicts."""

from collections.abc import Iterator

from doorman.api.taints import Effect
from doorman.api.views.nodes import Node
from doorman.base.clock import Clock, Instant
from doorman.plan.plan_result import NodeChange
from doorman.scheduler.cache.node_order import natural_order


class NodeTrails:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._unknown: dict[str, Instant] = {}
        self._tainted: dict[str, Instant] = {}

    def changed(self, old: Node, new: Node) -> None:
        name, now = new.metadata.name, self._clock.now()
        if _is_ready(old) and not _is_ready(new):
            self._unknown.setdefault(name, now)
        if _evicts(new) and not _evicts(old):
            self._tainted.setdefault(name, now)

    def changes(self, begun: Instant) -> Iterator[NodeChange]:
        for name in sorted({*self._unknown, *self._tainted}, key=natural_order):
            unknown, tainted = self._unknown.get(name), self._tainted.get(name)
            yield NodeChange(
                node=name,
                unknown_at_seconds=None if unknown is None else round(unknown - begun, 1),
                tainted_at_seconds=None if tainted is None else round(tainted - begun, 1),
            )


def _is_ready(node: Node) -> bool:
    ready = node.status.condition("Ready")
    return ready is not None and ready.status == "True"


def _evicts(node: Node) -> bool:
    return any(taint.effect == Effect.NO_EXECUTE for taint in node.spec.taints)
