"""ttl-controller: tells kubelets for how long they may keep what they have read of secrets and config maps.

The more nodes there are, the longer, so that the API server is asked less. A node is told in an annotation.

1. The number of nodes says how long; the steps overlap, so that a node more or less does not change it.
2. A node that is not told, or told otherwise, is told when it next changes: a kubelet reports within minutes, and
   telling every node whenever their number takes a step would cost more than it spares.
3. Nobody waits to be told, so many nodes at once are told one after another, as fast as upstream's controller may
   (kube-controller-manager's `--kube-api-qps` and `--kube-api-burst`), and what is urgent goes on meanwhile.

Keys: names of nodes.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.client.actions import Patch
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "ttl-controller"
WORKERS: Final = 5
TTL_ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
NODES_PER_SECOND: Final = 20
BURST: Final = 30

_STEPS: Final = ((0, 100, "0"), (90, 500, "15"), (450, 1000, "30"), (900, 2000, "60"), (1800, 0, "300"))
"""The fewest and the most nodes, and seconds. The last has no most."""


def ttl_of(node: Node) -> str | None:
    return node.metadata.annotations.get(TTL_ANNOTATION)


def decide_step(step: int, nodes: int) -> int:
    """Where in the steps so many nodes are, coming from one of them.

    >>> decide_step(0, 100), decide_step(0, 101), decide_step(1, 90), decide_step(1, 89), decide_step(0, 5000)
    (0, 1, 1, 0, 4)
    """
    while step + 1 < len(_STEPS) and nodes > _STEPS[step][1]:
        step += 1
    while nodes < _STEPS[step][0]:
        step -= 1
    return step


class NodeTtlController:
    name = NAME
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node]) -> None:
        self.sources: Sequence[Source] = (Source("nodes", self._keys),)
        self._nodes = nodes
        self._step = 0
        self._due: dict[str, Instant] = {}
        """Nodes that are to be told later, and when."""
        self._free_at: Instant = 0.0
        """When all that were told and are to be told have used up their share of time."""

    def start(self, now: Instant) -> Result:
        return Result(wakes=tuple((node.metadata.name, now) for node in self._nodes.list()))

    def reconcile(self, key: str, now: Instant) -> Result:
        self._step = decide_step(self._step, len(self._nodes))
        node, seconds = self._nodes.get(key), self._seconds
        due = self._due.pop(key, None)
        if node is None or ttl_of(node) == seconds:
            return DONE
        if due is None:
            due = self._next_turn(now)
        if due > now:
            self._due[key] = due
            return Result(wakes=((key, due),))
        body = {"metadata": {"annotations": {TTL_ANNOTATION: seconds}}}
        return Result(actions=(Patch(resource="nodes", name=key, body=body),))

    @property
    def _seconds(self) -> str:
        return _STEPS[self._step][2]

    def _keys(self, change: ObjectChange) -> Iterable[str]:
        """Who is not told, or told otherwise, and has no turn yet; who is gone, as there may be another step now."""
        node, name = change.new, change.newest.metadata.name
        is_settled = node is not None and (name in self._due or ttl_of(node) == self._seconds)
        return () if is_settled else (name,)

    def _next_turn(self, now: Instant) -> Instant:
        """When the next node may be told: now, until so many were told at once."""
        self._free_at = max(self._free_at, now) + 1 / NODES_PER_SECOND
        return self._free_at - BURST / NODES_PER_SECOND

    def clock_was_set(self, seconds: float) -> None:
        self._free_at += seconds
        self._due = {key: due + seconds for key, due in self._due.items()}

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the node is the next try."""
