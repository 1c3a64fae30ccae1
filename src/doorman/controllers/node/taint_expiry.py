"""taint-expiry-controller: takes off taints whose time is up.

It reads nodes and the records in their annotation (`doorman.semantics.taints.taint_records`). The patch carries the
node's resource version: whoever renews the taint at the same instant wins.

Keys: names of nodes.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.nodes import Node
from doorman.base.clock import Instant
from doorman.client.actions import Action, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.node.node_taints import taint_body
from doorman.semantics.taints.taint_records import ANNOTATION, expired_taints, next_expiry_or_none, read_records

NAME: Final = "taint-expiry-controller"
WORKERS: Final = 4


def node_keys(change: ObjectChange) -> Iterable[str]:
    """Nodes with records that are new or changed: heartbeats wake nobody."""
    if change.new is None:
        return ()
    text = change.new.metadata.annotations.get(ANNOTATION)
    if text is None or (change.old is not None and change.old.metadata.annotations.get(ANNOTATION) == text):
        return ()
    return (change.new.metadata.name,)


SOURCES: Final = (Source("nodes", node_keys),)


def decide_expiry(node: Node, now: Instant) -> tuple[tuple[Action, ...], Instant | None]:
    """What to do now, and when to look again."""
    records = read_records(node.metadata.annotations.get(ANNOTATION))
    gone = expired_taints(node.spec.taints, records, now)
    if not gone:
        return (), next_expiry_or_none(records)
    left = [taint_body(taint) for taint in node.spec.taints if taint not in gone]
    body = {"metadata": {"resourceVersion": node.metadata.resource_version}, "spec": {"taints": left or None}}
    about = ObjectReference(kind="Node", name=node.metadata.name, uid=node.metadata.uid, api_version="v1")
    events = [
        RecordEvent(regarding=about, reason="TaintExpired", message=f"Removed taint {taint}", component=NAME)
        for taint in gone
    ]
    return (Patch(resource="nodes", name=node.metadata.name, body=body), *events), None


class TaintExpiryController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node]) -> None:
        self._nodes = nodes

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        node = self._nodes.get(key)
        if node is None:
            return DONE
        actions, again = decide_expiry(node, now)
        return Result(actions=actions, wakes=() if again is None else ((key, again),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the node is the next try."""
