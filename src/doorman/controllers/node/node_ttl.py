"""ttl-controller: tells kubelets for how long they may keep what they have read of secrets and config maps.

The more nodes there are, the longer, so that the API server is asked less. A node is told in an annotation.

1. The number of nodes says how long; the steps overlap, so that a node more or less does not tell everybody anew.
2. A node that is not told, or told otherwise, is told.

Keys: names of nodes.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.client.actions import Patch
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "ttl-controller"
WORKERS: Final = 5
TTL_ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"

_STEPS: Final = ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, 0, 300))
"""The fewest and the most nodes, and seconds. The last has no most."""


def ttl_of(node: Node) -> str | None:
    return node.metadata.annotations.get(TTL_ANNOTATION)


def node_keys(change: ObjectChange) -> Iterable[str]:
    is_told_already = change.old is not None and change.new is not None and ttl_of(change.old) == ttl_of(change.new)
    return () if is_told_already else (change.newest.metadata.name,)


SOURCES: Final = (Source("nodes", node_keys),)


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
    sources = SOURCES
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node]) -> None:
        self._nodes = nodes
        self._step = 0

    def start(self, now: Instant) -> Result:
        return self._tell_all(now)

    def reconcile(self, key: str, now: Instant) -> Result:
        if decide_step(self._step, len(self._nodes)) != self._step:
            return self._tell_all(now)
        node, seconds = self._nodes.get(key), str(_STEPS[self._step][2])
        if node is None or ttl_of(node) == seconds:
            return DONE
        body = {"metadata": {"annotations": {TTL_ANNOTATION: seconds}}}
        return Result(actions=(Patch(resource="nodes", name=key, body=body),))

    def _tell_all(self, now: Instant) -> Result:
        self._step = decide_step(self._step, len(self._nodes))
        return Result(wakes=tuple((node.metadata.name, now) for node in self._nodes.list()))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the node is the next try."""
