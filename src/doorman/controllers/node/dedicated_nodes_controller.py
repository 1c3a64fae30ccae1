"""dedicated-nodes-controller: keeps the taint of DedicatedNodes on the nodes they select, and on no others.

It reads nodes and DedicatedNodes. Taints under `doorman.dev/dedicated` are its own, whoever made them; all others stay
as they are. The patch carries the node's resource version, so that a concurrent edit is not lost.

Keys: names of nodes.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.views.doorman_dev import DEDICATED_NODES, TAINT_KEY, DedicatedNodes
from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.client.actions import Patch
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.node.node_taints import taint_body
from doorman.semantics.taints.dedicated_nodes import wanted_taints

NAME: Final = "dedicated-nodes-controller"
WORKERS: Final = 4


def node_keys(change: ObjectChange) -> Iterable[str]:
    """Nodes that are new, or whose labels or taints changed: heartbeats wake nobody."""
    old, new = change.old, change.new
    if new is None:
        return ()
    if old is not None and old.metadata.labels == new.metadata.labels and old.spec.taints == new.spec.taints:
        return ()
    return (new.metadata.name,)


def decide_taints(node: Node, dedicated: Iterable[DedicatedNodes]) -> Patch | None:
    wanted = wanted_taints(node.metadata.labels, dedicated)
    own = tuple(taint for taint in node.spec.taints if taint.key == TAINT_KEY)
    if {(taint.value, taint.effect) for taint in own} == {(taint.value, taint.effect) for taint in wanted}:
        return None
    left = (taint for taint in node.spec.taints if taint.key != TAINT_KEY)
    body = {
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": [taint_body(taint) for taint in (*left, *wanted)] or None},
    }
    return Patch(resource="nodes", name=node.metadata.name, body=body)


class DedicatedNodesController:
    name = NAME
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node], dedicated: ListerOf[DedicatedNodes]) -> None:
        self._nodes = nodes
        self._dedicated = dedicated
        self.sources: Sequence[Source] = (Source("nodes", self._node_keys), Source(DEDICATED_NODES, self._all_nodes))

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        node = self._nodes.get(key)
        patch = decide_taints(node, self._dedicated.list()) if node is not None else None
        return Result(actions=(patch,)) if patch is not None else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the node is the next try."""

    def _node_keys(self, change: ObjectChange) -> Iterable[str]:
        """Where no nodes are dedicated, only those that show a taint of ours."""
        if not self._dedicated and all(taint.key != TAINT_KEY for taint in change.newest.spec.taints):
            return ()
        return node_keys(change)

    def _all_nodes(self, _change: ObjectChange) -> Iterable[str]:
        return [node.metadata.name for node in self._nodes.list()]
