"""Which NoExecute taint each node is to get, and when: as fast as its zone's limiter lets it, on a grid of 100 ms."""

import math
from collections.abc import Iterable
from typing import Final

from prometheus_client import Counter

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.client.controller_contract import Result
from doorman.client.informer_cache import ListerOf
from doorman.controllers.node.node_health import ready_status
from doorman.controllers.node.node_taints import NEITHER, NO_EXECUTE_TAINTS, Intent, has_no_execute
from doorman.controllers.node.node_zones import Zone, Zones
from doorman.semantics.taints.condition_taints import no_execute_taint_or_none
from doorman.semantics.taints.taint_lists import has_taint

TAINT_PASS_SECONDS: Final = 0.1
TAINT_RETRY_SECONDS: Final = 0.05


class NoExecuteTaints:
    def __init__(self, nodes: ListerOf[Node], zones: Zones, evictions: Counter) -> None:
        self._nodes = nodes
        self._zones = zones
        self._evictions = evictions
        self.intents: dict[str, Intent] = {}
        """By node: what is to be written and does not show yet."""
        self.unseen: set[str] = set()
        """Nodes that are being marked Unknown and do not show it yet. They keep their turn until they do."""
        self.started: Instant = 0.0
        """Where the grid begins."""

    def decide(self, node: Node, zone: str, current: str, now: Instant, wakes: list[tuple[str, Instant]]) -> None:
        wanted = no_execute_taint_or_none(current)
        if wanted is None:
            if current == "True":
                self.clear(node, zone, now, wakes)
            return
        if any(has_taint(node.spec.taints, other) for other in NO_EXECUTE_TAINTS if other != wanted):
            self._intend(node.metadata.name, Intent(wanted), now, wakes)
            return
        # A taint that is on its way counts: the node has had its turn.
        is_tainted = has_taint(node.spec.taints, wanted) or self.intents.get(node.metadata.name) == Intent(wanted)
        self._zones.known(zone).put(node.metadata.name, now, is_tainted=is_tainted)

    def keep_waiting(self, name: str, zone: str, now: Instant) -> bool:
        """Of a node that waited at the last pass and has changed in nothing: whether it does so still."""
        if name in self.intents:
            return False
        self._zones.known(zone).put(name, now, is_tainted=False)
        return True

    def clear(self, node: Node, zone: str, now: Instant, wakes: list[tuple[str, Instant]]) -> None:
        self._zones.known(zone).remove(node.metadata.name)
        self.intents.pop(node.metadata.name, None)
        if has_no_execute(node):
            self._intend(node.metadata.name, NEITHER, now, wakes)

    def _intend(self, name: str, intent: Intent, now: Instant, wakes: list[tuple[str, Instant]]) -> None:
        self.intents[name] = intent
        wakes.append((f"node/{name}", now))

    def clock_was_set(self, seconds: float) -> None:
        self.started += seconds
        self._zones.clock_was_set(seconds)

    def taint_pass(self, now: Instant) -> Result:
        wakes: list[tuple[str, Instant]] = []
        for name, zone in self._zones.items():
            while (head := zone.head()) is not None:
                node_name, from_when = head
                if node_name in self.unseen or not zone.limiter.take(now) or from_when > now:
                    break
                self._taint_one(node_name, name, zone, now, wakes)
        wakes.extend(self.next_pass(now))
        return Result(wakes=wakes)

    def _taint_one(
        self, node_name: str, zone_id: str, zone: Zone, now: Instant, wakes: list[tuple[str, Instant]]
    ) -> None:
        node = self._nodes.get(node_name)
        status = ready_status(node) if node is not None else "True"
        if status is None:
            zone.put_off(node_name, now + TAINT_RETRY_SECONDS)
            return
        zone.done(node_name)
        wanted = no_execute_taint_or_none(status)
        if wanted is not None:
            self._intend(node_name, Intent(wanted), now, wakes)
            self._evictions.labels(zone_id).inc()

    def next_pass(self, now: Instant) -> Iterable[tuple[str, Instant]]:
        """The next pass of the grid at which some zone has both a node waiting and a token."""
        due = [
            zone.limiter.next_token
            for _, zone in self._zones.items()
            if zone.limiter.next_token is not None and zone.head() is not None
        ]
        if not due:
            return ()
        since = max(min(due), now) - self.started
        passes = math.ceil(since / TAINT_PASS_SECONDS - 1e-6)
        instant = self.started + passes * TAINT_PASS_SECONDS
        return (("taint", instant if instant > now + 1e-6 else self.started + (passes + 1) * TAINT_PASS_SECONDS),)
